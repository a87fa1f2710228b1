"""Payload columns of stored tuples, read by sequence number.

Fixed-width values live in a lane of the log and are copied out by a kernel; everything else stays
in Arrow, in chunks.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.store.lanes import Lane, Lanes
from bankfull.core.store.sizes import row_bytes
from bankfull.kernels.columns import gather, gather_wide

#: Chunks are merged up to this many rows, and this many bytes.
_CHUNK_ROWS = 1 << 15
_CHUNK_BYTES = 64 << 20
#: The largest size that is told of a value.
_MOST_BYTES = np.iinfo(np.uint32).max


class Column(Protocol):
    """One stored column."""

    def append(self, values: pa.Array) -> None:
        """Store the values of the newest tuples."""

    def gather(self, rows: NDArray[np.int64]) -> pa.Array:
        """Return the values of the tuples with these sequence numbers."""

    def expire(self, start: int) -> None:
        """Forget the tuples before ``start``."""

    def row_bytes(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the bytes of the values of the tuples with these sequence numbers."""

    def row_bytes_most(self) -> int:
        """Return an upper bound for the bytes of any stored value."""

    def nbytes(self) -> int:
        """Bytes held beyond the lanes."""


def column(lanes: Lanes, data_type: pa.DataType) -> Column:
    """Choose how a column of this type is stored."""
    width = _width(data_type)
    return FixedColumn(lanes, data_type, width) if width else ArrowColumn(lanes, data_type)


