"""PROB in a join of many streams, read as counting on the next stream only.

An experiment's own policy: it shows one reading of the GDJ paper and is of no use beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from bankfull.kernels.bounded import hooks
from bankfull.kernels.bounded.memory import Memory, first_key, key_at
from bankfull.kernels.compiler import inlined, rule
from bankfull.policies.registry import Policy, Shape


class ProbNextState(NamedTuple):
    """What the kernel runs."""

    seed: int


@dataclass(frozen=True)
class ProbNext(Policy):
    """The tuple whose key has arrived least often on the next stream of its join goes first.

    The next stream is the one that is named after the tuple's own in the join, and after the last
    one the first. In a join of two streams it is the other one, as in ``prob``.

    Reference: GreedyDual-Join, section 5.3.4, which says of PROB in joins of several streams that
    it keeps the most popular items of the next stream. Deviations: joins on keys only.
    Cost: partners times the logarithm of the buffer.
    """

    name: ClassVar[str] = "prob-next"
    paper: ClassVar[str] = "gdj, section 5.3.4"
    exact_keys: ClassVar[bool] = True
    sets: ClassVar[bool] = False

    def start(self, shape: Shape) -> ProbNextState:
        return ProbNextState(shape.seed)


@inlined
def _next_arrived(memory: Memory, slot: int) -> float:
    """Return how often a tuple's key has arrived on the next stream, over all joins."""
    own, total = memory.slots[slot].stream, 0.0
    for join in range(memory.joins.shape[0]):
        place = first_key(memory, slot, join)
        if place < 0:
            continue
        width = memory.joins[join].width
        for member in range(width):
            if memory.joins[join].members[member] == own:
                following = memory.joins[join].members[(member + 1) % width]
                total += memory.stats[key_at(memory, join, place), following]
    return total


@rule(hooks.enter, ProbNextState)
def _enter(policy: ProbNextState, memory: Memory, slot: int, time: int) -> None:
    memory.slots[slot].priority = _next_arrived(memory, slot)


@rule(hooks.wants_agreement, ProbNextState)
def _watches(policy: ProbNextState) -> bool:
    return True


@rule(hooks.agreed, ProbNextState)
def _agreed(policy: ProbNextState, memory: Memory, slot: int, time: int) -> bool:
    memory.slots[slot].priority = _next_arrived(memory, slot)
    return True
