"""What plans would have decided for tuples that were joined ahead of them.

Where little is compared, nothing is left out, and to plan for each basic window before its tuples
are joined costs more than the join. So a join on keys runs ahead: it joins all tuples that there
are without a Selection, stream by stream, and only then are the basic windows gone through in their
order. Each is counted, learned from and planned for as if it had been joined after its plan. Where
a plan would have left something out, or the budget would have ended, it stops; what was joined
beyond that is taken back (:func:`unlink`), and the loop with a Selection goes on from there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.compiler import Float64, Int64, inlined, kernel
from bankfull.kernels.exact.bulk import count_drawn, is_sampled, place_of
from bankfull.kernels.exact.chains import NOTHING, UNKEYED, Keyed, Table, bucket_of
from bankfull.kernels.exact.merge import Clock
from bankfull.kernels.exact.planning import NO_PLAN, WINDOW, Rules, plan_everything
from bankfull.kernels.probes.learning import Known
from bankfull.kernels.probes.selection import FOUND, OTHERS, STEPS, WORTH, Selection, pay

#: Later than any time.
_NEVER = 1 << 62


class Counted(NamedTuple):
    """Room to count by basic window of time; all entries are 0 when it is handed over.

    Results, those of the sample, and these by window searched and basic window of it; where the
    basic window begins and ends that is gone through. ``drawn``: which tuples of either stream are
    of the sample, of those that were joined.
    """

    found: Int64
    of_sample: Int64
    seen: Float64
    cursor: Int64
    stop: Int64
    drawn: tuple[NDArray[np.uint8], NDArray[np.uint8]]


@inlined
def _draw(selection: Selection, before: Int64, drawn: tuple[NDArray[np.uint8], ...]) -> None:
    """Draw the sample: every tuple is asked once, not once for each of its results."""
    for s in range(2):
        for k in range(drawn[s].size):
            drawn[s][k] = is_sampled(selection, s, 0, before[s] + k)


@inlined
def _count_results(
    selection: Selection, left: Keyed, right: Keyed, clock: Clock, out: Int64, joined: Int64,
    before: Int64, first: int, counted: Counted,
) -> None:  # fmt: skip
    """Count results by the basic window of time in which they were due, and those of the sample."""
    left_first = clock.rank[0] < clock.rank[1]
    basic, found = selection.basic, counted.found
    before_left, before_right = before[0], before[1]
    w, begin, own = 0, first * basic, 0
    for k in range(joined.size):
        due = joined[k] - begin
        if due < 0 or due >= basic:  # most are of the basic window of the one before
            found[w] += own
            own = 0
            w = joined[k] // basic - first
            begin = (first + w) * basic
        own += 1
        x, y = out[0, k], out[1, k]
        # The one that comes last searches for the other, and it is one of those that were joined.
        by_left = x >= before_left and counted.drawn[0][x - before_left] != 0
        by_right = y >= before_right and counted.drawn[1][y - before_right] != 0
        if not (by_left or by_right):
            continue
        t, u = left.times[x - clock.base[0]], right.times[y - clock.base[1]]
        s = 1 if u > t or (u == t and left_first) else 0
        if by_right if s == 1 else by_left:
            counted.of_sample[w] += 1
            counted.seen[w, 1 - s, abs(t // basic - u // basic)] += 1.0
    found[w] += own


@kernel
def replay(
    selection: Selection, known: Known, rules: Rules, left: Keyed, right: Keyed, clock: Clock,
    before: Int64, out: Int64, joined: Int64, counted: Counted,
) -> tuple[int, int]:  # fmt: skip
    """Go through the basic windows of tuples ``before`` to the cursors, whose results these are.

    ``counted`` has room for basic windows up to that of the latest tuple. Returns the basic window
    whose tuples must be taken back, with all later ones (one that there is not, if none must), and
    what :func:`plan_everything` said of its plan.
    """
    basic, first = selection.basic, rules.clock[WINDOW]
    last = first + counted.found.size - 1
    found, of_sample, seen = counted.found, counted.of_sample, counted.seen
    _draw(selection, before, counted.drawn)
    _count_results(selection, left, right, clock, out, joined, before, first, counted)
    cursor, stop = counted.cursor, counted.stop
    cursor[0], cursor[1] = before[0], before[1]
    for w in range(first, last + 1):
        time = _NEVER
        for j in range(2):
            times, base = (left if j == 0 else right).times, clock.base[j]
            coming = times[cursor[j] - base : clock.cursor[j] - base]
            stop[j] = cursor[j] + place_of(coming, (w + 1) * basic, False)
            if cursor[j] < stop[j]:
                time = min(time, int(times[cursor[j] - base]))
        if time == _NEVER:
            continue
        if w > first:
            total = plan_everything(
                selection, known, rules, left.times, right.times, clock, cursor, time
            )
            if total != NO_PLAN:
                return w, total
        if found[w - first] > selection.left[OTHERS] or selection.whole[0, 0] != rules.sample:
            return w, NO_PLAN
        count_drawn(selection, left, right, clock, cursor, stop, before, counted.drawn)
        for j in range(2):
            for a in range(selection.edges.shape[1]):
                for what in (STEPS, FOUND, WORTH):
                    selection.tally.seen[j, 0, a, what] += seen[w - first, j, a]
            cursor[j] = stop[j]
        pay(selection, True, of_sample[w - first])
        pay(selection, False, found[w - first] - of_sample[w - first])
    return last + 1, NO_PLAN


@kernel
def unlink(side: Keyed, table: Table, s: int, base: int, start: int, stop: int) -> None:
    """Take the tuples ``start`` to ``stop`` of stream s out of their chains, the newest of all."""
    for x in range(stop - 1, start - 1, -1):
        i = x - base
        if side.links[i] != UNKEYED:
            table.heads[2 * bucket_of(side.codes[i], table.shift) + s] = side.links[i]
            side.links[i] = NOTHING
