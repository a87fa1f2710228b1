"""What loops need that plan for themselves as long as nothing is left out.

See ``kernels/exact/planning.py``. The join on sets plans between basic windows
(``kernels/exact/plannedsets.py``); that on keys joins many basic windows first and plans for them
afterwards (``kernels/exact/ahead.py``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bankfull.core.comparing.classes import is_weighed
from bankfull.core.comparing.comparing import BURST, Comparing
from bankfull.core.plan import NEVER
from bankfull.kernels.exact.ahead import Counted, replay
from bankfull.kernels.exact.chains import Keyed
from bankfull.kernels.exact.merge import Clock
from bankfull.kernels.exact.planning import WINDOW, Rules


def can_plan_alone(comparing: Comparing) -> bool:
    """Tell whether the loop of the only join may plan for itself.

    It may for a join of two streams with windows of time, of whose budget no other operator has a
    share, and whose results weigh the same: the sums of what they are worth do not depend on the
    order of additions.
    """
    rules, joins = comparing.rules, comparing.plan.joins
    if len(joins) > 1 or len(joins[0].streams) > 2 or any(r < NEVER for r in joins[0].rows):
        return False
    if not rules.per_unit or comparing.shares is not None:
        return False
    return not is_weighed(rules) and not rules.algorithm.drops


def rules_of(comparing: Comparing) -> Rules:
    """Return how the only join plans, and the arrays that change with a plan."""
    (selector,), rules = comparing.selectors, comparing.rules
    return Rules(
        rules.period, int(rules.per_unit * rules.period), rules.sample, rules.fade,
        selector.least, BURST, selector.join.search == "scan", comparing.clock,
        comparing.given[0], comparing.reserve, comparing.fair, selector.sampled, selector.unseen,
        np.zeros((2, selector.windows)),
    )  # fmt: skip


def can_run_ahead(comparing: Comparing) -> bool:
    """Tell whether a join on keys may run ahead: the present plan leaves nothing out."""
    (selector,) = comparing.selectors
    return selector.takes_all and float(selector.whole[0, 0]) == comparing.rules.sample


def plan_afterwards(
    comparing: Comparing, sides: Sequence[Keyed], clock: Clock, before: NDArray[np.int64],
    numbers: NDArray[np.int64], joined: NDArray[np.int64],
) -> tuple[int, int]:  # fmt: skip
    """Count and plan for tuples from ``before`` to the cursors, which were joined already.

    Returns the basic window from which on they must be taken back, and what is to be said of its
    plan (``kernels/exact/planning.py``).
    """
    (selector,), basic = comparing.selectors, comparing.rules.basic
    many = (clock.cursor - before).tolist()
    last = max(
        int(side.times[int(clock.cursor[k] - clock.base[k]) - 1]) // basic
        for k, side in enumerate(sides)
        if many[k]
    )
    windows, size = last - int(comparing.clock[WINDOW]) + 1, selector.windows
    found, of_sample = np.zeros((2, windows), np.int64)
    cursor, stop = np.zeros((2, 2), np.int64)
    drawn = np.empty(many[0], np.uint8), np.empty(many[1], np.uint8)
    counted = Counted(found, of_sample, np.zeros((windows, 2, size)), cursor, stop, drawn)
    known, rules, numbers = selector.known(), rules_of(comparing), np.ascontiguousarray(numbers)
    left, right = sides
    with comparing.stopwatch:
        window, wanted = replay(
            selector.view(), known, rules, left, right, clock, before, numbers, joined, counted
        )
    return int(window), int(wanted)
