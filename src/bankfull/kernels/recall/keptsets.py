"""Sets among the tuples that are kept aside to estimate recall (``sample.py``).

Their items are known by the hashes of their values, not by the numbers of the join itself: those
are given up and given out again while a tuple is kept. Postings lie in chains by hash, of every
join its own. Their number is bounded like that of the tuples: when they are too many, the chance to
be kept falls.

Cost: a search visits the postings of the arrival's items among the kept, and sorts who agrees.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.bounded import withsets
from bankfull.kernels.bounded.keys import find_key
from bankfull.kernels.bounded.matches import Arrivals
from bankfull.kernels.bounded.memory import NONE, Memory
from bankfull.kernels.bounded.slotsets import (
    Bags,
    newest_first,
)
from bankfull.kernels.compiler import Float64, Int64, Records, inlined, inner, rule
from bankfull.kernels.hashing import GOLDEN
from bankfull.kernels.intern import number_of
from bankfull.kernels.passing import by_address
from bankfull.kernels.probes import sets as probe
from bankfull.kernels.recall.sample import (
    Watch,
    in_window,
)

#: Postings for every tuple there is room for.
ITEMS = 8


@by_address
class KeptSets(NamedTuple):
    """Postings of kept tuples; ``heads`` has of each, for every join, its first one and how many.

    ``marks`` and ``shared`` are room for a search (``probes.sets.SearchRoom``).
    """

    posts: Records
    codes: NDArray[np.uint64]
    weights: Float64
    chains: Int64
    heads: Records
    marks: Int64
    shared: Float64
    at_least: Float64
    now: Records


@inlined
def _chain(sets: KeptSets, code: np.uint64, join: int) -> Any:
    many = sets.chains.size // sets.at_least.size
    return join * many + (np.int64((code * GOLDEN) >> np.uint64(32)) & (many - 1))


@rule(withsets.filled, KeptSets)
def _filled(sets: KeptSets, bags: Bags, i: int, room: int) -> float:
    wanted = sets.now.used
    if i >= 0:
        for join in range(bags.sizes.shape[0]):
            wanted += bags.sizes[join, i]
    return wanted / (ITEMS * room)  # type: ignore[no-any-return]


@rule(withsets.keep_items, KeptSets)
def _keep_items(sets: KeptSets, bags: Bags, i: int, kept: int) -> None:
    posts, now = sets.posts, sets.now
    for join in range(sets.at_least.size):
        start, size = bags.starts[join, i], bags.sizes[join, i]
        following = NONE
        for k in range(start, start + size):
            post = now.free
            now.free = posts[post].next
            chain = _chain(sets, bags.codes[k], join)
            first = sets.chains[chain]
            posts[post].kept, posts[post].next = kept, following
            posts[post].older, posts[post].newer = first, NONE
            sets.codes[post] = bags.codes[k]
            if sets.weights.size > 0:
                sets.weights[post] = bags.weights[k]
            if first >= 0:
                posts[first].newer = post
            sets.chains[chain] = post
            following = post
        now.used += size
        sets.heads[kept, join].first, sets.heads[kept, join].items = following, size


@rule(withsets.first_kept, KeptSets)
def _first_kept(sets: KeptSets, kept: int, join: int) -> Any:
    return sets.heads[kept, join].first


@rule(withsets.next_kept, KeptSets)
def _next_kept(sets: KeptSets, place: int) -> Any:
    return np.int64(sets.posts[place].next)


@rule(withsets.key_kept, KeptSets)
def _key_kept(sets: KeptSets, items: Any, memory: Memory, join: int, place: int) -> Any:
    code = sets.codes[place]
    item = number_of(items[join], code)
    return find_key(memory, np.uint64(item), join) if item >= 0 else np.int64(NONE)


@rule(withsets.forget_items, KeptSets)
def _forget_items(sets: KeptSets, kept: int) -> None:
    posts, now = sets.posts, sets.now
    for join in range(sets.at_least.size):
        post = sets.heads[kept, join].first
        sets.heads[kept, join].first = NONE
        while post >= 0:
            older, newer = posts[post].older, posts[post].newer
            if newer >= 0:
                posts[newer].older = older
            else:
                sets.chains[_chain(sets, sets.codes[post], join)] = older
            if older >= 0:
                posts[older].newer = newer
            following = posts[post].next
            posts[post].kept, posts[post].next = NONE, now.free
            now.free = post
            now.used -= 1
            post = following


class KeptLists(NamedTuple):
    """The chains of one join as a search for the partners of a tuple of ``stream`` sees them."""

    sets: KeptSets
    kept: Records
    join: int
    stream: int


@rule(probe.newest_entry, KeptLists)
def _newest_entry(view: KeptLists, item: np.uint64) -> tuple[int, int]:
    return view.sets.chains[_chain(view.sets, item, view.join)], -1


@rule(probe.older_entry, KeptLists)
def _older_entry(view: KeptLists, entry: int) -> Any:
    return np.int64(view.sets.posts[entry].older)


@rule(probe.is_entry_of, KeptLists)
def _is_entry_of(view: KeptLists, entry: int, item: np.uint64) -> bool:
    kept = view.sets.posts[entry].kept
    return view.sets.codes[entry] == item and view.kept[kept].stream != view.stream  # type: ignore[no-any-return]


@rule(probe.holder, KeptLists)
def _holder(view: KeptLists, entry: int) -> Any:
    return view.sets.posts[entry].kept


@rule(probe.entry_weight, KeptLists)
def _entry_weight(view: KeptLists, entry: int) -> Any:
    return view.sets.weights[entry]


@rule(probe.items_held, KeptLists)
def _items_held(view: KeptLists, x: int) -> Any:
    return view.sets.heads[x, view.join].items


@rule(withsets.near_items, KeptSets)
def _near_items(
    sets: KeptSets, watch: Watch, arrivals: Arrivals, bags: Bags, i: int,
    join: int, joins: Records, side: int, near: Int64,
) -> int:  # fmt: skip
    return _search(sets, watch, arrivals, bags, i, join, joins, side, near)


@inner
def _search(
    sets: KeptSets, watch: Watch, arrivals: Arrivals, bags: Bags, i: int,
    join: int, joins: Records, side: int, near: Int64,
) -> int:  # fmt: skip
    """List the kept tuples that agree with an arrival and are in their windows, newest first."""
    about, s, size = joins[join], arrivals.streams[i], bags.sizes[join, i]
    zero = sets.now.turn
    sets.now.turn = zero + size + 1
    found, _ = probe.agreeing(
        KeptLists(sets, watch.kept, join, s), bags.codes, bags.weights, bags.starts[join, i], size,
        probe.Agreement(about.kind, about.contained == s, sets.at_least[join]), zero,
        probe.SearchRoom(sets.marks, sets.shared, near),
    )  # fmt: skip
    nearby = 0
    for place in range(found):
        if in_window(watch, near[place], joins, join, side, arrivals.times[i]):
            near[nearby] = near[place]
            nearby += 1
    newest_first(near, nearby, watch.kept)
    return nearby
