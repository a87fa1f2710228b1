"""How references come back: popularity, stack distance (GDJ, section 2)."""

from __future__ import annotations

import numpy as np

from bankfull.lab.traces import Floats, Ints


def frequencies(keys: Ints) -> Ints:
    """Return how often each value occurs, most frequent first.

    >>> frequencies(np.array([7, 3, 7, 7, 3, 1])).tolist()
    [3, 2, 1]
    """
    return np.sort(np.unique(keys, return_counts=True)[1])[::-1].astype(np.int64)


def slope(counts: Ints, at_least: int = 1) -> tuple[float, float]:
    """Fit log frequency to log rank: the Zipf exponent, and how straight the line is (R²).

    Ranks that occur less than ``at_least`` times are left out.

    >>> slope(np.array([1000, 500, 333, 250]))[0].__round__(2)
    1.0
    """
    counts = counts[counts >= at_least]
    x, y = np.log(np.arange(1, len(counts) + 1)), np.log(counts)
    fitted = np.polyfit(x, y, 1)
    rest = y - np.polyval(fitted, x)
    spread = float(((y - y.mean()) ** 2).sum())
    return -float(fitted[0]), 1.0 - float((rest**2).sum()) / spread if spread else 1.0


def stack_distances(keys: Ints) -> Ints:
    """Return for each repeated reference how many other values came since the last to its own.

    >>> stack_distances(np.array([1, 2, 1, 1, 3, 2])).tolist()
    [1, 0, 2]
    """
    stack: list[int] = []  # the most recent value first
    seen: set[int] = set()
    found = []
    for key in keys.tolist():
        if key in seen:
            depth = stack.index(key)
            found.append(depth)
            del stack[depth]
        seen.add(key)
        stack.insert(0, key)
    return np.array(found, dtype=np.int64)


def cumulative(distances: Ints, at: Ints) -> Floats:
    """Return the share of distances below each bound: the hit rate of a cache of that size."""
    return np.searchsorted(np.sort(distances), at, side="left") / max(1, len(distances))
