"""The best that any policy could do, with all that is to come known beforehand.

What arrives meets the stored tuples of the other side whether it is stored itself or not, so the
best choice is a minimum-cost flow (``bankfull.oracle.optimum``). That holds for joins of two
streams that share no stream with each other; with more streams in one join, or several joins over
one stream, no optimum is known here and the exact result is the only bound.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bankfull.lab.traces import Ints, JoinOn, Workload


def has_optimum(workload: Workload) -> bool:
    """Say whether the optimum of this workload can be computed."""
    used = [place for join in workload.joins for place in join.streams]
    windows = {join.within for join in workload.joins}
    return (
        len(used) == len(set(used)) == 2 * len(workload.joins)
        and len(windows) == 1
        and len(workload.joins) > 0
    )


def optimum(
    workload: Workload, budgets: Sequence[int], unified: bool, goal: str
) -> tuple[int, float]:
    """Return results and importance of the best schedule; ``goal`` is what is maximised first."""
    from bankfull.oracle.optimum import Optimum, Problem, esja, sja

    assert has_optimum(workload), workload.name
    assert goal in ("results", "importance")
    solve = esja if goal == "importance" else sja
    found: list[Optimum] = []
    if unified:
        left, right, span, since = _side_by_side(workload)
        found.append(solve(Problem(left, right, span, sum(budgets), since=since)))
    else:
        for join in workload.joins:
            first, second = (_columns(workload, join, place) for place in join.streams)
            rooms = (budgets[join.streams[0]], budgets[join.streams[1]])
            found.append(solve(Problem(first, second, join.within, rooms, since=workload.since)))
    return sum(one.results for one in found), sum(one.importance for one in found)


def _columns(workload: Workload, join: JoinOn, place: int) -> tuple[Ints, Ints, list[float]]:
    trace = workload.streams[place]
    worth = [1.0] * len(trace) if trace.importance is None else trace.importance.tolist()
    return trace.times, trace.columns[join.column], worth


def _side_by_side(
    workload: Workload,
) -> tuple[tuple[Ints, Ints, list[float]], tuple[Ints, Ints, list[float]], int, int]:
    """Put several joins into one of two streams, whose keys keep them apart.

    Times are stretched so that tuples of one instant keep the order of their streams, and so is
    the window: by an even factor of more than twice the number of streams no pair is gained or
    lost.
    """
    step = 2 * len(workload.streams) + 2
    sides = []
    for side in (0, 1):
        times, keys, worths = [], [], []
        for number, join in enumerate(workload.joins):
            place = join.streams[side]
            ticks, key, worth = _columns(workload, join, place)
            times.append(ticks * step + place)
            keys.append(key * len(workload.joins) + number)
            worths.append(np.asarray(worth))
        order = np.argsort(np.concatenate(times), kind="stable")
        sides.append(
            (
                np.concatenate(times)[order],
                np.concatenate(keys)[order],
                np.concatenate(worths)[order].tolist(),
            )
        )
    within = workload.joins[0].within
    return sides[0], sides[1], within * step + len(workload.streams), workload.since * step
