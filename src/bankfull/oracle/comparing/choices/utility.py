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
            parts = [[1.0] * work.kinds for _ in range(2)] if own >= demand else _pack(work, own)
            chosen.append(
                [
                    [fill(work.tuples[j], best_first(work, j), part) for part in parts[j]]
                    for j in range(2)
                ]
            )
        return chosen


def _pack(work: Work, budget: float) -> list[list[float]]:
    """Return which part of side j's tuples class z is compared with, ``[j][z]``."""
    kinds, windows = work.kinds, work.windows
    order = [best_first(work, j) for j in range(2)]
    cost = [work.cost(j) for j in range(2)]
    values = [_values(work, j, order[j]) for j in range(2)]
    total = [sum(work.tuples[j]) for j in range(2)]
    taken = {(j, z): 0 for j in range(2) for z in range(kinds)}
    parts = [[0.0] * kinds for _ in range(2)]
    while taken:
        j, z = min(taken, key=lambda unit: (-values[unit[0]][unit[1]][taken[unit]], *unit))
        place = taken[j, z]
        a = order[j][place]
        volume = work.arrivals[j][z] * work.tuples[j][a] * cost[j][a]
        share = work.tuples[j][a] / total[j] if total[j] > 0.0 else 1.0 / windows
        if volume > budget:
            parts[j][z] += share * budget / volume
            return parts
        budget -= volume
        parts[j][z] += share
        taken[j, z] += 1
        if taken[j, z] == windows:
            parts[j][z] = 1.0
            del taken[j, z]
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
