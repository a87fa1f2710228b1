"""Not in the paper: a shift that changes, two directions that pay, real streams.

These run under a budget of comparisons, without a clock, so that every way has exactly the same
number of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bankfull.lab.claims import Claim, Observation, Observer, Points
from bankfull.lab.cpu.running import AUTO, INFORMED
from bankfull.lab.cpu.setting import ALIGNED, COMPARISONS, SHIFTED, Setting
from bankfull.lab.cpu.shared import (
    OUTPUT,
    SEEDS,
    SYSTEMS,
    gain,
    goals,
    learned,
    mean,
    means,
    series,
    setting_of,
)
from bankfull.lab.experiment import Cell, Chart, Experiment, Record, fixed, grid

_CAPACITIES = (400_000.0, 1_000_000.0)
NOTE_BUDGET = (
    "Every way may make so many comparisons a second, given out every 5 s. optimum: the best units "
    "of work for them, known in advance from the exact result."
)
NOTE_INFORMED = (
    "informed: auto, told in advance what every unit of work returns; it too sees tuples only when "
    "they come. optimum knows that as well."
)
#: All ways, ours told what comparing returns, and the bound.
_SYSTEMS = (*SYSTEMS[:-1], INFORMED, SYSTEMS[-1])
_SHIFTS = {"aligned": ALIGNED, "shifted": SHIFTED}


def _aligned(cell: Cell) -> list[Record]:
    make = setting_of(shift=_SHIFTS[str(cell.place["streams"])], clock=COMPARISONS)
    return [one for one in series(make)(cell) if one["phase"].startswith("3:")]


ALIGNED_SHIFTED = Experiment(
    "cpu.aligned",
    "Aligned and shifted streams at 300 tuples a second: no way of the paper is best in both",
    "capacity",
    _SYSTEMS,
    fixed(
        grid(streams=tuple(_SHIFTS), capacity=_CAPACITIES),
        grid(streams=tuple(_SHIFTS), capacity=(400_000.0,)),
    ),
    _aligned,
    (
        Claim(
            "Algorithm 4 loses where both directions pay",
            "direction / rate - 1",
            gain("direction", "rate", streams="aligned"),
            "at most",
            -0.2,
        ),
        Claim(
            "Algorithm 4 gains where one direction pays",
            "direction / correlation - 1",
            gain("direction", "correlation", streams="shifted"),
            "at least",
            0.1,
        ),
        Claim(
            "Algorithm 5 does not lose where both directions pay",
            "utility / rate - 1",
            gain("utility", "rate", streams="aligned"),
            "at least",
            -0.05,
        ),
        *goals(),
        learned(),
    ),
    Chart("capacity", OUTPUT, kind="bar", panel="streams"),
    seeds=SEEDS,
    notes=(NOTE_BUDGET, NOTE_INFORMED),
)

BOTH = Experiment(
    "cpu.both",
    "Half of the tuples of either stream follow the other: both directions pay",
    "capacity",
    _SYSTEMS,
    fixed(grid(skew=(0.6, 1.0), capacity=_CAPACITIES), grid(skew=(0.6,), capacity=(1_000_000.0,))),
    mean(setting_of(both=True, clock=COMPARISONS)),
    (
        Claim(
            "Algorithm 4 gives less than time correlation alone",
            "direction / correlation - 1",
            gain("direction", "correlation"),
            "at most",
            0.0,
        ),
        *goals(),
        learned(),
    ),
    Chart("capacity", OUTPUT, kind="bar", panel="skew"),
    seeds=SEEDS,
    notes=(
        NOTE_BUDGET,
        NOTE_INFORMED,
        "Tuples of either kind have items of their own, a hundred each.",
    ),
)

#: The shift changes here, in seconds, and streams are steady before and after.
_TURN_S, _LENGTH_S = 60.0, 120.0


def recovery(system: str) -> Observer:
    """Observe after how many seconds output is back at nine tenths of its later level."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places({}):
            mine = sorted((one["time"], one["value"]) for one in group if one["policy"] == system)
            after = [(time, value) for time, value in mine if time > _TURN_S]
            if not after:
                continue
            level = float(np.mean([value for _, value in after[-6:]]))
            # Both windows hold tuples from before the change for as long as they are.
            back = next((time for time, value in after if value >= 0.9 * level), after[-1][0])
            found.append((label, back - _TURN_S))
        return found

    return observe


