"""The bounded store of a shedding join: slots for tuples, lists by key, a heap by priority.

A stored tuple is a row of ``whole`` (integers) and ``real`` (floats); free slots form a list.
Tuples of one stream with one key of one join form a list, newest first; so do all tuples of a
stream by age. A *buffer* is what a budget bounds: one for all streams, or one a stream; its heap
has the tuple that goes first at the top: smallest priority, then both ties, then the oldest.
Keys are numbered by a hash table and remembered beyond their tuples, with statistics for
policies (``keys.py``); who calls the kernels keeps enough numbers free.

In a join on sets every item of a tuple is a key. A tuple's items are *postings*: rows of ``posts``,
chained in the order of their values, each in the list of its item and stream, newest first too.
``whole`` then holds, of a join, the first posting, how many there are, and how many stored tuples
agree. Free postings form a list. Without such joins there are no ``sets``, and what ``withsets.py``
adds is not even compiled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels import withsets
from bankfull.kernels.compiler import Float64, Int64, inlined, kernel

NONE = -1
#: Columns of ``whole``; COPY is 1 if another copy of the tuple is the one that is counted. From
#: LINKS on three a join: number of the key, next and previous tuple; of a join on sets: first
#: posting, postings, stored tuples that agree.
STREAM, TIME, SEQ, ROW, SIZE, NTH, PLACE, OLDER, NEWER, BUFFER, COPY, LINKS = range(12)
#: Columns of ``real``; notes belong to the policy.
PRIORITY, TIE, LAST_TIE, IMPORTANCE, NOTE = range(5)
NOTES = 4
#: Columns of ``streams``; from STORED on copies are not counted, but for those lost. WEIGHED is 1
#: if the stream has a column of importance: only then do its tuples count in that of a result.
OLDEST, NEWEST, ARRIVED, SPAN, ROWS, OWN_BUFFER = range(6)
STORED, SHED, EVICTED, EXPIRED, COPIES_LOST, WEIGHED = range(6, 12)
STREAM_WORDS = 12
#: Columns of ``buffers``.
USED, CAPACITY, HEAPED = range(3)
#: Elements of ``now``; of joins on sets: the first free posting, how many are not, the largest mark
#: given out (``slotsets.py``), how many keys there may be, how many items are held (once for each
#: stream), and at least how many must be before keys are numbered anew. KEYS_EVER also counts keys
#: that are forgotten.
FREE, SEQ_NEXT, TIME_NOW, KEYS_USED, DRAWS = range(5)
POST_FREE, POSTS_USED, MARKED, KEYS_MOST, HELD, HELD_LEAST, KEYS_EVER = range(5, 12)
#: Columns of ``joins``: how many streams, then five each of streams, spans, rows; how it compares,
#: which stream's sets must lie within, what an item of nobody else costs in bytes, and whether
#: stored tuples that agree are counted.
WIDTH, MEMBER, MEMBER_SPAN, MEMBER_ROWS = 0, 1, 6, 11
KIND, CONTAINED, KEY_BYTES, COUNTED = range(16, 20)
JOIN_WORDS = 20
#: How a join compares: one key, or sets by items in common, by containment, by inner product.
EQUAL, OVERLAP, CONTAINS, PRODUCT = range(4)
#: Columns of ``posts``: tuple, item, older and newer posting of the item, next one of the tuple.
POST_SLOT, POST_KEY, POST_OLDER, POST_NEWER, POST_NEXT = range(5)
POST_WORDS = 5


class Sets(NamedTuple):
    """What joins on sets need: postings, their weights, room for a search, thresholds."""

    posts: NDArray[np.int32]
    weights: Float64
    marks: Int64
    scores: Float64
    at_least: Float64


class Memory(NamedTuple):
    """Everything that is stored and remembered; see the module's text."""

    whole: Int64
    real: Float64
    heap: Int64
    codes: NDArray[np.uint64]
    lists: Int64
    stats: Float64
    table: Int64
    streams: Int64
    buffers: Int64
    joins: Int64
    now: Int64
    sketch: NDArray[np.uint8]
    sketched: Int64
    sets: Sets | None


