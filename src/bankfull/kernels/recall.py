"""What a shedding join misses, counted on a sample of the tuples.

Every result has one oldest member. So the missed results are divided among the tuples that would
have been oldest in them, and each tuple's share can be counted alone: keep the tuple aside for as
long as its window lasts, see which arrivals should have found it, and which did. Tuples are kept
aside by a draw of their own, whatever the join does with them: key, time, importance, no payload.
The arrays are bounded; when they are full, what expired leaves, and if that is not enough the
chance falls and those drawn above it leave too. ``bankfull.core.recall`` makes an interval of the
totals.

Of two streams, an arrival makes one result with the kept tuple. Of more, it makes as many as there
are ways to choose the members between: the product of how many tuples of each other stream came
since with the same key. That is a number a stream, not a list, because all of them are in their
windows while the older tuple is in its own, if windows are equally long (others are not watched).
Their importance is not known one by one: of each stream one of them is drawn at random and stands
for all, which is right on average.

The draw depends on the keys as well as on the tuple's number: operators that share a query's work
number their tuples alike, and must not choose alike.

Reference: Horvitz and Thompson (1952); chances that fall like those of adaptive samples (Ting,
"Adaptive Threshold Sampling", 2022). Deviation: the chance is rounded down to steps.
Cost: a look into a hash table an arrival, plus the kept tuples that agree with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.compiler import Float64, Int64, inlined, kernel
from bankfull.kernels.hashing import GOLDEN
from bankfull.kernels.matches import AVERAGE, MAX, MIN, PRODUCT, Arrivals, Output
from bankfull.kernels.memory import (
    MEMBER,
    MEMBER_ROWS,
    MEMBER_SPAN,
    NONE,
    ROWS,
    SPAN,
    WIDTH,
    draw,
)

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
#: Added to the seed: draws of their own, which no policy shares.
_OWN_DRAWS = 101
#: Not in this join: its key is null, or the stream is no member.
_APART = -2


class Watch(NamedTuple):
    """The tuples kept aside, and what they have shown so far. ``chance`` is that of a newcomer."""

    whole: Int64
    real: Float64
    codes: NDArray[np.uint64]
    buckets: Int64
    came: Int64
    now: Int64
    chance: Float64
    totals: Float64


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
def _number(arrivals: Arrivals, i: int, seq: int) -> Any:
    """Return what the draws of an arrival depend on: its keys and its number."""
    keys = np.uint64(0)
    for join in range(arrivals.codes.shape[0]):
        if arrivals.keyed[join, i]:
            keys += _mixed(arrivals.codes[join, i], join)
    return np.int64(keys >> np.uint64(2)) + seq


@inlined
def _worth(combine: int, a: float, b: float) -> float:
    if combine == MIN:
        return min(a, b)
    if combine == MAX:
        return max(a, b)
    if combine == PRODUCT:
        return a * b
    return (a + b) / 2.0 if combine == AVERAGE else a + b


@inlined
def _lose(watch: Watch, kept: int, results: float, worth: float, guessed: bool) -> None:
    """Count results that a kept tuple should have been the oldest member of, and their worth.

    The variance of a sum over tuples drawn with chance p is estimated by the sum of (1 - p) d * d,
    d what a tuple adds; as d grows by w, that grows by (1 - p) (2 d w + w * w). If the worth is
    itself ``guessed``, by something right on average, the sum of d * d is not too small.
    """
    chance = watch.real[kept, CHANCE]
    for row in range(2):
        known = row == RESULTS or not guessed
        w = (worth if row == WORTH else results) / chance
        d = watch.real[kept, MISSED + row]
        watch.real[kept, MISSED + row] = d + w
        part = 1.0 - chance if known else 1.0
        more = part * (2.0 * d * w + w * w)
        totals = watch.totals[row]
        totals[LOST] += w
        totals[VARIANCE] += more
        totals[SEEN] += w * chance if known else 0.0
        totals[LARGEST] = max(totals[LARGEST], part * (d + w))
        if row == RESULTS:
            watch.totals[RECENT, LOST] += w
            watch.totals[RECENT, VARIANCE] += more
            watch.totals[RECENT, SEEN] += results


@inlined
def _gain(watch: Watch, worth: float) -> None:
    watch.totals[RESULTS, EMITTED] += 1.0
    watch.totals[WORTH, EMITTED] += worth
    watch.totals[RECENT, EMITTED] += 1.0


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
    whole[kept, STREAM] = NONE
    whole[kept, LINKS] = watch.now[FREE]
    watch.now[FREE] = kept
    watch.now[HELD] -= 1


@kernel
def _sweep(watch: Watch, room: int, streams: Int64, t: int) -> None:
    """Have a quarter of the room free: forget what expired, then what a lower chance leaves out.

    A chance that left half the room empty rises again, for newcomers.
    """
    slots = watch.whole.shape[0]
    for kept in range(slots):
        s = watch.whole[kept, STREAM]
        if s >= 0:
            aged = t - watch.whole[kept, TIME] > streams[s, SPAN]
            if aged or watch.came[s] - watch.whole[kept, NTH] - 1 >= streams[s, ROWS]:
                _forget(watch, kept)
    if 2 * watch.now[HELD] < room:
        watch.chance[0] = min(1.0, 1.25 * watch.chance[0])
    while 4 * watch.now[HELD] > 3 * room:
        watch.chance[0] *= 0.8
        for kept in range(slots):
            if watch.whole[kept, STREAM] >= 0 and watch.real[kept, CHANCE] > watch.chance[0]:
                watch.real[kept, CHANCE] = watch.chance[0]
                if watch.real[kept, LOT] >= watch.chance[0]:
                    _forget(watch, kept)


@kernel
def _keep(watch: Watch, arrivals: Arrivals, i: int, seq: int, lot: float) -> None:
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
        if not arrivals.keyed[join, i]:
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


@inlined
def _made_by(out: Output, at: int, join: int, seq: int, width: int) -> bool:
    newest = out.arrivals[0, at]
    for member in range(1, width):
        newest = max(newest, out.arrivals[member, at])
    return out.joins[at] == join and newest == seq  # type: ignore[no-any-return]


@kernel
def _watch_pair(
    watch: Watch, arrivals: Arrivals, i: int, seq: int, join: int,
    out: Output, count: int, at: int, joins: Int64, combine: int,
) -> int:  # fmt: skip
    """See what an arrival has missed in a join of two; returns the first result of another.

    Its results come newest partner first, as kept tuples do: the two are walked side by side.
    """
    whole, t = watch.whole, arrivals.times[i]
    other = 1 if joins[join, MEMBER] == arrivals.streams[i] else 0
    stream, width = joins[join, MEMBER + other], joins[join, WIDTH]
    code = arrivals.codes[join, i]
    kept = watch.buckets[_bucket(watch, code, join)]
    while kept >= 0:
        if (
            whole[kept, STREAM] == stream
            and watch.codes[kept, join] == code
            and t - whole[kept, TIME] <= joins[join, MEMBER_SPAN + other]
            and watch.came[stream] - whole[kept, NTH] - 1 < joins[join, MEMBER_ROWS + other]
        ):
            found = False
            while at < count and _made_by(out, at, join, seq, width):
                if out.arrivals[other, at] <= whole[kept, SEQ]:
                    found = out.arrivals[other, at] == whole[kept, SEQ]
                    break
                _gain(watch, out.importance[at])
                at += 1
            if not found:
                own = watch.real[kept, IMPORTANCE]
                worth = _worth(combine, own, arrivals.importance[i])
                _lose(watch, kept, 1.0, worth, width > 2)
        kept = whole[kept, LINKS + 2 * join]
    while at < count and _made_by(out, at, join, seq, width):
        _gain(watch, out.importance[at])
        at += 1
    return at


@kernel
def _should_make(
    watch: Watch, kept: int, join: int, own: int, worth: float, joins: Int64, combine: int
) -> tuple[float, float]:
    """Return how many results with a kept tuple as the oldest an arrival makes, and their worth."""
    results, low, high = 1.0, worth, worth
    total, product = worth, worth
    width = joins[join, WIDTH]
    for member in range(width):
        if member != own:
            each = watch.real[kept, IMPORTANCE]
            if joins[join, MEMBER + member] != watch.whole[kept, STREAM]:
                since = SINCE + WIDE * join + 2 * member
                results *= watch.real[kept, since]
                each = watch.real[kept, since + 1]
            low, high = min(low, each), max(high, each)
            total += each
            product *= each
    if combine == MIN:
        return results, results * low
    if combine == MAX:
        return results, results * high
    if combine == PRODUCT:
        return results, results * product
    return results, results * (total / width if combine == AVERAGE else total)


@kernel
def _watch_many(
    watch: Watch, arrivals: Arrivals, i: int, seq: int, join: int, seed: int,
    out: Output, count: int, at: int, joins: Int64, combine: int, guessed: bool,
    near: Int64, made: Float64,
) -> int:  # fmt: skip
    """See what an arrival has missed in a join of more than two; see :func:`_watch_pair`."""
    whole, real, t = watch.whole, watch.real, arrivals.times[i]
    code, width = arrivals.codes[join, i], joins[join, WIDTH]
    own: Any = np.int64(0)
    for member in range(width):
        if joins[join, MEMBER + member] == arrivals.streams[i]:
            own = member
    nearby = 0  # kept tuples that the arrival joins with, newest first
    kept = watch.buckets[_bucket(watch, code, join)]
    while kept >= 0:
        if (
            whole[kept, STREAM] != arrivals.streams[i]
            and watch.codes[kept, join] == code
            and t - whole[kept, TIME] <= joins[join, MEMBER_SPAN]
        ):
            near[nearby] = kept
            nearby += 1
        kept = whole[kept, LINKS + 2 * join]
    made[:nearby] = 0.0
    while at < count and _made_by(out, at, join, seq, width):
        oldest = out.arrivals[0, at]
        for member in range(1, width):
            oldest = min(oldest, out.arrivals[member, at])
        first, last = 0, nearby  # the place of the oldest member, if it is kept
        while first < last:
            middle = (first + last) >> 1
            if whole[near[middle], SEQ] > oldest:
                first = middle + 1
            else:
                last = middle
        if first < nearby and whole[near[first], SEQ] == oldest:
            made[first, 0] += 1.0
            made[first, 1] += out.importance[at]
        _gain(watch, out.importance[at])
        at += 1
    since = SINCE + WIDE * join + 2 * own
    for place in range(nearby):
        kept = near[place]
        results, worth = _should_make(
            watch, kept, join, own, arrivals.importance[i], joins, combine
        )
        if results > made[place, 0]:
            _lose(watch, kept, results - made[place, 0], worth - made[place, 1], guessed)
        real[kept, since] += 1.0
        number = _number(arrivals, i, seq) + whole[kept, SEQ]
        if draw(seed + _OWN_DRAWS + 1 + join, number) * real[kept, since] < 1.0:
            real[kept, since + 1] = arrivals.importance[i]
    return at


@kernel
def watch_join(
    watch: Watch, room: int, arrivals: Arrivals, start: int, stop: int,
    out: Output, count: int, first: int,
    streams: Int64, joins: Int64, combine: int, seed: int, guessed: bool,
    near: Int64, made: Float64,
) -> None:  # fmt: skip
    """See what the arrivals from ``start`` to ``stop``, the first numbered ``first``, have missed.

    ``out`` holds the ``count`` results they made, in order. At most ``room`` tuples are kept, of at
    least as many slots. ``guessed``: the worth of what joins of more than two miss is not certain.
    ``near`` and ``made`` are room to work in, an element and two for every slot.
    """
    at: Any = np.int64(0)  # a literal would have every callee compiled twice
    for i in range(start, stop):
        s, seq = arrivals.streams[i], first + i - start
        for join in range(joins.shape[0]):
            if not arrivals.keyed[join, i]:
                continue
            if joins[join, WIDTH] == 2:
                at = _watch_pair(watch, arrivals, i, seq, join, out, count, at, joins, combine)
            else:
                at = _watch_many(
                    watch, arrivals, i, seq, join, seed,
                    out, count, at, joins, combine, guessed, near, made,
                )  # fmt: skip
        lot = draw(seed + _OWN_DRAWS, _number(arrivals, i, seq))
        if lot < watch.chance[0]:
            if watch.now[HELD] >= room:
                _sweep(watch, room, streams, arrivals.times[i])
            if lot < watch.chance[0]:
                _keep(watch, arrivals, i, seq, lot)
        watch.came[s] += 1


__all__ = ["SINCE", "WIDE", "Watch", "watch_join"]
