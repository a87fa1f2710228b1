"""Compare those tuples with most of the windows that bring the most worth.

Reference: Gedik, Wu, Yu, Liu, *CPU Load Shedding for Binary Stream Joins*, Algorithm 5: units of
work (a class of tuples against a basic window) are packed by worth a pair, from a heap that
holds the next unit of every class and window.
Deviations: the volume of a unit has the frequency of the class in the stream that arrives, which is
the opposite one. Where an index takes more comparisons for some pairs than for others, that is not
seen, as the paper counts pairs; ``auto`` does see it. The order of basic windows is that of results
a pair, for all classes of a window.
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

    def value(j: int, z: int, place: int) -> float:
        shape = returned[j, order[j, place]] / mean[j] if mean[j] > 0.0 else 1.0
        return -float(each[j, z] * shape)

    kinds, windows = work.arrivals.shape[1], work.tuples.shape[1]
    heap = [(value(j, z, 0), j, z, 0) for j in range(2) for z in range(kinds)]
    heapq.heapify(heap)
    parts = np.zeros((2, kinds))
    left = budget
    while heap:
        _, j, z, place = heapq.heappop(heap)
        a = order[j, place]
        volume = work.arrivals[j, z] * work.tuples[j, a] * cost[j, a]
        share = work.tuples[j, a] / total[j] if total[j] > 0.0 else 1.0 / windows
        if volume > left:
            parts[j, z] += share * left / volume
            break
        left -= volume
        parts[j, z] = 1.0 if place + 1 == windows else parts[j, z] + share
        if place + 1 < windows:
            heapq.heappush(heap, (value(j, z, place + 1), j, z, place + 1))
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
