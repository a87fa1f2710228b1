"""Classes of tuples that a plan tells apart: by the size of a set, by importance."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from bankfull.oracle.comparing.tuples import Arrival, JoinSpec, Rules

#: The largest set of every class of sizes but the last.
SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 20, 40)
#: So many different values of importance of a stream have a class each.
VALUES = 16


class Classes:
    """Which class every tuple is in; a stream's values of importance are known as they come."""

    def __init__(
        self, joins: Sequence[JoinSpec], rules: Rules, by_size: bool, by_importance: bool
    ) -> None:
        self._joins = joins
        self._rules = rules
        self._by_size = by_size and any(join.on_sets for join in joins)
        self._by_importance = by_importance and any(rules.weighed)
        self._known: list[list[float]] = [[] for _ in rules.weighed]

    @property
    def count(self) -> int:
        """How many classes there are."""
        sizes = len(SIZES) + 1 if self._by_size else 1
        return sizes * (VALUES if self._by_importance else 1)

    def of(self, x: Arrival) -> int:
        """Return the class of a tuple that arrives."""
        number = class_of_size(self._size(x)) if self._by_size else 0
        if self._by_importance:
            number *= VALUES
            if self._rules.weighed[x.stream]:
                number += self._class_of_value(x)
        return number

    def _size(self, x: Arrival) -> int:
        """Return the size of a tuple's set, as the first join on sets of its stream lists it."""
        for number, join in enumerate(self._joins):
            if x.stream in join.streams and join.on_sets:
                return len(join.items(join.streams.index(x.stream), x.keys[number]))
        return 0

    def _class_of_value(self, x: Arrival) -> int:
        """Return the class of the nearest known value, by ratio; a new value is one while it can.

        Of two that are as near it is the smaller.
        """
        known = self._known[x.stream]
        if x.importance not in known and len(known) < VALUES:
            known.append(x.importance)
        own = math.log(x.importance)
        ordered = sorted(known)
        nearest = ordered[0]
        for smaller, larger in itertools.pairwise(ordered):
            if own > (math.log(larger) + math.log(smaller)) / 2.0:
                nearest = larger
        return known.index(nearest)


def class_of_size(size: int) -> int:
    """Return the class of a set by its number of items.

    >>> [class_of_size(size) for size in (0, 3, 9, 12, 1000)]
    [0, 3, 9, 9, 12]
    """
    for number, largest in enumerate(SIZES):
        if size <= largest:
            return number
    return len(SIZES)
