"""Joins on equal keys: tuple at a time over a whole batch, two to five streams.

Every stream keeps its tuples in arrays by sequence number: ``times``, ``codes`` (64 bits of the
key) and ``links``, the previous tuple of the same hash bucket. ``heads`` holds the newest tuple
of each bucket, the streams of one bucket side by side, so that one cache line answers both the
search in the other streams and the insertion in the own. Chains run from new to old, hence a
search ends at the first tuple below ``low``, and expiry costs nothing: whatever lies below the
oldest stored tuple is never followed.

Tuples are taken in blocks of :data:`BLOCK`. A first pass over a block finds whose turn it is and
reads what the search will begin with, so that the processor fetches it for all of them at once; a
second pass searches and inserts, tuple at a time. Nothing that the first pass has read of the hash
table is relied on: an insertion within the block may have changed it.

Several threads may run the join at once, each for a *part* of the buckets. A bucket's head and the
links of its tuples are written by the one thread that owns it, and every thread has a clock, a
block and room for results of its own. Chains, results and comparisons are those of one thread.

Reference: Gedik, Wu, Yu, Liu, *CPU Load Shedding for Binary Stream Joins*, section 3.2 (fetch,
expire, process) and 4.2 (time-ordered lists; with single values the inverted index becomes this
hash index). Deviations: a tuple is inserted after it has been processed, not before, which is the
same for two streams and natural for more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.compiler import Int64, inlined, kernel
from bankfull.kernels.exact.merge import Clock, next_turn, raise_low
from bankfull.kernels.hashing import GOLDEN
from bankfull.kernels.predicates import in_reach

#: ``links`` of a tuple whose key is null: it is stored but never found.
UNKEYED = -2
#: ``links`` of a tuple with nothing older in its bucket, ``heads`` of an empty bucket.
NOTHING = -1


#: Tuples of a block: their buckets stay in the processor's nearest cache.
BLOCK = 64


class Keyed(NamedTuple):
    """The stored tuples of the streams of one join on equality, an array a stream."""

    times: tuple[Int64, ...]
    codes: tuple[NDArray[np.uint64], ...]
    links: tuple[Int64, ...]


class Work(NamedTuple):
    """Which buckets a thread owns, and what it writes on.

    It has part ``part`` of ``parts``. ``turns[k, j]`` is the next tuple of stream j at the turn of
    the block's k-th tuple, which is of stream ``whose[k]``. ``at`` is where a search stands in
    each stream. ``out[j, k]`` receives the sequence number of stream j's member of result k,
    ``joined[k]`` its time.
    """

    part: int
    parts: int
    turns: Int64
    whose: Int64
    at: Int64
    out: Int64
    joined: Int64


class Table(NamedTuple):
    """The hash table: the newest tuple of every bucket, streams side by side.

    ``shift`` leaves as many bits of a hash as there are buckets; ``scan`` ignores the chains and
    compares with every tuple of the window, as the paper's join without an index does.
    """

    heads: Int64
    shift: np.uint64
    scan: bool


@inlined
def bucket_of(code: np.uint64, shift: np.uint64) -> Any:
    """Return the hash bucket of a key's code."""
    return np.int64((code * GOLDEN) >> shift)


@inlined
def owner_of(bucket: int, shift: np.uint64, parts: int) -> Any:
    """Return which part a bucket belongs to; parts are ranges of buckets."""
    return (bucket * parts) >> (np.int64(64) - np.int64(shift))


@inlined
def _look_ahead(
    stored: Keyed, clock: Clock, table: Table, work: Work, ahead: Int64
) -> tuple[int, Any]:
    """Find the next tuples to process, in order: those of the own part that have a key.

    ``ahead`` moves past them, and past the others between them. Returns how many there are, and a
    number that depends on everything read, so that the compiler lets it be read.
    """
    streams = len(stored.times)
    filled = 0
    read = np.int64(0)
    while filled < BLOCK:
        s, limit = next_turn(stored.times, clock, ahead)
        if s < 0:
            break
        times, codes, links = stored.times[s], stored.codes[s], stored.links[s]
        first = 1 if s == 0 else 0
        others, low, base = stored.codes[first], clock.low[first], clock.base[first]
        q, end, offset = ahead[s], clock.end[s], clock.base[s]
        while q < end and filled < BLOCK and times[q - offset] < limit:
            if links[q - offset] != UNKEYED:
                bucket = bucket_of(codes[q - offset], table.shift)
                if table.scan or owner_of(bucket, table.shift, work.parts) == work.part:
                    for j in range(streams):
                        work.turns[filled, j] = ahead[j]
                    work.turns[filled, s] = q
                    work.whose[filled] = s
                    filled += 1
                    if not table.scan:
                        newest = table.heads[bucket * streams + first]
                        read ^= np.int64(others[newest - base if newest >= low else 0])
            q += 1
        ahead[s] = q
    return filled, read


