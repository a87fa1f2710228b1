"""Joins on equal keys of two streams: tuple at a time over a whole batch.

Every thread has a clock and room for results of its own, and processes the tuples of its own
buckets (``chains.py``). Results and comparisons are those of one thread.

This loop is for two streams, ``multijoin.py`` has one for any number: with the arrays of either
stream known when it is compiled, two streams take half the time (``docs/decisions/0024``).

Reference: Gedik, Wu, Yu, Liu, *CPU Load Shedding for Binary Stream Joins*, section 3.2 (fetch,
expire, process) and 4.2 (time-ordered lists; with single values the inverted index becomes this
hash index). Deviations: a tuple is inserted after it has been processed, not before, which is the
same for two streams and natural for more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bankfull.kernels.compiler import Int64, inlined, kernel
from bankfull.kernels.exact.chains import (
    UNKEYED,
    Keyed,
    Part,
    Table,
    bucket_of,
    insert,
    newest,
    own_range,
)
from bankfull.kernels.exact.equality import compare
from bankfull.kernels.exact.merge import UNBOUNDED, Clock, raise_low
from bankfull.kernels.probes.selection import counts_places, is_dropped, settle

#: Tuples of a stream that are looked at ahead of their turn; small enough for the nearest cache.
AHEAD = 64


@inlined
def _look_ahead(
    side: Keyed, base: int, start: int, end: int, other: Keyed, other_base: int, other_low: int,
    place: int, table: Table, part: Part, turns: Int64,
) -> tuple[int, int, Any]:  # fmt: skip
    """Write into ``turns`` the next tuples of one of two streams that have a key and are own.

    ``place`` is that of the other stream in a bucket. What a search of these tuples begins with is
    read, first all buckets, then all candidates, so that the processor fetches it for all of them
    at once; it is not relied on, as it may have changed when their turn comes. Returns how many
    there are, where to look on, and a number that depends on all that was read, so that the
    compiler lets it be read.
    """
    filled = 0
    first, width = own_range(table, part)
    while filled == 0 and start < end:
        stop = min(end, start + turns.size // 2)
        for q in range(start, stop):
            bucket = bucket_of(side.codes[q - base], table.shift)
            turns[filled] = q
            # An addition in place of a branch, which no processor could foresee.
            filled += (side.links[q - base] != UNKEYED) & (np.uint64(bucket - first) < width)
        start = stop
    read = np.uint64(0)
    if not table.scan:
        rows = turns[turns.size // 2 :]
        for k in range(filled):
            x = table.heads[2 * bucket_of(side.codes[turns[k] - base], table.shift) + place]
            rows[k] = (x - other_base) * (x >= other_low)
        for k in range(filled):
            i = rows[k]
            read ^= other.codes[i] ^ np.uint64(other.times[i] ^ other.links[i])
    return filled, start, np.int64(read)


@inlined
def _come_before(times: Int64, base: int, x: int, end: int, t: int, first: bool) -> int:
    """Return the first tuple from ``x`` on that comes after a tuple of time ``t``.

    At equal times those of the stream come ``first``, or not.
    """
    while x < end and (times[x - base] < t or (first and times[x - base] == t)):
        x += 1
    return x


class Side(NamedTuple):
    """One of two streams as a call finds it; see ``merge.Clock``. ``first``: before the other."""

    stored: Keyed
    base: int
    end: int
    span: int
    rows: int
    first: bool


@inlined
def _process(
    selection: Any, s: int, own: int, side: Side, other: Side, low: int, past: int, table: Table,
    out: Int64, joined: Int64, count: int,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Process tuple ``own`` of stream s: drop it, or compare it with the other and insert it.

    ``low`` is the first tuple of the other stream that is still searched, ``past`` one from which
    on the first that comes later is looked for. Returns the new number of results (-1 without room,
    and then nothing was inserted), the comparisons, ``low`` and ``past``.
    """
    i = own - side.base
    if is_dropped(selection, s, i, own):
        side.stored.links[i] = UNKEYED
        return count, 0, low, past
    t = side.stored.times[i]
    code = side.stored.codes[i]
    times, base, end = other.stored.times, other.base, other.end
    if table.scan or other.rows != UNBOUNDED or counts_places(selection):
        end = past = _come_before(times, base, past, end, t, other.first)
    bucket = 2 * bucket_of(code, table.shift)
    x = newest(table, bucket + 1 - s, end)
    # Where the newest candidate has left, it does not matter how many others have.
    if x >= low or counts_places(selection):
        low = raise_low(times, base, end, low, t, other.span, other.rows)
    after, compared = compare(
        selection, s, i, own, t, code, side.span, other.stored, base, low, other.span, end, x,
        table.scan, out, joined, count,
    )  # fmt: skip
    if after >= 0:
        settle(selection, s, i, end - low)
        insert(own, side.stored.links, i, table, bucket + s)
    return after, compared, low, past


