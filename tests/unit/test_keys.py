"""Unit tests of keys: values of any type are equal exactly when they are, whatever their codes.
Families: types, collisions (codes forced to collide), composite and nested keys."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.core.codes import keys

NAN = float("nan")


def matches(left: pa.Array, right: pa.Array) -> list[tuple[int, int]]:
    tables = [
        pa.table({"t": [0] * len(v), "k": v, "row": list(range(len(v)))}) for v in (left, right)
    ]
    a, b = (bf.stream(table, time="t", name=name) for table, name in zip(tables, "ab", strict=True))
    out = bf.join(a, b, on="k", within=1).read_all()
    return sorted(zip(out["a_row"].to_pylist(), out["b_row"].to_pylist(), strict=True))


PAIRS: list[tuple[pa.Array, pa.Array, list[tuple[int, int]]]] = [
    (pa.array([1, 2, None], pa.int8()), pa.array([2, None, 300]), [(1, 0)]),
    (pa.array([2**63, 5], pa.uint64()), pa.array([-(2**63), 5]), [(1, 1)]),
    (pa.array([0.0, NAN, 1.5]), pa.array([-0.0, NAN, 2.5]), [(0, 0), (1, 1)]),
    (pa.array([0.5], pa.float32()), pa.array([0.5]), [(0, 0)]),
    (pa.array(["a", "", None]), pa.array(["", "a"], pa.large_string()), [(0, 1), (1, 0)]),
    (pa.array(["a", "b"]).dictionary_encode(), pa.array(["b", "c"]), [(1, 0)]),
    (pa.array([True, False]), pa.array([False, False]), [(1, 0), (1, 1)]),
    (
        pa.array([Decimal("1.50")], pa.decimal128(9, 2)),
        pa.array([Decimal("1.5")], pa.decimal128(9, 1)),
        [(0, 0)],
    ),
    (pa.array([1], pa.timestamp("s")), pa.array([1_000_000], pa.timestamp("us")), [(0, 0)]),
    (pa.array([b"abc", b"abd"], pa.binary(3)), pa.array([b"abd"], pa.binary(3)), [(1, 0)]),
    (pa.array([[1, 2], [1], [None]]), pa.array([[1], [1, 2], [None]]), [(0, 1), (1, 0), (2, 2)]),
    (
        pa.array([{"x": 1, "y": None}, {"x": 1, "y": "q"}]),
        pa.array([{"x": 1, "y": "q"}, {"x": 1, "y": None}]),
        [(0, 1), (1, 0)],
    ),
]


@pytest.mark.parametrize(
    ("left", "right", "expected"), PAIRS, ids=lambda v: str(getattr(v, "type", ""))[:24]
)
def test_keys_match_by_value(
    left: pa.Array, right: pa.Array, expected: list[tuple[int, int]]
) -> None:
    assert matches(left, right) == expected


@pytest.mark.parametrize(
    ("left", "right", "expected"), PAIRS, ids=lambda v: str(getattr(v, "type", ""))[:24]
)
def test_colliding_codes_change_nothing(
    left: pa.Array,
    right: pa.Array,
    expected: list[tuple[int, int]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With every code the same the real values alone must decide."""

    def constant(columns: list[Any], types: tuple[Any, ...]) -> tuple[Any, Any]:
        codes, absent = genuine(columns, types)
        return (codes if keys.is_exact(types) else np.zeros_like(codes)), absent

    genuine = keys.encode
    monkeypatch.setattr(keys, "encode", constant)
    assert matches(left, right) == expected


def test_composite_keys_need_every_column() -> None:
    left = pa.table({"t": [0, 0, 0], "x": [1, 1, None], "y": ["a", "b", "a"]})
    right = pa.table({"t": [0, 0], "u": [1, 1], "v": ["b", None]})
    a, b = bf.stream(left, time="t", name="a"), bf.stream(right, time="t", name="b")
    out = bf.join(a, b, on=bf.equal(["x", "y"], ["u", "v"]), within=1).read_all()
    assert out.select(["x", "y", "u", "v"]).to_pylist() == [{"x": 1, "y": "b", "u": 1, "v": "b"}]
