"""How an emitted result compares with the exact one, counted as multisets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

Combination = tuple[int, ...]


def recall(emitted: Iterable[Combination], exact: Iterable[Combination]) -> float:
    """Return which share of the exact result was emitted; nothing to find is all found.

    >>> recall([(0, 1), (0, 1)], [(0, 1), (2, 2)])
    0.5
    """
    wanted = Counter(exact)
    return (Counter(emitted) & wanted).total() / wanted.total() if wanted else 1.0


def surplus(emitted: Iterable[Combination], exact: Iterable[Combination]) -> list[Combination]:
    """Return what was emitted and should not have been, duplicates among it.

    >>> surplus([(0, 1), (0, 1)], [(0, 1), (2, 2)])
    [(0, 1)]
    """
    return sorted((Counter(emitted) - Counter(exact)).elements())
