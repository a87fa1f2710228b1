"""The tuple to drop first where priorities fall as time passes and the heap holds lower bounds.

A heap by priorities that all change all the time would have to be built anew for every look at it.
By lower bounds it stays in order: a bound holds until something happens to its tuple, or until a
time that the policy sets. The tuple that goes first is then among those whose bound lies below the
best priority found, and they are at the top: a subtree is left out as soon as its root's bound is
too large. Decisions are those of a look at every tuple.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bankfull.kernels.bounded import hooks
from bankfull.kernels.bounded.memory import (
    Memory,
    goes_before,
    sift,
)
from bankfull.kernels.compiler import inlined, only_where

#: Longer than this no bound has to hold; windows of rows have no length in time.
_LONG = 1 << 60


@only_where(hooks.bounds)
def least(policy: Any, memory: Memory, buffer: int, time: int) -> Any:
    """Return the tuple with the smallest priority now, of equals the oldest."""
    heap, slots = memory.heap[buffer], memory.slots
    size = memory.buffers[buffer].heaped
    while True:  # the bound at the top may have been too low for long
        top = heap[0]
        before = slots[top].priority
        hooks.weigh(policy, memory, top, time)
        if not slots[top].priority > before:
            break
        sift(memory, top)
    chosen, best = heap[0], np.inf
    place = 0
    while True:  # the tree from the top, left before right, without the hopeless subtrees
        slot = heap[place]
        bound = slots[slot].priority
        if bound < best or (bound == best and slots[slot].seq < slots[chosen].seq):
            now = hooks.current(policy, memory, slot, time)
            if now < best or (now == best and slots[slot].seq < slots[chosen].seq):
                chosen, best = slot, now
            if 2 * place + 1 < size:
                place = 2 * place + 1
                continue
        while place > 0 and (place % 2 == 0 or place + 1 >= size):
            place = (place - 1) >> 1
        if place == 0:
            return chosen
        place += 1


@inlined
def bound_again(policy: Any, memory: Memory, buffer: int, time: int) -> None:
    """Give all tuples of a buffer new bounds and build its heap."""
    size = memory.buffers[buffer].heaped
    for place in range(size):
        hooks.weigh(policy, memory, memory.heap[buffer, place], time)
        memory.ranks[buffer, place] = memory.slots[memory.heap[buffer, place]].priority
    for place in range(size // 2 - 1, -1, -1):
        _sink(memory, buffer, place)


@inlined
def _sink(memory: Memory, buffer: int, place: int) -> None:
    """Bring the tuple at a place to where it belongs below, in a heap that holds below."""
    heap, size = memory.heap[buffer], memory.buffers[buffer].heaped
    slot = heap[place]
    while 2 * place + 1 < size:
        below = 2 * place + 1
        if below + 1 < size and goes_before(memory, heap[below + 1], heap[below]):
            below += 1
        if not goes_before(memory, heap[below], slot):
            break
        heap[place], memory.ranks[buffer, place] = heap[below], memory.ranks[buffer, below]
        memory.slots[heap[place]].place = place
        place = below
    heap[place], memory.ranks[buffer, place] = slot, memory.slots[slot].priority
    memory.slots[slot].place = place


@inlined
def horizon(memory: Memory, buffer: int, time: int) -> Any:
    """Return until when bounds that fall with time should hold: a window over a square root.

    About the square root of the buffer falls due until then, which is how many tuples a search
    looks at in vain; and so many arrive that new bounds for all cost each no more than that.
    """
    shortest: Any = _LONG
    for stream in range(memory.streams.shape[0]):
        if memory.streams[stream].own_buffer == buffer:
            shortest = min(shortest, memory.streams[stream].span)
    ahead = np.int64(shortest / np.sqrt(memory.buffers[buffer].heaped + 1.0))
    return time + np.maximum(ahead, 1)
