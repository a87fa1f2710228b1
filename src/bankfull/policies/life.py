"""PROB's count times the time that a tuple has left: LIFE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from bankfull.kernels.bounded import hooks
from bankfull.kernels.bounded.bounds import bound_again, horizon
from bankfull.kernels.bounded.memory import (
    Memory,
    partners_arrived,
)
from bankfull.kernels.compiler import Int64, inlined, rule
from bankfull.policies.registry import Policy, Shape, register


class LifeState(NamedTuple):
    """``until[b]``: the time for which the priorities in a buffer's heap are computed."""

    until: Int64


@register("life", "gdj, reference [11]")
@dataclass(frozen=True)
class Life(Policy):
    """PROB's count times the time that a tuple has left.

    All priorities change all the time, each in proportion to its count. The heap holds what they
    will have fallen to a little later, which is less than they are until then.

    Reference: Das, Gehrke, Riedewald, *Approximate Join Processing over Data Streams*, LIFE.
    Deviations: those of ``prob``.
    Cost: the square root of the buffer for each eviction, partners times its logarithm.
    """

    exact_keys: ClassVar[bool] = True

    def start(self, shape: Shape) -> LifeState:
        return LifeState(np.zeros(shape.buffers, np.int64))


@inlined
def _worth(memory: Memory, slot: int, time: int) -> float:
    """Return the priority of a tuple at a time; once its life is over it has none."""
    life = memory.streams[memory.slots[slot].stream].span - (time - memory.slots[slot].time)
    return partners_arrived(memory, slot) * float(max(life, 0))


@rule(hooks.bounds, LifeState)
def _bounds(policy: LifeState) -> bool:
    return True


@rule(hooks.enter, LifeState)
def _enter(policy: LifeState, memory: Memory, slot: int, time: int) -> None:
    memory.slots[slot].priority = _worth(memory, slot, time)


@rule(hooks.weigh, LifeState)
def _weigh(policy: LifeState, memory: Memory, slot: int, time: int) -> None:
    memory.slots[slot].priority = _worth(memory, slot, policy.until[memory.slots[slot].buffer])


@rule(hooks.current, LifeState)
def _current(policy: LifeState, memory: Memory, slot: int, time: int) -> float:
    return _worth(memory, slot, time)


@rule(hooks.wants_agreement, LifeState)
def _watches(policy: LifeState) -> bool:
    return True


@rule(hooks.agreed, LifeState)
def _agreed(policy: LifeState, memory: Memory, slot: int, time: int) -> bool:
    memory.slots[slot].priority = _worth(memory, slot, policy.until[memory.slots[slot].buffer])
    return True


@rule(hooks.choose, LifeState)
def _choose(policy: LifeState, memory: Memory, buffer: int, time: int) -> int:
    """Leave it to the priorities, and see to it that bounds hold."""
    if time > policy.until[buffer]:
        policy.until[buffer] = horizon(memory, buffer, time)
        bound_again(policy, memory, buffer, time)
    return -1
