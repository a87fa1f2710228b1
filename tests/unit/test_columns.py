"""Unit tests of stored payload: every Arrow type comes back as it went in, through windows that
slide, grow and shrink. Families: column types, lanes, chunks."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.core.store.columns import column
from bankfull.core.store.forms import output_type
from bankfull.core.store.lanes import Lanes

VALUES: list[tuple[pa.DataType, list[Any]]] = [
    (pa.int8(), [1, None, -3]),
    (pa.uint16(), [1, 2, 65535]),
    (pa.float16(), [np.float16(1.5), None, np.float16(2)]),
    (pa.float32(), [1.5, None, -2.0]),
    (pa.bool_(), [True, None, False]),
    (pa.string(), ["a", None, "long " * 9]),
    (pa.large_binary(), [b"x", None, b""]),
    (pa.binary(3), [b"abc", None, b"xyz"]),
    (pa.decimal128(10, 2), [Decimal("1.25"), None, Decimal("-3.00")]),
    (pa.decimal256(50, 1), [Decimal("1.5"), None, Decimal("9.0")]),
    (pa.date32(), [1, None, 3]),
    (pa.timestamp("ns", "UTC"), [1, None, 3]),
    (pa.duration("s"), [1, None, 3]),
    (pa.month_day_nano_interval(), [(1, 2, 3), None, (0, 0, 1)]),
    (pa.list_(pa.int64()), [[1, 2], None, []]),
    (pa.list_(pa.int64(), 2), [[1, 2], None, [3, 4]]),
    (pa.struct([("x", pa.int64()), ("y", pa.string())]), [{"x": 1, "y": "a"}, None, {"x": None}]),
    (pa.map_(pa.string(), pa.int64()), [[("a", 1)], None, []]),
    (pa.list_(pa.struct([("z", pa.list_(pa.string()))])), [[{"z": ["q"]}], None, []]),
    (pa.dictionary(pa.int8(), pa.string()), ["a", None, "b"]),
    (pa.null(), [None, None, None]),
    (pa.uuid(), [b"0123456789abcdef", None, b"fedcba9876543210"]),
]


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=lambda v: str(v)[:30])
def test_every_type_survives_storage(kind: pa.DataType, values: list[Any]) -> None:
    payload = (
        pa.array(values, kind)
        if not isinstance(kind, pa.BaseExtensionType)
        else (pa.ExtensionArray.from_storage(kind, pa.array(values, kind.storage_type)))
    )
    repeated = pa.concat_arrays([payload] * 4)
    rows = len(repeated)
    left = pa.table({"t": list(range(rows)), "k": [0] * rows, "p": repeated})
    right = pa.table({"t": list(range(rows)), "k": [0] * rows})
    a = bf.stream(iter(left.to_batches(max_chunksize=5)), time="t", name="a")
    b = bf.stream(right, time="t", name="b")
    out = bf.join(a, b, on="k", within=4).read_all()
    expected = [(t, u) for t in range(rows) for u in range(rows) if abs(t - u) <= 4]
    assert out.num_rows == len(expected)
    at = pa.array(out["a_t"].to_numpy())
    got, wanted = out["p"].combine_chunks(), repeated.take(at)
    if pa.types.is_dictionary(kind):
        got, wanted = got.dictionary_decode(), wanted.dictionary_decode()
    assert got.equals(wanted)
    assert out.schema.field("p").type == output_type(kind)


@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
def test_columns_follow_a_sliding_window(kind: pa.DataType) -> None:
    rng = np.random.default_rng(5)
    lanes = Lanes()
    stored = column(lanes, kind)
    everything = pa.array(range(3000), pa.int64()).cast(kind)
    appended = 0
    while appended < 3000:
        count = min(int(rng.integers(1, 200)), 3000 - appended)
        lanes.extend(count)
        stored.append(everything.slice(appended, count))
        appended += count
        lanes.expire(max(lanes.start, appended - int(rng.integers(50, 400))))
        stored.expire(lanes.start)
        wanted = rng.integers(lanes.start, lanes.end, 64)
        assert stored.gather(wanted).equals(everything.take(pa.array(wanted)))
        if rng.random() < 0.2:
            lanes.shrink()


def test_lanes_keep_memory_near_the_window() -> None:
    lanes = Lanes()
    lane = lanes.add(np.dtype(np.int64))
    for first in range(0, 200_000, 1000):
        lanes.extend(1000)
        lane.tail(1000)[:] = np.arange(first, first + 1000)
        lanes.expire(max(0, first - 9000))
        assert (lane.live() == np.arange(lanes.start, lanes.end)).all()
    assert lanes.capacity < 1.4 * (lanes.end - lanes.start)
    lanes.expire(lanes.end - 10)
    lanes.shrink()
    assert lanes.capacity <= 64
    assert lane.live()[0] == 199_990
