"""Joins on equal keys: tuple at a time over a whole batch, two to five streams.

Every stream keeps its tuples in arrays by sequence number: ``times``, ``codes`` (64 bits of the
key) and ``links``, the previous tuple of the same hash bucket. ``heads`` holds the newest tuple
of each bucket, the streams of one bucket side by side, so that one cache line answers both the
search in the other streams and the insertion in the own. Chains run from new to old, hence a
search ends at the first tuple below ``low``, and expiry costs nothing: whatever lies below the
oldest stored tuple is never followed.

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
from bankfull.kernels.exact.merge import Clock, next_stream, raise_low
from bankfull.kernels.hashing import GOLDEN
from bankfull.kernels.predicates import in_reach

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


@inlined
def bucket_of(code: np.uint64, shift: np.uint64) -> Any:
    """Return the hash bucket of a key's code."""
    return np.int64((code * GOLDEN) >> shift)


@inlined
def _partners(
    own: int,
    t: int,
    code: np.uint64,
    ahead: int,
    other: Keyed,
    base: int,
    low: int,
    behind: int,
    x: int,
    scan: bool,
    mine: Int64,
    theirs: Int64,
    joined: Int64,
    count: int,
) -> tuple[int, int]:
    """Follow the chain from ``x`` and write the partners of tuple ``own``.

    ``behind`` is the window of the other stream (partners in the past), ``ahead`` the own one.
    Returns the new number of results, or -1 when there is no room, and the comparisons made.
    """
    compared = 0
    while x >= low:
        i = x - base
        compared += 1
        if other.codes[i] == code and not (scan and other.links[i] == UNKEYED):
            u = other.times[i]
            if in_reach(t, u, ahead, behind):
                if count == joined.size:
                    return -1, compared
                mine[count] = own
                theirs[count] = x
                joined[count] = max(t, u)
                count += 1
        x = x - 1 if scan else other.links[i]
    return count, compared


@kernel
def join_pairs(
    left: Keyed, right: Keyed, clock: Clock, table: Table, out: Int64, joined: Int64
) -> tuple[int, int, bool]:
    """Process tuples of two streams in order until none may be processed or ``out`` is full.

    ``out[j, k]`` receives the sequence number of stream j's member of result k, ``joined[k]`` its
    time. Returns (results, comparisons, whether ``out`` was full); ``clock`` moves along. A tuple
    whose results do not all fit is left for the next call, whole.
    """
    heads, shift, scan = table.heads, table.shift, table.scan
    out_left, out_right = out[0], out[1]
    span_left, span_right = clock.span[0], clock.span[1]
    base_left, base_right = clock.base[0], clock.base[1]
    a, b = clock.cursor[0], clock.cursor[1]
    end_left, end_right = clock.end[0], clock.end[1]
    rows_left, rows_right = clock.rows[0], clock.rows[1]
    low_left, low_right = clock.low[0], clock.low[1]
    left_first = clock.rank[0] < clock.rank[1]
    count = 0
    compared = 0
    full = False
    while a < end_left or b < end_right:
        from_left = b >= end_right
        if not from_left and a < end_left:
            ahead = right.times[b - base_right] - left.times[a - base_left]
            from_left = ahead > 0 or (ahead == 0 and left_first)
        if from_left:
            i = a - base_left
            t = left.times[i]
            if left.links[i] != UNKEYED:
                code = left.codes[i]
                low_right = raise_low(
                    right.times, base_right, b, low_right, t, span_right, rows_right
                )
                bucket = 2 * bucket_of(code, shift)
                x = b - 1 if scan else heads[bucket + 1]
                after, steps = _partners(
                    a, t, code, span_left, right, base_right, low_right, span_right,
                    x, scan, out_left, out_right, joined, count,
                )  # fmt: skip
                if after < 0:
                    full = True
                    break
                count = after
                compared += steps
                if not scan:
                    left.links[i] = heads[bucket]
                    heads[bucket] = a
            a += 1
        else:
            i = b - base_right
            t = right.times[i]
            if right.links[i] != UNKEYED:
                code = right.codes[i]
                low_left = raise_low(left.times, base_left, a, low_left, t, span_left, rows_left)
                bucket = 2 * bucket_of(code, shift)
                x = a - 1 if scan else heads[bucket]
                after, steps = _partners(
                    b, t, code, span_right, left, base_left, low_left, span_left,
                    x, scan, out_right, out_left, joined, count,
                )  # fmt: skip
                if after < 0:
                    full = True
                    break
                count = after
                compared += steps
                if not scan:
                    right.links[i] = heads[bucket + 1]
                    heads[bucket + 1] = b
            b += 1
    clock.cursor[0], clock.cursor[1] = a, b
    clock.low[0], clock.low[1] = low_left, low_right
    return count, compared, full


