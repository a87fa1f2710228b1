"""State as bytes and back: versioned, checksummed, nothing executable.

Layout: magic, version, digest of what follows, length of the header, header (JSON), then what the
stages keep (``kept.py``): one Arrow IPC stream for each list of rows, and the arrays. Indexes are
not written; they are built anew from the rows, so a snapshot is no larger than its tuples.
"""

from __future__ import annotations

import hashlib
import json
import struct
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.kept import Arrays, Loaded, Numbered, RowList
from bankfull.core.operator import State
from bankfull.core.plan import Plan
from bankfull.errors import SnapshotError
from bankfull.kernels import hashing
from bankfull.spec import digest

_MAGIC = b"bankfull"
_VERSION = 15
_HEAD = struct.Struct("<8sI16sQ")


def snapshot(state: State) -> bytes:
    """Write a state down. It must not have results pending."""
    if state.pending:
        raise SnapshotError("results are pending: finish the step before taking a snapshot")
    kept = state.keep()
    numbers: Arrays = {}
    parts = []
    for name, rows in kept.rows.items():
        numbers[name], written = _write_rows(rows)
        parts.append(written)
    header: dict[str, Any] = {**identity(state.plan), "about": kept.about, "rows": list(kept.rows)}
    for kind, arrays in (("numbers", numbers), ("arrays", kept.arrays)):
        header[kind], written = write_arrays(arrays)
        parts.append(written)
    data = json.dumps({**header, "parts": [len(part) for part in parts]}).encode()
    body = struct.pack("<Q", len(data)) + data + b"".join(parts)
    checksum = hashlib.blake2b(body, digest_size=16).digest()
    return _HEAD.pack(_MAGIC, _VERSION, checksum, len(body)) + body


def restore(plan: Plan, data: bytes, threads: int = 1) -> State:
    """Return the state that was written down; refuse what is damaged, foreign or unknown.

    It may have been written with another number of threads.
    """
    header, parts = _open(data)
    check_identity(plan, header)
    numbers = read_arrays(header["numbers"], parts[-2])
    state = State(plan, threads)
    kept = state.keep()
    rows = {
        name: _read_rows(name, kept.rows[name].schema, part, numbers[name])
        for name, part in zip(header["rows"], parts[:-2], strict=True)
    }
    arrays = read_arrays(header["arrays"], parts[-1])
    state.load(Loaded(header["about"], arrays, dict(rows)))
    return state


def identity(plan: Plan) -> dict[str, Any]:
    """Return what a state belongs to: its query, and the version of its key codes."""
    return {"query": digest(plan.query), "codes": hashing.CODES}


def check_identity(plan: Plan, header: dict[str, Any]) -> None:
    """Refuse the state of another query, or one with other key codes."""
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


def _write_rows(rows: RowList) -> tuple[NDArray[np.int64], bytes]:
    """Return the numbers of a list's rows, and the rows as bytes."""
    sink = pa.BufferOutputStream()
    numbers = [np.zeros(0, np.int64)]
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        for batch, some in rows.since(-(2**62)):
            writer.write_batch(batch)
            numbers.append(some)
    return np.concatenate(numbers), bytes(sink.getvalue())


def _read_rows(
    name: str, schema: pa.Schema, part: bytes, numbers: NDArray[np.int64]
) -> list[Numbered]:
    with pa.ipc.open_stream(part) as reader:
        if not reader.schema.equals(schema, check_metadata=False):
            raise SnapshotError(
                f"the snapshot holds other columns for {name!r}: restore it with the schema it was "
                "written with"
            )
        batches = list(reader)
    bounds = np.cumsum([0, *(batch.num_rows for batch in batches)])
    cuts = pairwise(bounds)
    return [(rows, numbers[begin:end]) for rows, (begin, end) in zip(batches, cuts, strict=True)]
