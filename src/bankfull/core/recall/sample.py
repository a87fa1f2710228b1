"""What a shedding join misses: the sample beside it, and the budget that a recall asked for needs.

Let tuple u be the oldest member of m(u) exact results and of e(u) emitted ones; l(u) = m(u) - e(u)
are missed, L the sum of all l(u). Tuples are kept aside independently, each with its own chance
p(u), by a draw that neither the join nor its policy sees (``kernels/recall/sample.py``). Then

    L' = sum over the kept of l(u) / p(u)

has the mean L, whatever the streams and the policy, and the variance sum l(u)^2 (1 - p(u)) / p(u),
of which V = sum over the kept of (1 - p(u)) (l(u) / p(u))^2 is an unbiased estimate. Nothing is
assumed of keys: that a few of them make most results gives their tuples a larger l(u), of which
many are kept, not one large number that is either in the sample or not (why not a sample of the
keys, which needs the heavy ones known beforehand). ``interval.py`` makes an interval of it.

Memory: an eighth of the budget in tuples, at least 256 and at most 4,096 (:func:`room`), of about
150 bytes each; with joins of more than two streams, 80 bytes more each. Joins on sets keep eight
items a tuple, or fewer tuples. Of a budget in bytes the sample is a part, up to a sixteenth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankfull.core.bounded.arrays import longer
from bankfull.core.plan import NEVER, JoinPlan, Plan
from bankfull.core.recall.interval import Watched
from bankfull.kernels.bounded import memory as m
from bankfull.kernels.bounded.records import (
    CHAIN,
    KEPT,
    KEPT_POST,
    KEPT_SET,
    MEMBERS,
    POSTS_NOW,
    SAMPLE_NOW,
    TOTAL,
    records,
)
from bankfull.kernels.recall import keptsets as ks
from bankfull.kernels.recall import sample as k
from bankfull.spec import Equal

#: Tuples kept aside: this part of the budget, within these bounds.
_PART, _LEAST, _MOST = 8, 256, 4096
#: Of a budget in bytes the sample is a part, of at least so many tuples.
_PART_OF_BYTES, _LEAST_IN_BYTES = 16, 32
#: Tuples between two looks of the controller.
PERIOD = 512
#: How far a budget changes at a time; it shrinks when recall is above its target by more than
#: this part of the loss allowed, or by the last number.
_GROW, _SHRINK, _SLACK, _SLACK_MOST = 2.0, 0.8, 0.2, 0.02
#: A standard error of recall that is small enough to act on.
_SURE = 0.01


def room(plan: Plan, budget: int) -> int:
    """Return how many tuples are kept aside for a budget."""
    assert plan.shed is not None
    if plan.shed.in_bytes:
        return min(max(budget // _PART_OF_BYTES // _bytes_each(plan), _LEAST_IN_BYTES), _MOST)
    return min(max(budget // _PART, _LEAST), _MOST)


def nbytes(plan: Plan, budget: int) -> int:
    """Return what the sample takes of a budget in bytes."""
    return room(plan, budget) * _bytes_each(plan) if can_watch(plan) else 0


def _bytes_each(plan: Plan) -> int:
    """Return what a kept tuple takes at most."""
    joins = len(plan.joins)
    wide = 2 * MEMBERS * joins * any(len(join.streams) > 2 for join in plan.joins)
    listed = 8 * joins * 4  # in arrays of up to four elements for each tuple there is room for
    kept = KEPT.itemsize + (CHAIN.itemsize + 8) * joins + 8 * wide + listed
    if all(isinstance(join.predicate, Equal) for join in plan.joins):
        return kept
    return kept + 8 * (2 * joins + 2) + ks.ITEMS * (16 + 8 + 8 + 8 * joins * 2)


def can_watch(plan: Plan) -> bool:
    """Tell whether recall can be estimated in a query."""
    return can_watch_all(plan.joins)


def can_watch_all(joins: Sequence[JoinPlan]) -> bool:
    """Tell whether recall can be estimated: by time if the streams of a join are more than two.

    Then all windows must be equally long: what came after a tuple is in its window as long as that
    tuple is in its own, and need not be kept one by one.
    """
    return all(
        len(join.streams) == 2 or (len(set(join.span)) == 1 and join.span[0] < NEVER)
        for join in joins
    )


def is_guessed(plan: Plan) -> bool:
    """Tell whether the importance of what is missed is drawn and not known."""
    assert plan.shed is not None
    wide = any(len(join.streams) > 2 for join in plan.joins)
    return wide and any(column >= 0 for column in plan.shed.importance)


def new_watch(plan: Plan, sets: m.SlotSets | None, budget: int) -> k.Watch | None:
    """Return what is known before the first tuple, or None where recall cannot be estimated.

    ``sets`` is what the store knows of them.
    """
    if not can_watch(plan):
        return None
    joins, most = len(plan.joins), room(plan, budget)
    wide = any(len(join.streams) > 2 for join in plan.joins)
    kept = None
    if sets is not None:
        kept = ks.KeptSets(
            posts=records(0, KEPT_POST),
            codes=np.zeros(0, np.uint64),
            weights=np.zeros(0),
            chains=_lists(joins, ks.ITEMS * most // 2),
            heads=records((0, joins), KEPT_SET),
            marks=np.zeros(0, np.int64),
            shared=np.zeros(0),
            at_least=sets.at_least,
            now=_now(POSTS_NOW),
        )
    return k.Watch(
        records(0, KEPT),
        records((0, joins), CHAIN),
        np.zeros((0, joins, MEMBERS, 2)) if wide else None,
        np.zeros((0, joins), np.uint64),
        _lists(joins, most),
        np.zeros(len(plan.streams), np.int64),
        _now(SAMPLE_NOW),
        np.ones(1),
        records(3, TOTAL),
        kept,
    )


def _now(kind: np.dtype[Any]) -> Any:
    """Return a record that says that nothing is free, nothing held."""
    now = records(1, kind)[0]
    now.free = m.NONE
    return now


def _lists(joins: int, most: int) -> NDArray[np.int64]:
    """Return where lists of so many members begin: at twice as many places, of each join."""
    return np.full(joins << (2 * most - 1).bit_length(), m.NONE, np.int64)


def with_room(watch: k.Watch, slots: int, largest: int, weighted: bool) -> k.Watch:
    """Have room for so many tuples, where the largest set that comes has so many items."""
    watch = _with_slots(watch, slots)
    return watch if watch.sets is None else _with_items(watch, slots, largest, weighted)


def _with_slots(watch: k.Watch, slots: int) -> k.Watch:
    have = len(watch.kept)
    if slots <= have:
        return watch
    kept = longer(watch.kept, slots)
    kept.stream[have:] = m.NONE
    kept.next[have:] = [*range(have + 1, slots), int(watch.now.free)]
    watch.now.free = have
    sets = watch.sets
    if sets is not None:
        heads = longer(sets.heads, slots)
        heads.first[have:] = m.NONE
        sets = sets._replace(
            heads=heads,
            marks=longer(sets.marks, slots),
            shared=longer(sets.shared, slots),
        )
    return watch._replace(
        kept=kept,
        chains=longer(watch.chains, slots),
        since=None if watch.since is None else longer(watch.since, slots),
        codes=longer(watch.codes, slots),
        sets=sets,
    )


def _with_items(watch: k.Watch, slots: int, largest: int, weighted: bool) -> k.Watch:
    """Have postings for all slots, and for a set that comes when all of them are taken."""
    kept = watch.sets
    have, now = len(kept.posts), kept.now
    wanted = max(ks.ITEMS * slots, int(now.used), largest) + largest
    if wanted <= have:
        return watch
    posts = longer(kept.posts, wanted)
    posts.kept[have:] = m.NONE
    posts.next[have:] = [*range(have + 1, wanted), int(now.free)]
    now.free = have
    weights = longer(kept.weights, wanted) if weighted else kept.weights
    fresh = kept._replace(posts=posts, codes=longer(kept.codes, wanted), weights=weights)
    return watch._replace(sets=fresh)


def watched(watch: k.Watch, dropped: int) -> Watched:
    """Return what the sample has shown so far; ``dropped`` tuples were shed or evicted."""
    emitted, worth = (float(watch.totals[row].emitted) for row in (k.RESULTS, k.WORTH))
    sampled = float(watch.now.drawn)
    if not dropped:
        return Watched(sampled=sampled, emitted=emitted, worth=worth)
    # No weight may be taken for smaller than that of one result of a tuple drawn next.
    next_one = (1.0 - float(watch.chance[0])) / float(watch.chance[0])
    units = next_one, next_one * (worth / emitted if emitted else 1.0)
    about = []
    for row, unit in zip((k.RESULTS, k.WORTH), units, strict=True):
        given, lost, variance, largest, seen = map(float, watch.totals[row].item())
        about += [given, lost, variance, max(largest, unit) ** 2, seen]
    return Watched(float(dropped), sampled, *about)


def is_due(plan: Plan, seq: int, time: int, last: NDArray[np.int64]) -> bool:
    """Tell whether half a window has gone by since the budget was last looked at.

    A change of the budget shows in the results a window later; who looks more often overshoots.
    """
    spans = [span for join in plan.joins for span in join.span if span < NEVER]
    rows = [count for join in plan.joins for count in join.rows if count < NEVER]
    counted = not rows or 2 * (seq - int(last[0])) >= max(rows) * len(plan.streams)
    return counted and (not spans or 2 * (time - int(last[1])) >= max(spans))


def next_budget(watch: k.Watch, target: float, budget: int) -> int:
    """Return the budget to try next, from what was recently emitted and missed.

    It begins with all there is, so that nothing is lost before it is known what a loss costs, and
    comes down. Recall grows with the budget, ever slower: a budget changed in the ratio in which
    recall misses its target does not pass it. Recall is taken one standard error below its
    estimate. What was seen before counts less from now on: little after a large step, more while
    little was seen.
    """
    recent = watch.totals[k.RECENT]
    lost, variance = float(recent.lost), float(recent.variance)
    if recent.emitted + lost == 0.0:
        return budget
    low = float(recent.emitted) / (float(recent.emitted) + lost + math.sqrt(variance))
    wanted = budget
    if low < target:
        wanted = max(budget + 1, int(budget * min(_GROW, target / max(low, 1e-9))))
    elif low > target + min(_SLACK * (1.0 - target), _SLACK_MOST):
        wanted = max(1, int(budget * max(_SHRINK, target / low)))
    unsure = target * (1.0 - target) * math.sqrt(variance) > _SURE * lost
    fade = 0.25 if wanted > 1.1 * budget else 0.8 if unsure else 0.5
    watch.totals[k.RECENT] = tuple(fade * value for value in recent.item())
    return wanted


__all__ = [
    "PERIOD",
    "is_due",
    "is_guessed",
    "nbytes",
    "new_watch",
    "next_budget",
    "room",
    "watched",
    "with_room",
]
