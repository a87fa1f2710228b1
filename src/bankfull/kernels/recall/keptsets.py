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
from bankfull.kernels.bounded.matches import Arrivals
from bankfull.kernels.bounded.memory import NONE
from bankfull.kernels.bounded.slotsets import (
    Bags,
    newest_first,
)
from bankfull.kernels.compiler import Float64, Int64, Records, inlined, inner, rule
from bankfull.kernels.hashing import GOLDEN
from bankfull.kernels.predicates import CONTAINS, PRODUCT
from bankfull.kernels.recall.sample import (
    Watch,
    in_window,
)

#: Postings for every tuple there is room for.
ITEMS = 8


class KeptSets(NamedTuple):
    """Postings of kept tuples; ``heads`` has of each, for every join, its first one and how many.

    ``marks`` and ``shared`` are room for a search: when a tuple was last met, and what it shared.
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
    """List the kept tuples that agree with an arrival; sums are made in the order of its items."""
    posts, marks, shared, about = sets.posts, sets.marks, sets.shared, joins[join]
    s, t = arrivals.streams[i], arrivals.times[i]
    start, size = bags.starts[join, i], bags.sizes[join, i]
    turn = sets.now.turn + 1
    sets.now.turn = turn
    sharing = 0
    for k in range(start, start + size):
        code = bags.codes[k]
        post = sets.chains[_chain(sets, code, join)]
        while post >= 0:
            kept = posts[post].kept
            if sets.codes[post] == code and watch.kept[kept].stream != s:
                if marks[kept] != turn:
                    marks[kept], shared[kept] = turn, 0.0
                    near[sharing] = kept
                    sharing += 1
                if about.kind == PRODUCT:
                    shared[kept] += bags.weights[k] * sets.weights[post]
                else:
                    shared[kept] += 1.0
            post = posts[post].older
    nearby = 0
    for place in range(sharing):
        kept = near[place]
        enough = sets.at_least[join]
        if about.kind == CONTAINS:
            enough = float(size if about.contained == s else sets.heads[kept, join].items)
        if shared[kept] >= enough and in_window(watch, kept, joins, join, side, t):
            near[nearby] = kept
            nearby += 1
    newest_first(near, nearby, watch.kept)
    return nearby
