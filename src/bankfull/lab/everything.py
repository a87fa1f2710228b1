"""Every policy on the same axes, the optimum above them: what the papers left out.

The workloads are those on which no published policy is safe everywhere: popularity that lasts,
popularity that passes, none at all, and real streams of both kinds. The seeds occur in no other
experiment.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from bankfull.lab.claims import Claim, Observation, Observer, Points
from bankfull.lab.experiment import Chart, Experiment, fixed, grid
from bankfull.lab.measures import share
from bankfull.lab.observers import best_ratio, curve_of, gap_closed, ratio
from bankfull.lab.systems import HINDSIGHT, LEARNED, OPTIMUM

WORKLOADS = (
    "synthetic",
    "even gaps",
    "bursts",
    "drift",
    "uniform",
    "skewed-uniform",
    "dew point",
    "tail number",
)
PUBLISHED = (
    "random",
    "fifo",
    "prob",
    "life",
    "age",
    LEARNED,
    "gdj",
    HINDSIGHT,
    "simp",
    "simpprob",
    "dimpprob",
    "dgl",
    "additive",
    "multiplicative",
    "cumulative",
)
MODERN = ("s3fifo", "sieve")
OTHERS = (*PUBLISHED, *MODERN)
#: AGE is told the future, so it is no rival.
RIVALS = tuple(name for name in OTHERS if name != "age")

#: What each system reached, by seed.
_BySeed = Mapping[int, Mapping[str, float]]


def _by_seed(points: Points, **where: Any) -> list[tuple[str, _BySeed]]:
    """Return every place, whatever the seed, and what was reached there."""
    found: list[tuple[str, _BySeed]] = []
    for label, group in points.places(where, without=("seed",)):
        values: dict[int, dict[str, float]] = {}
        for one in group:
            values.setdefault(int(one["seed"]), {})[curve_of(one)] = float(one["value"])
        found.append((label, values))
    return found


def _judges(values: _BySeed, others: Sequence[str]) -> dict[int, str]:
    """Return for every seed the system that is best, on average, at all the other seeds.

    The best of many at a seed is partly the luckiest there. Whom the other seeds name is as good as
    they say and not luckier than anyone.
    """
    return {
        seed: max(
            others,
            key=lambda name: fmean(
                values[other][name] for other in values if other != seed or len(values) == 1
            ),
        )
        for seed in values
    }


def over_seeds(system: str, others: Sequence[str], **where: Any) -> Observer:
    """Observe a system's mean over the mean of the best of the others, chosen by other seeds."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, values in _by_seed(points, **where):
            judges = _judges(values, others)
            mine = [values[seed][system] for seed in values]
            theirs = [values[seed][judges[seed]] for seed in values]
            ratios = [a / b for a, b in zip(mine, theirs, strict=True)]
            error = f" ± {stdev(ratios) / sqrt(len(ratios)):.3f}" if len(ratios) > 1 else ""
            against = "/".join(sorted(set(judges.values())))
            found.append((f"{label}, against {against}{error}", fmean(mine) / fmean(theirs)))
        return found

    return observe


def gap_over_seeds(system: str, others: Sequence[str], bound: str, **where: Any) -> Observer:
    """Observe how far a system's mean goes from the mean of the best of the others to a bound's."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, values in _by_seed(points, **where):
            judges = _judges(values, others)
            best = fmean(values[seed][judges[seed]] for seed in values)
            mine = fmean(values[seed][system] for seed in values)
            most = fmean(values[seed][bound] for seed in values)
            gained, gap = mine - best, most - best
            found.append((label, gained / gap if gap > 0 else float(gained >= 0)))
        return found

    return observe


POLICIES = Experiment(
    "all.policies",
    "Every policy on eight workloads, with a tenth and three tenths of the window",
    "budget",
    (*OTHERS, "gain", OPTIMUM),
    fixed(
        grid(workload=WORKLOADS, budget=(0.1, 0.3)),
        grid(workload=WORKLOADS, budget=(0.1,)),
    ),
    share(),
    (
        *(
            Claim(
                f"gain gives, over the seeds, at least what the best other policy gives: {name}",
                "mean of gain / mean of best other",
                over_seeds("gain", RIVALS, workload=name),
                "at least",
                1.0,
                0.01,
            )
            for name in WORKLOADS
        ),
        Claim(
            "gain gives, over the seeds, clearly more than the best other policy",
            "mean of gain / mean of best other",
            over_seeds("gain", RIVALS),
            "at least",
            1.01,
        ),
        Claim(
            "gain closes, over the seeds, some of the gap from the best other to the optimum",
            "share of the gap closed",
            gap_over_seeds("gain", RIVALS, OPTIMUM),
            "at least",
            0.0,
        ),
        *(
            Claim(
                f"gain gives at every seed at least what the luckiest other policy gives: {name}",
                "gain / best other",
                best_ratio("gain", RIVALS, workload=name),
                "at least",
                1.0,
                0.01,
            )
            for name in WORKLOADS
        ),
        Claim(
            "gain closes at every seed some of the gap from the luckiest other to the optimum",
            "share of the gap closed",
            gap_closed("gain", RIVALS, OPTIMUM),
            "at least",
            0.0,
        ),
        *(
            Claim(
                f"{name}, made for caches, gives more than plain fifo",
                f"{name} / fifo",
                ratio(name, "fifo"),
                "at least",
                1.0,
            )
            for name in MODERN
        ),
        *(
            Claim(
                f"{name} is safe everywhere: within a tenth of the best published policy",
                f"{name} / best published",
                best_ratio(name, tuple(one for one in PUBLISHED if one != "age")),
                "at least",
                0.9,
            )
            for name in ("prob", "gdj", "fifo")
        ),
    ),
    Chart("budget", "share of the exact output", kind="bar", panel="workload"),
    seeds=(201, 202, 203, 204, 205),
    quick_seeds=(201,),
    notes=(
        "age is given every tuple's best age beforehand, as its paper did; it is no rival.",
        "gdj-best is a rival although it knows its best percentile only afterwards.",
        "Over the seeds: means, and for every seed the best other policy is the one with the best "
        "mean at the other seeds; ± is the standard error of the ratio. At every seed: the best "
        "other policy is the best one of that very seed. Where nothing can be known (uniform) "
        "every policy has the same expectation, and the best of sixteen is the luckiest.",
    ),
)

EXPERIMENTS = (POLICIES,)
