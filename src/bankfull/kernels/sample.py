"""The tuples kept aside to estimate recall: a random sample of the streams, in bounded arrays.

Tuples are kept by a draw of their own, whatever the join does with them: key, time, importance, no
payload. When the arrays are full, what expired leaves, and if that is not enough the chance falls
and those drawn above it leave too. ``recall.py`` counts what the kept have missed.

The draw depends on the keys as well as on the tuple's number: operators that share a query's work
number their tuples alike, and must not choose alike.

Reference: chances that fall like those of adaptive samples (Ting, "Adaptive Threshold Sampling",
2022). Deviation: the chance is rounded down to steps.
Cost: a hash table; a sweep of all that are kept, when they are too many.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels import withsets
from bankfull.kernels.compiler import Float64, Int64, inlined, kernel
from bankfull.kernels.hashing import GOLDEN
from bankfull.kernels.matches import Arrivals
from bankfull.kernels.memory import EQUAL, KIND, MEMBER_ROWS, MEMBER_SPAN, NONE, ROWS, SPAN

#: Columns of ``whole``; from LINKS on two a join: next and previous tuple of the bucket.
STREAM, TIME, NTH, SEQ, LINKS = range(5)
#: Columns of ``real``; MISSED and MISSED_WORTH are already divided by the chance. From SINCE on two
#: a join and member, where a join has more than two: tuples that came since with the same key, and
#: the importance of one of them.
IMPORTANCE, CHANCE, LOT, MISSED, MISSED_WORTH, SINCE = range(6)
#: Columns of ``real`` that a join with more than two members takes.
WIDE = 10
#: Elements of ``now``.
FREE, HELD, DRAWN = range(3)
#: Columns of ``totals``; its rows are results, their importance, and recent results.
EMITTED, LOST, VARIANCE, LARGEST, SEEN = range(5)
RESULTS, WORTH, RECENT = range(3)
#: In no list of this join: its key is null, the stream is no member, or it is a set.
_APART = -2


class Watch(NamedTuple):
    """The tuples kept aside, and what they have shown so far. ``chance`` is that of a newcomer.

    ``sets`` holds their sets (``keptsets.py``), or None where the query has none.
    """

    whole: Int64
    real: Float64
    codes: NDArray[np.uint64]
    buckets: Int64
    came: Int64
    now: Int64
    chance: Float64
    totals: Float64
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
    whole = watch.whole
    for join in range(watch.codes.shape[1]):
        link = LINKS + 2 * join
        after, before = whole[kept, link], whole[kept, link + 1]
        if after != _APART:
            if before >= 0:
                whole[before, link] = after
            else:
                watch.buckets[_bucket(watch, watch.codes[kept, join], join)] = after
            if after >= 0:
                whole[after, link + 1] = before
    withsets.forget_items(watch.sets, kept)
    whole[kept, STREAM] = NONE
    whole[kept, LINKS] = watch.now[FREE]
    watch.now[FREE] = kept
    watch.now[HELD] -= 1


@kernel
def sweep(watch: Watch, bags: Any, room: int, streams: Int64, t: int) -> None:
    """Have a quarter of the room free: forget what expired, then what a lower chance leaves out.

    A chance that left half the room empty rises again, for newcomers. Of sets too large for the
    room one is kept all the same: who never keeps them does not know what they miss.
    """
    slots = watch.whole.shape[0]
    for kept in range(slots):
        s = watch.whole[kept, STREAM]
        if s >= 0:
            aged = t - watch.whole[kept, TIME] > streams[s, SPAN]
            if aged or watch.came[s] - watch.whole[kept, NTH] - 1 >= streams[s, ROWS]:
                _forget(watch, kept)
    if 2 * watch.now[HELD] < room and withsets.filled(watch.sets, bags, -1, room) < 0.5:
        watch.chance[0] = min(1.0, 1.25 * watch.chance[0])
    while 4 * watch.now[HELD] > 3 * room or (
        watch.now[HELD] > 1 and withsets.filled(watch.sets, bags, -1, room) > 0.75
    ):
        watch.chance[0] *= 0.8
        for kept in range(slots):
            if watch.whole[kept, STREAM] >= 0 and watch.real[kept, CHANCE] > watch.chance[0]:
                watch.real[kept, CHANCE] = watch.chance[0]
                if watch.real[kept, LOT] >= watch.chance[0]:
                    _forget(watch, kept)


@kernel
def keep(
    watch: Watch, arrivals: Arrivals, bags: Any, i: int, seq: int, lot: float, joins: Int64
) -> None:
    """Keep an arrival aside, first in its buckets: they are newest first."""
    whole, s = watch.whole, arrivals.streams[i]
    kept = watch.now[FREE]
    watch.now[FREE] = whole[kept, LINKS]
    watch.now[HELD] += 1
    watch.now[DRAWN] += 1
    whole[kept, STREAM], whole[kept, TIME], whole[kept, SEQ] = s, arrivals.times[i], seq
    whole[kept, NTH] = watch.came[s]
    watch.real[kept, :] = 0.0
    watch.real[kept, IMPORTANCE] = arrivals.importance[i]
    watch.real[kept, CHANCE], watch.real[kept, LOT] = watch.chance[0], lot
    for join in range(watch.codes.shape[1]):
        link = LINKS + 2 * join
        if not arrivals.keyed[join, i] or joins[join, KIND] != EQUAL:
            whole[kept, link] = _APART
            continue
        code = arrivals.codes[join, i]
        bucket = _bucket(watch, code, join)
        first = watch.buckets[bucket]
        watch.codes[kept, join] = code
        whole[kept, link], whole[kept, link + 1] = first, NONE
        if first >= 0:
            whole[first, link + 1] = kept
        watch.buckets[bucket] = kept
    withsets.keep_items(watch.sets, bags, i, kept)


@inlined
def in_window(watch: Watch, kept: int, joins: Int64, join: int, side: int, t: int) -> bool:
    """Tell whether a kept tuple is in the window that a member of a join has."""
    newer = watch.came[watch.whole[kept, STREAM]] - watch.whole[kept, NTH] - 1
    return (  # type: ignore[no-any-return]
        t - watch.whole[kept, TIME] <= joins[join, MEMBER_SPAN + side]
        and newer < joins[join, MEMBER_ROWS + side]
    )


@kernel
def near_key(
    watch: Watch, arrivals: Arrivals, i: int, join: int, joins: Int64, side: int, near: Int64
) -> int:
    """List the kept tuples that an arrival joins with, newest first; returns how many."""
    code, nearby = arrivals.codes[join, i], 0
    kept = watch.buckets[_bucket(watch, code, join)]
    while kept >= 0:
        if (
            watch.whole[kept, STREAM] != arrivals.streams[i]
            and watch.codes[kept, join] == code
            and in_window(watch, kept, joins, join, side, arrivals.times[i])
        ):
            near[nearby] = kept
            nearby += 1
        kept = watch.whole[kept, LINKS + 2 * join]
    return nearby