@inlined
def goes_before(memory: Memory, a: int, b: int) -> bool:
    """Tell whether tuple a is dropped before tuple b."""
    return _goes_before(memory.real, memory.whole, a, b)


@inlined
def _goes_before(real: Float64, whole: Int64, a: int, b: int) -> bool:
    if real[a, PRIORITY] != real[b, PRIORITY]:
        return real[a, PRIORITY] < real[b, PRIORITY]  # type: ignore[no-any-return]
    if real[a, TIE] != real[b, TIE]:
        return real[a, TIE] < real[b, TIE]  # type: ignore[no-any-return]
    if real[a, LAST_TIE] != real[b, LAST_TIE]:
        return real[a, LAST_TIE] < real[b, LAST_TIE]  # type: ignore[no-any-return]
    return whole[a, SEQ] < whole[b, SEQ]  # type: ignore[no-any-return]


@inlined
def sift(memory: Memory, slot: int) -> None:
    """Bring a tuple whose priority has changed to its place in the heap."""
    buffer = memory.whole[slot, BUFFER]
    size = memory.buffers[buffer, HEAPED]
    _sift(memory.heap, buffer, size, memory.whole, memory.real, slot)


@kernel
def _sift(heaps: Int64, buffer: int, size: int, whole: Int64, real: Float64, slot: int) -> None:
    """Sift with no more than is needed: to pass all of the memory takes longer than to sift."""
    place = whole[slot, PLACE]
    while place > 0:
        above = (place - 1) >> 1
        other = heaps[buffer, above]
        if not _goes_before(real, whole, slot, other):
            break
        heaps[buffer, place] = other
        whole[other, PLACE] = place
        place = above
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        other = heaps[buffer, below]
        if below + 1 < size and _goes_before(real, whole, heaps[buffer, below + 1], other):
            below += 1
            other = heaps[buffer, below]
        if not _goes_before(real, whole, other, slot):
            break
        heaps[buffer, place] = other
        whole[other, PLACE] = place
        place = below
    heaps[buffer, place] = slot
    whole[slot, PLACE] = place


@inlined
def push(memory: Memory, slot: int) -> None:
    """Enter a tuple in the heap of its buffer."""
    buffer = memory.whole[slot, BUFFER]
    place = memory.buffers[buffer, HEAPED]
    memory.buffers[buffer, HEAPED] = place + 1
    memory.heap[buffer, place] = slot
    memory.whole[slot, PLACE] = place
    sift(memory, slot)


@inlined
def pull(memory: Memory, slot: int) -> None:
    """Take a tuple out of the heap."""
    buffer = memory.whole[slot, BUFFER]
    place = memory.whole[slot, PLACE]
    last = memory.buffers[buffer, HEAPED] - 1
    memory.buffers[buffer, HEAPED] = last
    moved = memory.heap[buffer, last]
    if moved != slot:
        memory.heap[buffer, place] = moved
        memory.whole[moved, PLACE] = place
        sift(memory, moved)


@inlined
def listed(memory: Memory, key: int, stream: int) -> Any:
    """Return the newest stored tuple of a stream with this key."""
    return memory.lists[key, 2 * stream]


@inlined
def held(memory: Memory, key: int, stream: int) -> Any:
    """Return how many stored tuples of a stream have this key."""
    return memory.lists[key, 2 * stream + 1]


@inlined
def first_key(memory: Memory, slot: int, join: int) -> Any:
    """Return where the keys of a tuple in a join begin, or NONE; a set has one for every item."""
    return memory.whole[slot, LINKS + 3 * join]


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
def on_keys(memory: Memory, join: int) -> bool:
    """Tell whether a join compares one key a tuple, not sets of them."""
    return withsets.on_keys(memory.sets, memory, join)


