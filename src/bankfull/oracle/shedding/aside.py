"""The sample that is kept aside for recall, as far as a policy learns from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from bankfull.oracle.shedding.draws import WORD, uniform
from bankfull.oracle.shedding.memory import Arrival, JoinSpec, Memory, agree

#: Added to the seed for draws of its own; what spreads key codes.
OWN_DRAWS, GOLDEN = 101, 0x9E3779B97F4A7C15


def can_keep(joins: Sequence[JoinSpec]) -> bool:
    """Say whether tuples are kept aside: in joins of more than two, if windows are equally long."""
    return all(
        len(join.streams) == 2 or (len(set(join.spans)) == 1 and math.isfinite(join.spans[0]))
        for join in joins
    )


@dataclass
class Kept:
    """A tuple of the sample, the number drawn for it, and how many partners it has had."""

    tuple: Arrival
    draw: float
    had: int


class Aside:
    """Tuples drawn whatever becomes of them; keys are whole numbers, or sets that all have room.

    Every tuple draws a number from its keys and its place. It is kept if that is below the chance,
    which is 1 at first. When ``room`` are kept and another one comes, those leave that have
    expired. If fewer than half are left, the chance grows by a quarter, up to 1. While more than
    three quarters are left it falls by a fifth, and who drew no less than that leaves too.
    """

    def __init__(self, room: int) -> None:
        self.room = room
        self.chance = 1.0
        self.kept: list[Kept] = []

    def met(self, x: Arrival, memory: Memory) -> list[Kept]:
        """Return those that an arrival completes a result with, as the oldest of it, by join."""
        return [
            one
            for number, join in enumerate(memory.joins)
            for one in self.kept
            if agree(number, join, x, one.tuple)
            and memory.in_window(one.tuple, join)
            and self._completes(x, one.tuple, number, memory)
        ]

    def _completes(self, x: Arrival, u: Arrival, number: int, memory: Memory) -> bool:
        """Say whether a tuple of every further stream of the join came between the two."""
        join = memory.joins[number]
        between = [v for v in memory.history if u.seq < v.seq < x.seq and agree(number, join, v, u)]
        others = set(join.streams) - {x.stream, u.stream}
        return math.prod(any(v.stream == o for v in between) for o in others) > 0

    def keep(self, x: Arrival, had: int, memory: Memory) -> None:
        """Keep a tuple, or not."""
        drawn = uniform(memory.seed + OWN_DRAWS, (_keys(x) >> 2) + x.seq)
        if drawn < self.chance and len(self.kept) >= self.room:
            assert all(join.single for join in memory.joins), "what sets draw is not known here"
            self._sweep(memory)
        if drawn < self.chance:
            self.kept.append(Kept(x, drawn, had))

    def _sweep(self, memory: Memory) -> None:
        self.kept = [one for one in self.kept if not memory.expired(one.tuple)]
        if 2 * len(self.kept) < self.room:
            self.chance = min(1.0, 1.25 * self.chance)
        while 4 * len(self.kept) > 3 * self.room:
            self.chance *= 0.8
            self.kept = [one for one in self.kept if one.draw < self.chance]


def _keys(x: Arrival) -> int:
    """Return a number made of all keys of a tuple."""
    mixed = (
        (key % WORD ^ (number + 1) * GOLDEN % WORD) * GOLDEN
        for number, key in enumerate(x.keys)
        if isinstance(key, int)
    )
    return int(sum(mixed)) % WORD