def dip(system: str, until_s: float) -> Observer:
    """Observe a system's output after the change over that of the optimum, for a while."""

    def observe(points: Points) -> list[Observation]:
        found = []
        soon: dict[str, Any] = {"time": lambda time: _TURN_S < time < _TURN_S + until_s}
        for label, group in points.places(soon):
            values = means(group)
            if system in values and "optimum" in values:
                found.append((label, values[system] / max(values["optimum"], 1e-9)))
        return found

    return observe


DRIFT = Experiment(
    "cpu.drift",
    "The shift between the streams changes half-way",
    "time",
    SYSTEMS,
    fixed(
        grid(capacity=_CAPACITIES, turned=(0.375, 0.8)),
        grid(capacity=(400_000.0,), turned=(0.375,)),
    ),
    series(setting_of(steps=((_LENGTH_S, 300.0),), clock=COMPARISONS)),
    (
        *(
            Claim(
                f"Output recovers within 10 s: {way}",
                "seconds",
                recovery(way),
                "at most",
                10.0,
            )
            for way in ("correlation", "direction", AUTO)
        ),
        Claim(
            "Ours: in the 15 s after the change auto gives most of the optimum",
            "auto / optimum",
            dip(AUTO, 15.0),
            "at least",
            0.8,
        ),
        *goals(),
    ),
    Chart("time", OUTPUT, panel=("capacity", "turned")),
    seeds=SEEDS,
    notes=(
        NOTE_BUDGET,
        "turned: the shift from the second minute on, 0.625 before it. A point stands for 5 s, so "
        "2.5 s to recover means within the first of them.",
    ),
)

#: Window and basic window in minutes, minutes of the year, comparisons a minute.
_REAL = {
    "landings": Setting(((20160.0, 0.0),), 480.0, 24.0, predicate="equal", period_s=120.0),
    "weather": Setting(((20160.0, 0.0),), 90.0, 4.5, predicate="equal", period_s=45.0),
}
#: Comparisons a minute that the exact joins make on average, of seed 1; what they are given is a
#: part of that.
_EXACT = {"landings": 430.0, "weather": 6.0}


def _flights(cell: Cell) -> list[Record]:
    name = str(cell.place["source"])
    capacity = _EXACT[name] * float(cell.place["budget"])
    setting = replace(_REAL[name], source=name, clock=COMPARISONS, capacity=capacity)
    if cell.quick:
        setting = replace(setting, steps=((2880.0, 0.0),))
    return mean(lambda _: setting)(cell)


FLIGHTS = Experiment(
    "cpu.flights",
    "Departures and landings of aircraft; flights and the weather where they leave",
    "budget",
    _SYSTEMS,
    fixed(
        grid(source=tuple(_REAL), budget=(0.1, 0.3, 0.6)),
        grid(source=tuple(_REAL), budget=(0.3,)),
    ),
    _flights,
    (*goals(), learned()),
    Chart(
        "budget",
        "results a minute",
        panel="source",
        across_is="comparisons, as a part of the exact join's",
    ),
    seeds=(1, 2, 3),
    notes=(
        "A scan for equal keys, two weeks of 2013 from a time drawn by the seed; the budget is a "
        "part of the comparisons of the exact join, given out for a quarter of a window or half of "
        "one. optimum: in every period the units of work that return most over the two weeks.",
        NOTE_INFORMED,
    ),
)

EXPERIMENTS = (ALIGNED_SHIFTED, BOTH, DRIFT, FLIGHTS)
