"""What a tuple is compared with in several windows at once, where a result needs a partner in each.

A basic window of one stream returns nothing by itself: what it brings depends on what the other
windows are searched for. If a tuple is compared with parts of them that hold shares f_1, f_2 ... of
the results, it finds about the product of all shares. So the windows are filled together: of those
basic windows that are next, each the best of its window, the one comes next that raises the product
most for a comparison. What the product grows by is what a basic window is worth at its place in
that order. Only together are the first ones worth anything, so they form a block, as basic windows
of a hash chain do that can only be had one after the other.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bankfull.adapt.blocks import blocks
from bankfull.core.comparing.work import Float64


class Step(NamedTuple):
    """Basic windows of direction j that are had together, what they take and are worth."""

    j: int
    places: list[int]
    volume: float
    value: float

    @property
    def ratio(self) -> float:
        """What a comparison is worth."""
        return self.value / self.volume if self.volume > 0.0 else math.inf


def steps_of(j: int, volume: Float64, value: Float64, in_chains: bool) -> list[Step]:
    """Return the basic windows of one direction, the best first; of equals the newest.

    >>> [step.places for step in steps_of(0, np.ones(3), np.array([1.0, 3.0, 2.0]), False)]
    [[1], [2], [0]]
    >>> [step.places for step in steps_of(0, np.ones(3), np.array([1.0, 3.0, 1.0]), True)]
    [[0, 1], [2]]
    """
    begins = blocks(volume, value).tolist() if in_chains else list(range(len(volume)))
    ends = [*begins[1:], len(volume)]
    steps = [
        Step(j, list(range(a, b)), float(volume[a:b].sum()), float(value[a:b].sum()))
        for a, b in zip(begins, ends, strict=True)
    ]
    return steps if in_chains else sorted(steps, key=lambda step: -rounded(step.ratio))


def rounded(ratio: float) -> float:
    """Return a number without the digits that depend on the order of additions."""
    mantissa, exponent = math.frexp(ratio)
    return math.ldexp(round(mantissa, 12), exponent)


class Combined:
    """The windows that tuples of one class and stream search, in the order in which they fill.

    ``volumes`` and ``values`` are those of blocks whose worth a comparison falls from one to the
    next.
    """

    def __init__(self, directions: list[list[Step]]) -> None:
        self.order: list[Step] = []
        #: What the order so far is worth, after every step.
        totals = [sum(step.value for step in own) for own in directions]
        shares, ahead = [0.0] * len(directions), [list(own) for own in directions]
        whole, worth = sum(totals) / len(totals), [0.0]
        while any(ahead):
            least = [k for k, own in enumerate(ahead) if own and shares[k] == 0.0]
            k = least[0] if least else max(
                (k for k, own in enumerate(ahead) if own),
                key=lambda k: (rounded(ahead[k][0].ratio / shares[k]), -k),
            )  # fmt: skip
            step = ahead[k].pop(0)
            shares[k] += step.value
            self.order.append(step)
            parts = [share / total for share, total in zip(shares, totals, strict=True)]
            worth.append(whole * math.prod(parts))
        volume = np.array([step.volume for step in self.order])
        value = np.maximum(np.diff(worth), 0.0)
        self._begins = blocks(volume, value)
        self.volumes: Float64 = np.add.reduceat(volume, self._begins)
        self.values: Float64 = np.add.reduceat(value, self._begins)

    def fill(self, taken: Float64, volume: Float64, into: Float64) -> None:
        """Write the shares ``[j, a]`` of all basic windows from the parts taken of the blocks.

        Of a block that is taken in part, each direction has that part, its first steps first.
        """
        ends = [*self._begins.tolist()[1:], len(self.order)]
        for begin, end, part in zip(self._begins.tolist(), ends, taken.tolist(), strict=True):
            some = self.order[begin:end]
            for j in {step.j for step in some}:
                places = [a for step in some if step.j == j for a in step.places]
                sizes = volume[j, places]
                before = np.cumsum(sizes) - sizes
                room = np.maximum(sizes, 1e-300)
                shares = np.clip((part * sizes.sum() - before) / room, 0.0, 1.0)
                into[j, places] = 1.0 if part >= 1.0 else shares


def combined(volume: Float64, value: Float64, ways: list[int], z: int, in_chains: bool) -> Combined:
    """Return the windows that tuples of class z search in these directions, of ``[j, z, a]``."""
    return Combined([steps_of(j, volume[j, z], value[j, z], in_chains) for j in ways])
