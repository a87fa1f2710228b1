"""Keep what was frequent on the other side: PROB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from bankfull.kernels.bounded import hooks
from bankfull.kernels.bounded.memory import (
    Memory,
    partners_arrived,
)
from bankfull.kernels.compiler import rule
from bankfull.policies.registry import Policy, Shape, register


class ProbState(NamedTuple):
    """What the kernel runs."""

    seed: int


@register("prob", "gdj, section 3.1; importance, section 5.2")
@dataclass(frozen=True)
class Prob(Policy):
    """The tuple whose key has arrived least often on the other streams goes first.

    Reference: GreedyDual-Join, section 3.1, PROB. Deviations: counts are exact and of what has
    arrived so far, as that paper implements it; ties drop the oldest. A budget in bytes is to bound
    the counts too: there the rarest keys that nobody stored holds are forgotten. In joins on sets
    the counts are of items, taken together (``memory.pooled``), as of a tuple's last partner or its
    arrival.
    Cost: partners times the logarithm of the buffer.
    """

    exact_keys: ClassVar[bool] = True

    def start(self, shape: Shape) -> ProbState:
        return ProbState(shape.seed)


@rule(hooks.enter, ProbState)
def _enter(policy: ProbState, memory: Memory, slot: int, time: int) -> None:
    memory.slots[slot].priority = partners_arrived(memory, slot)


@rule(hooks.wants_agreement, ProbState)
def _watches(policy: ProbState) -> bool:
    return True


@rule(hooks.agreed, ProbState)
def _agreed(policy: ProbState, memory: Memory, slot: int, time: int) -> bool:
    memory.slots[slot].priority = partners_arrived(memory, slot)
    return True
