"""Joins on sets: tuples agree by a predicate, and their frequency is that of their items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from bankfull.oracle.matching import agree as matches
from bankfull.oracle.shedding.memory import Arrival, JoinSpec
from bankfull.spec import Overlap, Predicate, Similar, Subset

#: The item that stands for the empty set.
EMPTY = "empty"


@dataclass(frozen=True)
class SetJoin(JoinSpec):
    """A join of two streams whose tuples bring sets, or weights by item for ``Similar``."""

    single: ClassVar[bool] = False

    predicate: Predicate

    def keys_of(self, x: Arrival, number: int) -> list[Any]:
        """Return the items of a tuple's set, in their order.

        Where sets need have nothing in common, what may hold others has one that stands for the
        empty set, first, and so has the empty set itself.
        """
        if x.stream not in self.streams or x.keys[number] is None:
            return []
        items = sorted(x.keys[number])
        holds = not isinstance(self.predicate, Overlap | Similar) and x.stream != self._within
        return [EMPTY, *items] if holds or self._is_empty(items) else items

    def promise(self, stream: int, chances: list[float], many: float) -> float:
        """Return the chance that the next key is a partner's, of the chances to be one's items.

        ``many`` keys come with each tuple of the other stream. As if items came independently, at
        least so many must be in common (more than 32 count as 32). Where a partner must hold all of
        them, the least of them; otherwise, their sum.
        """
        if not isinstance(self.predicate, Overlap):
            return min(chances) if stream == self._within else sum(chances)
        wanted = min(self.predicate.at_least, 32)
        common = [1.0] + [0.0] * wanted  # of so many in common, or of that and more
        for chance in chances:
            held = min(chance * many, 1.0)
            common = [
                common[n] * (1 - held * (n < wanted)) + (common[n - 1] * held if n else 0.0)
                for n in range(wanted + 1)
            ]
        return common[wanted] / many

    @property
    def _within(self) -> int | None:
        """The stream whose sets must lie within the other's, if there is one."""
        if isinstance(self.predicate, Overlap | Similar):
            return None
        return self.streams[0 if isinstance(self.predicate, Subset) else 1]

    def _is_empty(self, items: list[Any]) -> bool:
        return self._within is not None and not items

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
        if x.stream == self._within:
            return min(counts) if counts else len(others)
        return sum(counts) + sum(not other for other in others)


def _holding(sets: list[set[Any]], item: Any) -> int:
    return sum(item in one for one in sets)
