"""Policies that see neither keys nor matches: random, fifo."""

from __future__ import annotations

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
