"""How much of a basic window is there on average while a plan holds.

A plan holds for a basic window of time. Meanwhile the oldest tuples leave: of the oldest basic
window on average half is there, and of the one before it a little is missing where the window is
not so many basic windows long without a rest. What a plan counts, what it means by a share, and
what is learned from it are all taken over the same tuples: those that are there on average.

Tuples are taken to be spread evenly over a basic window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankfull.core.plan import NEVER

Float64 = NDArray[np.float64]


class Lasting:
    """What is there on average of the basic windows of each direction, ``[j, a]``.

    A window of 20 in basic windows of 4 loses its oldest one while a plan holds. A window of 10
    has but half a basic window in its oldest one, which is gone when half of the time is; then the
    one before it begins to lose tuples:

    >>> lasting = Lasting([20, 10], 4, 6)
    >>> lasting.share.tolist()
    [[1.0, 1.0, 1.0, 1.0, 1.0, 0.5], [1.0, 1.0, 0.875, 0.25, 1.0, 1.0]]

    Three quarters of what is there of the oldest basic window: the newer half of its tuples.

    >>> choice, counts = np.full((2, 1, 6), 0.75), np.full((2, 6), 8.0)
    >>> lasting.newest(choice, counts)[:, 0].tolist()
    [[6, 6, 6, 6, 6, 4], [6, 6, 5, 4, 6, 6]]
    >>> float(lasting.compared(np.full((2, 1, 6), 4), counts)[0, 0, 5])
    3.0
    """

    def __init__(self, spans: Sequence[int], basic: int, windows: int) -> None:
        #: Where the oldest basic window of each direction is, or nowhere, of windows of rows.
        self._oldest: list[int] = [0 if s == NEVER else -(-s // basic) for s in spans]
        #: How long the oldest basic window is when a plan begins, in basic windows.
        self._length = [
            1.0 if s == NEVER else (s - (oldest - 1) * basic) / basic
            for s, oldest in zip(spans, self._oldest, strict=True)
        ]
        whole = np.ones((len(spans), 1, windows))
        self.share: Float64 = self._there(whole)[:, 0]

    def _there(self, part: Float64) -> Float64:
        """Return how much of basic windows is there on average in their newest parts."""
        there = part.copy()
        for j, (oldest, length) in enumerate(zip(self._oldest, self._length, strict=True)):
            if oldest > 0:
                of = part[j, :, oldest]
                there[j, :, oldest] = length * (of * (1.0 - of / 2.0))
            if oldest > 1:
                of = part[j, :, oldest - 1]
                gone = np.maximum(0.0, of - length)
                there[j, :, oldest - 1] = of - gone * gone / 2.0
        return there

    def tuples(self, counts: NDArray[Any]) -> Float64:
        """Return how many tuples are there on average, of those there at first, ``[j, a]``."""
        many: Float64 = counts * self.share
        return many

    def newest(self, choice: Float64, counts: NDArray[Any]) -> NDArray[np.int64]:
        """Return how many of the newest tuples are a share of what is there, ``[j, z, a]``."""
        part = choice.copy()
        for j, (oldest, length) in enumerate(zip(self._oldest, self._length, strict=True)):
            if oldest > 0:
                part[j, :, oldest] = 1.0 - np.sqrt(1.0 - choice[j, :, oldest])
            if oldest > 1:
                there = choice[j, :, oldest - 1] * self.share[j, oldest - 1]
                beyond = np.maximum(0.0, there - length)
                left = np.sqrt(np.maximum(0.0, 1.0 - 2.0 * beyond))
                part[j, :, oldest - 1] = np.minimum(there, length) + (1.0 - left)
        newest: NDArray[np.int64] = np.floor(part * counts[:, None, :] + 0.5).astype(np.int64)
        return newest

    def compared(self, newest: NDArray[np.int64], counts: NDArray[Any]) -> Float64:
        """Return how many of so many newest tuples are there on average, ``[j, z, a]``."""
        counts = counts[:, None, :]
        many: Float64 = self._there(newest / np.maximum(counts, 1.0)) * counts
        return many