@inlined
def _newest(j: int, bucket: int, streams: int, table: Table, clock: Clock) -> Any:
    """Return the newest candidate of stream j."""
    return clock.cursor[j] - 1 if table.scan else table.heads[bucket * streams + j]


@inlined
def _combinations(
    times: tuple[Int64, ...],
    codes: tuple[NDArray[np.uint64], ...],
    links: tuple[Int64, ...],
    clock: Clock,
    table: Table,
    s: int,
    at: Int64,
    out: Int64,
    joined: Int64,
    count: int,
) -> tuple[int, int]:
    """Find one partner from every other stream, for the current tuple of stream ``s``.

    Walks the chains like an odometer; ``at[j]`` is where it stands in stream j. Members must lie
    within their own window of the latest member, which makes every pair fit (ARCHITECTURE.md).
    """
    streams = len(times)
    own = clock.cursor[s]
    t = times[s][own - clock.base[s]]
    code = codes[s][own - clock.base[s]]
    bucket = bucket_of(code, table.shift)
    at[s] = own
    compared = 0
    j = 1 if s == 0 else 0
    at[j] = _newest(j, bucket, streams, table, clock)
    while True:
        x = at[j]
        found = False
        while x >= clock.low[j] and not found:
            compared += 1
            i = x - clock.base[j]
            u = times[j][i]
            fits = in_reach(t, u, clock.span[s], clock.span[j])
            found = fits and codes[j][i] == code and links[j][i] != UNKEYED
            if not found:
                x = x - 1 if table.scan else links[j][i]
        at[j] = x
        if found:
            deeper = j + 1 + (j + 1 == s)
            if deeper < streams:
                j = deeper
                at[j] = _newest(j, bucket, streams, table, clock)
                continue
            latest = t
            for k in range(streams):
                latest = max(latest, times[k][at[k] - clock.base[k]])
            fits = True
            for k in range(streams):
                fits &= latest - times[k][at[k] - clock.base[k]] <= clock.span[k]
            if fits:
                if count == joined.size:
                    return -1, compared
                for k in range(streams):
                    out[k, count] = at[k]
                joined[count] = latest
                count += 1
        else:
            j = j - 1 - (j - 1 == s)
            if j < 0:
                return count, compared
        at[j] = at[j] - 1 if table.scan else links[j][at[j] - clock.base[j]]


@kernel
def join_many(
    times: tuple[Int64, ...],
    codes: tuple[NDArray[np.uint64], ...],
    links: tuple[Int64, ...],
    clock: Clock,
    table: Table,
    out: Int64,
    joined: Int64,
    at: Int64,
) -> tuple[int, int, bool]:
    """Like :func:`join_pairs` for three and more streams; ``at`` is room for a number each."""
    streams = len(times)
    count = 0
    compared = 0
    while True:
        s = next_stream(times, clock)
        if s < 0:
            return count, compared, False
        own = clock.cursor[s]
        i = own - clock.base[s]
        t = times[s][i]
        if links[s][i] != UNKEYED:
            for j in range(streams):
                if j != s:
                    clock.low[j] = raise_low(
                        times[j],
                        clock.base[j],
                        clock.cursor[j],
                        clock.low[j],
                        t,
                        clock.span[j],
                        clock.rows[j],
                    )
            after, steps = _combinations(
                times, codes, links, clock, table, s, at, out, joined, count
            )
            if after < 0:
                return count, compared, True
            count = after
            compared += steps
            if not table.scan:
                slot = bucket_of(codes[s][i], table.shift) * streams + s
                links[s][i] = table.heads[slot]
                table.heads[slot] = own
        clock.cursor[s] = own + 1


@kernel
def relink(
    side: Keyed, table: Table, s: int, streams: int, base: int, start: int, stop: int
) -> None:
    """Build the chains of stream ``s`` anew for the tuples ``start`` to ``stop``."""
    for x in range(start, stop):
        i = x - base
        if side.links[i] != UNKEYED:
            slot = bucket_of(side.codes[i], table.shift) * streams + s
            side.links[i] = table.heads[slot]
            table.heads[slot] = x
