"""Keep what had partners at hand when it came: PROB that looks at the windows only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from bankfull.kernels.bounded import hooks
from bankfull.kernels.bounded.memory import (
    Memory,
    partners_stored,
)
from bankfull.kernels.compiler import rule
from bankfull.policies.registry import Policy, Shape, register


class ProbWindowState(NamedTuple):
    """What the kernel runs."""

    seed: int


@register("prob-window", "importance, section 5.2")
@dataclass(frozen=True)
class ProbWindow(Policy):
    """The tuple that found the fewest stored partners when it arrived goes first.

    This is PROB as the importance paper runs it: the chance of a match is estimated from what is
    stored of the other streams, once, when the tuple arrives. ``prob`` counts everything that has
    ever arrived instead, and keeps its counts up to date, which is stronger where popularity lasts.

    Reference: Ojewole, Zhu, Hou, section 5.2, where PROB is kept from knowing the whole streams,
    and 4.3.2, which says that its cost is that of a static priority. Deviations: ties drop the
    oldest, which the paper does not say.
    Cost: the logarithm of the buffer.

    Example:

    >>> ProbWindow().keep().policy
    'prob-window'
    """

    def start(self, shape: Shape) -> ProbWindowState:
        return ProbWindowState(shape.seed)


@rule(hooks.enter, ProbWindowState)
def _enter(policy: ProbWindowState, memory: Memory, slot: int, time: int) -> None:
    memory.slots[slot].priority = float(partners_stored(memory, slot))
