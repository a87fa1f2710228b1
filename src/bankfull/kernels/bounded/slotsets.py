"""Joins on sets under a memory budget: postings of slots, and who agrees with whom.

What a join on sets means here. A tuple x *agrees* with a stored tuple u of the other stream if the
predicate holds between their sets; that is what is joined (within the windows), credited, and
counted as partners, whatever the policy. Statistics are of *items*: an arrival counts once for
every item it holds. What they promise a tuple together is ``memory.pooled``: the sum over its
items, which is the number of items that it may expect to share with arrivals; where a partner must
hold all of its items, the least of them. ``memory.matching`` is how many matches that promises:
where so many items must be shared, a large set is worth more than its items are. A tuple is told of
arrivals that agree with it, not of all that share an item.

Lists are linked, because eviction takes tuples from their middle; ``probes/sets.py`` searches them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.bounded import selecting, withsets
from bankfull.kernels.bounded.keys import key_number
from bankfull.kernels.bounded.matches import Output, in_window, place_of, write
from bankfull.kernels.bounded.memory import NONE, Memory, SlotSets, cost_of_key
from bankfull.kernels.compiler import Float64, Int64, Records, hook, inlined, inner, rule
from bankfull.kernels.passing import by_address
from bankfull.kernels.predicates import CONTAINS, EQUAL, OVERLAP
from bankfull.kernels.probes import sets as probe

#: Of more common items than this what is known is that they are more.
COMMON = 32


@by_address
class Bags(NamedTuple):
    """The sets of arrivals: tuple i has ``sizes[join, i]`` items from ``starts[join, i]`` on.

    Items are numbers (``intern.py``), in the order of their values; ``codes`` are hashes of them.
    """

    starts: Int64
    sizes: Int64
    items: NDArray[np.int32]
    weights: Float64
    codes: NDArray[np.uint64]


@rule(withsets.on_keys, SlotSets)
def _on_keys(sets: SlotSets, memory: Memory, join: int) -> bool:
    return memory.joins[join].kind == EQUAL  # type: ignore[no-any-return]


@rule(withsets.agreeing, SlotSets)
def _agreeing(sets: SlotSets, slot: int, join: int) -> Any:
    return sets.held[slot, join].agreeing


@rule(withsets.key_at, SlotSets)
def _key_at(sets: SlotSets, memory: Memory, join: int, place: int) -> Any:
    return place if memory.joins[join].kind == EQUAL else np.int64(sets.posts[place].key)


@rule(withsets.next_key, SlotSets)
def _next_key(sets: SlotSets, memory: Memory, join: int, place: int) -> Any:
    return NONE if memory.joins[join].kind == EQUAL else np.int64(sets.posts[place].next)


@rule(withsets.pooled, SlotSets)
def _pooled(
    sets: SlotSets, memory: Memory, join: int, stream: int, so_far: float, more: float
) -> float:
    if so_far < 0.0:
        return more
    about = memory.joins[join]
    if about.kind == CONTAINS and about.contained == stream:
        return min(so_far, more)
    return so_far + more


@rule(withsets.no_item, SlotSets)
def _no_item(sets: SlotSets, memory: Memory, join: int) -> None:
    sets.common[:] = 0.0
    sets.common[0] = 1.0


@rule(withsets.one_item, SlotSets)
def _one_item(sets: SlotSets, memory: Memory, join: int, chance: float) -> None:
    if memory.joins[join].kind == OVERLAP:
        wanted = min(int(sets.at_least[join]), sets.common.size - 1)
        held = min(chance, 1.0)
        sets.common[wanted] += sets.common[wanted - 1] * held
        for n in range(wanted - 1, 0, -1):
            sets.common[n] += (sets.common[n - 1] - sets.common[n]) * held
        sets.common[0] -= sets.common[0] * held


@rule(withsets.matching, SlotSets)
def _matching(sets: SlotSets, memory: Memory, join: int, promised: float, many: float) -> float:
    if memory.joins[join].kind != OVERLAP or many <= 0.0:
        return promised
    # The chance of so many common items as are needed, if they come independently.
    return sets.common[min(int(sets.at_least[join]), sets.common.size - 1)] / many  # type: ignore[no-any-return]


@inner
def _take_items(sets: SlotSets, memory: Memory, bags: Bags, join: int, i: int, slot: int) -> None:
    """Write the items of an arrival down behind a free slot; they are in no list yet."""
    posts = sets.posts
    start, size = bags.starts[join, i], bags.sizes[join, i]
    following = NONE
    for k in range(start + size - 1, start - 1, -1):
        post = memory.now.post_free
        memory.now.post_free = posts[post].next
        posts[post].slot = slot
        posts[post].key = key_number(memory, np.uint64(bags.items[k]), join)
        posts[post].next = following
        if sets.weights.size > 0:
            sets.weights[post] = bags.weights[k]
        following = post
    memory.now.posts_used += size
    memory.links[slot, join].first = following
    sets.held[slot, join].items, sets.held[slot, join].agreeing = size, 0


@inlined
def _link_items(sets: SlotSets, leaps: Any, memory: Memory, slot: int, join: int) -> None:
    """Enter a tuple in the lists of its items; who is the first to hold one pays for it."""
    posts, stream = sets.posts, memory.slots[slot].stream
    post = memory.links[slot, join].first
    while post >= 0:
        about = memory.lists[posts[post].key, stream]
        first = about.newest
        posts[post].older = first
        posts[post].newer = NONE
        if first >= 0:
            posts[first].newer = post
        else:
            cost = cost_of_key(memory, join, posts[post].key)
            memory.buffers[memory.slots[slot].buffer].used += cost
            memory.now.held += 1
        about.newest = post
        about.held += 1
        if leaps is not None:
            selecting.enter(leaps, posts, memory.slots, post)
        post = posts[post].next


@inlined
def _unlink_items(sets: SlotSets, leaps: Any, memory: Memory, slot: int, join: int) -> None:
    """Take a tuple out of the lists of its items and free its postings."""
    posts, stream = sets.posts, memory.slots[slot].stream
    post = memory.links[slot, join].first
    while post >= 0:
        about = memory.lists[posts[post].key, stream]
        older, newer = posts[post].older, posts[post].newer
        if leaps is not None:
            selecting.leave(leaps, posts, memory.slots, post)
        if newer >= 0:
            posts[newer].older = older
        else:
            about.newest = older
        if older >= 0:
            posts[older].newer = newer
        about.held -= 1
        if about.held == 0:
            cost = cost_of_key(memory, join, posts[post].key)
            memory.buffers[memory.slots[slot].buffer].used -= cost
            memory.now.held -= 1
        post = posts[post].next
    _free_items(sets, memory, slot, join)


@inlined
def _free_items(sets: SlotSets, memory: Memory, slot: int, join: int) -> None:
    """Give the postings of a tuple that is in no list back."""
    post = memory.links[slot, join].first
    memory.links[slot, join].first = NONE
    while post >= 0:
        following = sets.posts[post].next
        sets.posts[post].key = NONE
        sets.posts[post].next = memory.now.post_free
        memory.now.post_free = post
        memory.now.posts_used -= 1
        post = following


@rule(withsets.link, SlotSets)
def _link(sets: SlotSets, memory: Memory, slot: int) -> None:
    for join in range(memory.joins.shape[0]):
        if memory.joins[join].kind != EQUAL:
            _link_items(sets, sets.leaps, memory, slot, join)


@rule(withsets.unlink, SlotSets)
def _unlink(sets: SlotSets, memory: Memory, slot: int) -> None:
    for join in range(memory.joins.shape[0]):
        if memory.joins[join].kind != EQUAL:
            _unlink_items(sets, sets.leaps, memory, slot, join)


@rule(withsets.forgo, SlotSets)
def _forgo(sets: SlotSets, memory: Memory, slot: int) -> None:
    for join in range(memory.joins.shape[0]):
        if memory.joins[join].kind != EQUAL:
            _free_items(sets, memory, slot, join)


@rule(withsets.extra_bytes, SlotSets)
def _extra_bytes(sets: SlotSets, memory: Memory, slot: int, stream: int, alone: bool) -> Any:
    total = 0
    for join in range(memory.joins.shape[0]):
        if memory.joins[join].kind != EQUAL and memory.joins[join].key_bytes > 0:
            post = memory.links[slot, join].first
            while post >= 0:
                if alone or memory.lists[sets.posts[post].key, stream].held == 0:
                    total += cost_of_key(memory, join, sets.posts[post].key)
                post = sets.posts[post].next
    return total


@rule(withsets.items_of, SlotSets)
def _items_of(sets: SlotSets, bags: Bags, i: int) -> Any:
    items: Any = np.int64(0)
    for join in range(bags.sizes.shape[0]):
        items += bags.sizes[join, i]
    return items


class SlotLists(NamedTuple):
    """The lists of one stream as a search in one join sees them."""

    sets: SlotSets
    lists: Records
    join: int
    stream: int


@rule(probe.newest_entry, SlotLists)
def _newest_entry(view: SlotLists, item: int) -> tuple[int, int]:
    return view.lists[item, view.stream].newest, -1


@rule(probe.older_entry, SlotLists)
def _older_entry(view: SlotLists, entry: int) -> Any:
    return np.int64(view.sets.posts[entry].older)


@rule(probe.holder, SlotLists)
def _holder(view: SlotLists, entry: int) -> Any:
    return view.sets.posts[entry].slot


@rule(probe.entry_weight, SlotLists)
def _entry_weight(view: SlotLists, entry: int) -> Any:
    return view.sets.weights[entry]


@rule(probe.items_held, SlotLists)
def _items_held(view: SlotLists, x: int) -> Any:
    return view.sets.held[x, view.join].items


@inlined
def want(sets: SlotSets, memory: Memory, join: int, slot: int) -> int:
    """Look for the items that lie behind a slot; returns how many."""
    size = 0
    post = memory.links[slot, join].first
    while post >= 0:
        sets.wanted[size] = sets.posts[post].key
        if sets.weights.size > 0:
            sets.wanted_weights[size] = sets.weights[post]
        size += 1
        post = sets.posts[post].next
    return size


@inner
def agreeing(sets: SlotSets, memory: Memory, join: int, slot: int, stream: int) -> tuple[int, int]:
    """List the stored tuples that agree with one, newest first; returns (found, compared).

    They stand in ``sets.found`` until the next call. Windows are not looked at.
    """
    about = memory.joins[join]
    other = about.members[1] if about.members[0] == stream else about.members[0]
    size = want(sets, memory, join, slot)
    lists = SlotLists(sets, memory.lists, join, other)
    return listed_by(sets, memory, lists, join, size, stream)


@inlined
def listed_by(
    sets: SlotSets, memory: Memory, lists: Any, join: int, size: int, stream: int
) -> tuple[int, int]:
    """List who agrees with the items that are looked for, of all that some lists hold."""
    about = memory.joins[join]
    zero = memory.now.marked
    memory.now.marked = zero + size + 1
    found, compared = probe.agreeing(
        lists, sets.wanted, sets.wanted_weights, 0, size,
        probe.Agreement(about.kind, about.contained == stream, sets.at_least[join]), zero,
        probe.SearchRoom(sets.marks, sets.scores, sets.found),
    )  # fmt: skip
    newest_first(sets.found, found, memory.slots)
    return found, compared


@inner
def newest_first(listed: Int64, found: int, tuples: Records) -> None:
    """Put what was found in order (Shell's sort: mostly a handful, now and then a whole window)."""
    gap = 1
    while 3 * gap + 1 < found:
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, found):
            x = listed[k]
            number = tuples[x].seq
            at = k
            while at >= gap and tuples[listed[at - gap]].seq < number:
                listed[at] = listed[at - gap]
                at -= gap
            listed[at] = x
        gap //= 3


