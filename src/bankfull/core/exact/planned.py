"""A join that chooses what it compares, and plans for itself as long as nothing is left out."""

from __future__ import annotations

from bankfull.core.comparing.alone import can_plan_alone, rules_of
from bankfull.core.comparing.comparing import Comparing
from bankfull.core.exact.equal_index import EqualIndex
from bankfull.core.exact.index import Found, Index, next_time
from bankfull.core.exact.set_index import SetIndex
from bankfull.kernels.exact.planning import ONE_BY_ONE, WHOLE_PLAN

#: For so many basic windows tuples are joined one by one after one had to be.
_PAUSE = 16


class Planned:
    """The only join of a query, driven through many basic windows at a time."""

    def __init__(self, comparing: Comparing, index: EqualIndex | SetIndex) -> None:
        self._comparing, self._index = comparing, index
        #: The basic window up to which tuples are joined one by one.
        self._pause = 0

    def advance(self, most: int) -> Found | None:
        """Process tuples as far as plans leave nothing out; None if nothing was done.

        How far it gets at a time depends on how far it got before; what is decided does not.
        """
        comparing, index = self._comparing, self._index
        comparing.look(next_time(index.clock, index.logs), [index.clock])
        (selector,), before = comparing.selectors, comparing.until()
        if isinstance(index, EqualIndex) and not (self._is_due and selector.takes_all):
            return None
        planning = (selector.known(), rules_of(comparing))
        found, wanted = index.advance_and_plan(most, before, selector.view(), planning)
        if comparing.until() != before and wanted < 0:
            selector.choice[:] = 1.0
        coming = next_time(index.clock, index.logs)
        if wanted == ONE_BY_ONE:
            self._pause = int(comparing.clock[0]) + _PAUSE
        elif wanted == WHOLE_PLAN:
            comparing.look(coming, [index.clock])
        elif wanted >= 0:
            comparing.decide(coming, [index.clock], wanted)
        return found

    @property
    def _is_due(self) -> bool:
        """Whether this has not been in vain a few basic windows ago."""
        window = int(self._comparing.clock[0])
        return not self._pause - _PAUSE <= window < self._pause


def planned(comparing: Comparing | None, indexes: list[Index]) -> Planned | None:
    """Return the only join of a query, if it may plan for itself."""
    if comparing is None or not can_plan_alone(comparing):
        return None
    (index,) = indexes
    if isinstance(index, SetIndex) or (isinstance(index, EqualIndex) and not index.scan):
        return Planned(comparing, index)
    return None
