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

from bankfull.kernels.compiler import Float64, Int64, inlined, kernel
from bankfull.kernels.exact.bulk import count_range, is_sampled, place_of
from bankfull.kernels.exact.chains import NOTHING, UNKEYED, Keyed, Table, bucket_of
from bankfull.kernels.exact.merge import Clock
from bankfull.kernels.probes.learning import Known, all_work, half_full, take_over
from bankfull.kernels.probes.selection import FOUND, OTHERS, SAMPLE, STEPS, WORTH, Selection, pay

#: Entries of ``Rules.clock``: the basic window that the plan is for, the period.
WINDOW, PERIOD = range(2)
#: Later than any time.
_NEVER = 1 << 62


class Rules(NamedTuple):
    """How plans are made; see ``core/comparing``. Arrays are those of the query, and change.

    ``most`` comparisons may be made in a period, of which ``reserve[0]`` are kept for its later
    basic windows; ``fair[0]`` is what each would have if all had the same.
    """

    period: int
    most: int
    sample: float
    fade: float
    least: float
    burst: float
    clock: Int64
    given: Int64
    reserve: Int64
    fair: Float64
    sampled: Int64


class Counted(NamedTuple):
    """Room to count by basic window of time; all entries are 0 when it is handed over.

    Results, those of the sample, and these by window searched and basic window of it; then tuples
    of every basic window, and where the basic window begins and ends that is gone through.
    """

    found: Int64
    of_sample: Int64
    seen: Float64
    tuples: Float64
    cursor: Int64
    stop: Int64


