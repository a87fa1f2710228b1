"""The tuples kept aside to estimate recall: a random sample of the streams, in bounded arrays.

Tuples are kept by a draw of their own, whatever the join does with them: key, time, importance, no
payload. When the arrays are full, what expired leaves, and if that is not enough the chance falls
and those drawn above it leave too. ``recall.py`` counts what the kept have missed.

The draw depends on the keys as well as on the tuple's number: operators that share a query's work
number their tuples in the same way, and must not choose the same ones.

Reference: chances that fall like those of adaptive samples (Ting, "Adaptive Threshold Sampling",
2022). Deviation: the chance is rounded down to steps.
Cost: a hash table; a sweep of all that are kept, when they are too many.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.bounded import withsets
from bankfull.kernels.bounded.matches import Arrivals
from bankfull.kernels.bounded.memory import NONE, has_left
from bankfull.kernels.compiler import Float64, Int64, Records, inlined, inner
from bankfull.kernels.hashing import GOLDEN
from bankfull.kernels.passing import by_address
from bankfull.kernels.predicates import EQUAL, has_stayed

#: Rows of ``totals``: results, their importance, and recent results.
RESULTS, WORTH, RECENT = range(3)
#: In no list of this join: its key is null, the stream is no member, or it is a set.
_APART = -2


@by_address
class Watch(NamedTuple):
    """The tuples kept aside, and what they have shown so far. ``chance`` is that of a newcomer.

    ``chains[kept, join]`` are neighbours of the same bucket; ``since[kept, join, member]``, where a
    join has more than two members (otherwise None): tuples that came since with the same key, and
    the importance of one of them. ``came``: tuples of each stream so far. ``sets`` holds their sets
    (``keptsets.py``), or None where the query has none.
    """

    kept: Records
    chains: Records
    since: Float64 | None
    codes: NDArray[np.uint64]
    buckets: Int64
    came: Int64
    now: Records
    chance: Float64
    totals: Records
    sets: Any


@inlined
def _mixed(code: np.uint64, join: int) -> Any:
    return (code ^ (np.uint64(join + 1) * GOLDEN)) * GOLDEN


@inlined
def _bucket(watch: Watch, code: np.uint64, join: int) -> Any:
    """Return where a key of a join is listed; every join has buckets of its own.

    (A list is linked by the words of its join, so it must not hold tuples of another.)
    """
    many = watch.buckets.size // watch.codes.shape[1]
    return join * many + (np.int64(_mixed(code, join) >> np.uint64(32)) & (many - 1))


@inlined
def number(arrivals: Arrivals, i: int, seq: int) -> Any:
    """Return what the draws of an arrival depend on: its keys and its number."""
    keys = np.uint64(0)
    for join in range(arrivals.codes.shape[0]):
        if arrivals.keyed[join, i]:
            keys += _mixed(arrivals.codes[join, i], join)
    return np.int64(keys >> np.uint64(2)) + seq


@inlined
def _forget(watch: Watch, kept: int) -> None:
    for join in range(watch.codes.shape[1]):
        own = watch.chains[kept, join]
        if own.older != _APART:
            if own.newer >= 0:
                watch.chains[own.newer, join].older = own.older
            else:
                watch.buckets[_bucket(watch, watch.codes[kept, join], join)] = own.older
            if own.older >= 0:
                watch.chains[own.older, join].newer = own.newer
    withsets.forget_items(watch.sets, kept)
    watch.kept[kept].stream = NONE
    watch.kept[kept].next = watch.now.free
    watch.now.free = kept
    watch.now.held -= 1


@inner
def sweep(watch: Watch, bags: Any, room: int, streams: Records, t: int) -> None:
    """Have a quarter of the room free: forget what expired, then what a lower chance leaves out.

    A chance that left half the room empty rises again, for newcomers. Of sets too large for the
    room one is kept all the same: who never keeps them does not know what they miss.
    """
    slots = watch.kept.size
    for kept in range(slots):
        s = watch.kept[kept].stream
        if s >= 0:
            after = watch.came[s] - watch.kept[kept].nth - 1
            if has_left(streams[s], t - watch.kept[kept].time, after):
                _forget(watch, kept)
    if 2 * watch.now.held < room and withsets.filled(watch.sets, bags, -1, room) < 0.5:
        watch.chance[0] = min(1.0, 1.25 * watch.chance[0])
    while 4 * watch.now.held > 3 * room or (
        watch.now.held > 1 and withsets.filled(watch.sets, bags, -1, room) > 0.75
    ):
        watch.chance[0] *= 0.8
        for kept in range(slots):
            if watch.kept[kept].stream >= 0 and watch.kept[kept].chance > watch.chance[0]:
                watch.kept[kept].chance = watch.chance[0]
                if watch.kept[kept].draw >= watch.chance[0]:
                    _forget(watch, kept)


@inner
def keep(
    watch: Watch, arrivals: Arrivals, bags: Any, i: int, seq: int, drawn: float, joins: Records,
    had: int,
) -> None:  # fmt: skip
    """Keep an arrival aside, first in its buckets: they are newest first."""
    s = arrivals.streams[i]
    kept = watch.now.free
    watch.now.free = watch.kept[kept].next
    watch.now.held += 1
    watch.now.drawn += 1
    watch.kept[kept].stream, watch.kept[kept].time, watch.kept[kept].seq = s, arrivals.times[i], seq
    watch.kept[kept].nth, watch.kept[kept].had = watch.came[s], had
    for row in range(2):
        watch.kept[kept].missed[row] = 0.0
    if watch.since is not None:
        watch.since[kept] = 0.0
    watch.kept[kept].importance = arrivals.importance[i]
    watch.kept[kept].chance, watch.kept[kept].draw = watch.chance[0], drawn
    for join in range(watch.codes.shape[1]):
        own = watch.chains[kept, join]
        if not arrivals.keyed[join, i] or joins[join].kind != EQUAL:
            own.older = _APART
            continue
        code = arrivals.codes[join, i]
        bucket = _bucket(watch, code, join)
        first = watch.buckets[bucket]
        watch.codes[kept, join] = code
        own.older, own.newer = first, NONE
        if first >= 0:
            watch.chains[first, join].newer = kept
        watch.buckets[bucket] = kept
    withsets.keep_items(watch.sets, bags, i, kept)


@inlined
def in_list(watch: Watch, kept: int, join: int) -> bool:
    """Tell whether a kept tuple has a key in a join."""
    return watch.chains[kept, join].older != _APART  # type: ignore[no-any-return]


@inlined
def in_window(watch: Watch, kept: int, joins: Records, join: int, side: int, t: int) -> bool:
    """Tell whether a kept tuple is in the window that a member of a join has."""
    newer = watch.came[watch.kept[kept].stream] - watch.kept[kept].nth - 1
    return has_stayed(
        t, watch.kept[kept].time, joins[join].spans[side], newer, joins[join].rows[side]
    )


@inner
def near_key(
    watch: Watch, arrivals: Arrivals, i: int, join: int, joins: Records, side: int, near: Int64
) -> int:
    """List the kept tuples that an arrival joins with, newest first; returns how many."""
    code, nearby = arrivals.codes[join, i], 0
    kept = watch.buckets[_bucket(watch, code, join)]
    while kept >= 0:
        if (
            watch.kept[kept].stream != arrivals.streams[i]
            and watch.codes[kept, join] == code
            and in_window(watch, kept, joins, join, side, arrivals.times[i])
        ):
            near[nearby] = kept
            nearby += 1
        kept = watch.chains[kept, join].older
    return nearby
