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

from bankfull.kernels import withsets
from bankfull.kernels.compiler import Float64, Int64, inlined, kernel, rule
from bankfull.kernels.hashing import GOLDEN
from bankfull.kernels.matches import Arrivals
from bankfull.kernels.memory import CONTAINED, CONTAINS, KIND, NONE, PRODUCT
from bankfull.kernels.sample import SEQ, STREAM, Watch, in_window
from bankfull.kernels.slotsets import Bags, newest_first

#: Columns of ``posts``: whose it is, its next one, and its neighbours in the chain.
KEPT, NEXT, OLDER, NEWER = range(4)
#: Elements of ``now``: the first free posting, how many are not, how many searches there were.
FREE, USED, TURN = range(3)
#: Postings for every tuple there is room for.
ITEMS = 8


class KeptSets(NamedTuple):
    """Postings of kept tuples; ``heads`` has of each, for every join, its first one and how many.

    ``marks`` and ``shared`` are room for a search: when a tuple was last met, and what it shared.
    """

    posts: NDArray[np.int32]
    codes: NDArray[np.uint64]
    weights: Float64
    chains: Int64
    heads: Int64
    marks: Int64
    shared: Float64
    at_least: Float64
    now: Int64


@inlined
def _chain(sets: KeptSets, code: np.uint64, join: int) -> Any:
    many = sets.chains.size // sets.at_least.size
    return join * many + (np.int64((code * GOLDEN) >> np.uint64(32)) & (many - 1))


@rule(withsets.filled, KeptSets)
def _filled(sets: KeptSets, bags: Bags, i: int, room: int) -> float:
    wanted = sets.now[USED]
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
            post = now[FREE]
            now[FREE] = posts[post, NEXT]
            chain = _chain(sets, bags.codes[k], join)
            first = sets.chains[chain]
            posts[post, KEPT], posts[post, NEXT] = kept, following
            posts[post, OLDER], posts[post, NEWER] = first, NONE
            sets.codes[post] = bags.codes[k]
            if sets.weights.size > 0:
                sets.weights[post] = bags.weights[k]
            if first >= 0:
                posts[first, NEWER] = post
            sets.chains[chain] = post
            following = post
        now[USED] += size
        sets.heads[kept, 2 * join], sets.heads[kept, 2 * join + 1] = following, size


@rule(withsets.forget_items, KeptSets)
def _forget_items(sets: KeptSets, kept: int) -> None:
    posts, now = sets.posts, sets.now
    for join in range(sets.at_least.size):
        post = sets.heads[kept, 2 * join]
        sets.heads[kept, 2 * join] = NONE
        while post >= 0:
            older, newer = posts[post, OLDER], posts[post, NEWER]
            if newer >= 0:
                posts[newer, OLDER] = older
            else:
                sets.chains[_chain(sets, sets.codes[post], join)] = older
            if older >= 0:
                posts[older, NEWER] = newer
            following = posts[post, NEXT]
            posts[post, KEPT], posts[post, NEXT] = NONE, now[FREE]
            now[FREE] = post
            now[USED] -= 1
            post = following


@rule(withsets.near_items, KeptSets)
def _near_items(
    sets: KeptSets, watch: Watch, arrivals: Arrivals, bags: Bags, i: int,
    join: int, joins: Int64, side: int, near: Int64,
) -> int:  # fmt: skip
    return _search(sets, watch, arrivals, bags, i, join, joins, side, near)


@kernel
def _search(
    sets: KeptSets, watch: Watch, arrivals: Arrivals, bags: Bags, i: int,
    join: int, joins: Int64, side: int, near: Int64,
) -> int:  # fmt: skip
    """List the kept tuples that agree with an arrival; sums are made in the order of its items."""
    posts, marks, shared, about = sets.posts, sets.marks, sets.shared, joins[join]
    s, t = arrivals.streams[i], arrivals.times[i]
    start, size = bags.starts[join, i], bags.sizes[join, i]
    turn = sets.now[TURN] + 1
    sets.now[TURN] = turn
    sharing = 0
    for k in range(start, start + size):
        code = bags.codes[k]
        post = sets.chains[_chain(sets, code, join)]
        while post >= 0:
            kept = posts[post, KEPT]
            if sets.codes[post] == code and watch.whole[kept, STREAM] != s:
                if marks[kept] != turn:
                    marks[kept], shared[kept] = turn, 0.0
                    near[sharing] = kept
                    sharing += 1
                if about[KIND] == PRODUCT:
                    shared[kept] += bags.weights[k] * sets.weights[post]
                else:
                    shared[kept] += 1.0
            post = posts[post, OLDER]
    nearby = 0
    for place in range(sharing):
        kept = near[place]
        enough = sets.at_least[join]
        if about[KIND] == CONTAINS:
            enough = float(size if about[CONTAINED] == s else sets.heads[kept, 2 * join + 1])
        if shared[kept] >= enough and in_window(watch, kept, joins, join, side, t):
            near[nearby] = kept
            nearby += 1
    newest_first(near, nearby, watch.whole[:, SEQ])
    return nearby