class FixedColumn:
    """Values of a fixed number of bytes, with a validity lane once a null has been seen."""

    def __init__(self, lanes: Lanes, data_type: pa.DataType, width: int) -> None:
        self.type = data_type
        self.boolean = pa.types.is_boolean(data_type)
        self.dtype, self.words = _layout(width)
        self.lanes = lanes
        self.values: Lane[Any] = lanes.add(self.dtype, self.words)
        self.valid: Lane[np.uint8] | None = None

    def append(self, values: pa.Array) -> None:
        count = len(values)
        if not count:
            return
        target = self.values.tail(count)
        stop = values.offset + count
        if self.boolean:
            bits = np.frombuffer(values.buffers()[1], np.uint8)
            unpacked = np.unpackbits(bits, bitorder="little", count=stop)
            target[:] = unpacked[values.offset :]
        else:
            # The buffer may be longer than its values, and by no whole number of them.
            flat = np.frombuffer(values.buffers()[1], self.dtype, stop * self.words)
            target[:] = flat[values.offset * self.words :].reshape(target.shape)
        if values.null_count and self.valid is None:
            self.valid = self.lanes.add(np.dtype(np.uint8), fill=1)
        if self.valid is not None:
            self.valid.tail(count)[:] = (
                values.is_valid().to_numpy(zero_copy_only=False) if values.null_count else 1
            )

    def gather(self, rows: NDArray[np.int64]) -> pa.Array:
        base = self.lanes.base
        if self.words == 1:
            out = np.empty(rows.size, self.dtype)
            gather(self.values.data, rows, base, out)
        else:
            out = np.empty((rows.size, self.words), self.dtype)
            gather_wide(self.values.data, rows, base, out)
        validity = None
        if self.valid is not None:
            flags = np.empty(rows.size, np.uint8)
            gather(self.valid.data, rows, base, flags)
            if not flags.all():
                validity = pa.py_buffer(np.packbits(flags, bitorder="little"))
        if self.boolean:
            out = np.packbits(out, bitorder="little")
        return pa.Array.from_buffers(self.type, rows.size, [validity, pa.py_buffer(out)])

    def expire(self, start: int) -> None:
        """Lanes are trimmed by the log."""

    def row_bytes(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.full(len(rows), self.row_bytes_most(), np.int64)

    def row_bytes_most(self) -> int:
        return self.dtype.itemsize * self.words

    def nbytes(self) -> int:
        return 0


class ArrowColumn:
    """Values of any type, in Arrow chunks; ``starts`` are their first sequence numbers.

    Neighbouring small chunks are merged when the newer is at least half as long as the older:
    many small appends then cost a logarithm of copies each, and chunks stay few. A chunk of which
    less than half is alive is cut down to that.
    """

    def __init__(self, lanes: Lanes, data_type: pa.DataType) -> None:
        self.type = data_type
        self.lanes = lanes
        self.starts: list[int] = []
        self.chunks: list[pa.Array] = []
        #: The bytes of every value, and of the largest of each chunk, or of one that was in it.
        self.sizes: Lane[np.uint32] = lanes.add(np.dtype(np.uint32))
        self.largest: list[int] = []

    def append(self, values: pa.Array) -> None:
        if not len(values):
            return
        self.starts.append(self.lanes.end - len(values))
        self.chunks.append(values)
        sizes = row_bytes(values)
        self.sizes.tail(len(values))[:] = np.minimum(sizes, _MOST_BYTES)
        self.largest.append(int(sizes.max()))
        while len(self.chunks) > 1:
            older, newer = self.chunks[-2:]
            if 2 * len(newer) < len(older) or len(older) + len(newer) > _CHUNK_ROWS:
                break
            if older.nbytes + newer.nbytes > _CHUNK_BYTES:
                break
            self.chunks[-2:] = [pa.concat_arrays([older, newer])]
            self.largest[-2:] = [max(self.largest[-2:])]
            self.starts.pop()

    def gather(self, rows: NDArray[np.int64]) -> pa.Array:
        if rows.size == 0:
            return pa.nulls(0, self.type)
        starts = np.asarray(self.starts, np.int64)
        where = np.searchsorted(starts, rows, side="right") - 1
        used = np.flatnonzero(np.bincount(where, minlength=len(starts)))
        if used.size == 1:
            return self.chunks[used[0]].take(pa.array(rows - starts[used[0]]))
        order = np.argsort(where, kind="stable")
        pieces = []
        bounds = np.searchsorted(where[order], np.append(used, used[-1] + 1))
        for chunk, (begin, stop) in zip(used, pairwise(bounds), strict=True):
            local = rows[order[begin:stop]] - starts[chunk]
            pieces.append(self.chunks[chunk].take(pa.array(local)))
        back = np.empty(rows.size, np.int64)
        back[order] = np.arange(rows.size)
        return pa.concat_arrays(pieces).take(pa.array(back))

    def expire(self, start: int) -> None:
        gone = bisect_right(self.starts, start) - 1
        if start >= self.lanes.end:
            gone = len(self.chunks)
        if gone > 0:
            del self.starts[:gone], self.chunks[:gone], self.largest[:gone]
        if self.chunks:
            alive = len(self.chunks[0]) - (start - self.starts[0])
            if 2 * alive < len(self.chunks[0]):
                self.chunks[0] = _own(self.chunks[0].slice(start - self.starts[0]))
                self.starts[0] = start

    def row_bytes(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.sizes.data[rows - self.lanes.base].astype(np.int64)

    def row_bytes_most(self) -> int:
        return max(self.largest, default=0)

    def nbytes(self) -> int:
        return sum(chunk.nbytes for chunk in self.chunks)


def _own(values: pa.Array) -> pa.Array:
    """Copy a slice, so that a few rows do not keep a whole chunk alive."""
    return pa.concat_arrays([values, values.slice(0, 0)])


def _width(data_type: pa.DataType) -> int:
    """Return the bytes of a value that a lane can hold, or 0."""
    if isinstance(data_type, pa.BaseExtensionType):
        return 0
    if pa.types.is_boolean(data_type):
        return 1
    if pa.types.is_fixed_size_binary(data_type):
        return int(data_type.byte_width)
    fixed = pa.types.is_primitive(data_type) or pa.types.is_decimal(data_type)
    return data_type.bit_width // 8 if fixed else 0


def _layout(width: int) -> tuple[np.dtype[Any], int]:
    for size in (8, 4, 2):
        if width % size == 0:
            return np.dtype(f"u{size}"), width // size
    return np.dtype("u1"), width
