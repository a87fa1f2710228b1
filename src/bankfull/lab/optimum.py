"""The best that any policy could do, with all that is to come known beforehand.

Joins of two streams are a minimum-cost flow, however many there are and whatever they share, since
what arrives meets the stored tuples of the other side whether it is stored itself or not. With
more streams in one join a tuple earns only together with others, and the optimum lies between the
schedule that was found and a bound (``bankfull.oracle.optimum``).
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Literal

import numpy as np

from bankfull.lab.traces import Workload

if TYPE_CHECKING:
    from bankfull.oracle.optimum import Optimum, Problem

Goal = Literal["importance", "results"]


@lru_cache(maxsize=16)
def optimum(workload: Workload, budgets: tuple[int, ...], unified: bool, goal: Goal) -> Optimum:
    """Return the best schedule; ``goal`` is what is maximised first, and what its slack is of."""
    from bankfull.oracle.optimum import bound, esja, sja

    problem = _problem(workload, budgets, unified)
    if not problem.in_pairs:
        return bound(problem, goal)
    return esja(problem) if goal == "importance" else sja(problem)


def keys_met(workload: Workload, best: Optimum) -> dict[int, int]:
    """Return how many results of each key a schedule gives."""
    problem = _problem(workload, (0,) * len(workload.streams), False)  # rooms play no part
    until = {(stay.stream, stay.row): stay.until for stay in best.kept}
    met: Counter[int] = Counter()
    for join, last, partners in problem.meetings():
        now = problem.arrivals[last]
        there = (
            sum(
                one.turn == now.turn or until.get((one.stream, one.row), -1) >= now.turn
                for one in (problem.arrivals[place] for place in axis)
            )
            for axis in partners
        )
        met[now.keys[join.attribute]] += prod(there)
    return dict(met)


def _problem(workload: Workload, budgets: tuple[int, ...], unified: bool) -> Problem:
    from bankfull.oracle.optimum import On, Problem

    attributes = sorted({join.column for join in workload.joins})
    return Problem(
        tuple(
            (
                trace.times,
                np.column_stack([trace.columns[name] for name in attributes]),
                np.ones(len(trace)) if trace.importance is None else trace.importance,
            )
            for trace in workload.streams
        ),
        tuple(
            On(join.streams, join.within, attributes.index(join.column)) for join in workload.joins
        ),
        sum(budgets) if unified else budgets,
        since=workload.since,
    )
