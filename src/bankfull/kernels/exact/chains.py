"""The tuples of a log in lists by key: the newest of a key, and from each tuple the next older.

Every stream keeps its tuples in arrays by sequence number: ``times``, ``codes`` (64 bits of the
key) and ``links``, the previous tuple of the same hash bucket. ``heads`` holds the newest tuple
of each bucket, the streams of one bucket side by side, so that one cache line answers both the
search in the other streams and the insertion in the own. Chains run from new to old, hence a
search ends at the first tuple below ``low``, and expiry costs nothing: whatever lies below the
oldest stored tuple is never followed.

Several threads may run a join at once, each for a *part* of the buckets. A bucket's head and the
links of its tuples are written by the one thread that owns it. Chains are those of one thread.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.compiler import Int64, inlined, kernel
from bankfull.kernels.hashing import GOLDEN

#: ``links`` of a tuple whose key is null: it is stored but never found.
UNKEYED = -2
#: ``links`` of a tuple with nothing older in its bucket, ``heads`` of an empty bucket.
NOTHING = -1


class Keyed(NamedTuple):
    """The stored tuples of one stream, as one join on equality sees them."""

    times: Int64
    codes: NDArray[np.uint64]
    links: Int64


class Table(NamedTuple):
    """The hash table: the newest tuple of every bucket, streams side by side.

    ``shift`` leaves as many bits of a hash as there are buckets; ``scan`` ignores the chains and
    compares with every tuple of the window, as the paper's join without an index does.
    """

    heads: Int64
    shift: np.uint64
    scan: bool


class Part(NamedTuple):
    """Which buckets a thread owns: the ``number``-th of ``parts`` ranges of them."""

    number: int
    parts: int


@inlined
def bucket_of(code: np.uint64, shift: np.uint64) -> Any:
    """Return the hash bucket of a key's code."""
    return np.int64((code * GOLDEN) >> shift)


@inlined
def is_own(bucket: int, table: Table, part: Part) -> bool:
    """Tell whether a bucket belongs to a part; one thread owns them all."""
    bits = np.int64(64) - np.int64(table.shift)
    return part.parts == 1 or (bucket * part.parts) >> bits == part.number


@inlined
def own_range(table: Table, part: Part) -> tuple[Any, Any]:
    """Return the first bucket of a part, and how many it has."""
    bits = np.int64(64) - np.int64(table.shift)
    first = (np.int64(part.number) << bits) // part.parts
    return first, np.uint64(((np.int64(part.number + 1) << bits) // part.parts) - first)


@inlined
def newest(table: Table, slot: int, end: int) -> Any:
    """Return the newest candidate of a stream and bucket; ``end`` is one past the stream's last."""
    return end - 1 if table.scan else table.heads[slot]


@inlined
def older(links: Int64, i: int, x: int, scan: bool) -> Any:
    """Return the candidate after tuple ``x``, which is in row ``i``."""
    return x - 1 if scan else links[i]


@inlined
def insert(own: int, links: Int64, i: int, table: Table, slot: int) -> None:
    """Make a tuple the newest of its stream and bucket."""
    if not table.scan:
        links[i] = table.heads[slot]
        table.heads[slot] = own


@kernel
def relink(
    side: Keyed, table: Table, s: int, streams: int, base: int, start: int, stop: int
) -> None:
    """Build the chains of stream ``s`` anew for the tuples ``start`` to ``stop``."""
    for x in range(start, stop):
        i = x - base
        if side.links[i] != UNKEYED:
            insert(x, side.links, i, table, bucket_of(side.codes[i], table.shift) * streams + s)