@inlined
def _pairs(
    stored: Keyed, clock: Clock, table: Table, work: Work, turn: int, count: int
) -> tuple[int, int]:
    """Write the partners of a tuple of one of two streams: follow one chain.

    Returns the new number of results, or -1 when there is no room, and the comparisons made.
    """
    s = work.whose[turn]
    j = 1 - s
    own = work.turns[turn, s]
    i = own - clock.base[s]
    t, code = stored.times[s][i], stored.codes[s][i]
    times, codes, links = stored.times[j], stored.codes[j], stored.links[j]
    base, low, scan = clock.base[j], clock.low[j], table.scan
    ahead, behind = clock.span[s], clock.span[j]
    room = work.joined.size
    x = work.turns[turn, j] - 1 if scan else table.heads[2 * bucket_of(code, table.shift) + j]
    compared = 0
    while x >= low:
        i = x - base
        compared += 1
        if codes[i] == code and not (scan and links[i] == UNKEYED):
            u = times[i]
            if in_reach(t, u, ahead, behind):
                if count == room:
                    return -1, compared
                work.out[s, count] = own
                work.out[j, count] = x
                work.joined[count] = max(t, u)
                count += 1
        x = x - 1 if scan else links[i]
    return count, compared


@inlined
def _combinations(
    stored: Keyed, clock: Clock, table: Table, work: Work, turn: int, count: int
) -> tuple[int, int]:
    """Write the results of a tuple of one of many streams: one partner from every other stream.

    Walks the chains like an odometer; ``at[j]`` is where it stands in stream j. Members must lie
    within their own window of the latest member, which makes every pair fit (ARCHITECTURE.md).
    Returns what :func:`_pairs` does.
    """
    streams = len(stored.times)
    s = work.whose[turn]
    own = work.turns[turn, s]
    i = own - clock.base[s]
    t, code = stored.times[s][i], stored.codes[s][i]
    bucket = bucket_of(code, table.shift) * streams
    at, scan = work.at, table.scan
    at[s] = own
    compared = 0
    j = 1 if s == 0 else 0
    x = work.turns[turn, j] - 1 if scan else table.heads[bucket + j]
    while True:
        times, codes, links = stored.times[j], stored.codes[j], stored.links[j]
        base, low = clock.base[j], clock.low[j]
        ahead, behind = clock.span[s], clock.span[j]
        found = False
        while x >= low:
            compared += 1
            i = x - base
            if codes[i] == code and links[i] != UNKEYED and in_reach(t, times[i], ahead, behind):
                found = True
                break
            x = x - 1 if scan else links[i]
        at[j] = x
        if found:
            deeper = j + 1 + (j + 1 == s)
            if deeper < streams:
                j = deeper
                x = work.turns[turn, j] - 1 if scan else table.heads[bucket + j]
                continue
            latest = t
            for k in range(streams):
                latest = max(latest, stored.times[k][at[k] - clock.base[k]])
            fits = True
            for k in range(streams):
                fits &= latest - stored.times[k][at[k] - clock.base[k]] <= clock.span[k]
            if fits:
                if count == work.joined.size:
                    return -1, compared
                for k in range(streams):
                    work.out[k, count] = at[k]
                work.joined[count] = latest
                count += 1
        else:
            j = j - 1 - (j - 1 == s)
            if j < 0:
                return count, compared
        x = at[j] - 1 if scan else stored.links[j][at[j] - clock.base[j]]


@kernel
def join(
    stored: Keyed, clock: Clock, table: Table, work: Work, ahead: Int64
) -> tuple[int, int, bool]:
    """Process tuples of a part in order until there are no more or the room is full.

    ``ahead`` is room for a number a stream. Returns (results, comparisons, whether the room was
    full); ``clock`` moves along. A tuple whose results do not all fit is left for the next call,
    whole.
    """
    streams = len(stored.times)
    count = 0
    compared = 0
    for j in range(streams):
        ahead[j] = clock.cursor[j]
    while True:
        filled, read = _look_ahead(stored, clock, table, work, ahead)
        work.at[0] = read
        for turn in range(filled):
            s = work.whose[turn]
            own = work.turns[turn, s]
            i = own - clock.base[s]
            t = stored.times[s][i]
            for j in range(streams):
                if j != s:
                    clock.low[j] = raise_low(
                        stored.times[j], clock.base[j], work.turns[turn, j], clock.low[j],
                        t, clock.span[j], clock.rows[j],
                    )  # fmt: skip
            if streams == 2:
                after, steps = _pairs(stored, clock, table, work, turn, count)
            else:
                after, steps = _combinations(stored, clock, table, work, turn, count)
            if after < 0:
                for j in range(streams):
                    clock.cursor[j] = work.turns[turn, j]
                return count, compared, True
            count = after
            compared += steps
            if not table.scan:
                slot = bucket_of(stored.codes[s][i], table.shift) * streams + s
                stored.links[s][i] = table.heads[slot]
                table.heads[slot] = own
        for j in range(streams):
            clock.cursor[j] = ahead[j]
        if filled < BLOCK:
            return count, compared, False


@kernel
def relink(stored: Keyed, table: Table, s: int, base: int, start: int, stop: int) -> None:
    """Build the chains of stream ``s`` anew for the tuples ``start`` to ``stop``."""
    codes, links = stored.codes[s], stored.links[s]
    for x in range(start, stop):
        i = x - base
        if links[i] != UNKEYED:
            slot = bucket_of(codes[i], table.shift) * len(stored.codes) + s
            links[i] = table.heads[slot]
            table.heads[slot] = x
