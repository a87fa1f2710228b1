"""Looks at stored tuples, which are what ``gain`` costs: what each is worth now, and how many.

Priorities are noted, not kept up to date: when a tuple comes, when it is about to be evicted, and
for a few tuples an arrival that a cursor comes by. How many those are follows what they find: where
hardly any has lost much since it was last looked at, fewer do.

``policy`` is the state of ``gain``, whose words are used here.
"""

from __future__ import annotations

from typing import Any

from bankfull.kernels.bounded.keys import bytes_of
from bankfull.kernels.bounded.memory import (
    NONE,
    Memory,
    goes_before,
    listed,
    on_keys,
    sift,
)
from bankfull.kernels.compiler import inlined, inner
from bankfull.kernels.recall.feed import PARTNERS
from bankfull.policies.mixture import prepare
from bankfull.policies.promise import CHANCE, Stored, has_set, promised
from bankfull.policies.returns import index_at, slice_at, worth_waiting

#: The notes of a tuple: the class of its importance, the partners it has had, and the number of
#: the arrival that was the last of them.
CLASS, HAD, LAST = 0, 1, 2
#: Stored tuples that the cursor looks at for each arrival, at most; most corrections an eviction;
#: how many that share a key are passed on the way to the oldest of them.
AGAIN, _MOST, _ALONG = 8, 8, 64
#: A priority below this part of what was noted, half an octave, has *fallen*. Where more than so
#: many of the looks find one twice as many are made, where fewer than that half as many.
_FALLEN, _MANY, _FEW = 2.0**-0.5, 0.03, 0.015
#: What is kept of what looks have found, when their number is settled anew.
_KEPT = 0.5


@inlined
def _intensity(policy: Any, memory: Memory, slot: int, now: float) -> float:
    """Return the importance that a tuple is expected to earn an arrival, at any age."""
    if policy.period[1] != now:
        prepare(policy, memory, now)
    own = memory.slots[slot].stream
    importance = int(memory.slots[slot].notes[CLASS])
    total = 0.0
    for join in range(memory.joins.shape[0]):
        for member in range(memory.joins[join].width):
            o = memory.joins[join].members[member]
            if o == own:
                continue
            chance = promised(policy, memory, Stored(slot), join, own, o, now)
            chance += policy.unexplained[own, CHANCE] * has_set(memory, Stored(slot), join)
            total += chance * policy.worth[o, importance]
    return total


@inner
def _weigh(policy: Any, memory: Memory, slot: int, now: float) -> tuple[float, float]:
    """Return a tuple's priority, and what it is expected to earn an arrival, at any age."""
    expected = _intensity(policy, memory, slot, now)
    if expected == 0.0:
        # The others have brought nothing yet; what comes first may be for who waited longest.
        importance = int(memory.slots[slot].notes[CLASS])
        return worth_waiting(policy, memory, slot, importance), 0.0
    index = index_at(policy, memory, slot, int(memory.slots[slot].notes[HAD]))
    return expected * index / bytes_of(memory, slot), expected


@inner
def weigh_newcomer(policy: Any, memory: Memory, slot: int, now: float) -> None:
    """Weigh a newcomer, and the one before it with its key: if one of them goes, the older."""
    memory.slots[slot].priority = _weigh(policy, memory, slot, now)[0]
    for join in range(memory.joins.shape[0]):
        key = memory.links[slot, join].first
        if key >= 0 and on_keys(memory, join):
            before = listed(memory, key, memory.slots[slot].stream)
            if before >= 0:
                memory.slots[before].priority = _weigh(policy, memory, before, now)[0]
                sift(memory, before)


@inner
def first_to_go(policy: Any, memory: Memory, buffer: int, now: float) -> int:
    """Return the top of the heap once it stays there after a second look.

    After too many looks it is the one that goes first of those seen. The oldest that shares its
    key is looked at too, so that of equals the oldest goes; sets share none.
    """
    heap = memory.heap[buffer]
    chosen = heap[0]
    for _ in range(_MOST):
        first = heap[0]
        memory.slots[first].priority = _weigh(policy, memory, first, now)[0]
        sift(memory, first)
        if goes_before(memory, first, chosen):
            chosen = first
        if heap[0] == first:
            break
    first = chosen
    for join in range(memory.joins.shape[0]):
        if on_keys(memory, join) and memory.links[first, join].first >= 0:
            oldest = first
            for _ in range(_ALONG):
                older = memory.links[oldest, join].older
                if older < 0:
                    break
                oldest = older
            if oldest == first:
                continue
            memory.slots[oldest].priority = _weigh(policy, memory, oldest, now)[0]
            sift(memory, oldest)
            if goes_before(memory, oldest, chosen):
                chosen = oldest
    return chosen  # type: ignore[no-any-return]


@inlined
def _next(policy: Any, memory: Memory) -> Any:
    """Return the tuple at the cursor, which goes from old to new, stream by stream."""
    cursor = policy.cursor
    while cursor[1] == NONE:
        cursor[0] = (cursor[0] + 1) % memory.streams.shape[0]
        cursor[1] = memory.streams[cursor[0]].oldest
    slot = cursor[1]
    cursor[1] = memory.slots[slot].newer
    return slot


@inner
def go_round(policy: Any, memory: Memory, now: float) -> None:
    """Look again at a few tuples.

    All are weighed before the first is moved, so that the processor can wait for what it needs of
    one while it works at another.
    """
    stored = 0
    for buffer in range(memory.buffers.shape[0]):
        stored += memory.buffers[buffer].heaped
    many = min(stored, int(policy.again[0]))
    if policy.sampled:  # eight at a time; what is learned from is looked at in every turn
        due = memory.now.seq_next % int(AGAIN / policy.again[0]) == 0
        many = min(stored, AGAIN) if due else 0
    for k in range(many):
        policy.seen_again[k] = _next(policy, memory)
    for k in range(many):
        slot = policy.seen_again[k]
        priority, expected = _weigh(policy, memory, slot, now)
        policy.chances[k] = priority
        if priority < _FALLEN * memory.slots[slot].priority:
            policy.again[1] += 1.0
        if not policy.sampled:
            had = min(int(memory.slots[slot].notes[HAD]), PARTNERS - 1)
            looked = policy.looked[memory.slots[slot].stream, slice_at(policy, memory, slot), had]
            looked[0] += stored / many * (now - policy.clock[0])
            looked[1] += stored / many * expected
    for k in range(many):
        slot = policy.seen_again[k]
        memory.slots[slot].priority = policy.chances[k]
        sift(memory, slot)
    policy.again[2] += many
    if not policy.sampled:
        policy.clock[0] = now


@inlined
def settle_looks(again: Any) -> None:
    """Have more looks an arrival, or fewer, by what those made have found."""
    if again[1] > _MANY * again[2]:
        again[0] = min(2.0 * again[0], AGAIN)
    elif again[1] < _FEW * again[2]:
        again[0] = max(0.5 * again[0], 1.0)
    again[1] *= _KEPT
    again[2] *= _KEPT
