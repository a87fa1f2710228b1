"""What has changed in named arrays since the last commit, as bytes; and arrays from such bytes.

Arrays are compared block by block, by a code of each block's content, so that nothing but the codes
has to be remembered (a sixty-fourth of the arrays). An array that has grown, or of which most has
changed, is written whole.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.kept import Arrays
from bankfull.errors import SnapshotError
from bankfull.kernels.blocks import BLOCK_BYTES, block_codes

_HEAD = struct.Struct("<QQ")
_CODEC = "lz4"


@dataclass
class Known:
    """An array as it was last written: its type and shape, and a code of each block."""

    kind: str
    shape: list[int]
    codes: NDArray[np.uint64]


def known(arrays: Arrays) -> dict[str, Known]:
    """Return what must be remembered to tell what changes from now on."""
    return {
        name: Known(array.dtype.str, list(array.shape), block_codes(_bytes_of(array)))
        for name, array in arrays.items()
    }


def written(arrays: Arrays, before: dict[str, Known]) -> tuple[bytes, dict[str, Known]]:
    """Return what has changed since ``before``, and what is known afterwards.

    >>> numbers = np.zeros(1000)
    >>> whole, then = written({"a": numbers}, {})
    >>> numbers[7] = 1.0
    >>> change, _ = written({"a": numbers}, then)
    >>> float(applied({"a": np.zeros(1000)}, change)["a"].sum())
    1.0
    """
    after = known(arrays)
    about: dict[str, Any] = {}
    parts: list[NDArray[np.uint8]] = []
    for name, array in arrays.items():
        blocks, data = _changed(before.get(name), after[name]), _bytes_of(array)
        about[name] = [after[name].kind, after[name].shape, None]
        if blocks is None:
            parts.append(data)
        else:
            about[name][2] = blocks.tolist()
            parts += [data[k * BLOCK_BYTES : (k + 1) * BLOCK_BYTES] for k in blocks]
    header = json.dumps(about, separators=(",", ":")).encode()
    body = header + b"".join(part.tobytes() for part in parts)
    packed = pa.compress(body, codec=_CODEC, asbytes=True)
    return _HEAD.pack(len(header), len(body)) + packed, after


def _changed(old: Known | None, new: Known) -> NDArray[np.int64] | None:
    """Return the blocks that differ; None where the whole array is to be written."""
    if old is None or (old.kind, old.shape) != (new.kind, new.shape):
        return None
    blocks = np.flatnonzero(old.codes != new.codes)
    return blocks if 2 * blocks.size <= new.codes.size else None


def applied(arrays: Arrays, data: bytes) -> Arrays:
    """Return the arrays after a change; those given are changed in place, or replaced."""
    if len(data) < _HEAD.size:
        raise SnapshotError(
            "the checkpoint is damaged (a change of the state is missing): restart from a copy of "
            "it, or with a new checkpoint location"
        )
    length, size = _HEAD.unpack_from(data)
    body = pa.decompress(data[_HEAD.size :], size, codec=_CODEC, asbytes=True)
    about, position = json.loads(body[:length]), length
    found: Arrays = {}
    for name, (kind, shape, blocks) in about.items():
        if blocks is None:
            flat = np.frombuffer(body, np.dtype(kind), int(np.prod(shape)), position)
            found[name] = flat.reshape(shape).copy()
            position += flat.nbytes
            continue
        found[name] = arrays[name]
        target = _bytes_of(found[name])
        for block in blocks:
            place = target[block * BLOCK_BYTES : (block + 1) * BLOCK_BYTES]
            place[:] = np.frombuffer(body, np.uint8, place.size, position)
            position += place.size
    return found


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the bytes of an array, not a copy of them."""
    assert array.flags.c_contiguous
    return array.view(np.ndarray).reshape(-1).view(np.uint8)
