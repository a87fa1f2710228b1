"""Keys of any Arrow type: 64-bit codes to search by, and exact comparison of the real values.

Equal values have equal codes; for a single key of at most eight bytes the code *is* the value
(:func:`is_exact`), otherwise candidates are compared value by value before they are emitted.
Null keys match nothing. Inside nested keys null equals null. NaN equals NaN, -0.0 equals 0.0.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bankfull.core.store.forms import bare_type, to_form
from bankfull.kernels import hashing

Codes = NDArray[np.uint64]


def is_exact(types: tuple[pa.DataType, ...]) -> bool:
    """Whether codes of keys of these types can be compared instead of the values."""
    return len(types) == 1 and (_is_whole(types[0]) or pa.types.is_floating(types[0]))


def encode(
    columns: list[pa.Array], types: tuple[pa.DataType, ...]
) -> tuple[Codes, NDArray[np.bool_]]:
    """Return codes of composite keys and which keys are null."""
    cast = [as_type(values, wanted) for values, wanted in zip(columns, types, strict=True)]
    codes = _code(cast[0])
    for values in cast[1:]:
        codes = codes.copy()
        hashing.combine(codes, _code(values))
    absent = np.zeros(len(codes), np.bool_)
    for values in cast:
        if values.null_count:
            absent |= pc.is_null(values).to_numpy(zero_copy_only=False)
    return codes, absent


def equal(
    left: list[pa.Array], right: list[pa.Array], types: tuple[pa.DataType, ...]
) -> NDArray[np.bool_]:
    """Compare two aligned lists of key columns, row by row; null keys are not expected."""
    same = np.ones(len(left[0]), np.bool_)
    for a, b, wanted in zip(left, right, types, strict=True):
        same &= _same(as_type(a, wanted), as_type(b, wanted))
    return same


def as_type(values: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Bring a key column to the type in which both sides are compared."""
    try:
        return to_form(values, wanted)
    except pa.ArrowInvalid:
        # A value that the common type cannot hold, as a time in seconds beyond what nanoseconds
        # reach, equals none of the other side: it is as good as null, which equals nothing.
        if len(values) == 1:
            return pa.nulls(1, wanted)
        half = len(values) // 2
        return pa.concat_arrays(
            [as_type(values.slice(0, half), wanted), as_type(values.slice(half), wanted)]
        )


def _is_whole(data_type: pa.DataType) -> bool:
    return (
        pa.types.is_integer(data_type)
        or (pa.types.is_temporal(data_type) and not pa.types.is_interval(data_type))
        or pa.types.is_boolean(data_type)
    )


def _whole(values: pa.Array) -> NDArray[np.int64]:
    kind = values.type
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        values = values.cast(pa.int32())
    elif not pa.types.is_integer(kind) and not pa.types.is_boolean(kind):
        values = values.cast(pa.int64())
    if values.null_count:
        values = values.fill_null(False if pa.types.is_boolean(kind) else 0)
    numbers = values.to_numpy(zero_copy_only=False)
    if numbers.dtype == np.uint64:
        return numbers.view(np.int64)  # type: ignore[no-any-return]
    return numbers.astype(np.int64)  # type: ignore[no-any-return]


def _floats(values: pa.Array) -> NDArray[np.float64]:
    filled = values.fill_null(0) if values.null_count else values
    numbers = filled.to_numpy(zero_copy_only=False).astype(np.float64)
    return np.where(np.isnan(numbers), np.nan, numbers + 0.0)  # one NaN, one zero


def _code(values: pa.Array) -> Codes:
    kind = values.type
    if _is_whole(kind):
        return _whole(values).view(np.uint64)
    if pa.types.is_floating(kind):
        return _floats(values).view(np.uint64)
    out = np.empty(len(values), np.uint64)
    if pa.types.is_null(kind):
        out[:] = hashing.NULL_CODE
        return out
    if pa.types.is_decimal(kind) or pa.types.is_fixed_size_binary(kind):
        width = kind.byte_width
        raw = np.frombuffer(values.buffers()[1], np.uint8)[values.offset * width :]
        hashing.hash_binary(np.arange(len(values) + 1) * width, raw, out)
    elif pa.types.is_struct(kind):
        out[:] = 0
        for child in range(kind.num_fields):
            hashing.combine(out, _with_nulls(pc.struct_field(values, child)))
    elif _is_list(kind):
        lengths, items = _items(values)
        hashing.hash_lists(np.append(0, np.cumsum(lengths)), _with_nulls(items), out)
    else:
        offsets, data = binary_parts(values)
        hashing.hash_binary(offsets, data, out)
    return out


