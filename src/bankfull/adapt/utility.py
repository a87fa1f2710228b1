"""Compare those tuples with most of the windows that bring the most worth.

Reference: Gedik, Wu, Yu, Liu, *CPU Load Shedding for Binary Stream Joins*, Algorithm 5: units of
work (a class of tuples against a basic window) are packed by worth a pair, from a heap that
holds the next unit of every class and window.
Deviations: the volume of a unit has the frequency of the class in the stream that arrives, which is
the opposite one. Where an index takes more comparisons for some pairs than for others, that is not
seen, as the paper counts pairs; ``auto`` does see it. The order of basic windows is that of results
a pair, for all classes of a window. Of three and more streams a tuple must be compared with all
windows but its own, so a unit is a class of tuples of one stream against one basic window of each
of them: the best of all, then the second best of all; its worth is that of their mean.
"""

from __future__ import annotations

import heapq
from typing import ClassVar

import numpy as np

from bankfull.adapt.parts import best_first, filled, mean_results, results_a_pair
from bankfull.core.comparing.work import Float64, Work
from bankfull.kernels.probes.selection import PAIRS, WORTH


def packed(work: Work, budget: float) -> Float64:
    """Return which part of the tuples of each window a class is compared with, ``[j, z]``."""
    returned, cost = results_a_pair(work), work.cost()
    order = best_first(work)
    pairs, worth = work.seen[..., PAIRS].sum(axis=2), work.seen[..., WORTH].sum(axis=2)
    each = worth / np.maximum(pairs, 1.0)
    total = work.tuples.sum(axis=1)
    mean = mean_results(work)
    # What is searched together: the windows of all other streams, by the stream that arrives.
    ways = [[0], [1]] if work.streams == 2 else [work.of_stream(s) for s in range(work.streams)]

    def value(j: int, z: int, place: int) -> float:
        shape = returned[j, order[j, place]] / mean[j] if mean[j] > 0.0 else 1.0
        return float(each[j, z] * shape)

    def least(s: int, z: int, place: int) -> float:
        return -sum(value(j, z, place) for j in ways[s]) / len(ways[s])

    kinds, windows = work.arrivals.shape[1], work.tuples.shape[1]
    heap = [(least(s, z, 0), s, z, 0) for s in range(len(ways)) for z in range(kinds)]
    heapq.heapify(heap)
    parts = np.zeros(work.arrivals.shape)
    left = budget
    while heap:
        _, s, z, place = heapq.heappop(heap)
        units = [(j, order[j, place]) for j in ways[s]]
        volume = sum(work.arrivals[j, z] * work.tuples[j, a] * cost[j, a] for j, a in units)
        fits = left / volume if volume > left else 1.0
        for j, a in units:
            share = work.tuples[j, a] / total[j] if total[j] > 0.0 else 1.0 / windows
            parts[j, z] += share * fits
            if volume <= left and place + 1 == windows:
                parts[j, z] = 1.0
        if volume > left:
            break
        left -= volume
        if place + 1 < windows:
            heapq.heappush(heap, (least(s, z, place + 1), s, z, place + 1))
    return parts


class Utility:
    """Classes of importance, each with parts of its own of either window."""

    by_size: ClassVar[bool] = False
    by_importance: ClassVar[bool] = True
    drops: ClassVar[bool] = False
    foresees: ClassVar[bool] = False
    remembers: ClassVar[float] = 0.0

    def choose(self, works: list[Work], budget: float) -> list[Float64]:
        """Return the share that is compared of every basic window, for each join.

        Every join has the same part of the budget as of the work.
        """
        demands = [work.demand() for work in works]
        chosen = []
        for work, demand in zip(works, demands, strict=True):
            own = budget * demand / sum(demands) if sum(demands) > 0.0 else budget
            parts = packed(work, own) if own < demand else np.ones(work.arrivals.shape)
            chosen.append(filled(work, best_first(work), parts))
        return chosen
