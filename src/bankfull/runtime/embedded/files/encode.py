"""Record batches as JSON lines, column by column, in Arrow's own kernels.

Times are ISO 8601 text (with a zone: in UTC, ending in Z), durations are counts of their unit,
maps are lists of keys and values, bytes are base64, and numbers that JSON does not know (NaN,
infinities) are null.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

_text = json.JSONEncoder(ensure_ascii=False).encode
#: What a JSON text must escape.
_SPECIAL = r'["\\\x00-\x1f]'


def json_lines(batch: pa.RecordBatch) -> bytes:
    """Write one object a row.

    >>> json_lines(pa.record_batch({"id": [1, None], "tags": [["a"], []]}))
    b'{"id":1,"tags":["a"]}\\n{"id":null,"tags":[]}\\n'
    """
    if not batch.num_rows:
        return b""
    lines = _objects(batch.schema.names, batch.columns, batch.num_rows, "}\n")
    return b"".join(lines.cast(pa.binary()).to_pylist())


def _encoded(column: pa.Array) -> pa.Array:
    """Encode every cell of a column as text, whatever its type; none of them stays null."""
    kind = column.type
    if types.is_dictionary(kind):
        return _encoded(column.dictionary_decode())
    if types.is_map(kind):
        entry = pa.struct([("key", kind.key_type), ("value", kind.item_type)])
        return _encoded(column.cast(pa.list_(entry)))
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        cells = _lists(column)
    elif types.is_struct(kind):
        names = [part.name for part in kind]
        objects = _objects(names, column.flatten(), len(column), "}")
        cells = pc.if_else(column.is_valid(), objects, None)
    elif types.is_floating(kind):
        cells = _numbers(column)
    elif types.is_integer(kind) or types.is_decimal(kind) or types.is_boolean(kind):
        cells = pc.cast(column, pa.string())
    elif types.is_duration(kind):
        cells = pc.cast(pc.cast(column, pa.int64()), pa.string())
    else:
        cells = _quoted(_as_text(column))
    return pc.fill_null(cells, "null")


def _objects(names: list[str], columns: list[pa.Array], rows: int, end: str) -> pa.Array:
    parts: list[Any] = []
    for index, (name, column) in enumerate(zip(names, columns, strict=True)):
        parts += [("," if index else "{") + _text(name) + ":", _encoded(column)]
    if not parts:
        return pa.array(["{" + end] * rows)
    return pc.binary_join_element_wise(*parts, end, "")


def _lists(column: pa.Array) -> pa.Array:
    counts = pc.list_value_length(column)
    ends = pc.cumulative_sum(pc.fill_null(pc.cast(counts, pa.int32()), 0))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    items = pa.ListArray.from_arrays(offsets, _encoded(column.flatten()))  # of null lists: none
    joined = pc.binary_join_element_wise("[", pc.binary_join(items, ","), "]", "")
    return pc.if_else(column.is_valid(), joined, None)


def _numbers(column: pa.Array) -> pa.Array:
    cells = pc.cast(pc.if_else(pc.is_finite(column), column, None), pa.string())
    fractional = pc.match_substring_regex(cells, "[.e]")
    return pc.if_else(fractional, cells, pc.binary_join_element_wise(cells, ".0", ""))


def _as_text(column: pa.Array) -> pa.Array:
    kind = column.type
    if types.is_timestamp(kind):
        naive = pc.cast(column, pa.timestamp(kind.unit))  # with a zone: the same instants in UTC
        text = pc.replace_substring(pc.cast(naive, pa.string()), " ", "T", max_replacements=1)
        return pc.binary_join_element_wise(text, "Z", "") if kind.tz else text
    if types.is_date(kind) or types.is_time(kind) or types.is_null(kind) or _is_text(kind):
        return pc.cast(column, pa.string())
    return pa.array([_plain(cell) for cell in column.to_pylist()], pa.string())


def _is_text(kind: pa.DataType) -> bool:
    return bool(types.is_string(kind) or types.is_large_string(kind))


def _plain(cell: Any) -> str | None:
    if isinstance(cell, bytes):
        return base64.b64encode(cell).decode()
    return None if cell is None else str(cell)


def _quoted(text: pa.Array) -> pa.Array:
    if pc.any(pc.match_substring_regex(text, _SPECIAL)).as_py():
        return pa.array([None if cell is None else _text(cell) for cell in text.to_pylist()])
    return pc.binary_join_element_wise('"', text, '"', "")
