"""Units: one odd row costs no other. Text that is not UTF-8, nullability, null keys, content.

Bad input and oracle families; what is expected is counted by hand.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.core.intake.content import row_codes
from bankfull.core.intake.text import as_bytes, has_text, not_utf8
from bankfull.runtime.spark.packets import cut_by_bytes

BROKEN = pa.array([b"sound", b"\xff\xfe", None, b"\xc3\xa9"], pa.binary()).view(pa.string())


def _nested(kind: str) -> pa.Array:
    """A column of four rows in which only the second has text that is none."""
    offsets = pa.array([0, 1, 2, 3, 4], pa.int32())
    if kind == "list":
        return pa.ListArray.from_arrays(offsets, BROKEN)
    if kind == "struct":
        return pa.StructArray.from_arrays([BROKEN, pa.array([1, 2, 3, 4])], ["name", "n"])
    if kind == "map":
        return pa.MapArray.from_arrays(offsets, pa.array(list("abcd")), BROKEN)
    if kind == "dictionary":
        return pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 3]), BROKEN)
    return BROKEN.cast(pa.large_binary()).view(pa.large_string()) if kind == "large" else BROKEN


KINDS = ("plain", "large", "list", "struct", "map", "dictionary")


@pytest.mark.parametrize("kind", KINDS)
def test_text_that_is_not_utf8_is_found_row_by_row(kind: str) -> None:
    values = _nested(kind)
    assert not_utf8(values).tolist() == [False, True, False, False]
    assert not_utf8(values.slice(2)).tolist() == [False, False]
    as_bytes(values).validate(full=True)
    assert not has_text(as_bytes(values).type)


@pytest.mark.parametrize("kind", ["plain", "list", "map"])
@pytest.mark.parametrize("overload", ["block", bf.shed(bf.tuples(10_000), keep="fifo")])
def test_one_bad_text_costs_one_row(kind: str, overload: object) -> None:
    times = pa.array(np.arange(4))
    left = pa.table({"t": times, "k": [1, 1, 1, 1], "s": _nested(kind)})
    right = pa.table({"t": times, "k": [1, 1, 1, 1]})
    joined = bf.join(
        bf.stream(left, time="t", name="a"), bf.stream(right, time="t", name="b"),
        on="k", within=10, overload=overload,
    )  # fmt: skip
    assert len(joined.read_all()) == 12
    assert joined.ledger.streams["a"].quarantined == 1
    aside = joined.quarantined["a"]
    assert aside["reason"].to_pylist() == ["text is not UTF-8"]
    assert r"\xff\xfe" in str(aside["s"].to_pylist())


def test_what_a_batch_says_of_nulls_makes_no_difference() -> None:
    tags = pa.list_(pa.field("item", pa.int64(), nullable=False))
    promised = pa.schema([("t", pa.int64()), ("k", pa.int64()), ("tags", pa.list_(pa.int64()))])
    strict = pa.schema([pa.field(f.name, f.type, nullable=False) for f in promised][:2])
    strict = strict.append(pa.field("tags", tags, nullable=False))
    batches = [
        pa.RecordBatch.from_pydict({"t": [t], "k": [1], "tags": [[t]]}, schema=schema)
        for t, schema in enumerate((promised, strict, promised, strict))
    ]
    a = bf.stream(iter(batches), time="t", name="a")
    b = bf.stream(iter(batches[::-1][:1]), time="t", name="b")
    joined = bf.join(a, b, on="k", within=10)
    found = joined.read_all()
    assert sorted(found["a_tags"].to_pylist()) == [[0], [1], [2], [3]]
    assert joined.ledger.streams["a"].quarantined == 0


@pytest.mark.parametrize("overload", ["block", bf.shed(bf.tuples(5), keep="fifo")])
def test_a_null_key_is_counted_and_not_stored(overload: object) -> None:
    table = pa.table({"t": np.arange(100), "k": pa.nulls(100, pa.int64())})
    streams = [bf.stream(table, time="t", name=name) for name in "ab"]
    joined = bf.join(*streams, on="k", within=1000, overload=overload)
    assert not len(joined.read_all())
    for counts in joined.ledger.streams.values():
        assert (counts.inserted, counts.purged, counts.stored, counts.evicted) == (100, 100, 0, 0)


def test_rows_that_differ_anywhere_have_codes_that_differ() -> None:
    """Ties were ordered by codes that left out maps, and in which -0.0 equals 0.0."""
    columns = {
        "map": (pa.map_(pa.string(), pa.int64()), [[("a", 1)], [("a", 2)], [], None]),
        "float": (pa.float64(), [0.0, -0.0, 1.5, None]),
        "interval": (pa.month_day_nano_interval(), [(1, 2, 3), (1, 2, 4), (0, 0, 0), None]),
        "nested": (pa.list_(pa.struct([("x", pa.float32())])), [[(0.0,)], [(-0.0,)], [], None]),
        "decimal": (pa.decimal128(30, 2), [1, 2, 3, None]),
        "boolean": (pa.bool_(), [True, False, None, None]),
        "fixed": (pa.list_(pa.int16(), 2), [[1, 2], [2, 1], [0, 0], None]),
        "text": (pa.string_view(), ["a", "b", "", None]),
    }  # fmt: skip
    for name, (kind, values) in columns.items():
        rows = pa.RecordBatch.from_arrays([pa.array(values, kind)], [name])
        codes = row_codes(rows)
        distinct = 3 if name == "boolean" else 4
        assert len(set(codes.tolist())) == distinct, name
        assert (row_codes(rows.slice(1)) == codes[1:]).all(), name


def test_pieces_by_bytes_hold_all_rows() -> None:
    rows = pa.RecordBatch.from_pydict({"s": ["x" * n for n in range(100)]})
    for most in (1, 500, 10**9):
        pieces = list(cut_by_bytes(rows, most))
        assert pa.Table.from_batches(pieces).to_pylist() == rows.to_pylist()


@pytest.mark.parametrize("overload", ["block", bf.shed(bf.tuples(3000), keep="fifo")])
def test_large_results_leave_in_small_pieces(overload: object) -> None:
    """One tuple with many partners and a large payload: 140 MB of results, a few at a time."""
    large = pa.table({"t": [0], "k": [1], "text": ["x" * 70_000]})
    many = pa.table({"t": np.arange(2000), "k": np.ones(2000, np.int64)})
    streams = [bf.stream(large, time="t", name="a"), bf.stream(many, time="t", name="b")]
    count = 0
    for batch in bf.join(*streams, on="k", within=5000, overload=overload):
        assert batch.nbytes < 5_000_000
        count += batch.num_rows
    assert count == 2000
