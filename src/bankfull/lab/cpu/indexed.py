"""Figures 14 and 15: the size of basic windows, and joins with an index."""

from __future__ import annotations

from bankfull.lab.claims import Claim, Observation, Observer, Points
from bankfull.lab.cpu.running import OPTIMUM
from bankfull.lab.cpu.setting import Setting
from bankfull.lab.cpu.shared import (
    NOTE_OPTIMUM,
    OUTPUT,
    about,
    gain,
    goals,
    mean,
)
from bankfull.lab.experiment import Cell, Chart, Experiment, Record, fixed, grid
from bankfull.lab.observers import ratio

#: Windows of joins without and with an index, in seconds (sections 6.4.1 and 6.4.2).
PLAIN_S, INDEXED_S = 20.0, 200.0
_LENGTHS = {PLAIN_S: 60.0, INDEXED_S: 300.0}
#: Output is counted once the windows are full.
_SINCE = {PLAIN_S: 0.5, INDEXED_S: 0.75}
#: Searches by predicate as the place names them: what is compared, and how.
JOINS = {
    "overlap": ("overlap", "scan"),
    "overlap, indexed": ("overlap", "inverted"),
    "overlap, by identifier": ("overlap", "identifier"),
    "equal": ("equal", "scan"),
    "equal, indexed": ("equal", "hash"),
}


def _setting(cell: Cell, rate: float) -> Setting:
    predicate, search = JOINS[str(cell.place["join"])]
    window = PLAIN_S if search == "scan" else INDEXED_S
    basic = float(cell.place.get("basic_s", window / 20.0))
    skew = float(cell.place.get("skew", 0.6))
    made = Setting(
        ((_LENGTHS[window], rate),),
        window,
        basic,
        skew,
        predicate=predicate,
        search=search,
    )
    return made.small() if cell.quick else made


def _measure(cell: Cell) -> list[Record]:
    setting = _setting(cell, float(cell.place.get("rate", 500.0)))
    if cell.system == OPTIMUM and setting.search not in ("scan", "inverted"):
        return []
    found = mean(lambda _: setting, _SINCE[setting.window_s])(cell)
    if setting.search not in ("scan", "inverted"):
        found[0].pop("bound", None)
    return found


def at_basic(system: str, first: float, second: float, join: str) -> Observer:
    """Observe a system's output at one size of basic windows over that at another."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places({"join": join}, without=("basic_s",)):
            mine = {one["basic_s"]: float(one["value"]) for one in group if one["policy"] == system}
            if first in mine and second in mine:
                found.append((label, mine[first] / max(mine[second], 1e-9)))
        return found

    return observe


def join_ratio(system: str, above: str, below: str) -> Observer:
    """Observe a system's output in one join over that in another."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places({}, without=("join",)):
            mine = {one["join"]: float(one["value"]) for one in group if one["policy"] == system}
            if above in mine and below in mine:
                found.append((label, mine[above] / max(mine[below], 1e-9)))
        return found

    return observe


_PLAIN, _LISTS, _IDS = "overlap", "overlap, indexed", "overlap, by identifier"

