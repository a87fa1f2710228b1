"""Keep what was frequent on the other side: PROB, and LIFE, which also asks for how long yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from bankfull.kernels import hooks
from bankfull.kernels.compiler import rule
from bankfull.kernels.memory import (
    PRIORITY,
    SPAN,
    STREAM,
    TIME,
    Memory,
    partners_arrived,
)
from bankfull.policies.registry import Policy, Shape, register


class ProbState(NamedTuple):
    """What the kernel runs."""

    seed: int


class LifeState(NamedTuple):
    """What the kernel runs."""

    seed: int


@register("prob", "gdj, section 3.1; importance, section 5.2")
@dataclass(frozen=True)
class Prob(Policy):
    """The tuple whose key has arrived least often on the other streams goes first.

    Reference: GreedyDual-Join, section 3.1, PROB. Deviations: counts are exact and of what has
    arrived so far, as that paper implements it; ties drop the oldest.
    Cost: partners times the logarithm of the buffer.
    """

    exact_keys: ClassVar[bool] = True

    def start(self, shape: Shape) -> ProbState:
        return ProbState(shape.seed)


@register("life", "gdj, reference [11]")
@dataclass(frozen=True)
class Life(Policy):
    """PROB's count times the time that a tuple has left.

    Cost: a look at the whole buffer for each eviction, since all priorities change all the time.
    """

    exact_keys: ClassVar[bool] = True

    def start(self, shape: Shape) -> LifeState:
        return LifeState(shape.seed)


@rule(hooks.enter, ProbState)
def _enter(policy: ProbState, memory: Memory, slot: int, time: int) -> None:
    memory.real[slot, PRIORITY] = partners_arrived(memory, slot)


@rule(hooks.watches_agreement, ProbState)
def _watches(policy: ProbState) -> bool:
    return True


@rule(hooks.agreed, ProbState)
def _agreed(policy: ProbState, memory: Memory, slot: int, time: int) -> bool:
    memory.real[slot, PRIORITY] = partners_arrived(memory, slot)
    return True


@rule(hooks.drifts, LifeState)
def _drifts(policy: LifeState) -> bool:
    return True


@rule(hooks.enter, LifeState)
def _enter_life(policy: LifeState, memory: Memory, slot: int, time: int) -> None:
    span = memory.streams[memory.whole[slot, STREAM], SPAN]
    memory.real[slot, PRIORITY] = partners_arrived(memory, slot) * float(span)


@rule(hooks.weigh, LifeState)
def _weigh(policy: LifeState, memory: Memory, slot: int, time: int) -> None:
    span = memory.streams[memory.whole[slot, STREAM], SPAN]
    life = span - (time - memory.whole[slot, TIME])
    memory.real[slot, PRIORITY] = partners_arrived(memory, slot) * float(life)
