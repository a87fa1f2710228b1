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

from bankfull.kernels import withsets
from bankfull.kernels.compiler import Float64, Int64, inlined, kernel, rule
from bankfull.kernels.keys import key_number
from bankfull.kernels.memory import (
    ARRIVED,
    BUFFER,
    CONTAINED,
    CONTAINS,
    EQUAL,
    HELD,
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
    POST_NEWER,
    POST_NEXT,
    POST_OLDER,
    POST_SLOT,
    POSTS_USED,
    PRODUCT,
    ROW,
    SEQ,
    SEQ_NEXT,
    STREAM,
    TIME,
    USED,
    Memory,
    Sets,
)

#: The item that stands for the empty set.
EMPTY = 0
#: Columns of ``marks``: a mark for every slot, and a list of those found.
_MARK, FOUND = 0, 1


class Bags(NamedTuple):
    """The sets of arrivals: tuple i has ``sizes[join, i]`` items from ``starts[join, i]`` on.

    Items are numbers (``intern.py``), in the order of their values; ``codes`` are hashes of them.
    """

    starts: Int64
    sizes: Int64
    items: NDArray[np.int32]
    weights: Float64
    codes: NDArray[np.uint64]


@rule(withsets.on_keys, Sets)
def _on_keys(sets: Sets, memory: Memory, join: int) -> bool:
    return memory.joins[join, KIND] == EQUAL  # type: ignore[no-any-return]


@rule(withsets.key_at, Sets)
def _key_at(sets: Sets, memory: Memory, join: int, place: int) -> Any:
    return place if memory.joins[join, KIND] == EQUAL else np.int64(sets.posts[place, POST_KEY])


@rule(withsets.next_key, Sets)
def _next_key(sets: Sets, memory: Memory, join: int, place: int) -> Any:
    return NONE if memory.joins[join, KIND] == EQUAL else np.int64(sets.posts[place, POST_NEXT])


@rule(withsets.pooled, Sets)
def _pooled(
    sets: Sets, memory: Memory, join: int, stream: int, so_far: float, more: float
) -> float:
    if so_far < 0.0:
        return more
    about = memory.joins[join]
    if about[KIND] == CONTAINS and about[CONTAINED] == stream:
        return min(so_far, more)
    return so_far + more


@kernel
def _take_items(sets: Sets, memory: Memory, bags: Bags, join: int, i: int, slot: int) -> None:
    """Write the items of an arrival down behind a free slot; they are in no list yet."""
    posts = sets.posts
    start, size = bags.starts[join, i], bags.sizes[join, i]
    following = NONE
    for k in range(start + size - 1, start - 1, -1):
        post = memory.now[POST_FREE]
        memory.now[POST_FREE] = posts[post, POST_NEXT]
        posts[post, POST_SLOT] = slot
        posts[post, POST_KEY] = key_number(memory, np.uint64(bags.items[k]), join)
        posts[post, POST_NEXT] = following
        if sets.weights.size > 0:
            sets.weights[post] = bags.weights[k]
        following = post
    memory.now[POSTS_USED] += size
    memory.whole[slot, LINKS + 3 * join] = following
    memory.whole[slot, LINKS + 3 * join + 1] = size
    memory.whole[slot, LINKS + 3 * join + 2] = 0


@inlined
def _link_items(sets: Sets, memory: Memory, slot: int, join: int) -> None:
    """Enter a tuple in the lists of its items; who is the first to hold one pays for it."""
    posts, stream = sets.posts, memory.whole[slot, STREAM]
    post = memory.whole[slot, LINKS + 3 * join]
    while post >= 0:
        about = memory.lists[posts[post, POST_KEY], 2 * stream : 2 * stream + 2]
        first = about[0]
        posts[post, POST_OLDER] = first
        posts[post, POST_NEWER] = NONE
        if first >= 0:
            posts[first, POST_NEWER] = post
        else:
            memory.buffers[memory.whole[slot, BUFFER], USED] += memory.joins[join, KEY_BYTES]
            memory.now[HELD] += 1
        about[0] = post
        about[1] += 1
        post = posts[post, POST_NEXT]


@inlined
def _unlink_items(sets: Sets, memory: Memory, slot: int, join: int) -> None:
    """Take a tuple out of the lists of its items and free its postings."""
    posts, stream = sets.posts, memory.whole[slot, STREAM]
    post = memory.whole[slot, LINKS + 3 * join]
    while post >= 0:
        about = memory.lists[posts[post, POST_KEY], 2 * stream : 2 * stream + 2]
        older, newer = posts[post, POST_OLDER], posts[post, POST_NEWER]
        if newer >= 0:
            posts[newer, POST_OLDER] = older
        else:
            about[0] = older
        if older >= 0:
            posts[older, POST_NEWER] = newer
        about[1] -= 1
        if about[1] == 0:
            memory.buffers[memory.whole[slot, BUFFER], USED] -= memory.joins[join, KEY_BYTES]
            memory.now[HELD] -= 1
        post = posts[post, POST_NEXT]
    _free_items(sets, memory, slot, join)


@inlined
def _free_items(sets: Sets, memory: Memory, slot: int, join: int) -> None:
    """Give the postings of a tuple that is in no list back."""
    post = memory.whole[slot, LINKS + 3 * join]
    memory.whole[slot, LINKS + 3 * join] = NONE
    while post >= 0:
        following = sets.posts[post, POST_NEXT]
        sets.posts[post, POST_KEY] = NONE
        sets.posts[post, POST_NEXT] = memory.now[POST_FREE]
        memory.now[POST_FREE] = post
        memory.now[POSTS_USED] -= 1
        post = following


