"""What competes in an experiment, by name: policies with their parameters, the optimum, hindsight.

A name stands for one policy with its own defaults, for one with given parameters, or for several
of which the best counts. The latter is hindsight, which no user has, and is granted to GDJ only,
whose paper chose its percentile for each data set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bankfull.lab.counting import distortion, exact, in_canonical_order, optimal_ages
from bankfull.lab.optimum import Goal, keys_met, optimum
from bankfull.lab.simulate import Outcome, simulate
from bankfull.lab.traces import Workload

#: Percentiles that hindsight chooses from, the published ones among them.
PERCENTILES = (0.0, 0.1, 0.25, 0.5, 0.7, 0.836, 0.95, 0.995)
HINDSIGHT, LEARNED = "gdj-best", "age-learned"
OPTIMUM, EXACT = "optimum", "exact"
#: The schedule with most results, whatever they are worth (importance, SJA).
LARGEST = "largest"

Variant = tuple[str, Mapping[str, Any]]


def variants(system: str, workload: Workload) -> tuple[Variant, ...]:
    """Return the policies that a name stands for.

    AGE is given what its authors gave it, the best age of every tuple; ``age-learned`` has to
    find one out.
    """
    if system == HINDSIGHT:
        return tuple(("gdj", {"initial": percentile}) for percentile in PERCENTILES)
    if system == "age":
        ages = in_canonical_order(workload, optimal_ages(workload))
        return (("age", {"ages": tuple(map(float, ages))}),)
    if system == LEARNED:
        return (("age", {}),)
    return ((system, {}),)


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
