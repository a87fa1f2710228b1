"""Plans that are made after their tuples were joined, because they leave nothing out.

See ``kernels/exact/ahead.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from bankfull.core.comparing.classes import is_weighed
from bankfull.core.comparing.comparing import BURST, Comparing
from bankfull.core.plan import NEVER
from bankfull.kernels.exact.ahead import WINDOW, Counted, Rules, replay
from bankfull.kernels.exact.chains import Keyed
from bankfull.kernels.exact.merge import Clock
from bankfull.spec import Equal


def can_run_ahead(comparing: Comparing) -> bool:
    """Tell whether the present plan leaves nothing out, and later ones can be made afterwards.

    They can for one join of two streams by hash with windows of time, of whose budget no other
    operator has a share, and whose results weigh the same: the sums of what they are worth do not
    depend on the order of additions.
    """
    rules, joins = comparing.rules, comparing.plan.joins
    if len(joins) > 1 or not isinstance(joins[0].predicate, Equal) or joins[0].search == "scan":
        return False
    if len(joins[0].streams) > 2 or any(rows < NEVER for rows in joins[0].rows):
        return False
    if not rules.per_unit or comparing.shares is not None:
        return False
    if is_weighed(rules) or rules.algorithm.drops or comparing.price[0]:
        return False
    (selector,) = comparing.selectors
    return selector.takes_all and float(selector.whole[0, 0]) == rules.sample


def plan_afterwards(
    comparing: Comparing, sides: Sequence[Keyed], clock: Clock, before: NDArray[np.int64],
    numbers: NDArray[np.int64], joined: NDArray[np.int64],
) -> tuple[int, int]:  # fmt: skip
    """Count and plan for tuples from ``before`` to the cursors, which were joined already.

    Returns the basic window from which on they must be taken back, and the comparisons that are
    left for it where its plan is still to be made (:meth:`Comparing.decide`), or -1.
    """
    (selector,), rules = comparing.selectors, comparing.rules
    last = max(
        int(side.times[int(clock.cursor[k] - clock.base[k]) - 1]) // rules.basic
        for k, side in enumerate(sides)
        if clock.cursor[k] > before[k]
    )
    own = Rules(
        rules.period, int(rules.per_unit * rules.period), rules.sample, rules.fade,
        selector.least, BURST, comparing.clock, comparing.given[0],
        comparing.reserve, comparing.fair, selector.sampled,
    )  # fmt: skip
    windows, size = last - int(comparing.clock[WINDOW]) + 1, selector.windows
    counted = Counted(
        np.zeros(windows, np.int64), np.zeros(windows, np.int64), np.zeros((windows, 2, size)),
        np.zeros((2, size)), np.zeros(2, np.int64), np.zeros(2, np.int64),
    )  # fmt: skip
    known, numbers = selector.known(), np.ascontiguousarray(numbers)
    left, right = sides
    with comparing.stopwatch:
        window, total = replay(
            selector.view(), known, own, left, right, clock, before, numbers, joined, counted
        )
    return int(window), int(total)
