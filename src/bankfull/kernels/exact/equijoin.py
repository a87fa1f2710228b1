"""Joins on equal keys: tuple at a time over a whole batch, two to five streams.

Every stream keeps its tuples in arrays by sequence number: ``times``, ``codes`` (64 bits of the
key) and ``links``, the previous tuple of the same hash bucket. ``heads`` holds the newest tuple
of each bucket, the streams of one bucket side by side, so that one cache line answers both the
search in the other streams and the insertion in the own. Chains run from new to old, hence a
search ends at the first tuple below ``low``, and expiry costs nothing: whatever lies below the
oldest stored tuple is never followed.

Several threads may run a join at once, each for a *part* of the buckets. A bucket's head and the
links of its tuples are written by the one thread that owns it, and every thread has a clock and
room for results of its own. Chains, results and comparisons are those of one thread.

There is a loop for two streams and one for any number: with the arrays of either stream known when
it is compiled, two streams take half the time (``docs/decisions/0024``).

Reference: Gedik, Wu, Yu, Liu, *CPU Load Shedding for Binary Stream Joins*, section 3.2 (fetch,
expire, process) and 4.2 (time-ordered lists; with single values the inverted index becomes this
hash index). Deviations: a tuple is inserted after it has been processed, not before, which is the
same for two streams and natural for more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.compiler import Int64, hook, inlined, kernel
from bankfull.kernels.compiler import rule as rule_of
from bankfull.kernels.exact.merge import UNBOUNDED, Clock, next_stream, raise_low
from bankfull.kernels.hashing import GOLDEN
from bankfull.kernels.predicates import in_reach
from bankfull.kernels.probes.selection import (
    COMPARED,
    EXHAUSTED,
    NOTED,
    PAIRS,
    SEARCHED,
    STEPS,
    Selection,
    basic_window,
    begin,
    counts_places,
    is_dropped,
    note,
    oldest_selected,
    settle,
)
from bankfull.kernels.probes.selection import part as selected_part

#: ``links`` of a tuple whose key is null: it is stored but never found.
UNKEYED = -2
#: Tuples of a stream that are looked at ahead of their turn; small enough for the nearest cache.
AHEAD = 64
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


class Part(NamedTuple):
    """Which buckets a thread owns: the ``number``-th of ``parts`` ranges of them."""

    number: int
    parts: int


@inlined
def is_own(bucket: int, table: Table, part: Part) -> bool:
    """Tell whether a bucket belongs to a part; one thread owns them all."""
    bits = np.int64(64) - np.int64(table.shift)
    return part.parts == 1 or (bucket * part.parts) >> bits == part.number


@inlined
def _insert(own: int, links: Int64, i: int, table: Table, slot: int) -> None:
    """Make a tuple the newest of its stream and bucket."""
    if not table.scan:
        links[i] = table.heads[slot]
        table.heads[slot] = own


@inlined
def _look_ahead(
    side: Keyed, base: int, start: int, end: int, other: Keyed, other_base: int, low: int,
    place: int, table: Table, part: Part, turns: Int64,
) -> tuple[int, int, Any]:  # fmt: skip
    """Write into ``turns`` the next tuples of one of two streams that have a key and are own.

    ``place`` is that of the other stream in a bucket. What a search of these tuples begins with is
    read, so that the processor fetches it for all of them at once; it is not relied on, as it may
    have changed when their turn comes. Returns how many there are, where to look on, and a number
    that depends on all that was read, so that the compiler lets it be read.
    """
    filled = 0
    while filled == 0 and start < end:
        stop = min(end, start + turns.size)
        for q in range(start, stop):
            bucket = bucket_of(side.codes[q - base], table.shift)
            turns[filled] = q
            # An addition in place of a branch, which no processor could foresee.
            filled += (side.links[q - base] != UNKEYED) & is_own(bucket, table, part)
        start = stop
    read = np.int64(0)
    if not table.scan:
        for k in range(filled):
            x = table.heads[2 * bucket_of(side.codes[turns[k] - base], table.shift) + place]
            read ^= x
    return filled, start, read


@inlined
def _come_before(times: Int64, base: int, x: int, end: int, t: int, first: bool) -> int:
    """Return the first tuple from ``x`` on that comes after a tuple of time ``t``.

    At equal times those of the stream come ``first``, or not.
    """
    while x < end and (times[x - base] < t or (first and times[x - base] == t)):
        x += 1
    return x


@inlined
def _partners(
    own: int, t: int, code: np.uint64, ahead: int, other: Keyed, base: int, low: int, behind: int,
    x: int, scan: bool, mine: Int64, theirs: Int64, joined: Int64, count: int,
) -> tuple[int, int]:  # fmt: skip
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


@hook
def _compare(
    selection: Any, s: int, row: int, own: int, t: int, code: np.uint64, ahead: int, other: Keyed,
    base: int, low: int, behind: int, end: int, x: int, scan: bool, mine: Int64, theirs: Int64,
    joined: Int64, count: int,
) -> tuple[int, int]:  # fmt: skip
    """Compare tuple ``own`` (row ``row`` of stream s) with the other window, from ``x`` back.

    ``end`` is the first tuple of the other stream whose turn comes later. Returns as
    :func:`_partners`.
    """
    return _partners(
        own, t, code, ahead, other, base, low, behind, x, scan, mine, theirs, joined, count
    )


@rule_of(_compare, Selection)
def _compare_selected(
    selection: Selection, s: int, row: int, own: int, t: int, code: np.uint64, ahead: int,
    other: Keyed, base: int, low: int, behind: int, end: int, x: int, scan: bool, mine: Int64,
    theirs: Int64, joined: Int64, count: int,
) -> tuple[int, int]:  # fmt: skip
    """Compare with the selected parts of the other window, newest first.

    A chain cannot be entered half-way: it is followed down to the oldest selected tuple, and what
    agrees on the way is a result whether it was selected or not. Only tuples of the same key count
    as compared: which others lie in a chain depends on the size of the table, and that on how the
    input was cut.
    """
    j = 1 - s
    z = selection.classes[s][row]
    whole = begin(selection, s, row, own, scan)
    state = selection.state
    if whole:
        parts = selection.edges.shape[1]
    elif scan:
        parts = selection.counts[j, z] + 1
    else:
        parts = 1
    compared = 0
    for k in range(parts):
        if whole:
            first, last = basic_window(selection, j, k, end)
        elif scan:
            first, last = selected_part(selection, j, z, k, end)
        else:
            first, last = oldest_selected(selection, j, z, end), end
        first = max(first, low)
        if first >= last:
            continue
        left = selection.left[0] - compared
        if scan:
            x = last - 1
        steps = 0
        while x >= first:
            i = x - base
            keyed = not scan or other.links[i] != UNKEYED
            same = other.codes[i] == code
            if (scan and keyed) or (same and not scan):
                if steps >= left:
                    break
                steps += 1
            if same and keyed:
                u = other.times[i]
                if in_reach(t, u, ahead, behind):
                    if count == joined.size:
                        return -1, compared
                    mine[count] = own
                    theirs[count] = x
                    joined[count] = max(t, u)
                    count += 1
                    if state[NOTED]:
                        note(selection, s, row, t, x, i, u, end)
            x = x - 1 if scan else other.links[i]
        if x >= first:
            state[EXHAUSTED] = 1
            first = x + 1
        if whole:
            selection.now[PAIRS, k] += last - first
            selection.now[STEPS, k] += steps
        compared += steps
        state[SEARCHED] += last - first
        if state[EXHAUSTED]:
            break
    state[COMPARED] = compared
    return count, compared


@kernel
def join_pairs(
    left: Keyed, right: Keyed, clock: Clock, table: Table, part: Part, selection: Any,
    turns: Int64, out: Int64, joined: Int64,
) -> tuple[int, int, bool]:  # fmt: skip
    """Process the tuples of a part, of two streams, in order until ``out`` is full.

    ``out[j, k]`` receives the sequence number of stream j's member of result k, ``joined[k]`` its
    time; ``turns`` is room for tuples of either stream whose turn comes next. Returns (results,
    comparisons, whether ``out`` was full); ``clock`` moves along. A tuple whose results do not all
    fit is left for the next call, whole.
    """
    heads, shift, scan = table.heads, table.shift, table.scan
    out_left, out_right = out[0], out[1]
    turns_left, turns_right = turns[0], turns[1]
    span_left, span_right = clock.span[0], clock.span[1]
    base_left, base_right = clock.base[0], clock.base[1]
    end_left, end_right = clock.end[0], clock.end[1]
    rows_left, rows_right = clock.rows[0], clock.rows[1]
    low_left, low_right = clock.low[0], clock.low[1]
    left_first = clock.rank[0] < clock.rank[1]
    # Where the search for own tuples goes on; the first tuple that comes after the current one.
    next_left, next_right = clock.cursor[0], clock.cursor[1]
    past_left, past_right = clock.cursor[0], clock.cursor[1]
    a, b, filled_left, filled_right = 0, 0, 0, 0
    count = 0
    compared = 0
    while True:
        if a == filled_left and next_left < end_left:
            a = 0
            filled_left, next_left, read = _look_ahead(
                left, base_left, next_left, end_left, right, base_right, low_right,
                1, table, part, turns_left,
            )  # fmt: skip
            turns[2, 0] = read
        if b == filled_right and next_right < end_right:
            b = 0
            filled_right, next_right, read = _look_ahead(
                right, base_right, next_right, end_right, left, base_left, low_left,
                0, table, part, turns_right,
            )  # fmt: skip
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
            i = own - base_left
            if is_dropped(selection, 0, i, own):
                left.links[i] = UNKEYED
                clock.cursor[0] = own + 1
                a += 1
                continue
            t = left.times[i]
            code = left.codes[i]
            end = end_right
            if scan or rows_right != UNBOUNDED or counts_places(selection):
                end = past_right = _come_before(
                    right.times, base_right, past_right, end_right, t, not left_first
                )
            low_right = raise_low(
                right.times, base_right, end, low_right, t, span_right, rows_right
            )
            bucket = 2 * bucket_of(code, shift)
            x = end - 1 if scan else heads[bucket + 1]
            after, steps = _compare(
                selection, 0, i, own, t, code, span_left, right, base_right, low_right,
                span_right, end, x, scan, out_left, out_right, joined, count,
            )  # fmt: skip
            if after < 0:
                break
            settle(selection, 0, i, end - low_right)
            _insert(own, left.links, i, table, bucket)
            clock.cursor[0] = own + 1
            a += 1
        else:
            own = turns_right[b]
            i = own - base_right
            if is_dropped(selection, 1, i, own):
                right.links[i] = UNKEYED
                clock.cursor[1] = own + 1
                b += 1
                continue
            t = right.times[i]
            code = right.codes[i]
            end = end_left
            if scan or rows_left != UNBOUNDED or counts_places(selection):
                end = past_left = _come_before(
                    left.times, base_left, past_left, end_left, t, left_first
                )
            low_left = raise_low(left.times, base_left, end, low_left, t, span_left, rows_left)
            bucket = 2 * bucket_of(code, shift)
            x = end - 1 if scan else heads[bucket]
            after, steps = _compare(
                selection, 1, i, own, t, code, span_right, left, base_left, low_left,
                span_left, end, x, scan, out_right, out_left, joined, count,
            )  # fmt: skip
            if after < 0:
                break
            settle(selection, 1, i, end - low_left)
            _insert(own, right.links, i, table, bucket + 1)
            clock.cursor[1] = own + 1
            b += 1
        count = after
        compared += steps
    full = a < filled_left or b < filled_right
    if not full:
        clock.cursor[0], clock.cursor[1] = end_left, end_right
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
    if not table.scan:
        # A stream without any tuple in the bucket leaves nothing to compare with the others.
        for k in range(streams):
            if k != s and table.heads[bucket * streams + k] < clock.low[k]:
                return count, 0
    at[s] = own
    compared = 0
    j = 1 if s == 0 else 0
    at[j] = _newest(j, bucket, streams, table, clock)
    while True:
        x = at[j]
        found = False
        their_times, their_codes, their_links = times[j], codes[j], links[j]
        base, low, ahead, behind = clock.base[j], clock.low[j], clock.span[s], clock.span[j]
        while x >= low:
            compared += 1
            i = x - base
            if their_codes[i] == code and their_links[i] != UNKEYED:
                found = in_reach(t, their_times[i], ahead, behind)
                if found:
                    break
            x = x - 1 if table.scan else their_links[i]
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
    part: Part,
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
        bucket = bucket_of(codes[s][i], table.shift)
        if links[s][i] != UNKEYED and is_own(bucket, table, part):
            t = times[s][i]
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
            _insert(own, links[s], i, table, bucket * streams + s)
        clock.cursor[s] = own + 1


@kernel
def relink(
    side: Keyed, table: Table, s: int, streams: int, base: int, start: int, stop: int
) -> None:
    """Build the chains of stream ``s`` anew for the tuples ``start`` to ``stop``."""
    for x in range(start, stop):
        i = x - base
        if side.links[i] != UNKEYED:
            _insert(x, side.links, i, table, bucket_of(side.codes[i], table.shift) * streams + s)
