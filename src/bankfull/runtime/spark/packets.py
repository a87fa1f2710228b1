"""Record batches in binary cells: without their schema, which both ends know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from bankfull.errors import DataError

#: Columns between encode and operate. Every bucket gets one packet from every piece of input,
#: with or without rows, so that all of them learn how far time has come and (``loads``, where
#: they share a budget) how much of the input is theirs. ``sound``: the rows have been validated,
#: and all text is UTF-8.
PACKET_FIELDS = "bucket int, stream int, newest long, sound boolean, loads binary, rows binary"

#: Arrow counts the bytes of a column of cells in 32 bits.
_CELLS_BYTES = 2**31 - 1

_TIGHT = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)


def pack(rows: pa.RecordBatch) -> bytes:
    """Return the rows as bytes."""
    return rows.serialize().to_pybytes()  # type: ignore[no-any-return]


def pack_cells(batches: Sequence[pa.RecordBatch]) -> pa.Array:
    """Return the rows of each batch as bytes, written once; of a batch without rows, null.

    >>> some = pa.RecordBatch.from_pydict({"n": [1, 2]})
    >>> cells = pack_cells([some, some.slice(0, 0)])
    >>> unpack(cells[0].as_buffer(), some.schema) == some, cells[1].is_valid
    (True, False)
    """
    sizes = [pa.ipc.get_record_batch_size(rows) if rows.num_rows else 0 for rows in batches]
    offsets = np.cumsum([0, *sizes])
    if offsets[-1] > _CELLS_BYTES:
        raise DataError(
            f"a row and its copies for all buckets take {offsets[-1]} bytes, more than the "
            f"{_CELLS_BYTES} that travel at once: give fewer buckets=, or smaller rows"
        )
    data = pa.allocate_buffer(int(offsets[-1]))
    writer = pa.FixedSizeBufferWriter(data)
    for rows in batches:
        if rows.num_rows:
            writer.write(rows.serialize())
    assert writer.tell() == offsets[-1], "cells are as large as Arrow said"
    writer.close()
    filled = np.packbits(np.array(sizes) > 0, bitorder="little")
    buffers = [pa.py_buffer(filled), pa.py_buffer(offsets.astype(np.int32)), data]
    return pa.Array.from_buffers(pa.binary(), len(sizes), buffers)


def unpack(data: bytes | pa.Buffer, schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows that :func:`pack` wrote."""
    return pa.ipc.read_record_batch(pa.py_buffer(data), schema)


def pack_tight(rows: pa.RecordBatch) -> bytes:
    """Return the rows as fewer bytes, for values that are copied many times on their way."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=_TIGHT) as stream:
        stream.write_batch(rows)
    return sink.getvalue().to_pybytes()  # type: ignore[no-any-return]


def unpack_tight(data: bytes) -> pa.RecordBatch:
    """Return the rows that :func:`pack_tight` wrote."""
    with pa.ipc.open_stream(data) as stream:
        return stream.read_next_batch()


def cut_by_bytes(rows: pa.RecordBatch, most: int) -> Iterator[pa.RecordBatch]:
    """Cut rows into pieces of about this many bytes, twice as many at most; a row is never cut.

    >>> rows = pa.RecordBatch.from_pydict({"text": ["x" * 1000] * 10})
    >>> [piece.num_rows for piece in cut_by_bytes(rows, 4100)]
    [4, 4, 2]
    >>> rows = pa.RecordBatch.from_pydict({"text": ["x"] * 996 + ["x" * 1000] * 4})
    >>> [piece.num_rows for piece in cut_by_bytes(rows, 2100)]
    [233, 233, 233, 233, 32, 32, 4]
    """
    each = max(1, rows.num_rows * most // max(1, rows.nbytes))
    for start in range(0, rows.num_rows, each):
        piece = rows.slice(start, each)
        # Large rows may stand together: then a piece of as many rows as the others is larger.
        uneven = piece.num_rows > 1 and piece.nbytes > 2 * most
        yield from cut_by_bytes(piece, most) if uneven else (piece,)


def conform(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Give rows exactly this schema (time zones and nullability may be spelled differently)."""
    columns = [
        values if values.type == field.type else values.cast(field.type)
        for values, field in zip(rows.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
