"""What a stored tuple takes of a budget in bytes, reckoned value by value.

The rule (docs/shedding.md, decision 0017): a tuple takes a slot, and its payload with five eighths
on top; a key takes its place in the tables once for every stream that holds it, which ``Memory``
reckons. How large a slot and a place are is the engine's own affair, and given.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

#: An offset: of text and bytes in four bytes, of large ones and of lists in eight.
_SHORT, _LONG = 4, 8


def tuple_bytes(row: dict[str, Any], schema: pa.Schema, slot: int) -> int:
    """Return what a row takes beside its keys; a slot takes so many bytes.

    >>> schema = pa.schema([("t", pa.int64()), ("name", pa.string())])
    >>> tuple_bytes({"t": 1, "name": "abcd"}, schema, slot=100)  # 100 and 13/8 of 8 + 4 + 4
    126
    """
    payload = sum(value_bytes(row.get(field.name), field.type) for field in schema)
    return slot + payload * 13 // 8


def value_bytes(value: Any, kind: pa.DataType) -> int:
    """Return what a value takes in its column; a null takes what all values of its type do.

    >>> value_bytes(None, pa.string()), value_bytes("é", pa.large_string())
    (4, 10)
    >>> value_bytes([1, 2], pa.list_(pa.int16())), value_bytes(None, pa.list_(pa.int16()))
    (12, 8)
    """
    if pa.types.is_map(kind):
        pairs = value or []
        keys = sum(value_bytes(key, kind.key_type) for key, _ in pairs)
        return _LONG + keys + sum(value_bytes(item, kind.item_type) for _, item in pairs)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _LONG + sum(value_bytes(item, kind.value_type) for item in value or [])
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return _LONG + _length(value)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _SHORT + _length(value)
    assert pa.types.is_primitive(kind), f"nobody has reckoned what {kind} takes"
    return -(-int(kind.bit_width) // 8)


def _length(value: str | bytes | None) -> int:
    return len(value.encode() if isinstance(value, str) else value or b"")
