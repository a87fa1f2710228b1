"""Policies that keep a tuple up to its best age: age, given its ages or learning them."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from bankfull.oracle.shedding.memory import Arrival, Memory
from bankfull.oracle.shedding.policy import Policy, Standing

#: Slices of a window in which a learned age is counted.
SLICES = 32


class _Ages(Policy):
    """Whoever is older than its optimal age goes, the oldest of them first; if nobody is, x goes.

    Reference: paper `gdj`, 3.2 (the staggered approach). Older means strictly older, so an age of a
    keeps a tuple through time + a. Deviations: a tuple past its age stays, and joins, until its
    place is wanted.
    """

    @abstractmethod
    def best(self, u: Arrival, memory: Memory) -> float:
        """Return the optimal age of a tuple."""

    def priority(self, u: Arrival, memory: Memory) -> Standing:
        if u is memory.history[-1]:
            return (1,)  # the newcomer, whatever its own age: after the overdue, before the rest
        return (0,) if memory.age(u) > self.best(u, memory) else (2,)


@dataclass
class Age(_Ages):
    """``ages`` gives every tuple's optimal age by its seq."""

    ages: Mapping[int, int]

    def best(self, u: Arrival, memory: Memory) -> float:
        return self.ages[u.seq]


@dataclass
class LearnedAge(_Ages):
    """One optimal age a stream, the whole window at first, learned from ages at results (ours).

    The window is cut into slices. ``results`` are counted by the slice of the stored member's age;
    a tuple that leaves, for whatever reason, is counted in ``reached`` for all slices up to that of
    its age. At the end of a turn, when ``period`` tuples of its stream are counted: up to the end
    of which slice is the mean over slices of results per tuple the highest (the first, if equal)?
    That is the optimal age; without any results it is the window. Then all counts are halved.
    float64, evaluated as written.
    """

    period: int = 256
    results: dict[int, list[float]] = field(init=False, repr=False, default_factory=dict)
    reached: dict[int, list[float]] = field(init=False, repr=False, default_factory=dict)
    learned: dict[int, float] = field(init=False, repr=False, default_factory=dict)

    def begin(self) -> None:
        self.results = defaultdict(lambda: [0.0] * SLICES)
        self.reached = defaultdict(lambda: [0.0] * SLICES)
        self.learned = {}

    def best(self, u: Arrival, memory: Memory) -> float:
        return self.learned.get(u.stream, memory.span(u))

    def matched(self, u: Arrival, memory: Memory) -> None:
        self.results[u.stream][self._slice(u, memory)] += 1.0

    def left(self, u: Arrival, memory: Memory) -> None:
        for number in range(self._slice(u, memory) + 1):
            self.reached[u.stream][number] += 1.0

    def settled(self, x: Arrival, memory: Memory) -> None:
        results, reached = self.results[x.stream], self.reached[x.stream]
        if reached[0] < self.period:
            return
        total, means = 0.0, []
        for number in range(SLICES):
            total += results[number] / max(reached[number], 1.0)
            means.append(total / (number + 1))
        end = means.index(max(means)) + 1 if max(means) > 0.0 else SLICES
        self.learned[x.stream] = memory.span(x) * end / SLICES
        self.results[x.stream] = [count / 2 for count in results]
        self.reached[x.stream] = [count / 2 for count in reached]

    def _slice(self, u: Arrival, memory: Memory) -> int:
        """Return the slice of a tuple's age; without a length in time the window has but one."""
        life = max(memory.span(u), 1)
        return 0 if math.isinf(life) else min(int(memory.age(u) * SLICES // life), SLICES - 1)
