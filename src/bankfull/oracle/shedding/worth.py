"""Classes of importance, a quarter of a power of two wide."""

from __future__ import annotations

import math
from collections.abc import Callable

from bankfull.oracle.shedding.memory import Arrival

CLASSES = 256


def class_if_any(x: Arrival) -> int | None:
    """Return the class of a tuple's importance, if its stream has one."""
    return class_of(x.importance) if x.weighed else None


def class_of(importance: float) -> int:
    """Return the class of an importance, 96 for one.

    >>> [class_of(value) for value in (1.0, 1.1, 1.2, 2.0)]
    [96, 96, 97, 100]
    """
    return min(max(int(4 * math.log2(importance) + 96), 0), CLASSES - 1)


def middle(importance: int) -> float:
    """Return the importance in the middle of a class."""
    return float(2 ** ((importance - 96 + 0.5) / 4))


def of_classes(
    seen: dict[int | None, float], combine: Callable[[float, float], float]
) -> dict[int | None, float]:
    """Return what a result is worth to a tuple of each class, on average, by those ``seen``."""
    total = sum(seen.values())
    others = sorted(seen.items(), key=lambda one: one[0] or 0)
    return {
        own: sum(count / total * _of_pair(combine, own, other) for other, count in others)
        for own in (*range(CLASSES), None)
        if others
    }


def _of_pair(combine: Callable[[float, float], float], own: int | None, other: int | None) -> float:
    """Return the importance of a result of two classes, None for a tuple that has none."""
    counted = [middle(one) for one in (own, other) if one is not None]
    return combine(*counted) if len(counted) == 2 else sum(counted) or 1.0
