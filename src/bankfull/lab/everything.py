"""Every policy on the same axes, the optimum above them: what the papers left out.

The workloads are those on which no published policy is safe everywhere: popularity that lasts,
popularity that passes, none at all, and real streams of both kinds. The seeds occur in no other
experiment.
"""

from __future__ import annotations

from bankfull.lab.claims import Claim
from bankfull.lab.experiment import Chart, Experiment, fixed, grid
from bankfull.lab.measures import share
from bankfull.lab.observers import best_ratio, gap_closed, ratio
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
_OTHERS = (*PUBLISHED, *MODERN)
#: AGE is told the future, so it is no rival.
_RIVALS = tuple(name for name in _OTHERS if name != "age")

POLICIES = Experiment(
    "all.policies",
    "Every policy on eight workloads, with a tenth and three tenths of the window",
    "budget",
    (*_OTHERS, "gain", OPTIMUM),
    fixed(
        grid(workload=WORKLOADS, budget=(0.1, 0.3)),
        grid(workload=WORKLOADS, budget=(0.1,)),
    ),
    share(),
    (
        *(
            Claim(
                f"gain gives at least what the best other policy gives: {name}",
                "gain / best other",
                best_ratio("gain", _RIVALS, workload=name),
                "at least",
                1.0,
                0.01,
            )
            for name in WORKLOADS
        ),
        Claim(
            "gain closes some of the gap between the best other policy and the optimum",
            "share of the gap closed",
            gap_closed("gain", _RIVALS, OPTIMUM),
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
    seeds=(101, 102, 103),
    quick_seeds=(101,),
    notes=("age is given every tuple's best age beforehand, as its paper did.",),
)

EXPERIMENTS = (POLICIES,)
