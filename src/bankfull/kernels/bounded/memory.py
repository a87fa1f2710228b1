"""The bounded store of a shedding join: slots for tuples, lists by key, a heap by priority.

A stored tuple is a record of ``slots``, and for each join one of ``links`` (``records.py``); free
slots form a list.
Tuples of one stream with one key of one join form a list, newest first; so do all tuples of a
stream by age. A *buffer* is what a budget bounds: one for all streams, or one a stream; its heap
has the tuple that goes first at the top: smallest priority, then both ties, then the oldest.
``ranks`` are the priorities by place in the heap, so that a tuple finds its place without a look at
the records of others; where the heap is in no order they mean nothing.
Keys are numbered by a hash table and remembered beyond their tuples, with statistics for
policies (``keys.py``). ``notes`` are those that seven digits are enough for; a key has a row of
them once the policy asks for it (``keys.take_notes``), and ``rows`` says which, or NONE. Who calls
the kernels keeps enough numbers and rows free.

In a join on sets every item of a tuple is a key. A tuple's items are *postings*, records of
``posts``, chained in the order of their values, each in the list of its item and stream, newest
first too; its link names the first. Free postings form a list. Without such joins there are no
``sets``, and what ``withsets.py`` adds is not even compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.bounded import withsets
from bankfull.kernels.compiler import Float64, Int64, Records, inlined, inner
from bankfull.kernels.passing import by_address

NONE = -1


@by_address
class SlotSets(NamedTuple):
    """What joins on sets need: postings, their weights, room for a search, thresholds.

    ``held[slot, join]`` has the number of a tuple's items; ``found`` lists what a search found;
    ``wanted`` and ``wanted_weights`` are the items that it looks for. ``leaps`` pass over basic
    windows (``leaps.py``); without a budget of comparisons they are None. ``common[n]`` is the
    chance that a tuple and an arrival have n items in common, of those looked at so far.
    """

    posts: Records
    weights: Float64
    held: Records
    marks: Int64
    found: Int64
    scores: Float64
    wanted: Int64
    wanted_weights: Float64
    at_least: Float64
    common: Float64
    leaps: Any


@by_address
class Memory(NamedTuple):
    """Everything that is stored and remembered; see the module's text and ``records.py``."""

    slots: Records
    links: Records
    heap: Int64
    ranks: Float64
    codes: NDArray[np.uint64]
    lists: Records
    stats: Float64
    notes: NDArray[np.float32]
    rows: NDArray[np.int32]
    table: Int64
    streams: Records
    buffers: Records
    joins: Records
    now: Records
    sketch: NDArray[np.uint8]
    sketched: Int64
    sets: SlotSets | None


@inlined
def has_left(about: Records, age: int, after: int) -> bool:
    """Tell whether no window holds a tuple of this age, with so many of its stream ``after`` it."""
    return age > about.needed_span and after >= about.needed_rows  # type: ignore[no-any-return]


@inlined
def goes_before(memory: Memory, a: int, b: int) -> bool:
    """Tell whether tuple a is dropped before tuple b."""
    slots = memory.slots
    return _goes_before(slots, slots[a].priority, a, slots[b].priority, b)


@inlined
def _goes_before(slots: Records, of_a: float, a: int, of_b: float, b: int) -> bool:
    if of_a != of_b:
        return of_a < of_b
    if slots[a].tie != slots[b].tie:
        return slots[a].tie < slots[b].tie  # type: ignore[no-any-return]
    if slots[a].last_tie != slots[b].last_tie:
        return slots[a].last_tie < slots[b].last_tie  # type: ignore[no-any-return]
    return slots[a].seq < slots[b].seq  # type: ignore[no-any-return]


@inlined
def sift(memory: Memory, slot: int) -> None:
    """Bring a tuple whose priority has changed to its place in the heap."""
    buffer = memory.slots[slot].buffer
    size = memory.buffers[buffer].heaped
    _sift(memory.heap, memory.ranks, buffer, size, memory.slots, slot)


