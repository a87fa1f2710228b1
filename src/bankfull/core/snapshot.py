"""State as bytes and back: versioned, checksummed, nothing executable.

Layout: magic, version, digest of what follows, length of the header, header (JSON), then one
Arrow IPC stream a stream of the query with its stored and its waiting rows. Indexes are not
written; they are built anew from the rows, so a snapshot is no larger than its tuples.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.ledger import Ledger
from bankfull.core.log import Log, counted_rows
from bankfull.core.named import Arrays
from bankfull.core.operator import Input, State
from bankfull.core.plan import Plan, StreamPlan
from bankfull.core.times import to_units
from bankfull.errors import SnapshotError
from bankfull.kernels import hashing
from bankfull.spec import digest

_MAGIC = b"bankfull"
_VERSION = 6
_HEAD = struct.Struct("<8sI16sQ")


def snapshot(state: State) -> bytes:
    """Write a state down. It must not have results pending."""
    described = describe(state)
    parts = [
        _write_rows(source, log) for source, log in zip(state.inputs, _logs(state), strict=True)
    ]
    if state.shedding is not None:
        described["arrays"], written = write_arrays(state.shedding.arrays())
        parts.append(written)
    header = json.dumps({**described, "parts": [len(part) for part in parts]}).encode()
    body = struct.pack("<Q", len(header)) + header + b"".join(parts)
    checksum = hashlib.blake2b(body, digest_size=16).digest()
    return _HEAD.pack(_MAGIC, _VERSION, checksum, len(body)) + body


def restore(plan: Plan, data: bytes) -> State:
    """Return the state that was written down; refuse what is damaged, foreign or unknown."""
    header, parts = _open(data)
    held, waiting = [], []
    for stream, description, part in zip(plan.streams, header["streams"], parts, strict=False):
        rows = _read_rows(stream, part)
        held.append(rows.slice(0, description["stored"]))
        waiting.append(rows.slice(description["stored"]))
    if plan.shed is None:
        return revive(plan, header, [[rows] for rows in held], waiting)
    arrays = read_arrays(header["arrays"], parts[-1])
    return _revive_shedding(plan, header, held, waiting, arrays)


def describe(state: State) -> dict[str, Any]:
    """Return everything but the rows, as plain data."""
    if state.pending:
        raise SnapshotError("results are pending: finish the step before taking a snapshot")
    if state.shedding is not None:
        state.shedding.tidy()
    return {
        "query": digest(state.plan.query),
        "codes": hashing.CODES,
        "ledger": state.ledger.as_dict(),
        "streams": [
            {
                "newest": source.newest,
                "heard": source.heard,
                "promised": source.promised,
                "stored": log.stored,
                **log.describe(),
            }
            for source, log in zip(state.inputs, _logs(state), strict=True)
        ],
        "cursors": [[int(c) for c in index.clock.cursor] for index in state.indexes],
        "tables": [index.bits for index in state.indexes],
    }


def _logs(state: State) -> list[Log]:
    """Return where the payload of every stream lies."""
    if state.shedding is not None:
        return state.shedding.logs
    return [source.log for source in state.inputs]


def _revive_shedding(
    plan: Plan,
    header: dict[str, Any],
    held: list[pa.RecordBatch],
    waiting: list[pa.RecordBatch],
    arrays: Arrays,
) -> State:
    """Return a state under a memory budget, which decides as the one written down would have."""
    _check_query(plan, header)
    state = State(plan)
    assert state.shedding is not None
    for position, (source, stream) in enumerate(zip(state.inputs, header["streams"], strict=True)):
        log = Log(source.plan, stream["first"])
        log.append(held[position], _times(source, held[position]))
        state.shedding.logs[position] = log
        _resume(source, stream, waiting[position])
    state.shedding.load(arrays)
    state.ledger = Ledger.from_dict(header["ledger"])
    return state


def revive(
    plan: Plan,
    header: dict[str, Any],
    held: Sequence[Iterable[pa.RecordBatch]],
    waiting: list[pa.RecordBatch],
) -> State:
    """Return the state that ``header`` describes, with these stored and waiting rows.

    Stored rows come in pieces, which are taken in one after the other: together they may be too
    large for one batch.
    """
    state = State(plan, [stream["first"] for stream in header["streams"]])
    catch_up(state, header, held, waiting)
    return state


def catch_up(
    state: State,
    header: dict[str, Any],
    missed: Sequence[Iterable[pa.RecordBatch]],
    waiting: list[pa.RecordBatch],
) -> None:
    """Bring an earlier state of the same operator to where ``header`` stands.

    ``missed`` are the rows that each log has taken in since, in pieces, in its order. Nothing is
    joined and nothing comes out: what they produced came out when they were stored. The cost is
    that of the missed rows, whatever the window.
    """
    _check_query(state.plan, header)
    streams = header["streams"]
    for position, (source, pieces) in enumerate(zip(state.inputs, missed, strict=True)):
        for rows in pieces:
            if rows.num_rows:
                source.log.append(rows, _times(source, rows))
                source.stored += counted_rows(source.plan, rows)
                state.index_rows(position, rows)
    tables = header["tables"]
    for index, cursors, bits in zip(state.indexes, header["cursors"], tables, strict=True):
        index.resize(bits)
        index.link(cursors)
    for position, (source, stream) in enumerate(zip(state.inputs, streams, strict=True)):
        before = source.log.lanes.start
        source.log.resume(stream)
        state.expire_rows(position, before)
        _resume(source, stream, waiting[position])
    state.ledger = Ledger.from_dict(header["ledger"])


def _resume(source: Input, stream: dict[str, Any], waiting: pa.RecordBatch) -> None:
    """Let a stream stand where it stood, with these rows waiting."""
    source.newest, source.promised = stream["newest"], stream["promised"]
    source.heard = stream["heard"]
    if source.reorder is not None:
        source.reorder.rows, source.reorder.times = waiting, _times(source, waiting)


def _check_query(plan: Plan, header: dict[str, Any]) -> None:
    if header["query"] != digest(plan.query):
        raise SnapshotError(
            "the state belongs to another query: restore it with the query that wrote it, "
            "or start this one afresh"
        )
    if header.get("codes") != hashing.CODES:
        raise SnapshotError(
            f"the state has key codes of version {header.get('codes')}, this bankfull has "
            f"{hashing.CODES}: go on with the version that wrote it, or start afresh"
        )


def write_arrays(arrays: Arrays) -> tuple[dict[str, Any], bytes]:
    """Return what arrays are like, as plain data, and their bytes."""
    about = {name: [array.dtype.str, list(array.shape)] for name, array in arrays.items()}
    return about, b"".join(np.ascontiguousarray(array).tobytes() for array in arrays.values())


def read_arrays(about: dict[str, Any], data: bytes) -> Arrays:
    """Return the arrays that :func:`write_arrays` wrote."""
    arrays, position = {}, 0
    for name, (kind, shape) in about.items():
        dtype = np.dtype(kind)
        count = int(np.prod(shape))
        flat = np.frombuffer(data, dtype, count, position)
        position += count * dtype.itemsize
        arrays[name] = flat.reshape(shape).copy()
    return arrays


def _open(data: bytes) -> tuple[dict[str, Any], list[bytes]]:
    if len(data) < _HEAD.size:
        raise SnapshotError(f"{len(data)} bytes are too few for a snapshot: it was cut off")
    magic, version, checksum, length = _HEAD.unpack_from(data)
    if magic != _MAGIC:
        raise SnapshotError("these bytes are not a bankfull snapshot: check where they come from")
    if version != _VERSION:
        raise SnapshotError(
            f"snapshot version {version} is unknown, this bankfull reads version {_VERSION}: "
            "restore it with the version that wrote it, or start the query afresh"
        )
    body = data[_HEAD.size :]
    if len(body) != length or hashlib.blake2b(body, digest_size=16).digest() != checksum:
        raise SnapshotError(
            "the snapshot is damaged (its checksum does not match): use an earlier one"
        )
    (header_length,) = struct.unpack_from("<Q", body)
    header = json.loads(body[8 : 8 + header_length])
    parts, position = [], 8 + header_length
    for size in header["parts"]:
        parts.append(body[position : position + size])
        position += size
    return header, parts


def _write_rows(source: Input, log: Log) -> bytes:
    lanes = log.lanes
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, source.plan.schema) as writer:
        writer.write_batch(log.rows(lanes.start, lanes.end))
        if source.reorder is not None:
            writer.write_batch(source.reorder.rows)
    return bytes(sink.getvalue())


def _read_rows(stream: StreamPlan, part: bytes) -> pa.RecordBatch:
    with pa.ipc.open_stream(part) as reader:
        if not reader.schema.equals(stream.schema, check_metadata=False):
            raise SnapshotError(
                f"the snapshot holds other columns for stream {stream.name!r}: restore it "
                "with the schema it was written with"
            )
        return pa.concat_batches(list(reader))


def _times(source: Input, rows: pa.RecordBatch) -> NDArray[np.int64]:
    times, _ = to_units(rows.column(source.plan.time), source.plan.scale)
    return times
