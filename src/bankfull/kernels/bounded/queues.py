"""Queues of stored tuples, for policies that know no priorities: enter last, leave from anywhere.

A queue is a row of ``ends`` (first and last tuple, or NONE); its tuples are linked by two notes of
the policy, so that queues cost no memory of their own and are written down with the tuples.
"""

from __future__ import annotations

from bankfull.kernels.bounded.memory import NONE, Memory
from bankfull.kernels.bounded.records import NOTES
from bankfull.kernels.compiler import Int64, inlined

FIRST, LAST = 0, 1
#: The notes that link a tuple: the last two. The others are the policy's own.
_AFTER, _BEFORE = NOTES - 2, NOTES - 1


@inlined
def following(memory: Memory, slot: int) -> int:
    """Return the tuple behind this one, or NONE."""
    return int(memory.slots[slot].notes[_AFTER])


@inlined
def enqueue(memory: Memory, ends: Int64, slot: int) -> None:
    """Enter a tuple at the end."""
    last = ends[LAST]
    memory.slots[slot].notes[_BEFORE] = float(last)
    memory.slots[slot].notes[_AFTER] = float(NONE)
    if last >= 0:
        memory.slots[last].notes[_AFTER] = float(slot)
    else:
        ends[FIRST] = slot
    ends[LAST] = slot


@inlined
def dequeue(memory: Memory, ends: Int64, slot: int) -> None:
    """Take a tuple out, wherever it stands."""
    after, before = int(memory.slots[slot].notes[_AFTER]), int(memory.slots[slot].notes[_BEFORE])
    if before >= 0:
        memory.slots[before].notes[_AFTER] = float(after)
    else:
        ends[FIRST] = after
    if after >= 0:
        memory.slots[after].notes[_BEFORE] = float(before)
    else:
        ends[LAST] = before
