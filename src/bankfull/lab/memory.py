"""Recall against memory: every policy on the same axes, the optimum above them.

The first picture of the README. It shows the mean over all workloads of ``all.policies``, so that
none is chosen because somebody does well on it. The seeds occur in no other experiment.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from bankfull.lab.claims import Claim, Observation, Observer, Points
from bankfull.lab.everything import OTHERS, RIVALS, WORKLOADS
from bankfull.lab.experiment import Chart, Experiment, fixed, grid
from bankfull.lab.measures import share
from bankfull.lab.observers import best_ratio, curve_of
from bankfull.lab.systems import OPTIMUM

BUDGETS = (0.02, 0.05, 0.1, 0.25, 0.5)


def mean_ratio(above: str, others: Sequence[str]) -> Observer:
    """Observe a system's mean over workloads and seeds, over the best mean of the others."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places({}, without=("workload", "seed")):
            values: dict[str, list[float]] = {}
            for one in group:
                values.setdefault(curve_of(one), []).append(float(one["value"]))
            means = {name: fmean(reached) for name, reached in values.items()}
            best = max(others, key=lambda name: means[name])
            found.append((f"{label}, against {best}", means[above] / means[best]))
        return found

    return observe


MEMORY = Experiment(
    "all.memory",
    "Recall against memory: every policy, mean over eight workloads",
    "budget",
    (*OTHERS, "gain", OPTIMUM),
    fixed(
        grid(workload=WORKLOADS, budget=BUDGETS),
        grid(workload=("dew point", "drift"), budget=(0.1, 0.3)),
    ),
    share(),
    (
        Claim(
            "gain gives, as the mean over workloads, at least what the best other policy gives",
            "mean of gain / mean of best other",
            mean_ratio("gain", RIVALS),
            "at least",
            1.0,
        ),
        Claim(
            "gain gives, as the mean over workloads, twice what random dropping gives",
            "mean of gain / mean of random",
            mean_ratio("gain", ("random",)),
            "at least",
            2.0,
        ),
        Claim(
            "No policy passes the optimum",
            "best policy / optimum",
            best_ratio(OPTIMUM, (*OTHERS, "gain")),
            "at least",
            1.0,
            1e-9,
            at_any_size=True,
        ),
    ),
    Chart("budget", "recall: share of the exact output", kind="overview", log="x"),
    seeds=(301, 302),
    quick_seeds=(301,),
    notes=(
        "Each workload has the same weight. age is told the best age of every tuple, gdj-best "
        "knows its best percentile afterwards; the optimum knows the future.",
    ),
)

EXPERIMENTS = (MEMORY,)
