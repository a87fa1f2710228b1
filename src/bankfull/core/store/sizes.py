"""What the values of a column take, row by row.

A row's size follows from the row alone, so the same rows are stored and dropped however the input
was cut into batches.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Sizes = NDArray[np.int64]


def row_bytes(values: pa.Array) -> Sizes:
    """Return the bytes that each value of a column takes, with its offset where it has one.

    >>> row_bytes(pa.array(["a", None, "abc"], pa.large_string()))
    array([ 9,  8, 11])
    """
    kind, count = values.type, len(values)
    if isinstance(kind, pa.BaseExtensionType):
        return row_bytes(values.storage)
    if pa.types.is_run_end_encoded(kind):
        return row_bytes(pc.run_end_decode(values))
    if pa.types.is_dictionary(kind):
        return _taken(row_bytes(values.dictionary), values.indices) + _width(kind.index_type)
    if pa.types.is_nested(kind):
        return _nested_bytes(values)
    if pa.types.is_null(kind):
        return np.zeros(count, np.int64)
    if pa.types.is_string_view(kind) or pa.types.is_binary_view(kind):
        lengths = _lengths(values.cast(pa.large_binary()))
        return np.where(lengths > 12, lengths, 0) + 16  # short ones lie within the view
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return _lengths(values) + 8
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _lengths(values) + 4
    return np.full(count, _width(kind), np.int64)


def _width(kind: pa.DataType) -> int:
    return -(-int(kind.bit_width) // 8)


def _lengths(values: pa.Array) -> Sizes:
    lengths = pc.binary_length(values).fill_null(0).to_numpy(zero_copy_only=False)
    return lengths.astype(np.int64)  # type: ignore[no-any-return]


def _taken(sizes: Sizes, places: pa.Array) -> Sizes:
    """Return the sizes at these places, 0 where there is none."""
    known = places.is_valid().to_numpy(zero_copy_only=False)
    at = places.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
    found = np.zeros(len(at), np.int64)
    found[known] = sizes[at[known]]
    return found


def _nested_bytes(values: pa.Array) -> Sizes:
    kind, count = values.type, len(values)
    if pa.types.is_struct(kind):
        fields = [row_bytes(values.field(child)) for child in range(kind.num_fields)]
        return sum(fields, np.ones(count, np.int64))  # one for whether it is null
    if pa.types.is_fixed_size_list(kind):
        width = kind.list_size
        items = row_bytes(values.values.slice(values.offset * width, count * width))
        added: Sizes = items.reshape(count, width).sum(axis=1) + 1
        return added
    if pa.types.is_union(kind):
        return _union_bytes(values)
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        starts = values.offsets.to_numpy(zero_copy_only=False).astype(np.int64)[:count]
        lengths = values.sizes.to_numpy(zero_copy_only=False).astype(np.int64)
        return _within(row_bytes(values.values), starts, lengths, values) + 16
    offsets = values.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    if not count:
        return np.zeros(0, np.int64)
    first, stop = int(offsets[0]), int(offsets[-1])
    mapped = pa.types.is_map(kind)
    parts = [values.keys, values.items] if mapped else [values.values]
    taken = np.zeros(stop - first, np.int64)
    for part in parts:
        taken += row_bytes(part.slice(first, stop - first))
    return _within(taken, offsets[:-1] - first, np.diff(offsets), values) + 8


def _within(sizes: Sizes, starts: Sizes, lengths: Sizes, lists: pa.Array) -> Sizes:
    """Return what the items of each list take; of one that is null, nothing is stored."""
    sums = np.append(0, np.cumsum(sizes))
    alive = lists.is_valid().to_numpy(zero_copy_only=False)
    return np.where(alive, sums[starts + lengths] - sums[starts], 0)


def _union_bytes(values: pa.Array) -> Sizes:
    kind, count = values.type, len(values)
    children = range(kind.num_fields)
    if kind.mode == "sparse":
        return sum((row_bytes(values.field(k)) for k in children), np.ones(count, np.int64))
    # Arrow's own accessors forget where a slice begins.
    begin, buffers = values.offset, values.buffers()
    codes = np.frombuffer(buffers[1], np.int8, begin + count)[begin:]
    offsets = np.frombuffer(buffers[2], np.int32, begin + count)[begin:]
    sizes = np.full(count, 5, np.int64)  # the code of its type and its place
    for child, code in zip(children, kind.type_codes, strict=True):
        mine = codes == code
        sizes[mine] += row_bytes(values.field(child))[offsets[mine]]
    return sizes