@kernel
def join_pairs(
    left: Keyed, right: Keyed, clock: Clock, table: Table, part: Part, selection: Any,
    turns: Int64, out: Int64, joined: Int64, count: int,
) -> tuple[int, int, bool]:  # fmt: skip
    """Process the tuples of a part, of two streams, in order until ``out`` is full.

    ``out[j, k]`` receives the sequence number of stream j's member of result k, ``joined[k]`` its
    time, from result ``count`` on; ``turns`` is room for tuples of either stream whose turn comes
    next. Returns (results that there are now, comparisons, whether ``out`` was full); ``clock``
    moves along. A tuple whose results do not all fit is left for the next call, whole.
    """
    turns_left, turns_right = turns[0], turns[1]
    base_left, base_right = clock.base[0], clock.base[1]
    end_left, end_right = clock.end[0], clock.end[1]
    low_left, low_right = clock.low[0], clock.low[1]
    left_first = clock.rank[0] < clock.rank[1]
    own_left = Side(left, base_left, end_left, clock.span[0], clock.rows[0], left_first)
    own_right = Side(right, base_right, end_right, clock.span[1], clock.rows[1], not left_first)
    # Where the search for own tuples goes on; the first tuple that comes after the current one.
    next_left, next_right = clock.cursor[0], clock.cursor[1]
    past_left, past_right = clock.cursor[0], clock.cursor[1]
    a, b, filled_left, filled_right = 0, 0, 0, 0
    compared = 0
    while True:
        if a == filled_left and next_left < end_left:
            a = 0
            filled_left, next_left, read = _look_ahead(
                left,
                base_left,
                next_left,
                end_left,
                right,
                base_right,
                low_right,
                1,
                table,
                part,
                turns_left,
            )
            turns[2, 0] = read
        if b == filled_right and next_right < end_right:
            b = 0
            filled_right, next_right, read = _look_ahead(
                right,
                base_right,
                next_right,
                end_right,
                left,
                base_left,
                low_left,
                0,
                table,
                part,
                turns_right,
            )
            turns[2, 0] = read
        from_left = b == filled_right
        if a == filled_left:
            if from_left:
                break
        elif not from_left:
            ahead = right.times[turns_right[b] - base_right]
            ahead -= left.times[turns_left[a] - base_left]
            from_left = ahead > 0 or (ahead == 0 and left_first)
        if from_left:
            own = turns_left[a]
            after, steps, low_right, past_right = _process(
                selection, 0, own, own_left, own_right, low_right, past_right, table,
                out, joined, count,
            )  # fmt: skip
            if after < 0:
                break
            clock.cursor[0] = own + 1
            a += 1
        else:
            own = turns_right[b]
            after, steps, low_left, past_left = _process(
                selection, 1, own, own_right, own_left, low_left, past_left, table,
                out, joined, count,
            )  # fmt: skip
            if after < 0:
                break
            clock.cursor[1] = own + 1
            b += 1
        count = after
        compared += steps
    full = a < filled_left or b < filled_right
    if not full:
        clock.cursor[0], clock.cursor[1] = end_left, end_right
    clock.low[0], clock.low[1] = low_left, low_right
    return count, compared, full
