"""Unit tests of what a value takes: exact for every type, whatever batch it came in."""

from __future__ import annotations

import decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bankfull.core.store.sizes import row_bytes

LONG = "x" * 500
PAIRS = pa.list_(pa.string(), 2)
COLUMNS: dict[str, pa.Array] = {
    "int16": pa.array([1, None, 3, 4], pa.int16()),
    "bool": pa.array([True, None, False, True]),
    "null": pa.nulls(4),
    "decimal": pa.array([decimal.Decimal(1), None, decimal.Decimal(2), None], pa.decimal128(5)),
    "binary": pa.array([b"", None, b"abc", LONG.encode()]),
    "large_string": pa.array(["", None, "abc", LONG], pa.large_string()),
    "string_view": pa.array(["", None, "abc", LONG], pa.string_view()),
    "dictionary": pa.array(["a", None, LONG, "a"]).dictionary_encode(),
    "runs": pa.compute.run_end_encode(pa.array(["a", "a", LONG, None])),
    "list": pa.array([[], None, ["a", LONG], ["b"]], pa.list_(pa.string())),
    "large_list": pa.array([[], None, [[1], [2, 3]], [[]]], pa.large_list(pa.list_(pa.int64()))),
    "list_view": pa.array([[], None, [1, 2], [3]], pa.list_view(pa.int64())),
    "fixed_size_list": pa.array([["a", LONG], None, ["b", None], ["", ""]], PAIRS),
    "map": pa.array([[], None, [("a", LONG)], [("b", "c")]], pa.map_(pa.string(), pa.string())),
    "struct": pa.array([{"a": "x", "b": [1]}, None, {"a": LONG, "b": None}, {"a": None, "b": []}]),
    "extension": pa.array(["1", None, f'"{LONG}"', "2"]).cast(pa.json_()),
    "dense": pa.UnionArray.from_dense(
        pa.array([0, 1, 1, 0], pa.int8()), pa.array([0, 0, 1, 1], pa.int32()),
        [pa.array([1, 2]), pa.array([LONG, "a"])],
    ),
    "sparse": pa.UnionArray.from_sparse(
        pa.array([0, 1, 1, 0], pa.int8()), [pa.array([1, 2, 3, 4]), pa.array(["a", "b", LONG, ""])]
    ),
}  # fmt: skip


@pytest.mark.uncompiled
@pytest.mark.parametrize("name", COLUMNS)
def test_a_row_costs_the_same_in_every_cut(name: str) -> None:
    values = COLUMNS[name]
    whole = row_bytes(values)
    assert whole.dtype == np.int64
    cut = [row_bytes(values.slice(k, 1))[0] for k in range(4)]
    assert list(whole) == cut
    assert list(whole[1:3]) == list(row_bytes(values.slice(1, 2)))
    if any(LONG in str(one) for one in values.to_pylist()):
        assert max(whole) >= 500  # who is long pays for it, and no one else does
        assert min(whole) < 50


@pytest.mark.uncompiled
@pytest.mark.parametrize(
    ("kind", "expected"),
    [(pa.large_string(), [8, 8, 11]), (pa.string(), [4, 4, 7]), (pa.string_view(), [16, 16, 16])],
)
def test_text_pays_for_its_length(kind: Any, expected: list[int]) -> None:
    assert list(row_bytes(pa.array(["", None, "abc"], kind))) == expected
