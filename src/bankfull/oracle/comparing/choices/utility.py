"""Classes of importance against basic windows, those of most worth first (Algorithm 5).

Instead of a heap: of all units whose better ones are taken, the best is taken, again and again.
"""

from __future__ import annotations

from bankfull.oracle.comparing.choices.parts import best_first, fill, mean_results, results_a_pair
from bankfull.oracle.comparing.work import Choice, Work, over_windows


class Utility:
    """Every join gets the same part of its demand."""

    by_size = False
    by_importance = True
    drops = False
    remembers = 0.0

    def choose(self, works: list[Work], budget: float) -> list[Choice]:
        """Return what each join compares."""
        demands = [work.demand() for work in works]
        chosen = []
        for work, demand in zip(works, demands, strict=True):
            own = budget * demand / sum(demands) if sum(demands) > 0.0 else budget
            parts = [[1.0] * work.kinds for _ in work.tuples]
            if own < demand:
                parts = _pack(work, own)
            chosen.append(
                [
                    [fill(tuples, best_first(work, j), part) for part in parts[j]]
                    for j, tuples in enumerate(work.tuples)
                ]
            )
        return chosen


def _pack(work: Work, budget: float) -> list[list[float]]:
    """Return which part of the tuples of direction j class z is compared with, ``[j][z]``.

    What is taken is a basic window of a side; of several streams one of every side that tuples of a
    stream search, those that are as good in their windows together.
    """
    kinds, windows, ways = work.kinds, work.windows, range(len(work.tuples))
    order = [best_first(work, j) for j in ways]
    cost = [work.cost(j) for j in ways]
    values = [_values(work, j, order[j]) for j in ways]
    total = [sum(work.tuples[j]) for j in ways]
    # For two streams the sides that are searched, in their order.
    groups = [[0], [1]]
    if work.sides > 2:
        groups = [[j for j in ways if work.arriving[j] == side] for side in range(work.sides)]
    taken = {(g, z): 0 for g in range(len(groups)) for z in range(kinds)}
    parts = [[0.0] * kinds for _ in ways]

    def worth(unit: tuple[int, int]) -> float:
        g, z = unit
        return sum(values[j][z][taken[unit]] for j in groups[g]) / len(groups[g])

    while taken:
        g, z = min(taken, key=lambda unit: (-worth(unit), *unit))
        place = taken[g, z]
        volumes, shares = [], []
        for j in groups[g]:
            a = order[j][place]
            volumes.append(work.arrivals[j][z] * work.tuples[j][a] * cost[j][a])
            shares.append(work.tuples[j][a] / total[j] if total[j] > 0.0 else 1.0 / windows)
        fits = budget / sum(volumes) if sum(volumes) > budget else 1.0
        for j, share in zip(groups[g], shares, strict=True):
            parts[j][z] += share * fits
        if sum(volumes) > budget:
            return parts
        budget -= sum(volumes)
        taken[g, z] += 1
        if taken[g, z] == windows:
            for j in groups[g]:
                parts[j][z] = 1.0
            del taken[g, z]
    return parts


def _values(work: Work, j: int, order: list[int]) -> list[list[float]]:
    """Return the worth of a comparison, by class and by the place of a basic window in the order.

    The paper's ``u n o / sum of o``.
    """
    worth = over_windows(work.seen.worth, j, work.kinds)
    pairs = over_windows(work.seen.pairs, j, work.kinds)
    u = [own / max(at, 1.0) for own, at in zip(worth, pairs, strict=True)]
    o = results_a_pair(work, j)
    mean = mean_results(work, j)
    shape = [o[a] / mean if mean > 0.0 else 1.0 for a in order]
    return [[each * one for one in shape] for each in u]
