"""Arrow columns as plain Python values, exact for every type (``to_pylist`` is not)."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
DAY = 86_400 * NANOSECONDS["s"]


def plain(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Read a column: times and durations in nanoseconds, lists, structs and maps as tuples.

    >>> plain(pa.array([1, None], pa.timestamp("ms")))
    [1000000, None]
    >>> plain(pa.array([[{"x": 1.5}, None], None]))
    [((1.5,), None), None]
    """
    if isinstance(column, pa.ChunkedArray):
        return [value for chunk in column.chunks for value in plain(chunk)]
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        return plain(column.storage)
    if pa.types.is_dictionary(kind):
        return plain(column.dictionary_decode())
    if pa.types.is_run_end_encoded(kind):
        return plain(pc.run_end_decode(column))
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return _nanoseconds(column)
    if pa.types.is_struct(kind):
        return _structs(column)
    if pa.types.is_nested(kind) and not pa.types.is_union(kind):
        return [tuple(plain(item.values)) if item.is_valid else None for item in column]
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        values = [_text(value) for value in column]
    return values


def is_broken(value: object) -> bool:
    """Whether a plain value is, or has within, text whose bytes are not UTF-8.

    >>> is_broken(("a", chr(0xDCFF))), is_broken("é")
    (True, False)
    """
    if isinstance(value, tuple):
        return any(map(is_broken, value))
    return isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value)


def _text(value: pa.Scalar) -> str | None:
    """Read text, with a lone surrogate for every byte that is not UTF-8."""
    buffer = value.as_buffer()
    return None if buffer is None else bytes(buffer).decode(errors="surrogateescape")


def canonical(value: object) -> Hashable:
    """Make NaN equal itself, which is all that Python's equality lacks (the zeros are equal).

    >>> canonical((float("nan"), None)) == canonical((-float("nan"), None))
    True
    """
    if isinstance(value, tuple):
        return tuple(canonical(item) for item in value)
    if isinstance(value, float):
        return "not a number" if math.isnan(value) else value
    assert isinstance(value, Hashable)
    return value


def unit_ns(kind: pa.DataType) -> int:
    """Return how many nanoseconds one unit of a temporal type lasts."""
    if pa.types.is_date32(kind):
        return DAY
    return NANOSECONDS["ms" if pa.types.is_date64(kind) else kind.unit]


def _nanoseconds(column: pa.Array) -> list[Any]:
    width = pa.int32() if column.type.bit_width == 32 else pa.int64()
    scale = unit_ns(column.type)
    units = column.cast(width).to_pylist()
    return [None if value is None else value * scale for value in units]


def _structs(column: pa.Array) -> list[Any]:
    fields = [plain(column.field(index)) for index in range(column.type.num_fields)]
    rows = zip(*fields, strict=True) if fields else [()] * len(column)
    valid = column.is_valid().to_pylist()
    return [row if there else None for row, there in zip(rows, valid, strict=True)]
