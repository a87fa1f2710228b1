"""Drop the oldest: a window shortened to what fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from bankfull.kernels.bounded import hooks
from bankfull.kernels.bounded.memory import (
    Memory,
)
from bankfull.kernels.compiler import rule
from bankfull.policies.registry import Policy, Shape, register


class FifoState(NamedTuple):
    """What the kernel runs."""

    seed: int


@register("fifo", "gdj, section 5")
@dataclass(frozen=True)
class Fifo(Policy):
    """First in, first out.

    Reference: GreedyDual-Join, section 5, FIFO.
    Cost: the logarithm of the buffer.
    """

    counts_keys: ClassVar[bool] = False

    def start(self, shape: Shape) -> FifoState:
        return FifoState(shape.seed)


@rule(hooks.competes, FifoState)
def _competes(policy: FifoState) -> bool:
    return False


@rule(hooks.enter, FifoState)
def _enter(policy: FifoState, memory: Memory, slot: int, time: int) -> None:
    memory.slots[slot].priority = 0.0