@rule(withsets.link, Sets)
def _link(sets: Sets, memory: Memory, slot: int) -> None:
    for join in range(memory.joins.shape[0]):
        if memory.joins[join, KIND] != EQUAL:
            _link_items(sets, memory, slot, join)


@rule(withsets.unlink, Sets)
def _unlink(sets: Sets, memory: Memory, slot: int) -> None:
    for join in range(memory.joins.shape[0]):
        if memory.joins[join, KIND] != EQUAL:
            _unlink_items(sets, memory, slot, join)


@rule(withsets.forgo, Sets)
def _forgo(sets: Sets, memory: Memory, slot: int) -> None:
    for join in range(memory.joins.shape[0]):
        if memory.joins[join, KIND] != EQUAL:
            _free_items(sets, memory, slot, join)


@rule(withsets.extra_bytes, Sets)
def _extra_bytes(sets: Sets, memory: Memory, slot: int, stream: int, alone: bool) -> Any:
    total = 0
    for join in range(memory.joins.shape[0]):
        if memory.joins[join, KIND] != EQUAL and memory.joins[join, KEY_BYTES] > 0:
            post = memory.whole[slot, LINKS + 3 * join]
            while post >= 0:
                if alone or memory.lists[sets.posts[post, POST_KEY], 2 * stream + 1] == 0:
                    total += memory.joins[join, KEY_BYTES]
                post = sets.posts[post, POST_NEXT]
    return total


@rule(withsets.items_of, Sets)
def _items_of(sets: Sets, bags: Bags, i: int) -> Any:
    items: Any = np.int64(0)
    for join in range(bags.sizes.shape[0]):
        items += bags.sizes[join, i]
    return items


@kernel
def agreeing(sets: Sets, memory: Memory, join: int, slot: int, stream: int) -> tuple[int, int]:
    """List the stored tuples that agree with one, newest first; returns (found, compared).

    They stand in ``marks[:found, FOUND]`` until the next call. Windows are not looked at.
    """
    about = memory.joins[join]
    other = about[MEMBER + 1] if about[MEMBER] == stream else about[MEMBER]
    if about[KIND] == PRODUCT:
        found, compared = _multiply(sets, memory, join, slot, other)
    else:
        found, compared = _count(sets, memory, join, slot, stream, other)
    newest_first(sets.marks[:, FOUND], found, memory.whole[:, SEQ])
    return found, compared


@kernel
def _count(
    sets: Sets, memory: Memory, join: int, slot: int, stream: int, other: int
) -> tuple[int, int]:
    """Count common items; a tuple is found at the moment it has enough.

    Marks of earlier searches are no higher than ``zero`` and need no setting back.
    """
    posts, marks, about = sets.posts, sets.marks, memory.joins[join]
    held = LINKS + 3 * join + 1
    size = memory.whole[slot, held]
    zero = memory.now[MARKED]
    memory.now[MARKED] = zero + size
    by_size = about[KIND] == CONTAINS and about[CONTAINED] != stream
    enough = zero + (size if about[KIND] == CONTAINS else np.int64(sets.at_least[join]))
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
def _multiply(sets: Sets, memory: Memory, join: int, slot: int, other: int) -> tuple[int, int]:
    """Add up products of weights, in the order of the items' values, and keep the large sums."""
    posts, marks, scores = sets.posts, sets.marks, sets.scores
    turn = memory.now[MARKED] + 1
    memory.now[MARKED] = turn
    sharing, compared = 0, 0
    post = memory.whole[slot, LINKS + 3 * join]
    while post >= 0:
        weight = sets.weights[post]
        entry = memory.lists[posts[post, POST_KEY], 2 * other]
        while entry >= 0:
            x = posts[entry, POST_SLOT]
            if marks[x, _MARK] != turn:
                marks[x, _MARK] = turn
                scores[x] = 0.0
                marks[sharing, FOUND] = x
                sharing += 1
            scores[x] += weight * sets.weights[entry]
            compared += 1
            entry = posts[entry, POST_OLDER]
        post = posts[post, POST_NEXT]
    found = 0
    for k in range(sharing):
        x = marks[k, FOUND]
        if scores[x] >= sets.at_least[join]:
            marks[found, FOUND] = x
            found += 1
    return found, compared


@kernel
def newest_first(listed: Int64, found: int, numbers: Int64) -> None:
    """Put what was found in order (Shell's sort: mostly a handful, now and then a whole window)."""
    gap = 1
    while 3 * gap + 1 < found:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, found):
            x = listed[k]
            number = numbers[x]
            at = k
            while at >= gap and numbers[listed[at - gap]] < number:
                listed[at] = listed[at - gap]
                at -= gap
            listed[at] = x
        gap //= 3


@rule(withsets.meet, Sets)
def _meet(
    sets: Sets, memory: Memory, bags: Bags, join: int, i: int, slot: int, s: int, t: int, row: int,
    out: Any, count: int,
) -> tuple[int, int]:  # fmt: skip
    _take_items(sets, memory, bags, join, i, slot)
    return _search(sets, memory, join, slot, s, t, row, out, count)


@kernel
def _search(
    sets: Sets, memory: Memory, join: int, slot: int, s: int, t: int, row: int, out: Any, count: int
) -> tuple[int, int]:
    """Join an arrival whose items are behind ``slot`` with all who agree and are in the windows."""
    about = memory.joins[join]
    own = 0 if about[MEMBER] == s else 1
    partner = 1 - own
    found, compared = agreeing(sets, memory, join, slot, s)
    memory.whole[slot, LINKS + 3 * join + 2] = found
    for k in range(found):
        x = sets.marks[k, FOUND]
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
