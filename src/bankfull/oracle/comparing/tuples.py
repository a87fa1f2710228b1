"""What arrives, which joins there are, and what a query says of its budget of comparisons."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from bankfull.oracle.matching import agree
from bankfull.spec import Equal, Predicate, Subset, Superset

#: Stands for the empty set where a predicate matches it, so that lists can find it.
EMPTY_SET = object()


@dataclass(frozen=True)
class Arrival:
    """One accepted tuple; ``number`` is its place in its own stream.

    ``keys`` holds one value a join of the query: a key, a set, or the weights of items; None where
    the tuple's stream does not take part in the join.
    """

    stream: int
    time: int
    number: int
    keys: tuple[Any, ...]
    importance: float = 1.0


@dataclass(frozen=True)
class JoinSpec:
    """A join of streams; ``spans`` are their windows. ``search``: scan, hash or inverted.

    Join number k of a query compares the tuples' key number k. Sets are joined of two streams.
    """

    streams: tuple[int, ...]
    spans: tuple[float, ...]
    predicate: Predicate
    search: str
    #: Windows of rows: the length of each, and a span of infinity.
    rows: tuple[float, ...] = ()

    def most(self, side: int) -> float:
        """Return how many rows the window of a side has."""
        return self.rows[side] if self.rows else math.inf

    def agree(self, side: int, own: Any, other: Any) -> bool:
        """Tell whether a key of the stream at ``side`` agrees with one of the other stream."""
        left, right = (own, other) if side == 0 else (other, own)
        return agree(self.predicate)(left, right)

    def items(self, side: int, value: Any) -> frozenset[Any]:
        """Return the items under which a set of the stream at ``side`` is listed.

        Where one set must lie within the other, the empty set is listed under an item of its own:
        all sets that may hold others have it, and of those that may be held the empty ones.
        """
        items = frozenset(value)
        if not isinstance(self.predicate, Subset | Superset):
            return items
        held = side == (0 if isinstance(self.predicate, Subset) else 1)
        return items if held and items else items | {EMPTY_SET}

    def entries(self, side: int, own: Any, other: Any) -> int:
        """Return how many entries of lists lead from one set to the other: items in common."""
        return len(self.items(side, own) & self.items(1 - side, other))

    @property
    def on_sets(self) -> bool:
        return not isinstance(self.predicate, Equal)

    @property
    def directions(self) -> list[tuple[int, int]]:
        """Who searches whose window: the side that arrives, the side that is searched."""
        sides = range(len(self.streams))
        return [(s, j) for j in sides for s in sides if s != j]


@dataclass(frozen=True)
class Rules:
    """A budget of ``per_unit`` comparisons a unit of time, and how it is spent.

    It holds for a ``period``; plans hold for a ``basic`` window. ``sample`` is the paper's gamma.
    ``weighed[k]``: stream k has an importance; ``combine`` says what a result is worth by it.
    """

    per_unit: float
    sample: float
    basic: int
    period: int
    weighed: tuple[bool, ...]
    combine: str = "min"
    seed: int = 0

    @property
    def fade(self) -> float:
        """What is left after a basic window of what was seen: a period is its mean age."""
        return 1.0 - self.basic / max(self.period, 2 * self.basic)

    def worth(self, *all_members: Arrival) -> float:
        """Return the importance of a result: that of its members whose streams have one, or 1."""
        members = [one.importance for one in all_members if self.weighed[one.stream]]
        if not members:
            return 1.0
        return {
            "min": min(members),
            "max": max(members),
            "sum": sum(members),
            "product": math.prod(members),
            "average": sum(members) / len(members),
        }[self.combine]
