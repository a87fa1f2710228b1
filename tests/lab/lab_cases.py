"""Small workloads for the lab's tests, and their results by trying every combination."""

from __future__ import annotations

import itertools

import numpy as np

from bankfull.lab.traces import JoinOn, Trace, Workload


def some(
    seed: int, streams: int, joins: list[JoinOn], since: int = 0, weighed: bool = True
) -> Workload:
    """Streams of a few dozen tuples, several an instant, with two attributes."""
    rng = np.random.default_rng(seed)
    traces = []
    for number in range(streams):
        rows = int(rng.integers(15, 25))
        columns = {name: rng.integers(0, 5, rows) for name in ("k", "m")}
        times = np.sort(rng.integers(0, 30, rows))
        worth = rng.integers(1, 9, rows).astype(float)
        traces.append(Trace(f"s{number}", times, columns, worth if weighed else None))
    return Workload("some", tuple(traces), tuple(joins), since)


def results(workload: Workload) -> list[tuple[int, float]]:
    """Return key and importance of every result, by trying every combination."""
    found = []
    for join in workload.joins:
        sides = [workload.streams[place] for place in join.streams]
        for rows in itertools.product(*(range(len(side)) for side in sides)):
            members = list(zip(sides, rows, strict=True))
            keys = {int(side.columns[join.column][row]) for side, row in members}
            times = [int(side.times[row]) for side, row in members]
            near = max(times) - min(times) <= join.within
            if len(keys) == 1 and near and max(times) >= workload.since:
                worths = [
                    1.0 if one.importance is None else one.importance[at] for one, at in members
                ]
                worth = float(min(worths))
                found.append((keys.pop(), worth))
    return found
