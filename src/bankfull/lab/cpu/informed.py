"""`auto` told in advance what every unit of work returns, and nothing else.

The optimum of ``bound.py`` also knows how many tuples will come: it spends the comparisons of every
period to the last one, on the units that return most. Nobody can who sees tuples one by one. So
here is the operator itself, with the same budget, the same sample and the same expectation of
arrivals, but for what it would have to learn. What `auto` lacks to this it has not learned (or not
soon enough); what this lacks to the optimum takes knowledge of what comes.

What a unit returns is taken over all the time, as by the optimum where streams do not change.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bankfull.adapt.auto import Auto
from bankfull.core.comparing.classes import by_size
from bankfull.core.comparing.work import Float64, Work
from bankfull.core.plan import Plan
from bankfull.kernels.probes.selection import FOUND, PAIRS, STEPS, WORTH
from bankfull.lab.cpu.bound import counts
from bankfull.lab.cpu.setting import COMPARISONS, Setting, plan_of

#: What a pair returns is taken to be known from so many results, so that no mean draws it away.
_CERTAIN = 1e3


class Informed(Auto):
    """`auto`, which has seen ``known`` of every unit, ``[j, z, a]``, as ``Work.seen`` has it."""

    def __init__(self, known: Float64) -> None:
        self._known = known

    def choose_above(
        self, works: list[Work], budget: float, least: float
    ) -> tuple[list[Float64], float]:
        """Choose for the one join by what is known of it."""
        (work,) = works
        told = work._replace(seen=self._known, tried=np.zeros_like(work.tried))
        return super().choose_above([told], budget, least)


def informed_plan(setting: Setting, seed: int) -> Plan:
    """Return the plan of a setting's join with what the streams of a seed will show."""
    assert setting.clock == COMPARISONS
    assert not setting.is_indexed, "a comparison must be a pair"
    assert setting.turned is None, "what a unit returns must not change"
    assert not setting.utilities
    plan = plan_of(setting, "auto")
    assert plan.compare is not None
    informed = Informed(_returns(setting, seed))
    return replace(plan, compare=replace(plan.compare, algorithm=informed))


def _returns(setting: Setting, seed: int) -> Float64:
    """Return what comparing everything shows of every unit, in the classes of the operator."""
    made = counts(setting, seed)
    cost, results = made.cost.sum(axis=0), made.results.sum(axis=0)
    amounts = np.zeros((*cost.shape, 4))
    certain = _CERTAIN * cost
    for what, amount in ((PAIRS, cost), (STEPS, cost), (FOUND, certain), (WORTH, results)):
        amounts[..., what] = amount
    if setting.predicate != "overlap":
        return amounts
    known = np.zeros_like(amounts)
    for size, z in enumerate(by_size(np.arange(cost.shape[1])).tolist()):
        known[:, z] += amounts[:, size]
    return known
