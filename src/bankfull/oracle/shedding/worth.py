"""Classes of importance, a quarter of a power of two wide."""

from __future__ import annotations

import math

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