@inlined
def _count_results(
    selection: Selection, left: Keyed, right: Keyed, clock: Clock, out: Int64, joined: Int64,
    before: Int64, first: int, found: Int64, of_sample: Int64, seen: Float64,
) -> None:  # fmt: skip
    """Count results by the basic window of time in which they were due, and those of the sample."""
    left_first = clock.rank[0] < clock.rank[1]
    basic = selection.basic
    w, begin = 0, first * basic
    for k in range(joined.size):
        due = joined[k] - begin
        if due < 0 or due >= basic:  # most are of the basic window of the one before
            w = joined[k] // basic - first
            begin = (first + w) * basic
        found[w] += 1
        x, y = out[0, k], out[1, k]
        # The one that comes last searches for the other, and it is one of those that were joined.
        by_left = x >= before[0] and is_sampled(selection, 0, 0, x)
        by_right = y >= before[1] and is_sampled(selection, 1, 0, y)
        if not (by_left or by_right):
            continue
        t, u = left.times[x - clock.base[0]], right.times[y - clock.base[1]]
        s = 1 if u > t or (u == t and left_first) else 0
        if by_right if s == 1 else by_left:
            of_sample[w] += 1
            seen[w, 1 - s, abs(t // basic - u // basic)] += 1.0


@inlined
def _cut(selection: Selection, known: Known, left: Keyed, right: Keyed, clock: Clock,
         cursor: Int64, time: int, tuples: Float64, span: Int64) -> None:  # fmt: skip
    """Find where the basic windows begin at ``time``, and how many tuples they have on average."""
    windows, basic = tuples.shape[1], selection.basic
    for j in range(2):
        times, base = (left if j == 0 else right).times, clock.base[j]
        start = selection.edges[j, windows - 1]  # nothing before is reached any more
        stored = times[start - base : cursor[j] - base]
        for a in range(windows):
            begin = max((time // basic - a) * basic, time - span[j])
            selection.edges[j, a] = start + place_of(stored, begin, False)
        tuples[j, 0] = half_full(known, j)
        for a in range(1, windows):
            count = selection.edges[j, a - 1] - selection.edges[j, a]
            tuples[j, a] = count * known.lasting[j, a]
            known.meant[j, 0, a] = tuples[j, a]


@inlined
def _share_out(selection: Selection, rules: Rules, known: Known, work: float, total: int,
               windows_left: int) -> None:  # fmt: skip
    """Divide what is left of a period as ``Comparing`` does for one join."""
    whole = rules.sample * (min(1.0, float(rules.fair[0]) / work) if work > 0.0 else 1.0)
    for j in range(2):
        selection.whole[j, 0] = whole
    needed = int(np.ceil(whole * work + work / max(1.0, float(known.arrivals.sum()))))
    most = int(np.ceil(rules.burst * total / windows_left))
    now = min(total - min(total // 2, needed), most)
    aside = min(total - now, 3 * needed)
    rules.reserve[0] = total - now - aside
    selection.left[OTHERS], selection.left[SAMPLE] = now, aside
    rules.given[OTHERS], rules.given[SAMPLE] = now, aside


@inlined
def _plan(selection: Selection, known: Known, rules: Rules, left: Keyed, right: Keyed,
          clock: Clock, cursor: Int64, time: int, tuples: Float64) -> int:  # fmt: skip
    """Make the plan of the basic window of ``time`` if it leaves nothing out; then returns -1.

    Otherwise returns the comparisons that are left; all but the choice and who gets them is done.
    """
    basic = selection.basic
    window, period = time // basic, time // rules.period
    total = int(selection.left[OTHERS] + selection.left[SAMPLE] + rules.reserve[0])
    if period != rules.clock[PERIOD]:
        total = rules.most
        rules.fair[0] = total * basic / rules.period
    elapsed = window - rules.clock[WINDOW]
    rules.clock[WINDOW], rules.clock[PERIOD] = window, period
    rules.sampled[0] += selection.tally.sampled.sum()
    take_over(selection.tally, known, selection.open, 1.0, rules.fade, rules.least, elapsed)
    _cut(selection, known, left, right, clock, cursor, time, tuples, clock.span)
    work = all_work(tuples, known.arrivals, known.learned, False)
    windows_left = int((rules.period - window * basic % rules.period) // basic)
    if work > 0.0 and total / windows_left / work < 1.0:
        return total
    _share_out(selection, rules, known, work, total, windows_left)
    return -1


@kernel
def replay(
    selection: Selection, known: Known, rules: Rules, left: Keyed, right: Keyed, clock: Clock,
    before: Int64, out: Int64, joined: Int64, counted: Counted,
) -> tuple[int, int]:  # fmt: skip
    """Go through the basic windows of tuples ``before`` to the cursors, whose results these are.

    ``counted`` has room for basic windows up to that of the latest tuple. Returns the basic window
    whose tuples must be taken back, with all later ones (one that there is not, if none must), and
    the comparisons that are left for it and its period if its plan leaves something out and is
    still to be made; or -1.
    """
    basic, first = selection.basic, rules.clock[WINDOW]
    last = first + counted.found.size - 1
    found, of_sample, seen = counted.found, counted.of_sample, counted.seen
    _count_results(
        selection, left, right, clock, out, joined, before, first, found, of_sample, seen
    )
    tuples, cursor, stop = counted.tuples, counted.cursor, counted.stop
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
            total = _plan(selection, known, rules, left, right, clock, cursor, time, tuples)
            if total >= 0:
                return w, total
        if found[w - first] > selection.left[OTHERS] or selection.whole[0, 0] != rules.sample:
            return w, -1
        count_range(selection, left, right, clock, cursor, stop)
        for j in range(2):
            for a in range(selection.edges.shape[1]):
                for what in (STEPS, FOUND, WORTH):
                    selection.tally.seen[j, 0, a, what] += seen[w - first, j, a]
            cursor[j] = stop[j]
        pay(selection, True, of_sample[w - first])
        pay(selection, False, found[w - first] - of_sample[w - first])
    return last + 1, -1


@kernel
def unlink(side: Keyed, table: Table, s: int, base: int, start: int, stop: int) -> None:
    """Take the tuples ``start`` to ``stop`` of stream s out of their chains, the newest of all."""
    for x in range(stop - 1, start - 1, -1):
        i = x - base
        if side.links[i] != UNKEYED:
            table.heads[2 * bucket_of(side.codes[i], table.shift) + s] = side.links[i]
            side.links[i] = NOTHING
