"""Policies that weigh a tuple's importance: simp, simpprob, dimpprob, dgl.

Reference: paper `importance`, 4.3.1 to 4.3.4. Matches are counted in the windows only, as stored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from bankfull.oracle.shedding.memory import Arrival, Memory
from bankfull.oracle.shedding.policy import Policy, Standing


@dataclass
class Simp(Policy):
    """Static importance: the least important goes."""

    def priority(self, u: Arrival, memory: Memory) -> Standing:
        return (u.importance,)


@dataclass
class Simpprob(Policy):
    """Static importance × matches, counted once, on arrival; then importance, then matches."""

    matches: dict[int, int] = field(init=False, repr=False, default_factory=dict)

    def begin(self) -> None:
        self.matches = {}

    def arrived(self, x: Arrival, memory: Memory) -> None:
        self.matches[x.seq] = memory.matches(x)

    def priority(self, u: Arrival, memory: Memory) -> Standing:
        m = self.matches[u.seq]
        return (u.importance * m, u.importance, m)


@dataclass
class Dimpprob(Policy):
    """Dynamic importance × matches, counted at the moment of the decision; ties likewise.

    The newcomer is not stored yet, so no candidate counts it.
    """

    def priority(self, u: Arrival, memory: Memory) -> Standing:
        m = memory.matches(u)
        return (u.importance * m, u.importance, m)


@dataclass
class Dgl(Policy):
    """Dynamic gain and loss: worth grows with output and decays without it.

    A tuple arrives worth its importance. The first result it is a stored member of in a turn
    makes it decay for the time since it last changed, then adds gain × importance × m × (share of
    life left); further results of that turn add nothing. m is what is stored then: the present
    tuple, which makes the result, is not counted. A life of 0 has no share left. A gain of nothing
    leaves worth and time as they are, which orders the same and does not round. ``decay`` is what
    is left after one unit of time, of any tuple. A window of rows has no length in time: there all
    of life is always left, and if all windows are of rows nothing decays.

    Candidates are compared by log(worth) - changed × log(decay), which orders them as if all had
    decayed to the same time; worth 0 or less comes first. float64, evaluated as written below,
    powers with a float exponent.
    """

    gain: float
    decay: float
    worth: dict[int, float] = field(init=False, repr=False, default_factory=dict)
    changed: dict[int, int] = field(init=False, repr=False, default_factory=dict)
    gained: set[int] = field(init=False, repr=False, default_factory=set)

    def __post_init__(self) -> None:
        assert 0 < self.decay < 1, self

    def begin(self) -> None:
        self.worth, self.changed, self.gained = {}, {}, set()

    def arrived(self, x: Arrival, memory: Memory) -> None:
        self.worth[x.seq], self.changed[x.seq] = x.importance, x.time
        self.gained = set()

    def matched(self, u: Arrival, memory: Memory) -> None:
        if u.seq in self.gained:
            return
        self.gained.add(u.seq)
        life, m = memory.span(u), memory.matches(u)
        left = 1.0 if math.isinf(life) else (life - memory.age(u)) / life if life > 0 else 0.0
        gain = self.gain * u.importance * m * left
        if gain == 0:
            return
        self.worth[u.seq] *= self._decay(memory) ** float(memory.now - self.changed[u.seq])
        self.worth[u.seq] += gain
        self.changed[u.seq] = memory.now

    def priority(self, u: Arrival, memory: Memory) -> Standing:
        worth, changed = self.worth[u.seq], self.changed[u.seq]
        since = changed * math.log(self._decay(memory))
        return (math.log(worth) - since if worth > 0 else -math.inf,)

    def _decay(self, memory: Memory) -> float:
        ends = any(math.isfinite(span) for join in memory.joins for span in join.spans)
        return self.decay if ends else 1.0