def _with_nulls(values: pa.Array) -> Codes:
    """Return codes in which null has a code of its own, for values inside nested keys."""
    values = to_form(values, bare_type(values.type))
    codes = _code(values)
    if values.null_count:
        absent = pc.is_null(values).to_numpy(zero_copy_only=False)
        codes = np.where(absent, hashing.NULL_CODE, codes)
    return codes


def binary_parts(values: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return offsets and bytes of a string or binary column."""
    if values.type in (pa.string(), pa.binary()):
        offset_type: type[np.generic] = np.int32
    else:
        values = values.cast(
            pa.large_binary() if not pa.types.is_large_string(values.type) else pa.large_string()
        )
        offset_type = np.int64
    _, offset_buffer, data_buffer = values.buffers()
    if len(values) == 0 or offset_buffer is None:
        return np.zeros(len(values) + 1, np.int64), np.zeros(0, np.uint8)
    stop = values.offset + len(values) + 1
    offsets = np.frombuffer(offset_buffer, offset_type, stop)[values.offset :]
    data = np.frombuffer(data_buffer, np.uint8) if data_buffer else np.zeros(0, np.uint8)
    return offsets.astype(np.int64), data


def _is_list(kind: pa.DataType) -> bool:
    checks = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(check(kind) for check in checks)


def _items(values: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    """Return the lengths of lists (null: 0) and their items in one array."""
    if pa.types.is_fixed_size_list(values.type):
        values = values.cast(pa.list_(values.type.value_type))
    lengths = pc.list_value_length(values).fill_null(0).to_numpy(zero_copy_only=False)
    return lengths.astype(np.int64), values.flatten()


def _same(left: pa.Array, right: pa.Array) -> NDArray[np.bool_]:
    """Compare aligned values; null equals null."""
    kind = bare_type(left.type)
    left, right = to_form(left, kind), to_form(right, kind)
    nulls = [pc.is_null(side).to_numpy(zero_copy_only=False) for side in (left, right)]
    if pa.types.is_null(kind):
        return np.ones(len(left), np.bool_)
    if _is_whole(kind):
        same = _whole(left) == _whole(right)
    elif pa.types.is_floating(kind):
        same = _floats(left).view(np.uint64) == _floats(right).view(np.uint64)
    elif pa.types.is_struct(kind):
        same = np.ones(len(left), np.bool_)
        for child in range(kind.num_fields):
            same &= _same(pc.struct_field(left, child), pc.struct_field(right, child))
    elif _is_list(kind):
        same = _same_lists(left, right)
    else:
        same = pc.equal(left, right).fill_null(False).to_numpy(zero_copy_only=False)
    result: NDArray[np.bool_] = (same & ~nulls[0] & ~nulls[1]) | (nulls[0] & nulls[1])
    return result


def _same_lists(left: pa.Array, right: pa.Array) -> NDArray[np.bool_]:
    left_lengths, left_items = _items(left)
    right_lengths, right_items = _items(right)
    same: NDArray[np.bool_] = left_lengths == right_lengths
    keep_left, keep_right = np.repeat(same, left_lengths), np.repeat(same, right_lengths)
    differing = ~_same(
        left_items.filter(pa.array(keep_left)), right_items.filter(pa.array(keep_right))
    )
    owner = np.repeat(np.arange(len(same)), np.where(same, left_lengths, 0))
    same[owner[differing]] = False
    return same


def spread(
    columns: list[pa.Array], types: tuple[pa.DataType, ...], parts: int
) -> NDArray[np.int64]:
    """Assign every key to one of ``parts``, equal keys to the same; null keys go to the first."""
    codes, absent = encode(columns, types)
    mixed = np.empty_like(codes)
    hashing.mix_all(codes, mixed)
    placed = (mixed % np.uint64(parts)).astype(np.int64)
    placed[absent] = 0
    return placed
