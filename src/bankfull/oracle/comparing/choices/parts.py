"""What several algorithms share: the part of all work that fits, and how it fills basic windows."""

from __future__ import annotations

from bankfull.oracle.comparing.work import Work, over_classes


def fraction(works: list[Work], budget: float) -> float:
    """Return the paper's r: the part of all windows that so many comparisons suffice for."""
    demand = sum(work.demand() for work in works)
    return min(1.0, budget / demand) if demand > 0.0 else 1.0


def results_a_pair(work: Work, j: int) -> list[float]:
    """Return the paper's o: results of the pairs that were compared, by basic window."""
    found = over_classes(work.seen.found, j, work.windows)
    pairs = over_classes(work.seen.pairs, j, work.windows)
    return [own / max(at, 1.0) for own, at in zip(found, pairs, strict=True)]


def mean_results(work: Work, j: int) -> float:
    """Return the results of the pairs that were compared, in any basic window."""
    found = sum(over_classes(work.seen.found, j, work.windows))
    return found / max(sum(over_classes(work.seen.pairs, j, work.windows)), 1.0)


def best_first(work: Work, j: int) -> list[int]:
    """Return the paper's s: basic windows by results a pair, of equals the newest first."""
    returned = results_a_pair(work, j)
    return sorted(range(work.windows), key=lambda a: (-returned[a], a))


def fill(tuples: list[float], order: list[int], part: float) -> list[float]:
    """Return the share of every basic window if a part of all tuples is taken in some order.

    >>> fill([5.0, 5.0, 5.0, 5.0], [0, 1, 2, 3], 0.3)
    [1.0, 0.2, 0.0, 0.0]
    """
    wanted, before = part * sum(tuples), 0.0
    shares = [0.0] * len(tuples)
    for a in order:
        if part >= 1.0:
            shares[a] = 1.0
        elif tuples[a] > 0.0:
            shares[a] = round(min(1.0, max(0.0, (wanted - before) / tuples[a])), 12)
        else:
            shares[a] = 1.0 if wanted > before else 0.0
        before += tuples[a]
    return shares
