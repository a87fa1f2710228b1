"""Section 5.2: how credit is given and taken, and with how much a tuple begins."""

from __future__ import annotations

from bankfull.lab import measures
from bankfull.lab.claims import Claim
from bankfull.lab.experiment import Chart, Experiment, fixed, grid
from bankfull.lab.gdj.shared import OUTPUT, SYNTHETIC, data_set, reading_of
from bankfull.lab.measures import FROM_BOTTOM, FROM_TOP
from bankfull.lab.observers import best_at, over_range
from bankfull.lab.systems import OPTIMUM

_PUBLISHED = {"stock-like": 0.995, "dew point": 0.836, **dict.fromkeys(SYNTHETIC, 0.998)}
#: Counted from either end, so the same credits are tried under both readings.
_INITIAL = (0.0, 0.002, 0.005, 0.05, 0.164, 0.3, 0.5)
_INITIAL = (*_INITIAL, *(round(1.0 - one, 6) for one in reversed(_INITIAL[:-1])))
_COUNTED = {FROM_BOTTOM: "percentile counted from the bottom", FROM_TOP: "counted from the top"}
_FIRST = "method 1"
#: Two ways to give credit are alike within this.
_ALIKE = 0.05


def _told(*readings: str) -> str:
    return "; ".join(filter(None, readings))


FIG3 = Experiment(
    "gdj.fig3",
    "Figure 3: three ways to give and take credit, and the credit to begin with",
    "initial",
    (_FIRST, "method 2", "method 3", "self-tuned", OPTIMUM),
    fixed(
        grid(counted=tuple(_COUNTED), workload=tuple(_PUBLISHED), initial=_INITIAL),
        grid(
            counted=tuple(_COUNTED),
            workload=tuple(_PUBLISHED),
            initial=(0.0, 0.5, 0.836, 0.95, 0.995, 0.998),
        ),
    ),
    measures.tuning,
    (
        *(
            Claim(
                f"METHOD 1 gives about as much as METHOD {other} on stock data",
                f"method 1 / method {other}, each at its best",
                over_range(
                    _FIRST,
                    "initial",
                    of=f"method {other}",
                    workload="stock-like",
                    counted=FROM_BOTTOM,
                ),
                "near",
                1.0,
                _ALIKE,
                at_any_size=other == 3,  # the two decide alike, whatever comes
            )
            for other in (2, 3)
        ),
        *(
            Claim(
                f"The best percentile lies between 0.8 and 0.99 or so: {data_set(name)}",
                "best percentile",
                best_at(_FIRST, "initial", workload=name, counted=counted),
                "at least",
                0.8,
                reading=_told(reading_of(name), reading),
            )
            for name in _PUBLISHED
            for counted, reading in _COUNTED.items()
        ),
        *(
            Claim(
                f"The published percentile {published} is the best, or as good: {data_set(name)}",
                "there / at its best",
                over_range(
                    _FIRST, "initial", at=published, of=_FIRST, workload=name, counted=counted
                ),
                "at least",
                1.0,
                0.02,
                _told(reading_of(name), reading),
            )
            for name, published in _PUBLISHED.items()
            for counted, reading in _COUNTED.items()
        ),
        *(
            Claim(
                f"The percentile matters much: {data_set(name)}",
                "best / worst",
                over_range(
                    _FIRST, "initial", of=_FIRST, worst=True, workload=name, counted=FROM_BOTTOM
                ),
                "at least",
                1.1,
                reading=reading_of(name),
            )
            for name in _PUBLISHED
        ),
        *(
            Claim(
                f"A feedback can choose the percentile (proposed there, built here): {told}",
                "self-tuned / best fixed percentile",
                over_range("self-tuned", "initial", of=_FIRST, workload=name, counted=FROM_BOTTOM),
                "at least",
                1.0,
                _ALIKE,
                reading_of(name),
            )
            for name in _PUBLISHED
            for told in [data_set(name)]
        ),
    ),
    Chart("initial", OUTPUT, panel=("workload", "counted")),
    curve="system",
    notes=(
        "Buffers of 20 %. self-tuned and the optimum do not depend on the percentile. Percentile p "
        "counted from the top is percentile 1 - p counted from the bottom.",
    ),
    policies=("gdj",),
)
