"""What the experiments of this paper have in common, and how its open points are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bankfull.lab.claims import Claim
from bankfull.lab.observers import ratio
from bankfull.lab.readings import STRETCHED, UNIFORM_TOO, UNSTRETCHED
from bankfull.lab.systems import AGE_MEAN, AGE_WINDOW, CHOSEN, FITTED, TOLD_AGE

#: The generator under both readings of its gaps, then the streams that have one reading.
SYNTHETIC = {f"synthetic, {one}": f"gaps {one}" for one in (UNSTRETCHED, STRETCHED)}
STREAMS = (*SYNTHETIC, "stock-like", "dew point", "tail number")
#: How gaps are read, where it is a parameter (``gaps``) and not in the name of the workload.
GAPS = {one: f"gaps {one}" for one in (UNSTRETCHED, STRETCHED)}
GAPS_AND_UNIFORM = {UNIFORM_TOO: f"gaps {UNIFORM_TOO}", **GAPS}
#: What AGE is told of tuples that will have no result, by the name of its curve.
AGES = {
    TOLD_AGE: "AGE: no results, age 0",
    AGE_WINDOW: "AGE: no results, the whole window",
    AGE_MEAN: "AGE: the stream's mean for all",
}
#: What PROB counts in a join of several streams, by the name of its curve.
PROBS = {"prob": "PROB counts all other streams", "prob-next": "PROB counts the next stream"}
OUTPUT = "share of the exact output"
#: Results may differ by one per cent and count as equal, whoever of the two is said to be better.
EQUAL = 0.01
#: Where GDJ's percentile comes from, by the name of its curve.
PERCENTILES = {
    CHOSEN: "percentile from other streams",
    FITTED: "percentile from the same streams",
}
NO_HINDSIGHT = (
    "gdj-chosen has one percentile for each data set, found at seed 9001, which is not among those "
    "that are judged; gdj tunes itself."
)
FITTED_TOO = f"{NO_HINDSIGHT} gdj-fitted has one that is found at the judged seed, at 20 %."


def above(other: str, told: str, reading: str = "", **where: Any) -> Claim:
    """Claim that GDJ gives more than another policy."""
    name = other.partition("-")[0].upper()
    return Claim(
        f"GDJ gives more than {name} {told}",
        f"{CHOSEN} / {other}",
        ratio(CHOSEN, other, **where),
        "at least",
        1.0,
        EQUAL,
        reading,
    )


def above_prob(told: str, reading: str = "", prob: str = "prob", **where: Any) -> list[Claim]:
    """Claim that GDJ gives more than PROB, wherever its percentile comes from."""
    return [
        Claim(
            f"GDJ gives more than PROB {told}",
            f"{curve} / {prob}",
            ratio(curve, prob, **where),
            "at least",
            1.0,
            EQUAL,
            joined(reading, source),
        )
        for curve, source in PERCENTILES.items()
    ]


def joined(*readings: str) -> str:
    """Name several readings that hold at once.

    >>> joined("", "gaps stretched", "counted from the top")
    'gaps stretched; counted from the top'
    """
    return "; ".join(filter(None, readings))


def reading_of(workload: str) -> str:
    """Name the reading that a workload stands for, if it is one of several."""
    return SYNTHETIC.get(workload, "")


def data_set(workload: str) -> str:
    """Name a workload without its reading."""
    return workload.partition(",")[0]


def each(readings: Mapping[str, str], field: str) -> list[tuple[str, dict[str, str]]]:
    """Return every reading's name, and how the points under it are selected."""
    return [(told, {field: value}) for value, told in readings.items()]
