"""How often keys came that are forgotten: a sketch of counts for every stream.

A key is remembered in full, with its statistics, while somebody stored has it, and some are beyond
that. Of all others only how often they came is known, in a table of small counters that they share:
a key has four of them, the smallest is its count, and only the smallest are raised. Counts are
halved when there were too many arrivals for the table, so what it says is of the recent past, and
never much more than the truth. A key that comes back begins with its count.

Reference: Estan and Varghese (2002), conservative update; Einziger, Friedman and Manes, "TinyLFU"
(2017), halving.
Cost: four looks an arrival.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.compiler import Int64, inlined, inner
from bankfull.kernels.hashing import mix

#: Counters of a key, and counters for every arrival before all are halved.
_ROWS, _EACH = 4, 8
_FULL = 255


@inlined
def _place(sketch: NDArray[np.uint8], mixed: np.uint64, row: int) -> Any:
    step = (mixed >> np.uint64(32)) | np.uint64(1)
    return np.int64((mixed + np.uint64(row) * step) & np.uint64(sketch.shape[1] - 1))


@inlined
def _least(sketch: NDArray[np.uint8], stream: int, mixed: np.uint64) -> Any:
    least = np.int64(_FULL)
    for row in range(_ROWS):
        least = min(least, np.int64(sketch[stream, _place(sketch, mixed, row)]))
    return least


@inner
def seen(sketch: NDArray[np.uint8], stream: int, code: np.uint64) -> float:
    """Return how often a key came on a stream, about."""
    return float(_least(sketch, stream, mix(code)))


@inner
def add(sketch: NDArray[np.uint8], added: Int64, stream: int, code: np.uint64) -> None:
    """Count an arrival; ``added`` is how many there were since counts were halved."""
    mixed = mix(code)
    least = _least(sketch, stream, mixed)
    if least < _FULL:
        for row in range(_ROWS):
            at = _place(sketch, mixed, row)
            if sketch[stream, at] == least:
                sketch[stream, at] = least + 1
    added[stream] += 1
    if added[stream] * _EACH > sketch.shape[1]:
        added[stream] = 0
        for at in range(sketch.shape[1]):
            sketch[stream, at] >>= 1
