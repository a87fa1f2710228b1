"""GreedyDual-Join: a tuple lives on the credit its results earn."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from bankfull.oracle.shedding.memory import Arrival, Memory
from bankfull.oracle.shedding.policy import Policy, Standing


@dataclass
class Gdj(Policy):
    """The smallest credit goes, never the newcomer.

    Reference: paper `gdj`, 4.1 and 5.2. A newcomer gets the ``initial`` percentile (nearest rank)
    of the credits in its buffer, once the victim has left; 0 in an empty buffer.

    - Method 1: +1 a result.
    - Method 2: + the tuple's rank in its buffer by (credit, seq), from 1, as it stands just before
      (so a second result in the same turn sees the first); -1 for all when the first tuple of a
      new instant comes, however long the gap was.
    - Method 3: +1 a result; when the turn is over, each buffer gives back what its tuples earned in
      it (a victim's earnings too, a newcomer's initial credit not), in equal parts, the newcomer
      paying its part.

    Credits are exact fractions. A decrement that is the same for a whole buffer moves no tuple past
    another and the newcomer's credit moves along, so neither decrement ever changes a decision:
    method 3 decides as method 1. In floating point that holds only if the decrements are kept apart
    from the credits.
    """

    competes: ClassVar[bool] = False

    initial: float = 0.9
    method: int = 1
    credit: dict[int, Fraction] = field(init=False, repr=False, default_factory=dict)
    earned: list[Arrival] = field(init=False, repr=False, default_factory=list)

    def __post_init__(self) -> None:
        assert 0 <= self.initial <= 1, self
        assert self.method in (1, 2, 3), self

    def begin(self) -> None:
        self.credit, self.earned = {}, []

    def arrived(self, x: Arrival, memory: Memory) -> None:
        self.earned = []
        if self.method == 2 and memory.new_instant:
            for u in memory.stored:
                self.credit[u.seq] -= 1

    def matched(self, u: Arrival, memory: Memory) -> None:
        self.earned.append(u)
        self.credit[u.seq] += self._rank(u, memory) if self.method == 2 else 1

    def priority(self, u: Arrival, memory: Memory) -> Standing:
        return (self.credit[u.seq],)

    def inserted(self, x: Arrival, memory: Memory) -> None:
        credits = sorted(self.credit[u.seq] for u in memory.buffer(x))
        n = len(credits)
        place = min(n - 1, math.floor(self.initial * n))
        self.credit[x.seq] = credits[place] if credits else Fraction(0)

    def settled(self, x: Arrival, memory: Memory) -> None:
        if self.method == 3:
            for u in memory.stored:
                earned = sum(memory.together(u, v) for v in self.earned)
                self.credit[u.seq] -= Fraction(earned, len(memory.buffer(u)))

    def _rank(self, u: Arrival, memory: Memory) -> int:
        ranked = sorted(memory.buffer(u), key=lambda v: (self.credit[v.seq], v.seq))
        return 1 + ranked.index(u)


@dataclass
class GdjTuned(Gdj):
    """GDJ by method 1 whose initial credit follows regret, as the paper proposes: our own rule.

    A tuple evicted within its window is of one of two sorts: it had earned nothing, or something.
    Of each key the last one evicted is remembered. When the key arrives on another stream within
    that tuple's window, the eviction is regretted: of one that had earned nothing, newcomers should
    have had more credit, so the percentile goes up; otherwise down. A step is 0.004 times half the
    ratio of all evictions to those of this sort (which fade by 1/1024 with each, from one of each
    sort), at most 16 times as much. It begins at the median.
    """

    earnings: dict[int, int] = field(init=False, repr=False, default_factory=dict)
    gone: dict[int, list[float]] = field(init=False, repr=False, default_factory=dict)
    at: dict[int, float] = field(init=False, repr=False, default_factory=dict)
    last: dict[tuple[int, int, int], tuple[Arrival, int]] = field(
        init=False, repr=False, default_factory=dict
    )

    def begin(self) -> None:
        super().begin()
        self.earnings, self.gone, self.at, self.last = {}, {}, {}, {}

    def arrived(self, x: Arrival, memory: Memory) -> None:
        super().arrived(x, memory)
        for number, join in enumerate(memory.joins):
            for other in join.streams:
                known = self.last.get((number, x.keys[number], other))
                if x.keys[number] is None or other == x.stream or known is None:
                    continue
                u, sort = known
                if memory.age(u) > memory.span(u):
                    del self.last[number, x.keys[number], other]
                    continue
                buffer = self._buffer(u, memory)
                gone = self.gone.setdefault(buffer, [1.0, 1.0])
                step = min(0.004 * sum(gone) / (2 * max(gone[sort], 1.0)), 16 * 0.004)
                moved = self.at.get(buffer, 0.5) + (step if sort == 0 else -step)
                self.at[buffer] = min(max(moved, 0.0), 1.0)

    def matched(self, u: Arrival, memory: Memory) -> None:
        super().matched(u, memory)
        self.earnings[u.seq] = self.earnings.get(u.seq, 0) + 1

    def left(self, u: Arrival, memory: Memory) -> None:
        if memory.age(u) > memory.span(u):
            return
        sort = int(self.earnings.get(u.seq, 0) > 0)
        gone = self.gone.setdefault(self._buffer(u, memory), [1.0, 1.0])
        gone[:] = [count * (1 - 1 / 1024) + (place == sort) for place, count in enumerate(gone)]
        for number, key in enumerate(u.keys):
            if key is not None:
                self.last[number, key, u.stream] = u, sort

    def inserted(self, x: Arrival, memory: Memory) -> None:
        self.initial = self.at.get(self._buffer(x, memory), 0.5)
        super().inserted(x, memory)

    def _buffer(self, u: Arrival, memory: Memory) -> int:
        return 0 if isinstance(memory.capacity, int) else u.stream
