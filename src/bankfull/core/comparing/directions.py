"""Who searches whose window: the directions of a join, which plans tell apart.

Between two streams there are two, and a direction has the number of the window that is searched.
Of three and more streams every arrival searches all the others, and what it finds in a window
depends on whose arrival it is: so each pair of an arriving stream and a window is a direction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.probes.several import direction


class Directions(NamedTuple):
    """Of every direction: whose tuples arrive, whose window is searched, the way back."""

    arriving: tuple[int, ...]
    searched: tuple[int, ...]
    back: NDArray[np.int64]


def directions(streams: int) -> Directions:
    """Return the directions of a join of so many streams.

    >>> directions(2)[:2], directions(2).back.tolist()
    (((1, 0), (0, 1)), [1, 0])
    >>> directions(3)[:2]
    ((1, 2, 0, 2, 0, 1), (0, 0, 1, 1, 2, 2))
    """
    pairs = [(s, j) for j in range(streams) for s in range(streams) if s != j]
    assert [direction(j, s, streams) for s, j in pairs] == list(range(len(pairs)))
    back = [direction(s, j, streams) for s, j in pairs]
    arriving, searched = zip(*pairs, strict=True)
    return Directions(arriving, searched, np.array(back, np.int64))
