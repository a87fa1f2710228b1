"""Two queues and a memory of what failed: S3-FIFO, a cheap policy of today's caches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from bankfull.kernels.bounded import hooks
from bankfull.kernels.bounded.memory import (
    NONE,
    Memory,
)
from bankfull.kernels.bounded.queues import FIRST, dequeue, enqueue
from bankfull.kernels.compiler import Float64, Int64, inlined, rule
from bankfull.policies.registry import Policy, Shape, check, register

#: Notes of a tuple: uses not yet forgiven; its queue.
_USES, _QUEUE = range(2)
_SMALL, _MAIN = 0, 1
_USES_MOST = 3.0


class S3FifoState(NamedTuple):
    """``queues[b]``: ends of the small and the main queue; ``sizes[b]``: tuples in the small one.

    ``share``: how much of the buffer the small queue may take; ``ghosts``: for how many arrivals a
    key is a ghost.
    """

    share: float
    ghosts: float
    queues: Int64
    sizes: Float64


@register("s3fifo", "baseline: Yang et al., SOSP 2023")
@dataclass(frozen=True)
class S3Fifo(Policy):
    """A small queue on trial, a main queue, and a memory of keys that failed the trial.

    A newcomer enters the small queue, or the main one if its key is a ghost. For room, while the
    small queue is longer than its share of the buffer, its oldest tuple goes, or moves to the end
    of the main queue if it was used; otherwise the oldest of the main queue goes, or moves to its
    end again with one use less. Up to three uses count. Whoever leaves from the small queue makes
    its key a ghost for its stream.

    Reference: Yang et al., *FIFO Queues are All You Need for Cache Eviction*. Deviations: a tuple
    is used when it is part of a result, and once is enough to pass the trial; a key is a ghost for
    as many arrivals as there are places; expired tuples leave ghosts too. Not for joins on sets:
    no set comes a second time, and single items always do.
    Cost: constant; a tuple moves once for each time that it was used.
    """

    key_stats: ClassVar[int] = 1
    sets: ClassVar[bool] = False
    small: float = 0.1

    def __post_init__(self) -> None:
        check("s3fifo", "small", self.small, 0.01, 0.99)

    def start(self, shape: Shape) -> S3FifoState:
        queues = np.full((shape.buffers, 2, 2), NONE, np.int64)
        return S3FifoState(float(self.small), float(shape.tuples), queues, np.zeros(shape.buffers))


@inlined
def _ghost(memory: Memory, slot: int) -> int:
    """Return where the ghost of a tuple's first key is noted, or -1 without a key."""
    for join in range(memory.joins.shape[0]):
        key = memory.links[slot, join].first
        if key >= 0:
            return key  # type: ignore[no-any-return]
    return -1


@rule(hooks.competes, S3FifoState)
def _competes(policy: S3FifoState) -> bool:
    return False


@rule(hooks.heap_is_unordered, S3FifoState)
def _heap_is_unordered(policy: S3FifoState) -> bool:
    return True


@rule(hooks.enter, S3FifoState)
def _enter(policy: S3FifoState, memory: Memory, slot: int, time: int) -> None:
    key = _ghost(memory, slot)
    column = memory.streams.shape[0] + memory.slots[slot].stream
    known = key >= 0 and memory.stats[key, column] > 0.0
    recent = known and memory.now.seq_next - memory.stats[key, column] <= policy.ghosts
    buffer, queue = memory.slots[slot].buffer, _MAIN if recent else _SMALL
    memory.slots[slot].priority = 0.0
    memory.slots[slot].notes[_USES] = 0.0
    memory.slots[slot].notes[_QUEUE] = float(queue)
    enqueue(memory, policy.queues[buffer, queue], slot)
    if queue == _SMALL:
        policy.sizes[buffer] += 1.0


@rule(hooks.matched, S3FifoState)
def _matched(policy: S3FifoState, memory: Memory, slot: int, time: int) -> bool:
    memory.slots[slot].notes[_USES] = min(memory.slots[slot].notes[_USES] + 1.0, _USES_MOST)
    return False


@rule(hooks.left, S3FifoState)
def _left(policy: S3FifoState, memory: Memory, slot: int) -> None:
    buffer, queue = memory.slots[slot].buffer, int(memory.slots[slot].notes[_QUEUE])
    dequeue(memory, policy.queues[buffer, queue], slot)
    if queue == _SMALL:
        policy.sizes[buffer] -= 1.0
        key = _ghost(memory, slot)
        if key >= 0:
            column = memory.streams.shape[0] + memory.slots[slot].stream
            memory.stats[key, column] = float(memory.now.seq_next)


@rule(hooks.choose, S3FifoState)
def _choose(policy: S3FifoState, memory: Memory, buffer: int, time: int) -> int:
    size = float(memory.buffers[buffer].heaped)
    while True:
        small = policy.sizes[buffer]
        queue = _SMALL if small > policy.share * size or small == size else _MAIN
        slot = policy.queues[buffer, queue, FIRST]
        if memory.slots[slot].notes[_USES] == 0.0:
            return slot  # type: ignore[no-any-return]
        dequeue(memory, policy.queues[buffer, queue], slot)
        if queue == _SMALL:
            policy.sizes[buffer] -= 1.0
            memory.slots[slot].notes[_QUEUE] = float(_MAIN)
            memory.slots[slot].notes[_USES] = 0.0
        else:
            memory.slots[slot].notes[_USES] -= 1.0
        enqueue(memory, policy.queues[buffer, _MAIN], slot)