@inner
def _sift(heaps: Int64, ranks: Float64, buffer: int, size: int, slots: Records, slot: int) -> None:
    """Sift with no more than is needed: to pass all of the memory takes longer than to sift."""
    place, mine = np.int64(slots[slot].place), slots[slot].priority
    while place > 0:
        above = (place - 1) >> 1
        other, its = heaps[buffer, above], ranks[buffer, above]
        if not _goes_before(slots, mine, slot, its, other):
            break
        heaps[buffer, place], ranks[buffer, place] = other, its
        slots[other].place = place
        place = above
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        other, its = heaps[buffer, below], ranks[buffer, below]
        if below + 1 < size:
            beside, theirs = heaps[buffer, below + 1], ranks[buffer, below + 1]
            if _goes_before(slots, theirs, beside, its, other):
                below, other, its = below + 1, beside, theirs
        if not _goes_before(slots, its, other, mine, slot):
            break
        heaps[buffer, place], ranks[buffer, place] = other, its
        slots[other].place = place
        place = below
    heaps[buffer, place], ranks[buffer, place] = slot, mine
    slots[slot].place = place


@inlined
def push(memory: Memory, slot: int) -> None:
    """Enter a tuple in the heap of its buffer."""
    buffer = memory.slots[slot].buffer
    place = memory.buffers[buffer].heaped
    memory.buffers[buffer].heaped = place + 1
    memory.heap[buffer, place] = slot
    memory.slots[slot].place = place
    sift(memory, slot)


@inlined
def pull(memory: Memory, slot: int) -> None:
    """Take a tuple out of the heap."""
    buffer = memory.slots[slot].buffer
    place = memory.slots[slot].place
    last = memory.buffers[buffer].heaped - 1
    memory.buffers[buffer].heaped = last
    moved = memory.heap[buffer, last]
    if moved != slot:
        memory.heap[buffer, place] = moved
        memory.slots[moved].place = place
        sift(memory, moved)


@inlined
def listed(memory: Memory, key: int, stream: int) -> Any:
    """Return the newest stored tuple of a stream with this key."""
    return memory.lists[key, stream].newest


@inlined
def held(memory: Memory, key: int, stream: int) -> Any:
    """Return how many stored tuples of a stream have this key."""
    return memory.lists[key, stream].held


@inlined
def first_key(memory: Memory, slot: int, join: int) -> Any:
    """Return where the keys of a tuple in a join begin, or NONE; a set has one for every item."""
    return memory.links[slot, join].first


@inlined
def key_at(memory: Memory, join: int, place: int) -> Any:
    """Return the number of the key at a place of :func:`first_key` or :func:`next_key`."""
    return withsets.key_at(memory.sets, memory, join, place)


@inlined
def next_key(memory: Memory, join: int, place: int) -> Any:
    """Return where a tuple's next key is, or NONE."""
    return withsets.next_key(memory.sets, memory, join, place)


@inlined
def pooled(memory: Memory, join: int, stream: int, so_far: float, more: float) -> float:
    """Return what several keys of a tuple promise together; ``so_far`` is below 0 at the first.

    Their sum: the items that the tuple may expect to have in common with arrivals. Where a partner
    must have all of them, the least.
    """
    return withsets.pooled(memory.sets, memory, join, stream, so_far, more)


@inlined
def no_item(memory: Memory, join: int) -> None:
    """Begin with a tuple's items (``matching``)."""
    withsets.no_item(memory.sets, memory, join)


@inlined
def one_item(memory: Memory, join: int, chance: float) -> None:
    """Look at one of a tuple's items, which an arrival holds with some chance (``matching``)."""
    withsets.one_item(memory.sets, memory, join, chance)


@inlined
def matching(memory: Memory, join: int, promised: float, many: float) -> float:
    """Return how many matches are promised by so many items in common (``pooled``).

    ``many``: items that came for each tuple of the other stream. The items were looked at before
    (``no_item``, ``one_item``).
    """
    return withsets.matching(memory.sets, memory, join, promised, many)


@inlined
def on_keys(memory: Memory, join: int) -> bool:
    """Tell whether a join compares one key a tuple, not sets of them."""
    return withsets.on_keys(memory.sets, memory, join)


