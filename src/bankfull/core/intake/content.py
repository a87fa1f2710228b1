"""Codes of whole rows, by which rows are told apart and ordered where arrival means nothing.

Two rows with one code are the same row, bit by bit, but for collisions of 64 bits. Every column
counts, of whatever type, unlike in ``keys.py``, where -0.0 equals 0.0 and a map equals nothing.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bankfull.core.codes.keys import Codes, binary_parts
from bankfull.kernels import hashing

_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def row_codes(rows: pa.RecordBatch) -> Codes:
    """Return a code of each whole row."""
    codes = np.zeros(rows.num_rows, np.uint64)
    for values in rows.columns:
        hashing.combine(codes, _codes(values))
    return codes


def _codes(values: pa.Array) -> Codes:
    """Return a code of each value, in which null has its own."""
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    codes = _of_valid(values)
    if values.null_count:
        absent = pc.is_null(values).to_numpy(zero_copy_only=False)
        codes = np.where(absent, hashing.NULL_CODE, codes)
    return codes


def _of_valid(values: pa.Array) -> Codes:
    """Return codes of values that are not null; of others, anything."""
    kind, count = values.type, len(values)
    out = np.zeros(count, np.uint64)
    if pa.types.is_null(kind) or count == 0:
        return out
    if pa.types.is_boolean(kind):
        flags = pc.fill_null(values, False).to_numpy(zero_copy_only=False)
        return np.asarray(flags, np.uint64)
    if pa.types.is_struct(kind):
        for child in range(kind.num_fields):
            hashing.combine(out, _codes(pc.struct_field(values, child)))
        return out
    if isinstance(values, pa.UnionArray):
        codes = values.type_codes.to_numpy(zero_copy_only=False).astype(np.uint64)
        hashing.combine(out, codes)
        return out
    if pa.types.is_nested(kind):
        lengths, items = _items(values)
        hashing.hash_lists(np.append(0, np.cumsum(lengths)), _codes(items), out)
        return out
    width = _width(kind)
    if not width:
        offsets, data = binary_parts(values)
        hashing.hash_binary(offsets, data, out)
        return out
    raw = np.frombuffer(values.buffers()[1], np.uint8)
    raw = raw[values.offset * width : (values.offset + count) * width]
    if width in _WORDS:
        return raw.view(_WORDS[width]).astype(np.uint64)
    hashing.hash_binary(np.arange(count + 1) * width, np.ascontiguousarray(raw), out)
    return out


def _items(values: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    """Return the lengths of lists or maps (null: 0) and their items in one array."""
    if pa.types.is_fixed_size_list(values.type):
        values = values.cast(pa.list_(values.type.value_type))
    if pa.types.is_map(values.type):
        entry = pa.struct([values.type.key_field, values.type.item_field])
        values = values.view(pa.list_(pa.field("entries", entry, nullable=False)))
    lengths = np.diff(values.offsets.to_numpy(zero_copy_only=False)).astype(np.int64)
    if values.null_count:
        lengths[pc.is_null(values).to_numpy(zero_copy_only=False)] = 0
    return lengths, values.flatten()


def _width(kind: pa.DataType) -> int:
    """Return the bytes of a value of fixed width, or 0."""
    try:
        return int(kind.bit_width) // 8
    except ValueError:
        return 0
