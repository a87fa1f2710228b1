"""Policies that trust how often a key is found elsewhere: prob, prob-window, life."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from bankfull.oracle.shedding.memory import Arrival, Memory
from bankfull.oracle.shedding.policy import Policy, Standing


@dataclass
class Prob(Policy):
    """The key that has arrived least often on the other streams goes.

    Reference: paper `gdj`, 3.1. Everything that arrived counts, for all time: shed, evicted and
    expired tuples, and the present one for the stored tuples of other streams. With several joins
    or several other streams the counts are added. Counted when a tuple arrives and whenever one
    comes that agrees with it; of equal keys, nothing changes in between.
    """

    count: dict[int, int] = field(init=False, repr=False, default_factory=dict)

    def begin(self) -> None:
        self.count = {}

    def arrived(self, x: Arrival, memory: Memory) -> None:
        for u in [x, *memory.stored]:
            if u is x or memory.agree(x, u):
                self.count[u.seq] = memory.frequency(u)

    def priority(self, u: Arrival, memory: Memory) -> Standing:
        return (self.count[u.seq],)


@dataclass
class ProbWindow(Policy):
    """The tuple that found the fewest stored matches on arrival goes.

    Reference: paper `importance`, 5.2: matches are counted in the windows only, as stored. Counted
    once: neither who comes later nor who leaves changes it.
    """

    found: dict[int, int] = field(init=False, repr=False, default_factory=dict)

    def begin(self) -> None:
        self.found = {}

    def arrived(self, x: Arrival, memory: Memory) -> None:
        self.found[x.seq] = memory.matches(x)

    def priority(self, u: Arrival, memory: Memory) -> Standing:
        return (self.found[u.seq],)


@dataclass
class Life(Policy):
    """Likewise, times the life that is left; the life of a tuple is its stream's largest window.

    A window of rows has no length in time: next to a life without an end all others are nothing,
    and of two such lives the count alone decides.
    """

    def priority(self, u: Arrival, memory: Memory) -> Standing:
        count, life = memory.frequency(u), memory.span(u)
        if count > 0 and math.isinf(life):
            return (1, count)
        return (0, count * (life - memory.age(u)) if count > 0 else 0)
