"""What several algorithms share: the part of all work that fits, and how it fills basic windows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bankfull.core.comparing.work import Float64, Work
from bankfull.kernels.probes.selection import FOUND, PAIRS


def fraction(works: list[Work], budget: float) -> float:
    """Return which part of every window can be compared with so many comparisons.

    The paper's r.
    """
    demand = sum(work.demand() for work in works)
    return min(1.0, budget / demand) if demand > 0.0 else 1.0


def newest_first(work: Work) -> NDArray[np.int64]:
    """Return the order ``[j, place]`` in which basic windows are compared if none is better."""
    windows = work.tuples.shape[1]
    return np.broadcast_to(np.arange(windows, dtype=np.int64), work.tuples.shape)


def best_first(work: Work) -> NDArray[np.int64]:
    """Return the order by results a pair, the paper's s; of equals the newest first."""
    order: NDArray[np.int64] = np.argsort(-results_a_pair(work), axis=1, kind="stable")
    return order


def results_a_pair(work: Work) -> Float64:
    """Return the results that a comparison of a pair has had, ``[j, a]``: the paper's o."""
    pairs, found = work.seen[..., PAIRS].sum(axis=1), work.seen[..., FOUND].sum(axis=1)
    return found / np.maximum(pairs, 1.0)  # type: ignore[no-any-return]


def mean_results(work: Work) -> Float64:
    """Return the results that a comparison with any tuple of each window has had."""
    pairs, found = work.seen[..., PAIRS].sum(axis=(1, 2)), work.seen[..., FOUND].sum(axis=(1, 2))
    return found / np.maximum(pairs, 1.0)  # type: ignore[no-any-return]


def filled(work: Work, order: NDArray[np.int64], parts: Float64) -> Float64:
    """Return the shares ``[j, z, a]`` that compare a part ``[j, z]`` of the tuples of each window.

    Basic windows are filled in the order given, the last one in part.

    >>> seen, tried = np.zeros((2, 1, 4, 4)), np.zeros((2, 1, 4, 3))
    >>> work = Work(np.full((2, 4), 5.0), np.ones((2, 1)), seen, tried, False, True)
    >>> filled(work, newest_first(work), np.array([[0.3], [1.0]]))[:, 0].tolist()
    [[1.0, 0.2, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]
    """
    kinds = parts.shape[1]
    share = np.zeros((len(work.tuples), kinds, work.tuples.shape[1]))
    for j in range(len(share)):
        tuples = work.tuples[j, order[j]]
        before = np.cumsum(tuples) - tuples
        wanted = parts[j][:, None] * tuples.sum()
        room = np.where(tuples > 0.0, tuples, 1.0)
        taken = np.clip((wanted - before) / room, 0.0, 1.0)
        taken = np.where(tuples > 0.0, taken, (wanted > before).astype(np.float64))
        taken[parts[j] >= 1.0] = 1.0
        share[j][:, order[j]] = np.round(taken, 12)
    return share
