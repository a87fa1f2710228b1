"""Section 5.2: how credit is given and taken, and with how much a tuple begins."""

from __future__ import annotations

from bankfull.lab import measures
from bankfull.lab.claims import Claim
from bankfull.lab.experiment import Chart, Experiment, fixed, grid
from bankfull.lab.gdj.shared import OUTPUT
from bankfull.lab.observers import best_at, over_range
from bankfull.lab.systems import OPTIMUM

_PUBLISHED = {"stock-like": 0.995, "dew point": 0.836, "synthetic": 0.998}
_INITIAL = (0.0, 0.25, 0.5, 0.7, 0.836, 0.9, 0.95, 0.98, 0.995, 0.998, 1.0)
_FIRST = "method 1"

FIG3 = Experiment(
    "gdj.fig3",
    "Figure 3: three ways to give and take credit, and the credit to begin with",
    "initial",
    (_FIRST, "method 2", "method 3", "self-tuned", OPTIMUM),
    fixed(
        grid(workload=tuple(_PUBLISHED), initial=_INITIAL),
        grid(workload=tuple(_PUBLISHED), initial=(0.0, 0.5, 0.836, 0.95, 0.995, 0.998)),
    ),
    measures.tuning,
    (
        Claim(
            "METHOD 1 gives about as much as METHOD 2 on stock data",
            "method 1 / method 2, each at its best",
            over_range(_FIRST, "initial", of="method 2", workload="stock-like"),
            "near",
            1.0,
            0.05,
        ),
        Claim(
            "The best percentile lies between 0.8 and 0.99 or so, on all data",
            "best percentile",
            best_at(_FIRST, "initial"),
            "at least",
            0.8,
        ),
        *(
            Claim(
                f"The published percentile {published} is the best, or as good: {name}",
                "there / at its best",
                over_range(_FIRST, "initial", at=published, of=_FIRST, workload=name),
                "at least",
                1.0,
                0.02,
            )
            for name, published in _PUBLISHED.items()
        ),
        *(
            Claim(
                f"The percentile matters much: {name}",
                "best / worst",
                over_range(_FIRST, "initial", of=_FIRST, worst=True, workload=name),
                "at least",
                1.1,
            )
            for name in _PUBLISHED
        ),
        Claim(
            "A feedback can choose the percentile (proposed there, built here)",
            "self-tuned / best fixed percentile",
            over_range("self-tuned", "initial", of=_FIRST),
            "at least",
            1.0,
            0.05,
        ),
    ),
    Chart("initial", OUTPUT, panel="workload"),
    curve="system",
    notes=("Buffers of 20 %. self-tuned and the optimum do not depend on the percentile.",),
    policies=("gdj",),
)