@rule(withsets.meet, SlotSets)
def _meet(
    sets: SlotSets, memory: Memory, bags: Bags, join: int, i: int, slot: int, s: int, t: int,
    row: int, importance: float, combine: int, out: Output, count: int, selections: Any,
) -> tuple[int, int]:  # fmt: skip
    _take_items(sets, memory, bags, join, i, slot)
    return _search(
        sets, memory, join, i, slot, s, t, row, importance, combine, out, count, selections
    )


@hook
def compare(
    selections: Any, sets: SlotSets, memory: Memory, join: int, i: int, slot: int, s: int, t: int
) -> tuple[int, int]:
    """List who agrees with arrival i, of all that are selected for it; see :func:`agreeing`."""
    return 0, 0


@inner
def _search(
    sets: SlotSets, memory: Memory, join: int, i: int, slot: int, s: int, t: int, row: int,
    importance: float, combine: int, out: Output, count: int, selections: Any,
) -> tuple[int, int]:  # fmt: skip
    """Join an arrival whose items are behind ``slot`` with all who agree and are in the windows."""
    own = place_of(memory, join, s)
    partner = 1 - own
    if selections is None:
        found, compared = agreeing(sets, memory, join, slot, s)
    else:
        found, compared = compare(selections, sets, memory, join, i, slot, s, t)
    sets.held[slot, join].agreeing = found
    for k in range(found):
        if in_window(memory, join, partner, sets.found[k], t):
            if count == out.times.size:
                return -1, compared
            out.at[partner] = sets.found[k]
            write(memory, join, own, t, row, importance, combine, out, count)
            if selections is not None:
                u = memory.slots[sets.found[k]].time
                selecting.note(selections, join, t, u, out.importance[count])
            count += 1
    return count, compared
