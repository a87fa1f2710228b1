"""Record batches as JSON lines, column by column.

Times are ISO 8601 text (with a zone: in UTC, ending in Z), durations are counts of their unit,
maps are lists of keys and values, bytes are base64, and numbers that JSON does not know (NaN,
infinities) are null.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

_text = json.JSONEncoder(ensure_ascii=False).encode


def json_lines(batch: pa.RecordBatch) -> bytes:
    """Write one object a row.

    >>> json_lines(pa.record_batch({"id": [1, None], "tags": [["a"], []]}))
    b'{"id":1,"tags":["a"]}\\n{"id":null,"tags":[]}\\n'
    """
    objects = _objects(batch.schema.names, batch.columns, batch.num_rows)
    return "".join([line + "\n" for line in objects]).encode()


def _encoded(column: pa.Array) -> Iterable[str]:
    """Encode every cell of a column, whatever its type."""
    kind = column.type
    if types.is_dictionary(kind):
        return _encoded(column.dictionary_decode())
    if types.is_map(kind):
        entry = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
        return _encoded(column.cast(pa.list_(entry)))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return _lists(column)
    if types.is_struct(kind):
        names = [part.name for part in kind]
        return _whole(column, _objects(names, column.flatten(), len(column)))
    encode = _encoder(kind)
    cells = _times(column).to_pylist()
    return ["null" if cell is None else encode(cell) for cell in cells]


def _objects(names: list[str], columns: list[pa.Array], rows: int) -> Iterator[str]:
    keys = [_text(name).replace("%", "%%") for name in names]
    template = "{" + ",".join(f"{key}:%s" for key in keys) + "}"
    if not columns:
        return iter(["{}"] * rows)
    return map(template.__mod__, zip(*map(_encoded, columns), strict=True))


def _lists(column: pa.Array) -> list[str]:
    items = iter(_encoded(column.flatten()))  # null lists have no items here
    return [
        "null" if count is None else "[" + ",".join(islice(items, count)) + "]"
        for count in pc.list_value_length(column).to_pylist()
    ]


def _whole(column: pa.Array, cells: Iterable[str]) -> list[str]:
    valid = column.is_valid().to_pylist()
    return [cell if present else "null" for cell, present in zip(cells, valid, strict=True)]


def _times(column: pa.Array) -> pa.Array:
    kind = column.type
    if types.is_timestamp(kind):
        naive = pc.cast(column, pa.timestamp(kind.unit))  # with a zone: the same instants in UTC
        text = pc.replace_substring(pc.cast(naive, pa.string()), " ", "T", max_replacements=1)
        return pc.binary_join_element_wise(text, "Z", "") if kind.tz else text
    if types.is_duration(kind):
        return pc.cast(column, pa.int64())
    return pc.cast(column, pa.string()) if types.is_date(kind) or types.is_time(kind) else column


def _encoder(kind: pa.DataType) -> Callable[[Any], str]:
    if types.is_floating(kind):
        return lambda cell: repr(cell) if math.isfinite(cell) else "null"
    if types.is_integer(kind) or types.is_decimal(kind) or types.is_duration(kind):
        return str
    if types.is_boolean(kind):
        return lambda cell: "true" if cell else "false"
    return lambda cell: _text(
        base64.b64encode(cell).decode() if isinstance(cell, bytes) else str(cell)
    )
