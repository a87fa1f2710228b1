"""The join on sets, basic window after basic window, with the plans between them."""

from __future__ import annotations

from typing import Any

import numpy as np

from bankfull.kernels.compiler import Int64, kernel
from bankfull.kernels.exact.bulk import place_of
from bankfull.kernels.exact.merge import Clock
from bankfull.kernels.exact.planning import NO_PLAN, WINDOW, Rules, next_time, plan_everything
from bankfull.kernels.exact.postings import Lists, Rule, StoredSets
from bankfull.kernels.exact.setjoin import DONE, Scratch, search
from bankfull.kernels.probes.learning import Known
from bankfull.kernels.probes.selection import Selection


@kernel
def join_and_plan(
    left: StoredSets, right: StoredSets, left_lists: Lists, right_lists: Lists, clock: Clock,
    oldest: Int64, rule: Rule, selection: Selection, scratch: Scratch, known: Known, rules: Rules,
    stop: Int64, out: Int64, joined: Int64,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Process tuples up to ``stop`` in order, as ``join_sets`` does, and plan as long as it fits.

    ``clock.end`` is where the present plan ends, and moves along. Returns (results, comparisons,
    status, what :func:`plan_everything` said of the plan that is wanted next).
    """
    count: Any = np.int64(0)  # a literal would have every callee compiled twice
    compared, basic = 0, selection.basic
    while True:
        count, steps, status = search(
            left, right, left_lists, right_lists, clock, oldest, rule, selection, scratch,
            out, joined, count,
        )  # fmt: skip
        compared += steps
        if status != DONE or (clock.cursor[0] == stop[0] and clock.cursor[1] == stop[1]):
            return count, compared, status, NO_PLAN
        time = next_time(left.times, right.times, clock, stop)
        wanted = plan_everything(
            selection, known, rules, left.times, right.times, clock, clock.cursor, time
        )
        if wanted != NO_PLAN:
            return count, compared, DONE, wanted
        until = (rules.clock[WINDOW] + 1) * basic
        for j in range(2):
            times = left.times if j == 0 else right.times
            coming = times[clock.cursor[j] - clock.base[j] : stop[j] - clock.base[j]]
            clock.end[j] = clock.cursor[j] + place_of(coming, until, False)
