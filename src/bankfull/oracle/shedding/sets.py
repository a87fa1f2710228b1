"""Joins on sets: tuples agree by a predicate, and their frequency is that of their items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bankfull.oracle.matching import agree as matches
from bankfull.oracle.shedding.memory import Arrival, JoinSpec
from bankfull.spec import Overlap, Predicate, Similar, Subset


@dataclass(frozen=True)
class SetJoin(JoinSpec):
    """A join of two streams whose tuples bring sets, or weights by item for ``Similar``."""

    predicate: Predicate

    def keys_of(self, x: Arrival, number: int) -> list[Any]:
        """Return the items of a tuple's set; the empty set is found by one that stands for it.

        Where sets must have something in common, the empty set is found by nothing.
        """
        if x.stream not in self.streams or x.keys[number] is None:
            return []
        common = isinstance(self.predicate, Overlap | Similar)
        return list(x.keys[number]) or ([] if common else [None])

    def alike(self, x: Arrival, u: Arrival, number: int) -> bool:
        left, right = (x, u) if x.stream == self.streams[0] else (u, x)
        return matches(self.predicate)(left.keys[number], right.keys[number])

    def frequency(self, x: Arrival, history: list[Arrival], number: int) -> int:
        """Return what the items of x promise: how often each of them arrived, taken together.

        The sum over the items. Where x must lie within its partner, the least, since all of them
        must be there; the empty set lies within whatever came. Where partners must lie within x,
        the empty sets that came count as well, since all of them do.
        """
        if x.stream not in self.streams or x.keys[number] is None:
            return 0
        others = [
            set(u.keys[number])
            for u in history
            if u.stream in self.streams and u.stream != x.stream and u.keys[number] is not None
        ]
        counts = [_holding(others, item) for item in x.keys[number]]
        if isinstance(self.predicate, Overlap | Similar):
            return sum(counts)
        within = self.streams[0 if isinstance(self.predicate, Subset) else 1]
        if x.stream == within:
            return min(counts) if counts else len(others)
        return sum(counts) + sum(not other for other in others)


def _holding(sets: list[set[Any]], item: Any) -> int:
    return sum(item in one for one in sets)
