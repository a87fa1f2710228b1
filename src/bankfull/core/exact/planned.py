"""A join that chooses what it compares, and plans for itself as long as nothing is left out."""

from __future__ import annotations

import numpy as np

from bankfull.core.comparing.ahead import (
    can_plan_alone,
    can_run_ahead,
    plan_afterwards,
    rules_of,
)
from bankfull.core.comparing.comparing import Comparing
from bankfull.core.exact.equal_index import EqualIndex
from bankfull.core.exact.index import Found, Index, next_time
from bankfull.core.exact.set_index import SetIndex
from bankfull.kernels.exact.planning import NO_PLAN, WHOLE_PLAN

#: Basic windows that are joined ahead of their plans at most, and for how many that is not tried
#: after it was in vain. Where no tuple came for longer, a plan is made first.
_AHEAD, _PAUSE = 64, 16


class Planned:
    """The only join of a query, driven through many basic windows at a time."""

    def __init__(self, comparing: Comparing, index: EqualIndex | SetIndex) -> None:
        self._comparing, self._index = comparing, index
        #: Basic windows to join ahead of their plans, and for how many not to try.
        self._ahead, self._pause = 4, 0

    def advance(self, most: int) -> Found | None:
        """Process tuples as far as plans leave nothing out; None if nothing was done.

        How far it gets at a time depends on how far it got before; what is decided does not.
        """
        comparing, index = self._comparing, self._index
        coming = next_time(index.clock, index.logs)
        far = comparing.until() + _AHEAD * comparing.rules.basic
        if not comparing.is_planned or coming >= far:
            comparing.look(coming, [index.clock])
        return self._search(index, most) if isinstance(index, SetIndex) else self._run(index, most)

    def _search(self, index: SetIndex, most: int) -> Found:
        """Search basic window after basic window, with a plan between them."""
        comparing = self._comparing
        (selector,), before = comparing.selectors, comparing.until()
        index.selection = selector.view()
        with_plans = (selector.known(), rules_of(comparing))
        found, wanted = index.advance_and_plan(most, comparing.until(), with_plans)
        if comparing.until() != before and wanted == NO_PLAN:
            selector.choice[:] = 1.0
        self._plan(index, wanted)
        return found

    def _plan(self, index: Index, wanted: int) -> None:
        """Make the plan of the next tuple, where the loop did not."""
        comparing, (selector,) = self._comparing, self._comparing.selectors
        coming = next_time(index.clock, selector.logs)
        if wanted == WHOLE_PLAN:
            comparing.look(coming, [index.clock])
        elif wanted != NO_PLAN:
            comparing.decide(coming, [index.clock], wanted)

    def _run(self, index: EqualIndex, most: int) -> Found | None:
        """Join tuples of many basic windows without a plan, and plan for them afterwards."""
        comparing = self._comparing
        if not can_run_ahead(comparing):
            return None
        self._pause -= 1
        if self._pause > 0:
            return None
        clock, basic = index.clock, comparing.rules.basic
        before, low = clock.cursor.copy(), clock.low.copy()
        first = max(comparing.until(), next_time(clock, index.logs) // basic * basic + basic)
        found = index.join_ahead(most, first + (self._ahead - 1) * basic)
        if found is None:
            self._pause = _PAUSE if self._ahead == 1 else 0
            self._ahead = max(1, self._ahead // 2)
            return None
        sides = index.sides()
        given = (sides, clock, before, found.numbers, found.joined)
        window, wanted = plan_afterwards(comparing, *given)
        done = [clock.cursor[k] == log.lanes.end for k, log in enumerate(index.logs)]
        at = window * basic
        cursor = clock.cursor.copy()
        for k, side in enumerate(sides):
            joined = side.times[before[k] - clock.base[k] : clock.cursor[k] - clock.base[k]]
            cursor[k] = before[k] + np.searchsorted(joined, at)
        if (cursor < clock.cursor).any():
            index.take_back(cursor, low)
            kept = found.joined < at
            found = Found(found.numbers[:, kept], found.joined[kept], int(kept.sum()), False)
            self._ahead = max(1, window - first // basic + 1)
            self._pause = _PAUSE if not len(found.joined) else 0
        elif 3 * len(found.joined) < most and not all(done):
            self._ahead = min(_AHEAD, 2 * self._ahead)
        self._plan(index, wanted)
        if wanted == NO_PLAN:
            comparing.place()
        return found


def planned(comparing: Comparing | None, indexes: list[Index]) -> Planned | None:
    """Return the only join of a query, if it may plan for itself."""
    if comparing is None or not can_plan_alone(comparing):
        return None
    (index,) = indexes
    if isinstance(index, SetIndex) or (isinstance(index, EqualIndex) and not index.scan):
        return Planned(comparing, index)
    return None
