"""A queue with a hand: SIEVE, a cheap policy of today's caches, for comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from bankfull.kernels.bounded import hooks
from bankfull.kernels.bounded.memory import (
    NONE,
    Memory,
)
from bankfull.kernels.bounded.queues import FIRST, dequeue, enqueue, following
from bankfull.kernels.compiler import Int64, rule
from bankfull.policies.registry import Policy, Shape, register

#: The note of a tuple: whether it was used since the hand passed it.
_USED = 0


class SieveState(NamedTuple):
    """``queues[b]``: ends of a buffer's queue; ``hand[b]``: the tuple it comes to, or NONE."""

    queues: Int64
    hand: Int64


@register("sieve", "baseline: Zhang et al., NSDI 2024")
@dataclass(frozen=True)
class Sieve(Policy):
    """A queue with a hand: used tuples are forgiven once as the hand passes, unused ones go.

    The hand goes from the oldest tuple to the newest and begins anew there; where it stands when a
    tuple was dropped, it goes on for the next.

    Reference: Zhang et al., *SIEVE is Simpler than LRU*. Deviations: a tuple is used when it is
    part of a result; a newcomer always comes in; tuples also leave by expiry, and the hand with
    them to the next newer one.
    Cost: constant; the hand passes a tuple once for each time that it was used.
    """

    counts_keys: ClassVar[bool] = False

    def start(self, shape: Shape) -> SieveState:
        return SieveState(
            np.full((shape.buffers, 2), NONE, np.int64), np.full(shape.buffers, NONE, np.int64)
        )


@rule(hooks.competes, SieveState)
def _competes(policy: SieveState) -> bool:
    return False


@rule(hooks.heap_is_unordered, SieveState)
def _heap_is_unordered(policy: SieveState) -> bool:
    return True


@rule(hooks.enter, SieveState)
def _enter(policy: SieveState, memory: Memory, slot: int, time: int) -> None:
    buffer = memory.slots[slot].buffer
    memory.slots[slot].priority = 0.0
    memory.slots[slot].notes[_USED] = 0.0
    enqueue(memory, policy.queues[buffer], slot)
    if policy.hand[buffer] == NONE:  # at the end, which is no longer the end
        policy.hand[buffer] = slot


@rule(hooks.matched, SieveState)
def _matched(policy: SieveState, memory: Memory, slot: int, time: int) -> bool:
    memory.slots[slot].notes[_USED] = 1.0
    return False


@rule(hooks.left, SieveState)
def _left(policy: SieveState, memory: Memory, slot: int) -> None:
    buffer = memory.slots[slot].buffer
    if policy.hand[buffer] == slot:
        policy.hand[buffer] = following(memory, slot)
    dequeue(memory, policy.queues[buffer], slot)


@rule(hooks.choose, SieveState)
def _choose(policy: SieveState, memory: Memory, buffer: int, time: int) -> int:
    while True:
        slot = policy.hand[buffer]
        if slot == NONE:
            slot = policy.queues[buffer, FIRST]
        if memory.slots[slot].notes[_USED] == 0.0:
            policy.hand[buffer] = slot
            return slot  # type: ignore[no-any-return]
        memory.slots[slot].notes[_USED] = 0.0
        policy.hand[buffer] = following(memory, slot)
