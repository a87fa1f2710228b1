"""What there is to compare before the next plan, and what comparing has returned so far."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.probes.learning import demand
from bankfull.kernels.probes.selection import PAIRS, STEPS

Float64 = NDArray[np.float64]


class Work(NamedTuple):
    """The work of one join; ``j`` is a stream whose window is searched, ``a`` a basic window of it.

    Of three and more streams ``j`` is a direction (``directions.py``): a window, and whose tuples
    search it. ``arriving[j]`` is the stream whose tuples these are.

    ``tuples[j, a]`` are in the basic window now. ``arrivals[j, z]`` tuples of class z are expected
    to be compared with them. ``seen[j, z, a]`` is what tuples compared with the whole window have
    found there: pairs, comparisons, results, worth (faded sums). ``tried[j, z, a]`` is what the
    others have found in the parts that were chosen for them: pairs, results, worth.
    ``in_chains``: a part can only be reached through all newer ones. ``scanned``: a comparison
    looks at one pair.
    """

    tuples: Float64
    arrivals: Float64
    seen: Float64
    tried: Float64
    in_chains: bool
    scanned: bool
    arriving: tuple[int, ...] = (1, 0)

    def of_stream(self, s: int) -> list[int]:
        """Return the directions in which tuples of a stream arrive."""
        return [j for j, arriving in enumerate(self.arriving) if arriving == s]

    @property
    def streams(self) -> int:
        """The number of streams."""
        return max(self.arriving) + 1

    def coming(self) -> float:
        """Return how many tuples are expected; each arrives for all windows but its own."""
        return float(in_turn(self.arrivals.ravel())) / (self.streams - 1)

    def cost(self) -> Float64:
        """Return the comparisons that a pair takes, ``[j, a]``, as far as that is known."""
        if self.scanned:
            return np.ones_like(self.tuples)
        pairs, steps = self.seen[..., PAIRS].sum(axis=1), self.seen[..., STEPS].sum(axis=1)
        mean = steps.sum(axis=1, keepdims=True) / np.maximum(pairs.sum(axis=1, keepdims=True), 1.0)
        # A few pairs' worth of the mean, so that a basic window that few have looked at has it.
        few = 16.0
        cost: Float64 = (steps + few * mean) / (pairs + few)
        return cost

    def demand(self) -> float:
        """Return the comparisons that all the work takes."""
        return float(demand(self.tuples, self.arrivals, self.seen, self.scanned))


def in_turn(numbers: Float64) -> Float64:
    """Return the sums over the last axis, added up one after the other as compiled loops do."""
    sums: Float64 = np.cumsum(numbers, axis=-1)[..., -1]
    return sums


def nothing_left_out(work: Work) -> Float64:
    """Return the choice of everything: the share compared of each basic window, ``[j, z, a]``."""
    return np.ones((*work.arrivals.shape, work.tuples.shape[1]))
