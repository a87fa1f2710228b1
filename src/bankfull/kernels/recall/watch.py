"""What a shedding join misses, counted on a sample of the tuples.

Every result has one oldest member. So the missed results are divided among the tuples that would
have been oldest in them, and each tuple's share can be counted alone: keep the tuple aside for as
long as its window lasts (``sample.py``), see which arrivals should have found it, and which did.
``bankfull.core.recall.sample`` makes an interval of the totals.

Of two streams, an arrival makes one result with the kept tuple. Of more, it makes as many as there
are ways to choose the members between: the product of how many tuples of each other stream came
since with the same key. That is a number a stream, not a list, because all of them are in their
windows while the older tuple is in its own, if windows are equally long (others are not watched).
Their importance is not known one by one: of each stream one of them is drawn at random and stands
for all, which is right on average.

Reference: Horvitz and Thompson (1952).
Cost: a look into a hash table an arrival, plus the kept tuples that agree with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bankfull.kernels.bounded import (
    selected,  # noqa: F401  its rules are compiled into this kernel
    selecting,
    withsets,
)
from bankfull.kernels.bounded.matches import Arrivals, Output
from bankfull.kernels.compiler import Float64, Int64, Records, inlined, inner, kernel
from bankfull.kernels.hashing import draw
from bankfull.kernels.importance import worth_of, worth_of_pair
from bankfull.kernels.predicates import EQUAL
from bankfull.kernels.probes.several import direction
from bankfull.kernels.recall.feed import Feed, count_meeting, had_before
from bankfull.kernels.recall.sample import (
    RECENT,
    RESULTS,
    WORTH,
    Watch,
    keep,
    near_key,
    number,
    sweep,
)

#: Added to the seed: draws of their own, which no policy shares.
_OWN_DRAWS = 101


@inlined
def _lose(watch: Watch, kept: int, results: float, worth: float, guessed: bool) -> None:
    """Count results that a kept tuple should have been the oldest member of, and their worth.

    The variance of a sum over tuples drawn with chance p is estimated by the sum of (1 - p) d * d,
    d what a tuple adds; as d grows by w, that grows by (1 - p) (2 d w + w * w). If the worth is
    itself ``guessed``, by something right on average, the sum of d * d is not too small.
    """
    chance = watch.kept[kept].chance
    for row in range(2):
        known = row == RESULTS or not guessed
        w = (worth if row == WORTH else results) / chance
        d = watch.kept[kept].missed[row]
        watch.kept[kept].missed[row] = d + w
        part = 1.0 - chance if known else 1.0
        more = part * (2.0 * d * w + w * w)
        totals = watch.totals[row]
        totals.lost += w
        totals.variance += more
        totals.seen += w * chance if known else 0.0
        totals.largest = max(totals.largest, part * (d + w))
        if row == RESULTS:
            watch.totals[RECENT].lost += w
            watch.totals[RECENT].variance += more
            watch.totals[RECENT].seen += results


@inlined
def _gain(watch: Watch, worth: float) -> None:
    watch.totals[RESULTS].emitted += 1.0
    watch.totals[WORTH].emitted += worth
    watch.totals[RECENT].emitted += 1.0


@inlined
def _made_by(out: Output, at: int, join: int, seq: int, width: int) -> bool:
    newest = out.arrivals[0, at]
    for member in range(1, width):
        newest = max(newest, out.arrivals[member, at])
    return out.joins[at] == join and newest == seq  # type: ignore[no-any-return]


@inner
def _watch_pair(
    watch: Watch, arrivals: Arrivals, i: int, seq: int, join: int,
    out: Output, count: int, at: int, streams: Records, joins: Records, combine: int,
    near: Int64, nearby: int, feed: Feed, selections: Any,
) -> int:  # fmt: skip
    """See what an arrival has missed in a join of two; returns the first result of another.

    Its results come newest partner first, as the kept tuples ``near`` do: the two are walked side
    by side. A policy is told of the meetings that are compared: others earn nothing.
    """
    width = joins[join].width
    s = arrivals.streams[i]
    other = 1 if joins[join].members[0] == s else 0
    for place in range(nearby):
        kept = near[place]
        found = False
        while at < count and _made_by(out, at, join, seq, width):
            if out.arrivals[other, at] <= watch.kept[kept].seq:
                found = out.arrivals[other, at] == watch.kept[kept].seq
                break
            _gain(watch, out.importance[at])
            at += 1
        compared = True
        if selections is not None:
            compared = found or selecting.meets(
                selections, join, 1 - other, other, s, i, arrivals.times[i], watch.came[s],
                watch.kept[kept], watch.came[watch.kept[kept].stream],
            )  # fmt: skip
        if compared:
            count_meeting(feed, watch.kept[kept], arrivals.times[i], seq)
        if not found:
            worth = worth_of_pair(
                combine, watch.kept[kept].importance,
                streams[watch.kept[kept].stream].weighed == 1,
                arrivals.importance[i], streams[arrivals.streams[i]].weighed == 1,
            )  # fmt: skip
            _lose(watch, kept, 1.0, worth, width > 2)
    while at < count and _made_by(out, at, join, seq, width):
        _gain(watch, out.importance[at])
        at += 1
    return at


@inner
def _should_make(
    watch: Watch, kept: int, join: int, own: int, worth: float,
    streams: Records, joins: Records, combine: int,
) -> tuple[float, float]:  # fmt: skip
    """Return how many results with a kept tuple as the oldest an arrival makes, and their worth."""
    since: Any = watch.since
    results, low, high, total, product, weighed = 1.0, np.inf, -np.inf, 0.0, 1.0, 0
    for member in range(joins[join].width):
        s, each = joins[join].members[member], worth
        if s == watch.kept[kept].stream:
            each = watch.kept[kept].importance
        elif member != own:
            results *= since[kept, join, member, 0]
            each = since[kept, join, member, 1]
        if streams[s].weighed:
            low, high = min(low, each), max(high, each)
            total += each
            product *= each
            weighed += 1
    return results, results * worth_of(combine, total, product, low, high, weighed)


@inlined
def _would_meet(
    selections: Any, watch: Watch, arrivals: Arrivals, i: int, join: int, own: int, kept: int,
    joins: Records,
) -> bool:  # fmt: skip
    """Tell whether an arrival would be compared with a kept tuple, if it searches so far."""
    s, other = arrivals.streams[i], watch.kept[kept].stream
    theirs: Any = np.int64(0)
    for member in range(joins[join].width):
        if joins[join].members[member] == other:
            theirs = member
    return selecting.meets(
        selections, join, own, direction(theirs, own, joins[join].width), s, i, arrivals.times[i],
        watch.came[s], watch.kept[kept], watch.came[other],
    )  # fmt: skip


@inner
def _watch_many(
    watch: Watch, arrivals: Arrivals, i: int, seq: int, join: int, seed: int,
    out: Output, count: int, at: int, streams: Records, joins: Records, combine: int, guessed: bool,
    near: Int64, nearby: int, made: Float64, feed: Feed, selections: Any,
) -> int:  # fmt: skip
    """See what an arrival has missed in a join of more than two; see :func:`_watch_pair`."""
    width = joins[join].width
    own: Any = np.int64(0)
    counted: Any = watch.since
    for member in range(width):
        if joins[join].members[member] == arrivals.streams[i]:
            own = member
    made[:nearby] = 0.0
    while at < count and _made_by(out, at, join, seq, width):
        oldest = out.arrivals[0, at]
        for member in range(1, width):
            oldest = min(oldest, out.arrivals[member, at])
        first, last = 0, nearby  # the place of the oldest member, if it is kept
        while first < last:
            middle = (first + last) >> 1
            if watch.kept[near[middle]].seq > oldest:
                first = middle + 1
            else:
                last = middle
        if first < nearby and watch.kept[near[first]].seq == oldest:
            made[first, 0] += 1.0
            made[first, 1] += out.importance[at]
        _gain(watch, out.importance[at])
        at += 1
    for place in range(nearby):
        kept = near[place]
        results, worth = _should_make(
            watch, kept, join, own, arrivals.importance[i], streams, joins, combine
        )
        compared = results > 0.0
        if selections is not None:
            if compared and made[place, 0] == 0.0:
                compared = _would_meet(selections, watch, arrivals, i, join, own, kept, joins)
        if compared:
            count_meeting(feed, watch.kept[kept], arrivals.times[i], seq)
        if results > made[place, 0]:
            _lose(watch, kept, results - made[place, 0], worth - made[place, 1], guessed)
        since = counted[kept, join, own]
        since[0] += 1.0
        drawn = number(arrivals, i, seq) + watch.kept[kept].seq
        if draw(seed + _OWN_DRAWS + 1 + join, drawn) * since[0] < 1.0:
            since[1] = arrivals.importance[i]
    return at


@kernel
def watch_join(
    watch: Watch, room: int, arrivals: Arrivals, bags: Any, start: int, stop: int,
    out: Output, count: int, first: int,
    streams: Records, joins: Records, combine: int, seed: int, guessed: bool,
    near: Int64, made: Float64, feed: Feed, selections: Any,
) -> None:  # fmt: skip
    """See what the arrivals from ``start`` to ``stop``, the first numbered ``first``, have missed.

    ``out`` holds the ``count`` results they made, in order. At most ``room`` tuples are kept, of at
    least as many slots. ``guessed``: the worth of what joins of more than two miss is not certain.
    ``near`` and ``made`` are room to work in, an element and two for every slot. ``feed`` is what a
    policy learns from the sample; ``selections`` says what was compared, None that all was.
    """
    at: Any = np.int64(0)  # a literal would have every callee compiled twice
    for i in range(start, stop):
        s, seq = arrivals.streams[i], first + i - start
        for join in range(joins.shape[0]):
            if not arrivals.keyed[join, i]:
                continue
            pair = joins[join].width == 2
            # Of more than two members all windows are equally long.
            side = 1 if pair and joins[join].members[0] == s else 0
            if joins[join].kind == EQUAL:
                nearby = near_key(watch, arrivals, i, join, joins, side, near)
            else:
                nearby = withsets.near_items(
                    watch.sets, watch, arrivals, bags, i, join, joins, side, near
                )
            if watch.since is None or pair:
                at = _watch_pair(
                    watch, arrivals, i, seq, join, out, count, at, streams, joins, combine,
                    near, nearby, feed, selections,
                )  # fmt: skip
            else:
                at = _watch_many(
                    watch, arrivals, i, seq, join, seed,
                    out, count, at, streams, joins, combine, guessed, near, nearby, made, feed,
                    selections,
                )  # fmt: skip
        drawn = draw(seed + _OWN_DRAWS, number(arrivals, i, seq))
        if drawn < watch.chance[0]:
            if watch.now.held >= room or withsets.filled(watch.sets, bags, i, room) > 1.0:
                sweep(watch, bags, room, streams, arrivals.times[i])
            if drawn < watch.chance[0]:
                keep(watch, arrivals, bags, i, seq, drawn, joins, had_before(feed, seq))
        watch.came[s] += 1
