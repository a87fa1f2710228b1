"""Classes of arriving tuples that a plan tells apart: by the size of a set, by importance."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bankfull.core.plan import ComparePlan, Plan
from bankfull.spec import Equal

#: The largest set of every class of sizes but the last.
SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 20, 40)
#: So many different values of importance have a class each; a further one has the nearest.
VALUES = 16


def by_size(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the class of every set by its number of items.

    >>> by_size(np.array([0, 3, 9, 12, 1000])).tolist()
    [0, 3, 9, 9, 12]
    """
    return np.searchsorted(np.array(SIZES), sizes).astype(np.int64)


class Values:
    """The values of importance that one stream has shown, in the order in which they came."""

    def __init__(self) -> None:
        self.known = np.full(VALUES, np.nan)

    def classes(self, worth: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the class of every value; new values get one while there are any.

        >>> Values().classes(np.array([2.0, 1.0, 2.0])).tolist()
        [0, 1, 0]
        """
        unseen = worth[~np.isin(worth, self.known)]
        for value in unseen[np.sort(np.unique(unseen, return_index=True)[1])]:
            free = np.flatnonzero(np.isnan(self.known))
            if not free.size:
                break
            self.known[free[0]] = value
        known = self.known[~np.isnan(self.known)]
        if not known.size:
            return np.zeros(len(worth), np.int64)
        order = np.argsort(known)
        logs = np.log(known[order])
        place = np.searchsorted((logs[1:] + logs[:-1]) / 2.0, np.log(worth))
        return order[place].astype(np.int64)


def is_weighed(rules: ComparePlan) -> bool:
    """Tell whether any stream has an importance."""
    return any(column >= 0 for column in rules.importance)


def class_count(plan: Plan) -> int:
    """Return how many classes of tuples are told apart; all joins number them alike."""
    assert plan.compare is not None
    algorithm, count = plan.compare.algorithm, 1
    if algorithm.by_size and any(not isinstance(join.predicate, Equal) for join in plan.joins):
        count *= len(SIZES) + 1
    if algorithm.by_importance and is_weighed(plan.compare):
        count *= VALUES
    return count