@inlined
def cost_of_key(memory: Memory, join: int, key: int) -> Any:
    """Return what a key takes of the budget of a stream that holds it."""
    cost = memory.joins[join].key_bytes
    if memory.joins[join].note_bytes > 0 and memory.rows[key] >= 0:
        cost += memory.joins[join].note_bytes
    return cost


@inlined
def link(memory: Memory, slot: int) -> None:
    """Enter a tuple at the new end of its stream's list and of the lists of its keys."""
    slots = memory.slots
    stream = slots[slot].stream
    newest = memory.streams[stream].newest
    slots[slot].older = newest
    slots[slot].newer = NONE
    if newest >= 0:
        slots[newest].newer = slot
    else:
        memory.streams[stream].oldest = slot
    memory.streams[stream].newest = slot
    memory.streams[stream].stored += 1 - slots[slot].is_copy
    withsets.link(memory.sets, memory, slot)
    for join in range(memory.joins.shape[0]):
        if not on_keys(memory, join):
            continue
        own = memory.links[slot, join]
        if own.first >= 0:
            listed_now = memory.lists[own.first, stream]
            own.older, own.newer = listed_now.newest, NONE
            if own.older >= 0:
                memory.links[own.older, join].newer = slot
            else:  # who is the first to hold a key pays for it
                memory.buffers[slots[slot].buffer].used += cost_of_key(memory, join, own.first)
                memory.now.held += 1
            listed_now.newest = slot
            listed_now.held += 1


@inlined
def unlink(memory: Memory, slot: int) -> None:
    """Take a tuple out of all lists and free its slot."""
    slots = memory.slots
    stream = slots[slot].stream
    older, newer = slots[slot].older, slots[slot].newer
    if older >= 0:
        slots[older].newer = newer
    else:
        memory.streams[stream].oldest = newer
    if newer >= 0:
        slots[newer].older = older
    else:
        memory.streams[stream].newest = older
    memory.streams[stream].stored -= 1 - slots[slot].is_copy
    withsets.unlink(memory.sets, memory, slot)
    for join in range(memory.joins.shape[0]):
        if not on_keys(memory, join):
            continue
        own = memory.links[slot, join]
        if own.first >= 0:
            listed_now = memory.lists[own.first, stream]
            if own.newer >= 0:
                memory.links[own.newer, join].older = own.older
            else:
                listed_now.newest = own.older
            if own.older >= 0:
                memory.links[own.older, join].newer = own.newer
            listed_now.held -= 1
            if listed_now.held == 0:
                memory.buffers[slots[slot].buffer].used -= cost_of_key(memory, join, own.first)
                memory.now.held -= 1
    memory.buffers[slots[slot].buffer].used -= slots[slot].cost
    slots[slot].stream = NONE
    slots[slot].older = memory.now.free
    memory.now.free = slot


@inlined
def partners_stored(memory: Memory, slot: int) -> int:
    """Return how many stored tuples of other streams agree with this one, over all joins.

    In a join on sets that is counted when a tuple arrives, and kept up to date for policies that
    say so (``counts_partners``).
    """
    total = 0
    own = memory.slots[slot].stream
    for join in range(memory.joins.shape[0]):
        key = memory.links[slot, join].first
        if key < 0:
            continue
        if not on_keys(memory, join):
            total += withsets.agreeing(memory.sets, slot, join)
            continue
        for member in range(memory.joins[join].width):
            stream = memory.joins[join].members[member]
            if stream != own:
                total += memory.lists[key, stream].held
    return total


@inlined
def partners_arrived(memory: Memory, slot: int) -> float:
    """Return how many tuples of other streams that agree with this one have arrived so far.

    In a join on sets nobody can know that of tuples that are gone: it is what the counts of the
    tuple's items promise together (:func:`pooled`).
    """
    total = 0.0
    own = memory.slots[slot].stream
    for join in range(memory.joins.shape[0]):
        for member in range(memory.joins[join].width):
            stream = memory.joins[join].members[member]
            if stream != own:
                promised = -1.0
                place = first_key(memory, slot, join)
                while place >= 0:
                    count = memory.stats[key_at(memory, join, place), stream]
                    promised = pooled(memory, join, own, promised, count)
                    place = next_key(memory, join, place)
                total += max(promised, 0.0)
    return total