FIG14 = Experiment(
    "cpu.fig14",
    "Figure 14: mean output against the size of basic windows, 500 tuples a second",
    "basic_s",
    ("rate", "direction", "auto"),
    fixed(
        [
            *grid(join=(_PLAIN,), skew=(0.6, 1.0), basic_s=(0.2, 1.0, 5.0, 20.0)),
            *grid(join=(_LISTS,), skew=(0.6,), basic_s=(1.0, 10.0, 200.0)),
            *grid(join=(_IDS,), skew=(0.6,), basic_s=(10.0, 200.0)),
        ],
        [
            *grid(join=(_PLAIN,), skew=(0.6,), basic_s=(1.0, 20.0)),
            *grid(join=(_LISTS,), skew=(0.6,), basic_s=(1.0, 10.0, 200.0)),
            *grid(join=(_IDS,), skew=(0.6,), basic_s=(10.0,)),
        ],
    ),
    _measure,
    (
        Claim(
            "Small basic windows give more than large ones, without an index",
            "direction: basic windows of 1 s / of 20 s",
            at_basic("direction", 1.0, 20.0, _PLAIN),
            "at least",
            1.0,
        ),
        Claim(
            "Small basic windows give more than large ones, with an index",
            "direction: basic windows of 10 s / of 200 s",
            at_basic("direction", 10.0, 200.0, _LISTS),
            "at least",
            1.0,
        ),
        Claim(
            "Very small basic windows lose with an index",
            "direction: basic windows of 1 s / of 10 s",
            at_basic("direction", 1.0, 10.0, _LISTS),
            "at most",
            0.99,
        ),
        Claim(
            "Lists sorted by identifier give less than lists sorted by time",
            "direction: by identifier / by time",
            join_ratio("direction", _IDS, _LISTS),
            "at most",
            1.0,
        ),
        Claim(
            "Without basic windows less is found",
            "direction with basic windows of 1 s / rate",
            ratio("direction", "rate", join=_PLAIN, basic_s=1.0),
            "at least",
            1.0,
        ),
        Claim(
            "Ours: auto gives at least what direction gives",
            "auto / direction",
            ratio("auto", "direction"),
            "at least",
            0.97,
        ),
    ),
    Chart("basic_s", OUTPUT, panel=("join", "skew"), log="x"),
    seeds=(1,),
    notes=(
        "rate stands for the join without basic windows. Our inverted lists are not divided by "
        "basic windows: a list is entered at a time by bisection, so that a basic window costs no "
        "search of its own in a list.",
    ),
)

_RATES = (100.0, 300.0, 500.0)

FIG15 = Experiment(
    "cpu.fig15",
    "Figure 15: output against the rate of the streams, with and without an index",
    "rate",
    ("drop", "rate", "correlation", "direction", "utility", "auto", OPTIMUM),
    fixed(
        grid(join=("overlap", "equal", "overlap, indexed", "equal, indexed"), rate=_RATES),
        [
            *grid(join=("overlap", "equal", "equal, indexed"), rate=(500.0,)),
            *grid(join=("overlap, indexed",), rate=(100.0, 500.0)),
        ],
    ),
    _measure,
    (
        about(
            "Choosing gives up to 500 % more than dropping, sets without an index",
            "direction / drop - 1",
            gain("direction", "drop", join="overlap", rate=500.0),
            5.0,
        ),
        Claim(
            "Choosing gives more than dropping, values without an index",
            "direction / drop - 1",
            gain("direction", "drop", join="equal", rate=500.0),
            "at least",
            0.5,
        ),
        about(
            "Choosing gives about 100 % more, sets with an index at 500 tuples a second",
            "direction / drop - 1",
            gain("direction", "drop", join="overlap, indexed", rate=500.0),
            1.0,
        ),
        Claim(
            "Sets with an index: no gain below 300 tuples a second",
            "direction / drop - 1",
            gain("direction", "drop", join="overlap, indexed", rate=100.0),
            "near",
            0.0,
            0.05,
        ),
        Claim(
            "Values with an index: no gain and no harm",
            "direction / drop - 1",
            gain("direction", "drop", join="equal, indexed"),
            "near",
            0.0,
            0.03,
        ),
        Claim(
            "Ours: values with an index: auto costs at most 3 %",
            "auto / drop - 1",
            gain("auto", "drop", join="equal, indexed"),
            "at least",
            0.0,
            0.03,
        ),
        *goals(),
    ),
    Chart("rate", OUTPUT, panel="join", log="y"),
    seeds=(1,),
    notes=(
        NOTE_OPTIMUM,
        "With an index the optimum charges entries of lists by the mean of a basic window; of "
        "values with an index there is none.",
    ),
)

EXPERIMENTS = (FIG14, FIG15)
