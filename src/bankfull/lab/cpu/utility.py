"""Figures 16 and 17: tuples of several types, whose results are not worth the same."""

from __future__ import annotations

from math import log

from bankfull.lab.claims import Claim, Observation, Observer, Points
from bankfull.lab.cpu.setting import Setting
from bankfull.lab.cpu.shared import (
    NOTE_OPTIMUM,
    SYSTEMS,
    UTILITY,
    gain,
    gain_grows,
    goals,
    mean,
    means,
)
from bankfull.lab.experiment import Cell, Chart, Experiment, Record, fixed, grid

_STEPS = ((60.0, 500.0),)
#: Output is counted from here on, when the windows are full and r has settled.
_SINCE = 0.5
UNIFORM, INVERSE, DIRECT = "uniform", "inverse", "direct"


def frequencies(kind: str, utilities: tuple[float, ...]) -> tuple[float, ...]:
    """Return how often types occur: all alike, the worthy ones rarely, or often.

    >>> frequencies("inverse", (1.0, 0.5))
    (1.0, 2.0)
    """
    powers = {UNIFORM: 0.0, INVERSE: -1.0, DIRECT: 1.0}
    return tuple(one ** powers[kind] for one in utilities)


def _setting(cell: Cell, utilities: tuple[float, ...], kind: str) -> Setting:
    often = frequencies(kind, utilities)
    made = Setting(_STEPS, utilities=utilities, frequencies=often)
    return made.small() if cell.quick else made


def _by_skew(cell: Cell) -> list[Record]:
    skew = float(cell.place["utility_skew"])
    utilities = tuple((1.0 + z) ** -skew for z in range(3))
    setting = _setting(cell, utilities, str(cell.place["frequency"]))
    return mean(lambda _: setting, _SINCE)(cell)


def _by_domain(cell: Cell) -> list[Record]:
    types, factor = int(cell.place["types"]), float(cell.place["factor"])
    exponent = log(factor) / log(types)
    utilities = tuple((1.0 + z) ** -exponent for z in range(types))
    return mean(lambda _: _setting(cell, utilities, INVERSE), _SINCE)(cell)


def gains_at(above: str, below: str, along: str, places: tuple[float, float]) -> Observer:
    """Observe the gain of one way over another at one place less that at another."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places({}, without=(along,)):
            gains = []
            for at in places:
                values = means([one for one in group if one[along] == at])
                if above in values and below in values:
                    gains.append(values[above] / max(values[below], 1e-9))
            if len(gains) == 2:
                found.append((label, gains[0] - gains[1]))
        return found

    return observe


def best_frequency(above: str, below: str) -> Observer:
    """Observe the gain where worthy tuples are rare less the better of the other two."""

    def observe(points: Points) -> list[Observation]:
        found = []
        skewed = {"utility_skew": lambda skew: skew > 0.0}
        for label, group in points.places(skewed, without=("frequency",)):
            gains = {}
            for kind in (UNIFORM, INVERSE, DIRECT):
                values = means([one for one in group if one["frequency"] == kind])
                if above in values and below in values:
                    gains[kind] = values[above] / max(values[below], 1e-9)
            if len(gains) == 3:
                found.append((label, gains[INVERSE] - max(gains[UNIFORM], gains[DIRECT])))
        return found

    return observe


_SKEWS = (0.0, 1.0, 3.0)

FIG16 = Experiment(
    "cpu.fig16",
    "Figure 16: utility of the output against the skew of utilities, three types",
    "utility_skew",
    SYSTEMS,
    fixed(
        grid(frequency=(UNIFORM, INVERSE, DIRECT), utility_skew=_SKEWS),
        grid(frequency=(UNIFORM, INVERSE, DIRECT), utility_skew=(0.0, 2.0)),
    ),
    _by_skew,
    (
        *(
            Claim(
                f"The gain grows with the skew of utilities: frequencies {kind}",
                "utility / direction, last less first",
                gain_grows("utility", "direction", "utility_skew", frequency=kind),
                "at least",
                0.05,
            )
            for kind in (UNIFORM, INVERSE)
        ),
        Claim(
            "The gain hardly changes where worthy tuples are frequent",
            "utility / direction, last less first",
            gain_grows("utility", "direction", "utility_skew", frequency=DIRECT),
            "near",
            0.0,
            0.1,
        ),
        Claim(
            "The gain is largest where worthy tuples are rare",
            "utility / direction: inverse less the better other",
            best_frequency("utility", "direction"),
            "at least",
            0.0,
        ),
        Claim(
            "Types of equal utility change nothing",
            "utility / direction - 1",
            gain("utility", "direction", utility_skew=0.0),
            "near",
            0.0,
            0.05,
        ),
        *goals(),
    ),
    Chart("utility_skew", UTILITY, panel="frequency"),
    seeds=(1,),
    notes=(NOTE_OPTIMUM, "The utility of a result is the larger of its tuples'."),
)

_TYPES = (2, 4, 8, 16)

FIG17 = Experiment(
    "cpu.fig17",
    "Figure 17: utility of the output against the number of types",
    "types",
    SYSTEMS,
    fixed(grid(factor=(2.0, 8.0), types=_TYPES), grid(factor=(8.0,), types=_TYPES)),
    _by_domain,
    (
        Claim(
            "The gain falls at first as types become more",
            "utility / direction: 2 types less 4",
            gains_at("utility", "direction", "types", (2, 4)),
            "at least",
            0.0,
        ),
        Claim(
            "Then it settles",
            "utility / direction: 8 types less 16",
            gains_at("utility", "direction", "types", (8, 16)),
            "near",
            0.0,
            0.1,
        ),
        *goals(),
    ),
    Chart("types", UTILITY, panel="factor", log="x"),
    seeds=(1,),
    notes=(NOTE_OPTIMUM,),
)

EXPERIMENTS = (FIG16, FIG17)

__all__ = ["DIRECT", "EXPERIMENTS", "FIG16", "FIG17", "INVERSE", "UNIFORM"]
