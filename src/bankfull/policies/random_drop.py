"""Drop anyone: every tuple of the window is as likely to be stored as any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from bankfull.kernels.bounded import hooks
from bankfull.kernels.bounded.memory import (
    Memory,
)
from bankfull.kernels.compiler import rule
from bankfull.kernels.hashing import draw
from bankfull.policies.registry import Policy, Shape, register


class RandomState(NamedTuple):
    """What the kernel runs."""

    seed: int


@register("random", "gdj, section 5; importance, section 5")
@dataclass(frozen=True)
class Random(Policy):
    """Random load shedding.

    Every tuple draws a number when it arrives, and the smallest goes first.
    Reference: GreedyDual-Join, section 5, RAND. Deviations: the number is drawn once, so that a
    tuple that stays has the same chance to stay on; the stored tuples are a random sample of the
    window either way.
    Cost: the logarithm of the buffer.
    """

    counts_keys: ClassVar[bool] = False

    def start(self, shape: Shape) -> RandomState:
        return RandomState(shape.seed)


@rule(hooks.enter, RandomState)
def _enter(policy: RandomState, memory: Memory, slot: int, time: int) -> None:
    memory.slots[slot].priority = draw(policy.seed, memory.slots[slot].seq)
