"""What a result is worth: a table that ``gain`` makes of the importance it has seen."""

from __future__ import annotations

import numpy as np

from bankfull.kernels.compiler import Float64, inlined

#: The class of tuples whose stream has no importance: they do not count in that of a result.
NO_CLASS = 0
#: Behind it classes of importance, four an octave, and where one is: from 2**-24 to 2**40.
CLASSES, _ONE = 257, 97
#: What is kept of all that a table was made from, when it is made anew.
_KEPT = 0.98


@inlined
def class_of(importance: float) -> int:
    """Return the class of an importance: a quarter of a power of two wide."""
    return min(max(int(4.0 * np.log2(importance) + _ONE), 1), CLASSES - 1)


@inlined
def middle(importance: int) -> float:
    """Return the importance in the middle of a class."""
    return 2.0 ** ((importance - _ONE + 0.5) / 4.0)  # type: ignore[no-any-return]


@inlined
def _worth(combine: int, own: int, other: int) -> float:
    """Return the importance of a result of tuples of two classes."""
    if own == NO_CLASS or other == NO_CLASS:
        counted = max(own, other)
        return 1.0 if counted == NO_CLASS else middle(counted)
    mine, theirs = middle(own), middle(other)
    if combine == 0:
        return min(mine, theirs)
    if combine == 1:
        return max(mine, theirs)
    if combine == 3:
        return mine * theirs
    return mine + theirs if combine == 2 else (mine + theirs) / 2.0


@inlined
def tabulate_worth(seen: Float64, worth: Float64, combine: int) -> None:
    """Write what a result with a stream is worth to a tuple of every class, on average."""
    total = seen.sum()
    if total < 1e-9:
        return
    worth[:] = 0.0
    for other in range(seen.size):
        if seen[other] > 0.0:
            share = seen[other] / total
            for own in range(seen.size):
                worth[own] += share * _worth(combine, own, other)
    for other in range(seen.size):
        seen[other] *= _KEPT
