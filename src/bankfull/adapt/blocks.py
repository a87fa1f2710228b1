"""Units of work that can only be had one after the other, in blocks by their worth together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bankfull.core.comparing.work import Float64


def blocks(volume: Float64, value: Float64) -> NDArray[np.int64]:
    """Return where blocks begin in a row of units that can only be had one after the other.

    The blocks' value a volume falls from one to the next; no other division gets more out of any
    volume.

    >>> blocks(np.array([1.0, 1.0, 1.0]), np.array([1.0, 3.0, 1.0])).tolist()
    [0, 2]
    """
    begins: list[int] = []
    sums: list[tuple[float, float]] = []
    for place, (more, worth) in enumerate(zip(volume.tolist(), value.tolist(), strict=True)):
        begin = place
        while sums and worth * sums[-1][0] >= sums[-1][1] * more:
            begin, (before, old) = begins.pop(), sums.pop()
            more, worth = more + before, worth + old
        begins.append(begin)
        sums.append((more, worth))
    return np.array(begins, np.int64)
