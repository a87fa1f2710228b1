"""What an experiment declares: its paper, one varied parameter, systems, seeds and claims."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bankfull.lab.claims import Claim, Points

#: Where a measurement was taken: the varied parameter and whatever else is held.
Place = dict[str, float | int | str]
#: One plotted point, flat.
Record = dict[str, Any]

PAPERS = {
    "gdj": "GreedyDual-Join: locality-aware buffer management for approximate join processing",
    "importance": "Ojewole, Zhu, Hou: Window Join Approximation over Data Streams with "
    "Importance Semantics",
    "cpu": "Gedik, Wu, Yu, Liu: CPU Load Shedding for Binary Stream Joins",
    "all": "not from a paper: every policy on the same axes",
}


@dataclass(frozen=True)
class Cell:
    """One task of the grid: one system at one place with one seed."""

    experiment: str
    system: str
    seed: int
    place: Place
    quick: bool = False

    def dumps(self) -> str:
        """Write the cell down, to send it to a worker."""
        return json.dumps(self.__dict__)

    @classmethod
    def loads(cls, text: str) -> Cell:
        """Read a cell."""
        return cls(**json.loads(text))


@dataclass(frozen=True)
class Chart:
    """How the figure is drawn: a panel for each value of ``panel``, a curve for each system.

    ``panel`` names a field, or several, of which every combination has a panel.
    """

    x: str
    y: str
    kind: str = "line"  # or "bar", "scatter", "overview"
    panel: str | tuple[str, ...] | None = None
    log: str = ""  # which axes are logarithmic: "", "x", "y", "xy"
    across: str | None = None  # what a scatter plot has on its horizontal axis
    across_is: str = ""  # what stands at that axis, where the field means something of its own


@dataclass(frozen=True)
class Printed:
    """A figure or table as a paper prints it: the experiments that repeat it, or why none does."""

    name: str
    about: str
    experiments: tuple[str, ...] = ()
    reason: str = ""

    def __post_init__(self) -> None:
        assert bool(self.experiments) != bool(self.reason), self.name


#: Why a claim holds or not, in one plain sentence: by experiment, then by how its text begins.
Causes = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Experiment:
    """A figure or table, and what is claimed of it.

    ``places`` lists the settings of the grid, given whether it is to be quick; ``measure`` turns
    a cell into points, each with a ``value``. Systems are named as the rows name them;
    ``policies`` are those in use that no system is named after.
    """

    key: str
    title: str
    varied: str
    systems: tuple[str, ...]
    places: Callable[[bool], Sequence[Place]]
    measure: Callable[[Cell], Sequence[Record]]
    claims: tuple[Claim, ...]
    chart: Chart
    seeds: tuple[int, ...] = (1, 2, 3)
    quick_seeds: tuple[int, ...] = (1,)
    curve: str = "policy"  # what names a curve: "policy" or "system"
    notes: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    slow: frozenset[str] = field(default_factory=lambda: frozenset({"optimum"}))

    def __post_init__(self) -> None:
        assert self.key.partition(".")[0] in PAPERS, self.key
        assert self.curve in ("policy", "system"), self.key

    @property
    def paper(self) -> str:
        """The paper it comes from."""
        return PAPERS[self.key.partition(".")[0]]

    def cells(self, quick: bool, seeds: Sequence[int] | None) -> list[Cell]:
        """Return the grid, what takes long first."""
        chosen = seeds or (self.quick_seeds if quick else self.seeds)
        found = [
            Cell(self.key, system, seed, dict(place), quick)
            for system in self.systems
            for seed in chosen
            for place in self.places(quick)
        ]
        return sorted(found, key=lambda cell: cell.system not in self.slow)

    def records(self, cell: Cell) -> list[Record]:
        """Measure a cell and write down where."""
        return [
            {
                "experiment": self.key,
                self.curve: cell.system,
                **cell.place,
                "seed": cell.seed,
                **measured,
            }
            for measured in self.measure(cell)
        ]

    def judge(self, records: Sequence[Record], quick: bool = False) -> list[dict[str, Any]]:
        """Return a verdict for every claim."""
        settings = (*dict.fromkeys(name for place in self.places(False) for name in place), "seed")
        points = Points(records, settings)
        return [{"experiment": self.key, **claim.judge(points, quick)} for claim in self.claims]

    def describe(self) -> dict[str, Any]:
        """Return the declaration as plain values."""
        return {
            "experiment": self.key,
            "title": self.title,
            "paper": self.paper,
            "varied": self.varied,
            "systems": list(self.systems),
            "seeds": list(self.seeds),
            "claims": [claim.describe() for claim in self.claims],
            "notes": list(self.notes),
        }


def grid(**values: Sequence[float | int | str]) -> list[Place]:
    """Return every combination.

    >>> grid(workload=["a", "b"], budget=[0.1])
    [{'workload': 'a', 'budget': 0.1}, {'workload': 'b', 'budget': 0.1}]
    """
    places: list[Place] = [{}]
    for name, options in values.items():
        places = [{**place, name: option} for place in places for option in options]
    return places


def fixed(wide: Sequence[Place], narrow: Sequence[Place]) -> Callable[[bool], Sequence[Place]]:
    """Return the places of a grid: the narrow ones when it is to be quick."""
    return lambda quick: narrow if quick else wide


def options(place: Mapping[str, float | int | str], *names: str) -> tuple[tuple[str, Any], ...]:
    """Pick some of a place's values, in a form that can be the key of a cache."""
    return tuple((name, place[name]) for name in names if name in place)
