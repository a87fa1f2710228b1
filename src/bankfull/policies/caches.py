"""Two cheap policies of today's caches, for comparison: SIEVE and S3-FIFO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from bankfull.kernels import hooks
from bankfull.kernels.compiler import Float64, inlined, rule
from bankfull.kernels.memory import (
    BUFFER,
    HEAPED,
    LINKS,
    NOTE,
    PRIORITY,
    SEQ,
    SEQ_NEXT,
    STREAM,
    Memory,
    sift,
)
from bankfull.policies.registry import Policy, Shape, check, register

#: Notes of a tuple: uses not yet forgiven; its queue (0 the small one, 1 the main one).
_USES, _QUEUE = NOTE, NOTE + 1
_USES_MOST = 3.0


class SieveState(NamedTuple):
    """``hand[b]``: where the hand stands in a buffer, as a place in the canonical order."""

    hand: Float64


class S3FifoState(NamedTuple):
    """``small``: the small queue's share; ``ghosts``: for how long; ``sizes[b]``: its tuples."""

    small: float
    ghosts: float
    sizes: Float64


@register("sieve", "baseline: Zhang et al., NSDI 2024")
@dataclass(frozen=True)
class Sieve(Policy):
    """A queue with a hand: used tuples are forgiven once as the hand passes, unused ones go.

    Reference: Zhang et al., *SIEVE is Simpler than LRU*. Deviations: a tuple is used when it is
    part of a result; a newcomer always comes in.
    Cost: a look at the whole buffer for each tuple that the hand passes.
    """

    def start(self, shape: Shape) -> SieveState:
        return SieveState(np.full(shape.buffers, -1.0))


@register("s3fifo", "baseline: Yang et al., SOSP 2023")
@dataclass(frozen=True)
class S3Fifo(Policy):
    """A small queue on trial, a main queue, and a memory of keys that failed the trial.

    Reference: Yang et al., *FIFO Queues are All You Need for Cache Eviction*. Deviations: a tuple
    is used when it is part of a result; a key is a ghost for as many arrivals as there are places.
    Cost: a look at the whole buffer for each tuple that changes queues.
    """

    key_stats: ClassVar[int] = 1
    small: float = 0.1

    def __post_init__(self) -> None:
        check("s3fifo", "small", self.small, 0.01, 0.99)

    def start(self, shape: Shape) -> S3FifoState:
        return S3FifoState(float(self.small), float(shape.tuples), np.zeros(shape.buffers))


@rule(hooks.competes, SieveState)
def _sieve_competes(policy: SieveState) -> bool:
    return False


@rule(hooks.enter, SieveState)
def _sieve_enter(policy: SieveState, memory: Memory, slot: int, time: int) -> None:
    memory.real[slot, PRIORITY] = 0.0
    memory.real[slot, _USES] = 0.0


@rule(hooks.matched, SieveState)
def _sieve_matched(policy: SieveState, memory: Memory, slot: int, time: int) -> bool:
    memory.real[slot, _USES] = 1.0
    return False


@rule(hooks.choose, SieveState)
def _sieve_choose(policy: SieveState, memory: Memory, buffer: int, time: int) -> int:
    """Move the hand towards newer tuples, from the newest back to the oldest."""
    size = memory.buffers[buffer, HEAPED]
    while True:
        following = -1
        for place in range(size):
            slot = memory.heap[buffer, place]
            beyond = memory.whole[slot, SEQ] > policy.hand[buffer]
            if beyond and (following < 0 or memory.whole[slot, SEQ] < memory.whole[following, SEQ]):
                following = slot
        if following < 0:
            policy.hand[buffer] = -1.0
            continue
        policy.hand[buffer] = memory.whole[following, SEQ]
        if memory.real[following, _USES] == 0.0:
            return following
        memory.real[following, _USES] = 0.0


@inlined
def _ghost(memory: Memory, slot: int) -> int:
    """Return where the ghost of a tuple's first key is noted, or -1 without a key."""
    for join in range(memory.joins.shape[0]):
        key = memory.whole[slot, LINKS + 3 * join]
        if key >= 0:
            return key  # type: ignore[no-any-return]
    return -1


@rule(hooks.competes, S3FifoState)
def _s3_competes(policy: S3FifoState) -> bool:
    return False


@rule(hooks.enter, S3FifoState)
def _s3_enter(policy: S3FifoState, memory: Memory, slot: int, time: int) -> None:
    """Queues are heaps by number: the main one behind the small one."""
    key = _ghost(memory, slot)
    column = memory.streams.shape[0] + memory.whole[slot, STREAM]
    known = key >= 0 and memory.stats[key, column] > 0.0
    recent = known and memory.now[SEQ_NEXT] - memory.stats[key, column] <= policy.ghosts
    memory.real[slot, _USES] = 0.0
    memory.real[slot, _QUEUE] = 1.0 if recent else 0.0
    memory.real[slot, PRIORITY] = float(memory.whole[slot, SEQ])
    if not recent:
        policy.sizes[memory.whole[slot, BUFFER]] += 1.0


@rule(hooks.matched, S3FifoState)
def _s3_matched(policy: S3FifoState, memory: Memory, slot: int, time: int) -> bool:
    memory.real[slot, _USES] = min(memory.real[slot, _USES] + 1.0, _USES_MOST)
    return False


@rule(hooks.left, S3FifoState)
def _s3_left(policy: S3FifoState, memory: Memory, slot: int) -> None:
    if memory.real[slot, _QUEUE] == 0.0:
        policy.sizes[memory.whole[slot, BUFFER]] -= 1.0
        key = _ghost(memory, slot)
        if key >= 0:
            column = memory.streams.shape[0] + memory.whole[slot, STREAM]
            memory.stats[key, column] = float(memory.now[SEQ_NEXT])


@inlined
def _oldest(memory: Memory, buffer: int, queue: float) -> int:
    """Return the tuple at the head of a queue, or -1."""
    chosen = -1
    for place in range(memory.buffers[buffer, HEAPED]):
        slot = memory.heap[buffer, place]
        if memory.real[slot, _QUEUE] == queue and (
            chosen < 0 or memory.real[slot, PRIORITY] < memory.real[chosen, PRIORITY]
        ):
            chosen = slot
    return chosen


@rule(hooks.choose, S3FifoState)
def _s3_choose(policy: S3FifoState, memory: Memory, buffer: int, time: int) -> int:
    """Try the small queue while it is too long, otherwise the main one."""
    size = float(memory.buffers[buffer, HEAPED])
    turn = 0.0
    while True:
        small = policy.sizes[buffer]
        queue = 0.0 if small > policy.small * size or small == size else 1.0
        slot = _oldest(memory, buffer, queue)
        if memory.real[slot, _USES] == 0.0:
            return slot
        turn += 1.0
        if queue == 0.0:
            policy.sizes[buffer] -= 1.0
            memory.real[slot, _QUEUE] = 1.0
            memory.real[slot, _USES] = 0.0
        else:
            memory.real[slot, _USES] -= 1.0
        memory.real[slot, PRIORITY] = float(memory.now[SEQ_NEXT]) + turn / (2.0 + 4.0 * size)
        sift(memory, slot)
