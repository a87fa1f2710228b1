"""A snapshot of the operator, and the results that were made and not read yet, as bytes."""

from __future__ import annotations

import hashlib
import struct

import pyarrow as pa

from bankfull.errors import SnapshotError

_MAGIC = b"bankfull results"
_HEAD = struct.Struct("<16s16sQ")


def join_parts(operator: bytes, waiting: list[pa.RecordBatch], schema: pa.Schema) -> bytes:
    """Put the results in front of the operator's snapshot; without any it stays as it is."""
    if not waiting:
        return operator
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        for rows in waiting:
            writer.write_batch(rows)
    results: bytes = sink.getvalue().to_pybytes()
    digest = hashlib.blake2b(results, digest_size=16).digest()
    return _HEAD.pack(_MAGIC, digest, len(results)) + results + operator


def split_parts(data: bytes, schema: pa.Schema) -> tuple[bytes, list[pa.RecordBatch]]:
    """Return the operator's snapshot and the results that :func:`join_parts` put in front."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise SnapshotError(
            f"a {type(data).__name__} is no snapshot: give the bytes that snapshot() returned"
        )
    data = bytes(data)
    if not data.startswith(_MAGIC):
        return data, []
    if len(data) < _HEAD.size:
        raise SnapshotError("the snapshot is cut short: take another one")
    _, digest, length = _HEAD.unpack_from(data)
    results = data[_HEAD.size : _HEAD.size + length]
    if hashlib.blake2b(results, digest_size=16).digest() != digest:
        raise SnapshotError("the snapshot's results are damaged: take another one")
    with pa.ipc.open_stream(results) as reader:
        if not reader.schema.equals(schema):
            raise SnapshotError("the snapshot is of a join with other output columns")
        return data[_HEAD.size + length :], list(reader)
