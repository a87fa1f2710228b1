"""What the experiments of this paper have in common: what cells measure, what claims look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from bankfull.lab.claims import Claim, Observation, Observer, Points
from bankfull.lab.claims import Record as Seen
from bankfull.lab.cpu.running import AUTO, INFORMED, OPTIMUM, OTHERS, WAYS, Outcome, bound, run
from bankfull.lab.cpu.setting import Setting
from bankfull.lab.experiment import Cell, Record
from bankfull.lab.observers import curve_of

#: All ways and the bound, the systems of most figures.
SYSTEMS = (*WAYS, OPTIMUM)
OUTPUT = "results a second"
UTILITY = "utility of the results of a second"
#: What `auto` is to reach: of the best other way, and of the optimum for its comparisons.
OF_OTHERS, OF_OPTIMUM = 0.97, 0.9
SEEDS = (1, 2)
NOTE_OPTIMUM = (
    "optimum: the best units of work for all that the processor can compare, known in advance from "
    "the exact result; what auto is judged by is the same for the comparisons that auto made."
)
#: Seconds that one point of a time series stands for.
BUCKET_S = 5

SettingOf = Callable[[Cell], Setting]


def setting_of(**given: Any) -> SettingOf:
    """Return the setting of a cell: defaults, then ``given``, then what the place says."""

    def make(cell: Cell) -> Setting:
        known = {name: value for name, value in cell.place.items() if name in _FIELDS}
        made = Setting(**{**given, **known})
        return made.small() if cell.quick else made

    return make


_FIELDS = frozenset(Setting.__dataclass_fields__)


def mean(make: SettingOf, since: float = 0.0) -> Callable[[Cell], list[Record]]:
    """Measure the mean output a second, from a part of the time on."""

    def measure(cell: Cell) -> list[Record]:
        setting = make(cell)
        first, last = int(since * setting.length_s), int(setting.length_s)
        outcome = run(setting, cell.system, cell.seed)
        record: Record = {
            "value": float(outcome.worth[first:last].mean()),
            "results": float(outcome.results[first:last].sum()),
            "dropped": float(outcome.dropped[first:last].mean()),
        }
        if cell.system == AUTO:
            record["bound"] = float(bound(setting, cell.seed, outcome)[first:last].mean())
        return [record]

    return measure


def series(make: SettingOf) -> Callable[[Cell], list[Record]]:
    """Measure the output a second over time; ``phase`` is the rate of the streams then."""

    def measure(cell: Cell) -> list[Record]:
        setting = make(cell)
        outcome = run(setting, cell.system, cell.seed)
        limits = bound(setting, cell.seed, outcome) if cell.system == AUTO else None
        found: list[Record] = []
        for begin in range(0, int(setting.length_s), BUCKET_S):
            part = slice(begin, begin + BUCKET_S)
            point: Record = {
                "time": begin + BUCKET_S / 2,
                "phase": phase(setting, begin),
                "value": float(outcome.worth[part].mean()),
                "dropped": float(outcome.dropped[part].mean()),
            }
            if limits is not None:
                point["bound"] = float(limits[part].mean())
            found.append(point)
        return found

    return measure


def phase(setting: Setting, second: float) -> str:
    """Name the step of the rate that a second lies in: its number and the paper's rate.

    >>> phase(Setting(), 61)
    '2: 500/s'
    """
    end = 0.0
    for number, (length, rate) in enumerate(setting.steps, 1):
        end += length
        if second < end:
            return f"{number}: {rate * (5 if setting.quick else 1):g}/s"
    return "after"


def part_of(outcome: Outcome, which: int, setting: Setting) -> list[Record]:
    """Return how a part of the windows (r, r1 or r2) goes over time."""
    assert outcome.parts is not None
    return [
        {
            "time": second + 0.5,
            "phase": phase(setting, second),
            "value": float(outcome.parts[second, which]),
        }
        for second in range(0, int(setting.length_s))
    ]


# ------------------------------------------------------------------------------------- observers


def means(group: Sequence[Seen], field: str = "value") -> dict[str, float]:
    """Return the mean of every system's points at a place."""
    found: dict[str, list[float]] = {}
    for one in group:
        if one.get(field) is not None:
            found.setdefault(curve_of(one), []).append(float(one[field]))
    return {name: fmean(values) for name, values in found.items()}


def gain(above: str, below: str, **where: Any) -> Observer:
    """Observe by which part one way's mean output is above another's."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places(where):
            values = means(group)
            if above in values and below in values:
                found.append((label, _over(values[above], values[below]) - 1.0))
        return found

    return observe


def gain_grows(above: str, below: str, along: str, **where: Any) -> Observer:
    """Observe by how much a gain is larger at the last place along a parameter than at the first.

    It is a gain of one way over another, as :func:`gain` has it.
    """

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places(where, without=(along,)):
            values = {}
            for at in sorted({one[along] for one in group}):
                there = means([one for one in group if one[along] == at])
                if above in there and below in there:
                    values[at] = _over(there[above], there[below]) - 1.0
            if len(values) > 1:
                series = list(values.values())
                found.append((label, series[-1] - series[0]))
        return found

    return observe


def against_best(**where: Any) -> Observer:
    """Observe auto's mean output over that of the best other way."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places(where):
            values = means(group)
            rivals = [values[name] for name in OTHERS if name in values]
            if AUTO in values and rivals:
                found.append((label, _over(values[AUTO], max(rivals))))
        return found

    return observe


def against_bound(**where: Any) -> Observer:
    """Observe auto's mean output over the optimum for the comparisons that it made."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places(where):
            values, limits = means(group), means(group, "bound")
            if AUTO in limits:
                found.append((label, _over(values[AUTO], limits[AUTO])))
        return found

    return observe


def against_informed(points: Points) -> list[Observation]:
    """Observe auto's mean output over that of auto told what every unit of work returns."""
    found = []
    for label, group in points.places({}):
        values = means(group)
        if AUTO in values and INFORMED in values:
            found.append((label, _over(values[AUTO], values[INFORMED])))
    return found


def _over(above: float, below: float) -> float:
    if below == 0.0:
        return 1.0 if above == 0.0 else 1e6
    return above / below


# ---------------------------------------------------------------------------------------- claims


def about(text: str, number: str, observe: Observer, gained: float, reading: str = "") -> Claim:
    """Claim a gain that the paper gives in per cent: give or take half of it."""
    return Claim(text, number, observe, "near", gained, gained / 2.0, reading)


def goals(bounded: bool = True, **where: Any) -> tuple[Claim, ...]:
    """Claim what `auto` is to reach everywhere; ours, not the paper's."""
    best = Claim(
        "Ours: auto gives nearly what the best other way gives, or more",
        "auto / best other",
        against_best(**where),
        "at least",
        OF_OTHERS,
    )
    near = Claim(
        "Ours: auto gives most of the optimum for the comparisons that it makes",
        "auto / optimum",
        against_bound(**where),
        "at least",
        OF_OPTIMUM,
    )
    return (best, near) if bounded else (best,)


def learned() -> Claim:
    """Claim that little is lost by what `auto` has to learn; ours, not the paper's."""
    return Claim(
        "Ours: told what comparing returns, auto would give little more",
        "auto / informed",
        against_informed,
        "at least",
        OF_OPTIMUM,
    )
