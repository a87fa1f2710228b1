"""Joins on sets under a memory budget: postings of slots, and who agrees with whom.

What a join on sets means here. A tuple x *agrees* with a stored tuple u of the other stream if the
predicate holds between their sets; that is what is joined (within the windows), credited, and
counted as partners, whatever the policy. Statistics are of *items*: an arrival counts once for
every item it holds. What they promise a tuple together is ``memory.pooled``: the sum over its
items, which is the number of items that it may expect to share with arrivals, and hence, divided by
the threshold, a bound on how many of them match (Markov); where a partner must hold all of its
items, the least of them. A tuple is told of arrivals that agree with it, not of all that share an
item.

Where the empty set can match (containment), EMPTY is an item: of every set that may hold others,
and of the empty ones that may be held. So no search has to think of them.

Reference: Gedik, Wu, Yu, Liu, *CPU Load Shedding for Binary Stream Joins*, section 4.2 (inverted
lists). Deviations: lists are linked, because eviction takes tuples from their middle; a search adds
up in an array over the slots.
Cost: a search visits the postings of the tuple's items on the other stream.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.compiler import Float64, Int64, kernel
from bankfull.kernels.memory import (
    ARRIVED,
    CONTAINED,
    CONTAINS,
    EQUAL,
    KEY_BYTES,
    KIND,
    LINKS,
    MARKED,
    MEMBER,
    MEMBER_ROWS,
    MEMBER_SPAN,
    NONE,
    NTH,
    POST_FREE,
    POST_KEY,
    POST_NEXT,
    POST_OLDER,
    POST_SLOT,
    POSTS_USED,
    PRODUCT,
    ROW,
    SEQ,
    SEQ_NEXT,
    TIME,
    Memory,
    free_items,
    key_number,
)

#: The item that stands for the empty set.
EMPTY = 0
#: Columns of ``marks``: a mark for every slot, and a list of those found.
_MARK, FOUND = 0, 1


class Bags(NamedTuple):
    """The sets of arrivals: tuple i has ``sizes[join, i]`` items from ``starts[join, i]`` on.

    Items are numbers (``intern.py``), in the order of their values.
    """

    starts: Int64
    sizes: Int64
    items: NDArray[np.int32]
    weights: Float64


@kernel
def take_items(memory: Memory, bags: Bags, join: int, i: int, slot: int) -> None:
    """Write the items of an arrival down behind a free slot; they are in no list yet."""
    posts = memory.posts
    start, size = bags.starts[join, i], bags.sizes[join, i]
    following = NONE
    for k in range(start + size - 1, start - 1, -1):
        post = memory.now[POST_FREE]
        memory.now[POST_FREE] = posts[post, POST_NEXT]
        posts[post, POST_SLOT] = slot
        posts[post, POST_KEY] = key_number(memory, np.uint64(bags.items[k]), join)
        posts[post, POST_NEXT] = following
        if memory.weights.size > 0:
            memory.weights[post] = bags.weights[k]
        following = post
    memory.now[POSTS_USED] += size
    memory.whole[slot, LINKS + 3 * join] = following
    memory.whole[slot, LINKS + 3 * join + 1] = size
    memory.whole[slot, LINKS + 3 * join + 2] = 0


@kernel
def forgo_items(memory: Memory, slot: int) -> None:
    """Give back what :func:`take_items` took: the tuple is not stored."""
    for join in range(memory.joins.shape[0]):
        if memory.joins[join, KIND] != EQUAL:
            free_items(memory, slot, join)


@kernel
def items_bytes(memory: Memory, slot: int, stream: int, alone: bool) -> Any:
    """Return what a newcomer's items cost: all (``alone``), or those nobody of its stream holds."""
    total = 0
    for join in range(memory.joins.shape[0]):
        if memory.joins[join, KEY_BYTES] > 0:
            post = memory.whole[slot, LINKS + 3 * join]
            while post >= 0:
                if alone or memory.lists[memory.posts[post, POST_KEY], 2 * stream + 1] == 0:
                    total += memory.joins[join, KEY_BYTES]
                post = memory.posts[post, POST_NEXT]
    return total


@kernel
def agreeing(memory: Memory, join: int, slot: int, stream: int) -> tuple[int, int]:
    """List the stored tuples that agree with one, newest first; returns (found, compared).

    They stand in ``marks[:found, FOUND]`` until the next call. Windows are not looked at.
    """
    about = memory.joins[join]
    other = about[MEMBER + 1] if about[MEMBER] == stream else about[MEMBER]
    if about[KIND] == PRODUCT:
        found, compared = _multiply(memory, join, slot, other)
    else:
        found, compared = _count(memory, join, slot, stream, other)
    _newest_first(memory, found)
    return found, compared


