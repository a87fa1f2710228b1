"""Policies that see neither keys nor matches: random, fifo, age."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from bankfull.oracle.shedding.draws import uniform
from bankfull.oracle.shedding.memory import Arrival, Memory
from bankfull.oracle.shedding.policy import Policy, Standing


@dataclass
class Random(Policy):
    """The smallest draw goes; each tuple is drawn once, by its number."""

    def priority(self, u: Arrival, memory: Memory) -> Standing:
        return (uniform(memory.seed, u.seq),)


@dataclass
class Fifo(Policy):
    """The oldest goes, never the newcomer."""

    competes: ClassVar[bool] = False

    def priority(self, u: Arrival, memory: Memory) -> Standing:
        return (u.seq,)


@dataclass
class Age(Policy):
    """Whoever is older than its optimal age goes, the oldest of them first; if nobody is, x goes.

    Reference: paper `gdj`, 3.2 (the staggered approach). ``ages`` gives every tuple's optimal age
    by its seq; older means strictly older, so an age of a keeps a tuple through time + a.
    Deviations: a tuple past its age stays, and joins, until its place is wanted.
    """

    ages: Mapping[int, int]

    def priority(self, u: Arrival, memory: Memory) -> Standing:
        if u is memory.history[-1]:
            return (1,)  # the newcomer, whatever its own age: after the overdue, before the rest
        return (0,) if memory.age(u) > self.ages[u.seq] else (2,)
