"""State as bytes and back: versioned, checksummed, nothing executable.

Layout: magic, version, digest of what follows, length of the header, header (JSON), then one
Arrow IPC stream a stream of the query with its stored and its waiting rows. Indexes are not
written; they are built anew from the rows, so a snapshot is no larger than its tuples.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

import numpy as np
import pyarrow as pa

from bankfull.core.ledger import Ledger
from bankfull.core.log import Pane
from bankfull.core.operator import Input, State
from bankfull.core.plan import Plan
from bankfull.core.times import to_units
from bankfull.errors import SnapshotError
from bankfull.spec import digest

_MAGIC = b"bankfull"
_VERSION = 1
_HEAD = struct.Struct("<8sI16sQ")


def snapshot(state: State) -> bytes:
    """Write a state down. It must not have results pending."""
    if state.pending:
        raise SnapshotError("results are pending: finish the step before taking a snapshot")
    parts = [_write_rows(source) for source in state.inputs]
    header = json.dumps(
        {
            "query": digest(state.plan.query),
            "ledger": state.ledger.as_dict(),
            "streams": [_describe(source) for source in state.inputs],
            "cursors": [[int(c) for c in index.clock.cursor] for index in state.indexes],
            "parts": [len(part) for part in parts],
        }
    ).encode()
    body = struct.pack("<Q", len(header)) + header + b"".join(parts)
    checksum = hashlib.blake2b(body, digest_size=16).digest()
    return _HEAD.pack(_MAGIC, _VERSION, checksum, len(body)) + body


def restore(plan: Plan, data: bytes) -> State:
    """Return the state that was written down; refuse what is damaged, foreign or unknown."""
    header, parts = _open(plan, data)
    streams = header["streams"]
    state = State(plan, [stream["first"] for stream in streams])
    for source, stream, part in zip(state.inputs, streams, parts, strict=True):
        _read_rows(source, stream, part)
    for index, cursors in zip(state.indexes, header["cursors"], strict=True):
        index.clock.cursor[:] = cursors
        index.rebuild()
    state.ledger = Ledger.from_dict(header["ledger"])
    return state


def _open(plan: Plan, data: bytes) -> tuple[dict[str, Any], list[bytes]]:
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
    if header["query"] != digest(plan.query):
        raise SnapshotError(
            "the snapshot belongs to another query: restore it with the query that wrote it, "
            "or start this one afresh"
        )
    parts, position = [], 8 + header_length
    for size in header["parts"]:
        parts.append(body[position : position + size])
        position += size
    return header, parts


def _describe(source: Input) -> dict[str, Any]:
    log = source.log
    return {
        "first": log.lanes.start,
        "stored": log.stored,
        "newest": source.newest,
        "promised": source.promised,
        "log_newest": log._newest,
        "pane": log._pane,
        "panes": [[pane.first, pane.latest] for pane in log.panes],
    }


def _write_rows(source: Input) -> bytes:
    lanes = source.log.lanes
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, source.plan.schema) as writer:
        writer.write_batch(source.log.rows(lanes.start, lanes.end))
        if source.reorder is not None:
            writer.write_batch(source.reorder.rows)
    return bytes(sink.getvalue())


def _read_rows(source: Input, stream: dict[str, Any], part: bytes) -> None:
    with pa.ipc.open_stream(part) as reader:
        if not reader.schema.equals(source.plan.schema, check_metadata=False):
            raise SnapshotError(
                f"the snapshot holds other columns for stream {source.plan.name!r}: restore it "
                "with the schema it was written with"
            )
        batches = list(reader)
    stored = [batch for batch in batches if batch.num_rows]
    rows = pa.Table.from_batches(stored, source.plan.schema).combine_chunks()
    held, waiting = rows.slice(0, stream["stored"]), rows.slice(stream["stored"])
    if held.num_rows:
        source.log.append(*_timed(source, held))
    if source.reorder is not None and waiting.num_rows:
        source.reorder.rows, source.reorder.times = _timed(source, waiting)
    source.newest, source.promised = stream["newest"], stream["promised"]
    source.log._newest, source.log._pane = stream["log_newest"], stream["pane"]
    source.log.panes.clear()
    source.log.panes.extend(Pane(first, latest) for first, latest in stream["panes"])


def _timed(source: Input, table: pa.Table) -> tuple[pa.RecordBatch, np.ndarray[Any, Any]]:
    rows = table.to_batches()[0]
    times, _ = to_units(rows.column(source.plan.time), source.plan.scale)
    return rows, times
