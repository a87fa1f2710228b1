"""What a shedding join misses, counted on a sample of the tuples.

A result of two streams is one older tuple found by one arrival. So the missed results are
divided among the older tuples, and each tuple's share can be counted alone: keep the tuple aside
for as long as its window lasts, see which arrivals should have found it, and which did. Tuples
are kept aside by a draw of their own, whatever the join does with them: key, time, importance, no
payload. The arrays are bounded; when they are full, what expired leaves, and if that is not
enough the chance falls and those drawn above it leave too. ``bankfull.core.recall`` makes an
interval of the totals.

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
from bankfull.kernels.memory import MEMBER, MEMBER_ROWS, MEMBER_SPAN, NONE, ROWS, SPAN, draw
from bankfull.kernels.shedjoin import AVERAGE, MAX, MIN, PRODUCT, Arrivals, Output

#: Columns of ``whole``; from LINKS on two a join: next and previous tuple of the bucket.
STREAM, TIME, NTH, SEQ, LINKS = range(5)
#: Columns of ``real``; MISSED and MISSED_WORTH are already divided by the chance.
IMPORTANCE, CHANCE, MISSED, MISSED_WORTH = range(4)
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
def _bucket(watch: Watch, code: np.uint64, join: int) -> Any:
    """Return where a key of a join is listed; every join has buckets of its own.

    (A list is linked by the words of its join, so it must not hold tuples of another.)
    """
    mixed = (code ^ (np.uint64(join + 1) * GOLDEN)) * GOLDEN
    many = watch.buckets.size // watch.codes.shape[1]
    return join * many + (np.int64(mixed >> np.uint64(32)) & (many - 1))


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
def _lose(watch: Watch, kept: int, worth: float) -> None:
    """Count a result that a kept tuple should have been part of.

    The variance of a sum over tuples drawn with chance p is estimated by the sum of (1 - p) d * d,
    d what a tuple adds; as d grows by w, that grows by (1 - p) (2 d w + w * w).
    """
    chance = watch.real[kept, CHANCE]
    for row in range(2):
        w = (worth if row == WORTH else 1.0) / chance
        d = watch.real[kept, MISSED + row]
        watch.real[kept, MISSED + row] = d + w
        more = (1.0 - chance) * (2.0 * d * w + w * w)
        totals = watch.totals[row]
        totals[LOST] += w
        totals[VARIANCE] += more
        totals[SEEN] += w * chance
        totals[LARGEST] = max(totals[LARGEST], (1.0 - chance) * (d + w))
        if row == RESULTS:
            watch.totals[RECENT, LOST] += w
            watch.totals[RECENT, VARIANCE] += more
            watch.totals[RECENT, SEEN] += 1.0


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
def _sweep(watch: Watch, room: int, streams: Int64, t: int, seed: int) -> None:
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
                if draw(seed + _OWN_DRAWS, watch.whole[kept, SEQ]) >= watch.chance[0]:
                    _forget(watch, kept)


@kernel
def _keep(watch: Watch, arrivals: Arrivals, i: int, seq: int) -> None:
    """Keep an arrival aside, first in its buckets: they are newest first."""
    whole, s = watch.whole, arrivals.streams[i]
    kept = watch.now[FREE]
    watch.now[FREE] = whole[kept, LINKS]
    watch.now[HELD] += 1
    watch.now[DRAWN] += 1
    whole[kept, STREAM], whole[kept, TIME], whole[kept, SEQ] = s, arrivals.times[i], seq
    whole[kept, NTH] = watch.came[s]
    watch.real[kept, IMPORTANCE], watch.real[kept, CHANCE] = (
        arrivals.importance[i],
        watch.chance[0],
    )
    watch.real[kept, MISSED] = watch.real[kept, MISSED_WORTH] = 0.0
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


@kernel
def watch_join(
    watch: Watch, room: int, arrivals: Arrivals, start: int, stop: int,
    out: Output, count: int, first: int,
    streams: Int64, joins: Int64, combine: int, seed: int,
) -> None:  # fmt: skip
    """See what the arrivals from ``start`` to ``stop``, the first numbered ``first``, have missed.

    ``out`` holds the ``count`` results they made, in order. Those of one arrival and one join come
    newest partner first, as kept tuples do: the two are walked side by side. At most ``room``
    tuples are kept, of at least as many slots.
    """
    at = 0
    whole = watch.whole
    for i in range(start, stop):
        s, t, seq = arrivals.streams[i], arrivals.times[i], first + i - start
        for join in range(joins.shape[0]):
            if not arrivals.keyed[join, i]:
                continue
            code = arrivals.codes[join, i]
            other = 1 if joins[join, MEMBER] == s else 0
            stream = joins[join, MEMBER + other]
            kept = watch.buckets[_bucket(watch, code, join)]
            while kept >= 0:
                if (
                    whole[kept, STREAM] == stream
                    and watch.codes[kept, join] == code
                    and t - whole[kept, TIME] <= joins[join, MEMBER_SPAN + other]
                    and watch.came[stream] - whole[kept, NTH] - 1 < joins[join, MEMBER_ROWS + other]
                ):
                    found = False
                    while at < count and _made_by(out, at, join, seq):
                        if out.arrivals[other, at] <= whole[kept, SEQ]:
                            found = out.arrivals[other, at] == whole[kept, SEQ]
                            break
                        _gain(watch, out.importance[at])
                        at += 1
                    if not found:
                        worth = _worth(
                            combine, watch.real[kept, IMPORTANCE], arrivals.importance[i]
                        )
                        _lose(watch, kept, worth)
                kept = whole[kept, LINKS + 2 * join]
            while at < count and _made_by(out, at, join, seq):
                _gain(watch, out.importance[at])
                at += 1
        if draw(seed + _OWN_DRAWS, seq) < watch.chance[0]:
            if watch.now[HELD] >= room:
                _sweep(watch, room, streams, t, seed)
            if draw(seed + _OWN_DRAWS, seq) < watch.chance[0]:
                _keep(watch, arrivals, i, seq)
        watch.came[s] += 1


@inlined
def _made_by(out: Output, at: int, join: int, seq: int) -> bool:
    newest = max(out.arrivals[0, at], out.arrivals[1, at])
    return out.joins[at] == join and newest == seq  # type: ignore[no-any-return]


__all__ = ["Watch", "watch_join"]
