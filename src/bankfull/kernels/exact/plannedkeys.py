"""The join on keys, basic window after basic window, with the plans between them.

Where a plan leaves nothing out, its basic window is joined without a Selection, first all of one
stream and then all of the other, as the exact join does; that is faster than to go from stream to
stream with time. What plans learn from is counted afterwards. Should the budget end within a basic
window after all, its tuples are taken out of their chains again, and the loop with a Selection
joins them one after the other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.compiler import Int64, inlined, kernel
from bankfull.kernels.exact.bulk import first_stored, is_sampled, place_from, place_of
from bankfull.kernels.exact.chains import NOTHING, UNKEYED, Keyed, Part, Table, bucket_of
from bankfull.kernels.exact.equijoin import join_pairs
from bankfull.kernels.exact.merge import Clock
from bankfull.kernels.exact.planning import (
    NO_PLAN,
    ONE_BY_ONE,
    WINDOW,
    Rules,
    next_time,
    plan_everything,
)
from bankfull.kernels.probes.learning import Known
from bankfull.kernels.probes.selection import (
    FOUND,
    OTHERS,
    PAIRS,
    STEPS,
    WORTH,
    Everything,
    Selection,
    forget,
    pay,
)

#: For every tuple of either stream that is joined, whether it is of the sample.
Drawn = tuple[NDArray[np.uint8], NDArray[np.uint8]]


@inlined
def _take_back(side: Keyed, table: Table, s: int, base: int, start: int, stop: int) -> None:
    """Take the tuples ``start`` to ``stop`` of stream s out of their chains, the newest of all."""
    for x in range(stop - 1, start - 1, -1):
        i = x - base
        if side.links[i] != UNKEYED:
            table.heads[2 * bucket_of(side.codes[i], table.shift) + s] = side.links[i]
            side.links[i] = NOTHING


@inlined
def _draw(selection: Selection, own: Keyed, s: int, base: int, first: int, drawn: Drawn) -> int:
    """Draw the sample of the tuples of stream s from ``first`` on; returns how many have a key."""
    chosen, keyed = drawn[s], 0
    for k in range(chosen.size):
        chosen[k] = is_sampled(selection, s, 0, first + k)
    for k in range(chosen.size):
        here = own.links[first - base + k] != UNKEYED
        chosen[k] &= here
        keyed += here
    return keyed


@inlined
def _count_arrivals(
    selection: Selection, left: Keyed, right: Keyed, clock: Clock, before: Int64, drawn: Drawn
) -> None:
    """Count the tuples from ``before`` to the cursors, draw the sample, and count its pairs.

    Most of the sample reaches the same basic windows to their ends: those pairs are counted once
    for as many as do (``many``, the basic windows up to ``full``).
    """
    for s in range(2):
        j = 1 - s
        own, other = (left, right) if s == 0 else (right, left)
        base, edges = clock.base[s], selection.edges
        start = first_stored(selection, j, clock, before)
        times = other.times[start - clock.base[j] : clock.end[j] - clock.base[j]]
        selection.tally.arrived[j, 0] += _draw(selection, own, s, base, before[s], drawn)
        end, low, many, full, oldest = 0, 0, 0, 0, edges.shape[1] - 1
        for k in range(drawn[s].size):
            if drawn[s][k] == 0:
                continue
            selection.tally.sampled[j, 0] += 1
            t = own.times[before[s] - base + k]
            # The next one of the sample is not far from the one before.
            end = place_from(times, end, t, clock.rank[j] < clock.rank[s])
            low = place_from(times, low, t - clock.span[j], False)
            reached = full
            while reached < oldest and edges[j, reached + 1] >= start + low:
                reached += 1
            while reached > 0 and edges[j, reached] < start + low:
                reached -= 1
            if reached != full:
                _count_pairs(selection, j, full, many)
                full, many = reached, 0
            many += 1
            seen = selection.tally.seen
            seen[j, 0, 0, PAIRS] += start + end - max(edges[j, 0], start + low)
            if full < oldest:
                seen[j, 0, full + 1, PAIRS] += max(edges[j, full] - start - low, 0)
        _count_pairs(selection, j, full, many)


@inlined
def _count_pairs(selection: Selection, j: int, full: int, many: int) -> None:
    """Count that so many tuples looked at all pairs of basic windows 1 to ``full``."""
    for a in range(1, full + 1):
        pairs = selection.edges[j, a - 1] - selection.edges[j, a]
        selection.tally.seen[j, 0, a, PAIRS] += many * pairs


@inlined
def _age(selection: Selection, j: int, x: int) -> int:
    """Return which basic window of stream j a tuple is in."""
    first, last = 0, selection.edges.shape[1] - 1
    while first < last:
        middle = (first + last) >> 1
        if selection.edges[j, middle] > x:
            first = middle + 1
        else:
            last = middle
    return first


@inlined
def _count_results(
    selection: Selection, left: Keyed, right: Keyed, clock: Clock, before: Int64, drawn: Drawn,
    out: Int64, bounds: tuple[int, int, int],
) -> int:  # fmt: skip
    """Count the results of the sample, and return their number.

    ``bounds``: where the results of tuples of the first stream begin, those of the second, and
    where these end. Either are in the order of the tuples that were compared. But of two that came
    in the same basic window the later one is who finds the other.
    """
    left_first = clock.rank[0] < clock.rank[1]
    of_sample = 0
    for s in range(2):
        own, other = (left, right) if s == 0 else (right, left)
        found, partners, k = out[s, : bounds[1 + s]], out[1 - s], bounds[s]
        forget(selection)
        for q in range(drawn[s].size):
            if drawn[s][q] == 0:
                continue
            k = place_from(found, k, before[s] + q, False)
            while k < found.size and found[k] == before[s] + q:
                a = _age(selection, 1 - s, partners[k])
                if a > 0 or _finds(own, other, clock, s, found[k], partners[k], left_first):
                    selection.now[FOUND, a] += 1.0
                    of_sample += 1
                k += 1
        if s == 0:
            for k in range(bounds[1], bounds[2]):
                x = out[0, k]
                if x >= before[0] and drawn[0][x - before[0]] != 0:
                    if _finds(left, right, clock, 0, x, out[1, k], left_first):
                        selection.now[FOUND, 0] += 1.0
                        of_sample += 1
        for a in range(selection.edges.shape[1]):
            for what in (STEPS, FOUND, WORTH):
                selection.tally.seen[1 - s, 0, a, what] += selection.now[FOUND, a]
    return of_sample


@inlined
def _finds(
    own: Keyed, other: Keyed, clock: Clock, s: int, x: int, y: int, left_first: bool
) -> bool:  # fmt: skip
    """Tell whether tuple x of stream s comes after tuple y of the other, and so finds it."""
    t, u = own.times[x - clock.base[s]], other.times[y - clock.base[1 - s]]
    return bool(u < t or (u == t and left_first == (s == 1)))


@kernel
def join_and_plan(
    left: Keyed, right: Keyed, clock: Clock, table: Table, whole: Part, everything: Everything,
    selection: Selection, known: Known, rules: Rules, stop: Int64, before: Int64, drawn: Drawn,
    turns: Int64, out: Int64, joined: Int64, most: int,
) -> tuple[int, int]:  # fmt: skip
    """Process tuples up to ``stop`` by plans that leave nothing out, as the present one does.

    ``before`` and ``drawn`` are room. Returns the results, which are ``most`` or more if there are
    more to come, and what is to be done next: what :func:`plan_everything` said of the plan that is
    wanted, or ``ONE_BY_ONE`` if the present basic window must be joined with a Selection.
    """
    count: Any = np.int64(0)
    while True:
        until = (rules.clock[WINDOW] + 1) * selection.basic
        low_left, low_right = clock.low[0], clock.low[1]
        for j in range(2):
            times = left.times if j == 0 else right.times
            coming = times[clock.cursor[j] - clock.base[j] : stop[j] - clock.base[j]]
            before[j] = clock.cursor[j]
            clock.end[j] = before[j] + place_of(coming, until, False)
        end_right = clock.end[1]
        clock.end[1] = before[1]
        first, _, full = join_pairs(
            left, right, clock, table, whole, everything, turns, out, joined, count
        )
        clock.end[1], last = end_right, first
        if not full:
            last, _, full = join_pairs(
                left, right, clock, table, whole, everything, turns, out, joined, first
            )
        if full or last - count > selection.left[OTHERS]:
            for s in range(2):
                own = left if s == 0 else right
                _take_back(own, table, s, clock.base[s], before[s], clock.cursor[s])
                clock.cursor[s] = before[s]
            clock.low[0], clock.low[1] = low_left, low_right
            return count, ONE_BY_ONE
        came = (
            drawn[0][: clock.cursor[0] - before[0]],
            drawn[1][: clock.cursor[1] - before[1]],
        )
        _count_arrivals(selection, left, right, clock, before, came)
        found = (count, first, last)
        of_sample = _count_results(selection, left, right, clock, before, came, out, found)
        if selection.whole[0, 0] < 1.0:
            pay(selection, True, of_sample)
            pay(selection, False, last - count - of_sample)
        else:
            pay(selection, False, last - count)
        count = last
        if clock.cursor[0] == stop[0] and clock.cursor[1] == stop[1]:
            return count, NO_PLAN
        time = next_time(left.times, right.times, clock, stop)
        wanted = plan_everything(
            selection, known, rules, left.times, right.times, clock, clock.cursor, time
        )
        if wanted != NO_PLAN or count >= most:
            return count, wanted
