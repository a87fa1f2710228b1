"""Plans that leave nothing out, made inside the loops that they are for.

Where the comparisons suffice, a plan says the same for every basic window: compare everything. To
go back to Python for it can take longer than to join the basic window. So loops plan for themselves
as long as nothing is left out, to the last bit as ``core/comparing`` does, where the first plan is
made that leaves something out.

This is for one join of two streams with windows of time, for a number of comparisons of which no
other operator has a share, and for results that weigh the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bankfull.kernels.compiler import Float64, Int64, inlined
from bankfull.kernels.exact.bulk import place_of
from bankfull.kernels.exact.merge import Clock
from bankfull.kernels.probes.learning import Known, all_work, half_full, take_over
from bankfull.kernels.probes.selection import OTHERS, SAMPLE, UNSEEN, Selection

#: Entries of ``Rules.clock``: the basic window that the plan is for, the period.
WINDOW, PERIOD = range(2)
#: What a loop says of the next plan in the place of comparisons that are left: that there is none
#: to be made, that it must be made outside from its beginning, or that the present one holds but
#: the loop cannot go on by it.
NO_PLAN, WHOLE_PLAN, ONE_BY_ONE = -1, -2, -3


class Rules(NamedTuple):
    """How plans are made; see ``core/comparing``. Arrays are those of the query, and change.

    ``most`` comparisons may be made in a period, of which ``reserve[0]`` are kept for its later
    basic windows; ``fair[0]`` is what each would have if all had the same. ``unseen[0]``: pairs
    that the sample could not look at, as far as they are taken into account; ``price[0]``: that of
    a comparison (``core/comparing/price.py``). ``tuples`` is room.
    """

    period: int
    most: int
    sample: float
    fade: float
    least: float
    burst: float
    scanned: bool
    clock: Int64
    given: Int64
    reserve: Int64
    fair: Float64
    sampled: Int64
    unseen: Int64
    price: Float64
    tuples: Float64


@inlined
def next_time(left: Int64, right: Int64, clock: Clock, stop: Int64) -> int:
    """Return the time of the next tuple of two streams; one of them has one before ``stop``."""
    first, second = clock.cursor[0] - clock.base[0], clock.cursor[1] - clock.base[1]
    if clock.cursor[1] == stop[1]:
        return int(left[first])
    if clock.cursor[0] == stop[0]:
        return int(right[second])
    return int(min(left[first], right[second]))


@inlined
def _cut(selection: Selection, known: Known, rules: Rules, left: Int64, right: Int64, clock: Clock,
         cursor: Int64, time: int) -> None:  # fmt: skip
    """Find where the basic windows begin at ``time``, and how many tuples they have on average."""
    tuples, basic = rules.tuples, selection.basic
    windows = tuples.shape[1]
    for j in range(2):
        base = clock.base[j]
        # Nothing before is reached any more, and it may be gone.
        start = max(selection.edges[j, windows - 1], base)
        stored = (left if j == 0 else right)[start - base : cursor[j] - base]
        for a in range(windows):
            begin = max((time // basic - a) * basic, time - clock.span[j])
            selection.edges[j, a] = start + place_of(stored, begin, False)
        tuples[j, 0] = half_full(known, j)
        for a in range(1, windows):
            count = selection.edges[j, a - 1] - selection.edges[j, a]
            tuples[j, a] = count * known.lasting[j, a]


@inlined
def _share_out(selection: Selection, rules: Rules, known: Known, work: float, total: int,
               windows_left: int) -> None:  # fmt: skip
    """Divide what is left of a period as ``Comparing`` does for one join."""
    whole = rules.sample * (min(1.0, float(rules.fair[0]) / work) if work > 0.0 else 1.0)
    for j in range(2):
        for z in range(selection.whole.shape[1]):
            selection.whole[j, z] = whole
    needed = int(np.ceil(whole * work + work / max(1.0, float(known.arrivals.sum()))))
    most = int(np.ceil(rules.burst * total / windows_left))
    now = min(total - min(total // 2, needed), most)
    aside = min(total - now, 3 * needed)
    rules.reserve[0] = total - now - aside
    selection.left[OTHERS], selection.left[SAMPLE] = now, aside
    rules.given[OTHERS], rules.given[SAMPLE] = now, aside


@inlined
def _choose_all(selection: Selection, known: Known, rules: Rules) -> None:
    """Compare everything from now on."""
    oldest = rules.tuples.shape[1] - 1
    for j in range(2):
        for z in range(selection.open.shape[1]):
            selection.open[j, z] = 1.0
            selection.deep[j, z] = selection.edges[j, oldest]
            selection.counts[j, z] = 0
            for a in range(oldest + 1):
                selection.cuts[j, z, a] = selection.edges[j, a]
                if a > 0:
                    known.meant[j, z, a] = rules.tuples[j, a]


@inlined
def plan_everything(selection: Selection, known: Known, rules: Rules, left: Int64, right: Int64,
                    clock: Clock, cursor: Int64, time: int) -> int:  # fmt: skip
    """Make the plan of the basic window of ``time``, that of the next tuple, if it is everything.

    ``left`` and ``right`` are the times of what is stored, ``cursor`` who comes next. Returns
    ``NO_PLAN`` if it is made. Otherwise it returns the comparisons that are left for it, and all is
    done but to choose and to share out; or ``WHOLE_PLAN``, and nothing is done.
    """
    if selection.tally.pairs[:, UNSEEN].sum() != rules.unseen[0] or rules.price[0] > 0.0:
        return WHOLE_PLAN
    basic = selection.basic
    window, period = time // basic, time // rules.period
    total = int(selection.left[OTHERS] + selection.left[SAMPLE] + rules.reserve[0])
    if period != rules.clock[PERIOD]:
        total = rules.most
        rules.fair[0] = float(total) * basic / rules.period  # whole numbers might overflow
    elapsed = window - rules.clock[WINDOW]
    rules.clock[WINDOW], rules.clock[PERIOD] = window, period
    rules.sampled[0] += selection.tally.sampled.sum()
    take_over(selection.tally, known, selection.open, 1.0, rules.fade, rules.least, elapsed)
    _cut(selection, known, rules, left, right, clock, cursor, time)
    work = all_work(rules.tuples, known.arrivals, known.learned, rules.scanned)
    windows_left = int((rules.period - window * basic % rules.period) // basic)
    if work > 0.0 and total / windows_left / work < 1.0:
        return total
    _share_out(selection, rules, known, work, total, windows_left)
    _choose_all(selection, known, rules)
    return NO_PLAN