@inlined
def link(memory: Memory, slot: int) -> None:
    """Enter a tuple at the new end of its stream's list and of the lists of its keys."""
    whole = memory.whole
    stream = whole[slot, STREAM]
    newest = memory.streams[stream, NEWEST]
    whole[slot, OLDER] = newest
    whole[slot, NEWER] = NONE
    if newest >= 0:
        whole[newest, NEWER] = slot
    else:
        memory.streams[stream, OLDEST] = slot
    memory.streams[stream, NEWEST] = slot
    memory.streams[stream, STORED] += 1 - whole[slot, COPY]
    withsets.link(memory.sets, memory, slot)
    for join in range(memory.joins.shape[0]):
        if not on_keys(memory, join):
            continue
        at = LINKS + 3 * join
        key = whole[slot, at]
        if key >= 0:
            first = memory.lists[key, 2 * stream]
            whole[slot, at + 1] = first
            whole[slot, at + 2] = NONE
            if first >= 0:
                whole[first, at + 2] = slot
            memory.lists[key, 2 * stream] = slot
            memory.lists[key, 2 * stream + 1] += 1
            if first < 0:  # who is the first to hold a key pays for it
                memory.buffers[whole[slot, BUFFER], USED] += memory.joins[join, KEY_BYTES]
                memory.now[HELD] += 1


@inlined
def unlink(memory: Memory, slot: int) -> None:
    """Take a tuple out of all lists and free its slot."""
    whole = memory.whole
    stream = whole[slot, STREAM]
    older, newer = whole[slot, OLDER], whole[slot, NEWER]
    if older >= 0:
        whole[older, NEWER] = newer
    else:
        memory.streams[stream, OLDEST] = newer
    if newer >= 0:
        whole[newer, OLDER] = older
    else:
        memory.streams[stream, NEWEST] = older
    memory.streams[stream, STORED] -= 1 - whole[slot, COPY]
    withsets.unlink(memory.sets, memory, slot)
    for join in range(memory.joins.shape[0]):
        if not on_keys(memory, join):
            continue
        at = LINKS + 3 * join
        key = whole[slot, at]
        if key >= 0:
            after, before = whole[slot, at + 1], whole[slot, at + 2]
            if before >= 0:
                whole[before, at + 1] = after
            else:
                memory.lists[key, 2 * stream] = after
            if after >= 0:
                whole[after, at + 2] = before
            memory.lists[key, 2 * stream + 1] -= 1
            if memory.lists[key, 2 * stream + 1] == 0:
                memory.buffers[whole[slot, BUFFER], USED] -= memory.joins[join, KEY_BYTES]
                memory.now[HELD] -= 1
    memory.buffers[whole[slot, BUFFER], USED] -= whole[slot, SIZE]
    whole[slot, STREAM] = NONE
    whole[slot, OLDER] = memory.now[FREE]
    memory.now[FREE] = slot


@inlined
def partners_stored(memory: Memory, slot: int) -> int:
    """Return how many stored tuples of other streams agree with this one, over all joins.

    In a join on sets that is counted when a tuple arrives, and kept up to date for policies that
    say so (``counts_partners``).
    """
    total = 0
    own = memory.whole[slot, STREAM]
    for join in range(memory.joins.shape[0]):
        key = memory.whole[slot, LINKS + 3 * join]
        if key < 0:
            continue
        if not on_keys(memory, join):
            total += memory.whole[slot, LINKS + 3 * join + 2]
            continue
        for member in range(memory.joins[join, WIDTH]):
            stream = memory.joins[join, MEMBER + member]
            if stream != own:
                total += memory.lists[key, 2 * stream + 1]
    return total


@inlined
def partners_arrived(memory: Memory, slot: int) -> float:
    """Return how many tuples of other streams that agree with this one have arrived so far.

    In a join on sets nobody can know that of tuples that are gone: it is what the counts of the
    tuple's items promise together (:func:`pooled`).
    """
    total = 0.0
    own = memory.whole[slot, STREAM]
    for join in range(memory.joins.shape[0]):
        for member in range(memory.joins[join, WIDTH]):
            stream = memory.joins[join, MEMBER + member]
            if stream != own:
                promised = -1.0
                place = first_key(memory, slot, join)
                while place >= 0:
                    count = memory.stats[key_at(memory, join, place), stream]
                    promised = pooled(memory, join, own, promised, count)
                    place = next_key(memory, join, place)
                total += max(promised, 0.0)
    return total


@inlined
def draw(seed: int, number: int) -> float:
    """Return a number between 0 and 1 that looks random and depends on nothing else.

    Reference: the finaliser of splitmix64.
    """
    z = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
    z += np.uint64(number + 1) * np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.float64(z >> np.uint64(11)) * 2.0**-53