@kernel
def _count(memory: Memory, join: int, slot: int, stream: int, other: int) -> tuple[int, int]:
    """Count common items; a tuple is found at the moment it has enough.

    Marks of earlier searches are no higher than ``zero`` and need no setting back.
    """
    posts, marks, about = memory.posts, memory.marks, memory.joins[join]
    held = LINKS + 3 * join + 1
    size = memory.whole[slot, held]
    zero = memory.now[MARKED]
    memory.now[MARKED] = zero + size
    by_size = about[KIND] == CONTAINS and about[CONTAINED] != stream
    enough = zero + (size if about[KIND] == CONTAINS else np.int64(memory.at_least[join]))
    found, compared = 0, 0
    post = memory.whole[slot, held - 1]
    while post >= 0:
        entry = memory.lists[posts[post, POST_KEY], 2 * other]
        while entry >= 0:
            x = posts[entry, POST_SLOT]
            shared = max(marks[x, _MARK], zero) + 1
            marks[x, _MARK] = shared
            if by_size:
                enough = zero + memory.whole[x, held]
            if shared == enough:
                marks[found, FOUND] = x
                found += 1
            compared += 1
            entry = posts[entry, POST_OLDER]
        post = posts[post, POST_NEXT]
    return found, compared


@kernel
def _multiply(memory: Memory, join: int, slot: int, other: int) -> tuple[int, int]:
    """Add up products of weights, in the order of the items' values, and keep the large sums."""
    posts, marks, scores = memory.posts, memory.marks, memory.scores
    turn = memory.now[MARKED] + 1
    memory.now[MARKED] = turn
    sharing, compared = 0, 0
    post = memory.whole[slot, LINKS + 3 * join]
    while post >= 0:
        weight = memory.weights[post]
        entry = memory.lists[posts[post, POST_KEY], 2 * other]
        while entry >= 0:
            x = posts[entry, POST_SLOT]
            if marks[x, _MARK] != turn:
                marks[x, _MARK] = turn
                scores[x] = 0.0
                marks[sharing, FOUND] = x
                sharing += 1
            scores[x] += weight * memory.weights[entry]
            compared += 1
            entry = posts[entry, POST_OLDER]
        post = posts[post, POST_NEXT]
    found = 0
    for k in range(sharing):
        x = marks[k, FOUND]
        if scores[x] >= memory.at_least[join]:
            marks[found, FOUND] = x
            found += 1
    return found, compared


@kernel
def _newest_first(memory: Memory, found: int) -> None:
    """Put what was found in order (Shell's sort: mostly a handful, now and then a whole window)."""
    listed, whole = memory.marks[:, FOUND], memory.whole
    gap = 1
    while 3 * gap + 1 < found:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, found):
            x = listed[k]
            seq = whole[x, SEQ]
            at = k
            while at >= gap and whole[listed[at - gap], SEQ] < seq:
                listed[at] = listed[at - gap]
                at -= gap
            listed[at] = x
        gap //= 3


@kernel
def meet_sets(
    memory: Memory, join: int, slot: int, s: int, t: int, row: int, out: Any, count: int
) -> tuple[int, int]:
    """Join an arrival whose items are behind ``slot`` with all who agree and are in the windows.

    Returns the number of results, or -1 without room, and the comparisons made. The importance of
    results is left to the caller.
    """
    about = memory.joins[join]
    own = 0 if about[MEMBER] == s else 1
    partner = 1 - own
    found, compared = agreeing(memory, join, slot, s)
    memory.whole[slot, LINKS + 3 * join + 2] = found
    for k in range(found):
        x = memory.marks[k, FOUND]
        after = memory.streams[about[MEMBER + partner], ARRIVED] - memory.whole[x, NTH] - 1
        if (
            t - memory.whole[x, TIME] > about[MEMBER_SPAN + partner]
            or after >= about[MEMBER_ROWS + partner]
        ):
            continue
        if count == out.times.size:
            return -1, compared
        out.rows[own, count], out.slots[own, count] = row, NONE
        out.arrivals[own, count] = memory.now[SEQ_NEXT]
        out.rows[partner, count], out.slots[partner, count] = memory.whole[x, ROW], x
        out.arrivals[partner, count] = memory.whole[x, SEQ]
        out.joins[count], out.times[count] = join, t
        count += 1
    return count, compared
