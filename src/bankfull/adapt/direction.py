"""Compare in the direction that returns more, and in the other with what is left.

Reference: Gedik, Wu, Yu, Liu, *CPU Load Shedding for Binary Stream Joins*, Algorithm 4.
Deviations: line 7 keeps ``r (w1 + w2) = r1 w1 + r2 w2`` (the printed denominator is a slip), with
the comparisons that each window takes in place of its length, which is the same while both rates
are steady. Of three and more streams a tuple must be compared with all windows but its own to have
a result, so there a direction is a stream whose tuples arrive, and r_s its part of all the windows
that they search: ``r sum D_s = sum r_s D_s``, the stream that returns most a pair first. Of two
streams that is the paper's, as the tuples of each search one window.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bankfull.adapt.parts import best_first, filled, fraction, mean_results
from bankfull.core.comparing.work import Float64, Work
from bankfull.kernels.probes.selection import FOUND, PAIRS


def directed(r: float, demand: Float64, returns: Float64) -> tuple[float, float]:
    """Return the parts of both windows: the better one as far as the comparisons go.

    >>> directed(0.5, np.array([1.0, 1.0]), np.array([2.0, 1.0]))
    (1.0, 0.0)
    >>> directed(0.75, np.array([1.0, 3.0]), np.array([1.0, 2.0]))
    (0.0, 1.0)
    """
    first, second = float(demand[0]), float(demand[1])
    if r >= 1.0 or first <= 0.0 or second <= 0.0:
        return r, r
    total = r * (first + second)
    # Not by what the other one leaves over: of that rounding may leave a little to a window that
    # takes hardly any comparisons.
    if returns[0] >= returns[1]:
        return min(1.0, total / first), min(1.0, max(0.0, (total - first) / second))
    return min(1.0, max(0.0, (total - second) / first)), min(1.0, total / second)


def directed_streams(r: float, demand: Float64, returns: Float64) -> Float64:
    """Return the parts of all windows that tuples of each stream search, the best stream first.

    >>> directed_streams(0.5, np.array([4.0, 2.0, 2.0]), np.array([1.0, 3.0, 2.0])).tolist()
    [0.0, 1.0, 1.0]
    """
    parts, left = np.full(len(demand), r), r * float(demand.sum())
    if r >= 1.0:
        return parts
    for s in np.argsort(-returns, kind="stable").tolist():
        if demand[s] > 0.0:
            parts[s] = min(1.0, max(0.0, left / float(demand[s])))
            left -= float(demand[s])
    return parts


def parts_of(work: Work, r: float) -> Float64:
    """Return the part of the window that is searched in every direction."""
    demand = work.arrivals.sum(axis=1) * (work.cost() * work.tuples).sum(axis=1)
    if work.streams == 2:
        return np.array(directed(r, demand, mean_results(work)))
    seen, ways = work.seen.sum(axis=(1, 2)), [work.of_stream(s) for s in range(work.streams)]
    pairs, found = (np.array([seen[own, what].sum() for own in ways]) for what in (PAIRS, FOUND))
    returns = found / np.maximum(pairs, 1.0)
    parts = directed_streams(r, np.array([demand[own].sum() for own in ways]), returns)
    return parts[list(work.arriving)]


class Direction:
    """The window with more results a pair first, its best basic windows first."""

    by_size: ClassVar[bool] = False
    by_importance: ClassVar[bool] = False
    drops: ClassVar[bool] = False
    foresees: ClassVar[bool] = False
    remembers: ClassVar[float] = 0.0

    def choose(self, works: list[Work], budget: float) -> list[Float64]:
        """Return the share that is compared of every basic window, for each join."""
        r = fraction(works, budget)
        chosen = []
        for work in works:
            parts = np.broadcast_to(parts_of(work, r)[:, None], work.arrivals.shape)
            chosen.append(filled(work, best_first(work), parts))
        return chosen
