"""What there is to compare until the next plan, and what comparing has returned so far."""

from __future__ import annotations

from dataclasses import dataclass, field

#: What a join compares: ``choice[j][z][a]`` is the share of basic window a of the stream at side j
#: that a tuple of class z is compared with.
Choice = list[list[list[float]]]
#: A number a cell, where a cell is a side, a class and a basic window; cells left out have none.
Cells = dict[tuple[int, int, int], float]


@dataclass
class Seen:
    """What tuples compared with the whole window have found, in fading sums."""

    pairs: Cells = field(default_factory=dict)
    steps: Cells = field(default_factory=dict)
    found: Cells = field(default_factory=dict)
    worth: Cells = field(default_factory=dict)


@dataclass
class Tried:
    """What all others have found in the parts chosen for them, in fading sums."""

    pairs: Cells = field(default_factory=dict)
    found: Cells = field(default_factory=dict)
    worth: Cells = field(default_factory=dict)


@dataclass
class Work:
    """The work of one join; j is the side whose window is searched.

    Of three and more streams j is a direction, in which tuples of the side ``arriving[j]`` search.

    ``tuples[j][a]`` are in a basic window, and ``arrivals[j][z]`` tuples of class z are expected to
    be compared with them. ``in_chains``: a part can only be reached through all newer ones.
    ``scanned``: a comparison is a pair.
    """

    tuples: list[list[float]]
    arrivals: list[list[float]]
    seen: Seen
    tried: Tried
    in_chains: bool
    scanned: bool
    arriving: list[int] = field(default_factory=lambda: [1, 0])

    @property
    def sides(self) -> int:
        """The number of streams."""
        return len(set(self.arriving))

    @property
    def windows(self) -> int:
        """The number of basic windows."""
        return len(self.tuples[0])

    @property
    def kinds(self) -> int:
        """The number of classes."""
        return len(self.arrivals[0])

    def cost(self, j: int) -> list[float]:
        """Return the comparisons that a pair takes in every basic window of a side.

        A few pairs' worth of the mean count as seen everywhere.
        """
        if self.scanned:
            return [1.0] * self.windows
        pairs = over_classes(self.seen.pairs, j, self.windows)
        steps = over_classes(self.seen.steps, j, self.windows)
        few, mean = 16.0, sum(steps) / max(sum(pairs), 1.0)
        return [(own + few * mean) / (at + few) for at, own in zip(pairs, steps, strict=True)]

    def demand_of(self, j: int) -> float:
        """Return the comparisons that searching one side's whole window takes."""
        each = [one * each for one, each in zip(self.tuples[j], self.cost(j), strict=True)]
        return sum(self.arrivals[j]) * sum(each)

    def demand(self) -> float:
        """Return the comparisons that all the work takes."""
        return sum(self.demand_of(j) for j in range(len(self.tuples)))

    def everything(self) -> Choice:
        """Return the choice that leaves nothing out."""
        return [[[1.0] * self.windows for _ in range(self.kinds)] for _ in self.tuples]


def over_classes(cells: Cells, j: int, windows: int) -> list[float]:
    """Return the sums over all classes, for every basic window of a side."""
    sums = [0.0] * windows
    for side, z, a in sorted(cells):
        if side == j:
            sums[a] += cells[side, z, a]
    return sums


def over_windows(cells: Cells, j: int, kinds: int) -> list[float]:
    """Return the sums over all basic windows of a side, for every class."""
    sums = [0.0] * kinds
    for side, z, a in sorted(cells):
        if side == j:
            sums[z] += cells[side, z, a]
    return sums
