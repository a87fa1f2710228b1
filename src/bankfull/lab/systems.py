"""What competes in an experiment, by name: policies with their parameters, the optimum, hindsight.

A name stands for one policy with its own defaults, for one with given parameters, or for several
of which the best counts (``gdj-best``). The latter is hindsight, which no user has. GDJ's paper
chose a percentile for each data set. Read as a setting of the policy, it is found on streams that
no claim is judged by (``gdj-chosen``), and nobody has hindsight; read as tuning on the very streams
that are judged, which is what the paper did, it is ``gdj-fitted``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from bankfull.lab.counting import (
    distortion,
    exact,
    in_canonical_order,
    optimal_ages,
    productive,
)
from bankfull.lab.optimum import Goal, keys_met, optimum
from bankfull.lab.simulate import Outcome, simulate
from bankfull.lab.traces import Workload

#: Percentiles that hindsight chooses from, the published ones among them.
PERCENTILES = (0.0, 0.1, 0.25, 0.5, 0.7, 0.836, 0.95, 0.995)
#: Percentiles that are tried for a data set: the published ones, counted from either end.
TRIED = (0.0, 0.002, 0.005, 0.1, 0.164, 0.25, 0.5, 0.7, 0.836, 0.95, 0.995, 0.998)
HINDSIGHT, LEARNED = "gdj-best", "age-learned"
#: GDJ with one percentile for a data set, found on other streams of its kind or on the very same.
CHOSEN, FITTED = "gdj-chosen", "gdj-fitted"
#: AGE told beforehand; the three differ in the age of tuples that will have no result at all.
TOLD_AGE, AGE_WINDOW, AGE_MEAN = "age", "age-window", "age-mean"
#: The lab's own policies, by the name of their curve.
_OWN = {"prob-next": "bankfull.lab.prob_next:ProbNext"}
OPTIMUM, EXACT = "optimum", "exact"
#: The schedule with most results, whatever they are worth (importance, SJA).
LARGEST = "largest"

Variant = tuple[str, Mapping[str, Any]]


def variants(system: str, workload: Workload) -> tuple[Variant, ...]:
    """Return the policies that a name stands for.

    AGE is given what its authors gave it, the best age of every tuple, where one without results
    has the age 0 (``age``) or its window (``age-window``); ``age-mean`` gives all tuples of a
    stream the mean of their best ages; ``age-learned`` has to find one out.
    """
    if system == HINDSIGHT:
        return tuple(("gdj", {"initial": percentile}) for percentile in PERCENTILES)
    if system in (TOLD_AGE, AGE_WINDOW, AGE_MEAN):
        ages = in_canonical_order(workload, told_ages(workload, system))
        return (("age", {"ages": tuple(map(float, ages))}),)
    if system == LEARNED:
        return (("age", {}),)
    return ((_OWN.get(system, system), {}),)


@lru_cache(maxsize=8)
def told_ages(workload: Workload, system: str) -> tuple[Any, ...]:
    """Return the age that AGE is told for every tuple, by stream, under one of its readings."""
    best = optimal_ages(workload)
    if system == AGE_WINDOW:
        (join,) = workload.joins
        return tuple(
            np.where(productive(workload, place, other), ages, join.within)
            for ages, (place, other) in zip(best, (join.streams, join.streams[::-1]), strict=True)
        )
    if system == AGE_MEAN:
        return tuple(np.full(len(ages), ages.mean()) for ages in best)
    return best


def run(
    workload: Workload,
    system: str,
    budgets: Sequence[int],
    seed: int,
    *,
    unified: bool = False,
    sample: float = 0.0,
    goal: Goal = "results",
    params: Mapping[str, Any] | None = None,
    histogram: bool = False,
) -> dict[str, Any]:
    """Run a system once and return the fields of a point; ``value`` is its share of the exact."""
    truth = exact(workload)
    whole = truth.results if goal == "results" else truth.importance
    assert whole > 0, f"{workload.name} has no results at all"
    about: dict[str, Any] = {
        "exact": whole,
        "budget_tuples": sum(budgets),
        "memory_share": sum(budgets) / sum(workload.budgets(1.0)),
    }
    if system == EXACT:
        return about | _fields(truth.results, truth.importance, goal, whole)
    if system == LARGEST:
        most = optimum(workload, tuple(budgets), unified, "results")
        return about | _fields(most.results, most.importance, goal, whole)
    if system == OPTIMUM:
        found = optimum(workload, tuple(budgets), unified, goal)
        fields = _fields(found.results, found.importance, goal, whole)
        # What nobody passes; the schedule that was found reaches a little less at worst.
        above = {"value": fields["value"] + found.slack / whole, "reached": fields["value"]}
        if histogram:
            above["sse"], above["kl"] = distortion(keys_met(workload, found), truth)
        return about | fields | above
    outcomes = [
        simulate(
            workload.streams,
            workload.joins,
            list(budgets),
            policy,
            {**fixed, **(params or {})},
            since=workload.since,
            unified=unified,
            sample=sample,
            seed=seed,
            histogram=histogram,
        )
        for policy, fixed in variants(system, workload)
    ]
    best = max(outcomes, key=lambda one: one.results if goal == "results" else one.importance)
    fields = _fields(best.results, best.importance, goal, whole)
    if best.histogram is not None:
        fields["sse"], fields["kl"] = distortion(best.histogram, truth)
    return about | fields | _cost(best)


def _fields(results: int, importance: float, goal: Goal, whole: float) -> dict[str, Any]:
    reached = results if goal == "results" else importance
    return {"value": reached / whole, "results": int(results), "importance": float(importance)}


def _cost(outcome: Outcome) -> dict[str, Any]:
    return {"compared": int(outcome.compared), "seconds": round(outcome.seconds, 6)}
