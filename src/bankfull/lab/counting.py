"""The exact answer of a workload by bisection: how many results, of what importance, of which keys.

Large grids need no pairs, only counts. A tuple's partners are the earlier tuples with its key, a
contiguous stretch once a stream is sorted by key and time, so two bisections a tuple suffice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from bankfull.lab.traces import Floats, Ints, JoinOn, Trace, Workload


@dataclass(frozen=True, eq=False)
class Exact:
    """What an unbounded store would give; ``counts`` are results by key, in order of ``keys``."""

    results: int
    importance: float
    keys: Ints
    counts: Ints


@lru_cache(maxsize=64)
def exact(workload: Workload) -> Exact:
    """Count all results, those completed from ``since`` on."""
    found = [_count(workload, join) for join in workload.joins]
    keys, places = np.unique(np.concatenate([one[2] for one in found]), return_inverse=True)
    counts = np.zeros(len(keys), dtype=np.int64)
    np.add.at(counts, places, np.concatenate([one[3] for one in found]))
    return Exact(sum(one[0] for one in found), sum(one[1] for one in found), keys, counts)


def _count(workload: Workload, join: JoinOn) -> tuple[int, float, Ints, Ints]:
    """Let every tuple be the last of its results: it finds what came before it."""
    importance = 0.0
    keys: list[Ints] = []
    counts: list[Ints] = []
    weighed = all(workload.streams[place].importance is not None for place in join.streams)
    for place in join.streams:
        trace = workload.streams[place]
        product = np.ones(len(trace), dtype=np.int64)
        product[trace.times < workload.since] = 0
        for other in join.streams:
            if other != place:
                begin, end, order = stretches(workload, join, place, other)
                product *= end - begin
                partner = workload.streams[other]
        keys.append(trace.columns[join.column])
        counts.append(product)
        if weighed:
            assert len(join.streams) == 2, "importance is counted for pairs only"
            importance += _weigh(trace, partner, product, begin, order)
    together = np.concatenate(counts)
    results = int(together.sum())
    return results, importance if weighed else float(results), np.concatenate(keys), together


def _weigh(trace: Trace, other: Trace, product: Ints, begin: Ints, order: Ints) -> float:
    """Sum the smaller importance over all pairs."""
    assert trace.importance is not None
    assert other.importance is not None
    left = np.repeat(np.arange(len(trace)), product)
    within = np.arange(len(left)) - np.repeat(np.cumsum(product) - product, product)
    right = order[begin[left] + within]
    return float(np.minimum(trace.importance[left], other.importance[right]).sum())


def stretches(
    workload: Workload, join: JoinOn, place: int, other: int, later: bool = False
) -> tuple[Ints, Ints, Ints]:
    """Return where the partners of each tuple of ``place`` lie in ``other``, and its order.

    Partners came before the tuple, or with ``later`` come after it: at the same instant, the
    stream with the smaller position comes first. They are ``order[begin:end]``.
    """
    mine, theirs = workload.streams[place], workload.streams[other]
    tied = int((other < place) != later)  # whether those of the same instant are among them
    low = mine.times + (1 - tied) if later else mine.times - join.within
    high = mine.times + join.within if later else mine.times - (1 - tied)
    known, codes = np.unique(theirs.columns[join.column], return_inverse=True)
    first = int(min(theirs.times.min(), low.min()))
    span = int(max(theirs.times.max(), high.max())) - first + 2
    assert span * (len(known) + 1) < 2**62
    places = codes * span + (theirs.times - first)
    order = np.argsort(places, kind="stable").astype(np.int64)
    sorted_places = places[order]
    wanted = np.searchsorted(known, mine.columns[join.column])
    there = wanted < len(known)
    there[there] = known[wanted[there]] == mine.columns[join.column][there]
    base = wanted * span - first
    begin = np.searchsorted(sorted_places, base + low, side="left")
    end = np.searchsorted(sorted_places, base + high, side="right")
    end = np.where(there, np.maximum(begin, end), begin)
    return begin.astype(np.int64), end.astype(np.int64), order


def in_canonical_order(workload: Workload, values: Sequence[Any]) -> list[int]:
    """Put one number a tuple, given by stream, in the order of time, stream and row."""
    streams = [np.full(len(trace), place) for place, trace in enumerate(workload.streams)]
    times = np.concatenate([trace.times for trace in workload.streams])
    order = np.lexsort((np.concatenate(streams), times))  # stable: rows keep their order
    found: list[int] = np.concatenate(values)[order].tolist()
    return found


@lru_cache(maxsize=64)
def optimal_ages(workload: Workload) -> tuple[Ints, ...]:
    """Return, for every tuple, the age at which its results per unit of time are the most.

    Reference: GDJ, section 3.2: the k that maximises C(k) / k, here for each tuple alone, as the
    paper's own AGE was given it. A tuple without results has the optimal age 0.
    """
    (join,) = workload.joins
    return tuple(
        _best_ages(workload, join, place, other)
        for place, other in (join.streams, join.streams[::-1])
    )


def productive(workload: Workload, place: int, other: int) -> Any:
    """Say of every tuple of a stream whether a partner is still to come in another one."""
    (join,) = workload.joins
    begin, end, _ = stretches(workload, join, place, other, later=True)
    return end > begin


def _best_ages(workload: Workload, join: JoinOn, place: int, other: int) -> Ints:
    begin, end, order = stretches(workload, join, place, other, later=True)
    born, theirs = workload.streams[place].times, workload.streams[other].times
    best = np.zeros(len(born), dtype=np.int64)
    for row in np.flatnonzero(end > begin):
        best[row] = best_age(theirs[order[begin[row] : end[row]]] - born[row])
    return best


def best_age(ages: Ints) -> int:
    """Return the age at which results per unit of time are the most, given that of each result.

    Who stays to the age a occupies a + 1 instants, that of its arrival among them.

    >>> best_age(np.array([2, 3, 9]))
    3
    """
    ages = np.sort(ages)
    return int(ages[np.argmax(np.arange(1, len(ages) + 1) / (ages + 1))])


def age_curves(workload: Workload, place: int) -> dict[int, Ints]:
    """Return, by key, the ages at which tuples of one stream give results."""
    (join,) = workload.joins
    (other,) = set(join.streams) - {place}
    begin, end, order = stretches(workload, join, place, other, later=True)
    many = end - begin
    left = np.repeat(np.arange(len(begin)), many)
    within = np.arange(len(left)) - np.repeat(np.cumsum(many) - many, many)
    trace = workload.streams[place]
    ages = workload.streams[other].times[order[begin[left] + within]] - trace.times[left]
    keys = trace.columns[join.column][left]
    return {int(key): ages[keys == key] for key in np.unique(keys)}


def distortion(found: dict[int, int], truth: Exact) -> tuple[float, float]:
    """Return how far a result's keys are from the exact ones': squared error, KL divergence.

    Reference: GDJ, section 5.4: histograms divided by their sizes. The divergence is taken from
    the approximate to the exact histogram, the direction in which it is finite.
    """
    total = sum(found.values())
    if total == 0:
        return 1.0, 0.0
    wanted: Floats = truth.counts / truth.counts.sum()
    got: Floats = np.array([found.get(int(key), 0) for key in truth.keys]) / total
    some = got > 0
    divergence = float((got[some] * np.log(got[some] / wanted[some])).sum())
    return float(((got - wanted) ** 2).sum()), divergence
