"""How much of the exact result a shedding join has given out, with a confidence interval.

Let tuple u be the older member of m(u) exact results and of e(u) emitted ones; l(u) = m(u) - e(u)
are missed. With E emitted results, which are counted, and L the sum of all l(u), recall is
E / (E + L), so only L is unknown. Tuples are kept aside independently, each with its own chance
p(u), by a draw that neither the join nor its policy sees (``kernels/recall.py``). Then

    L' = sum over the kept of l(u) / p(u)

has the mean L, whatever the streams and the policy, and the variance sum l(u)^2 (1 - p(u)) / p(u),
of which V = sum over the kept of (1 - p(u)) (l(u) / p(u))^2 is an unbiased estimate. Nothing is
assumed of keys: that a few of them make most results gives their tuples a larger l(u), of which
many are kept, not one large number that is either in the sample or not (why not a sample of the
keys, which needs the heavy ones known beforehand).

The interval of L is the gamma interval of a sum of independent terms that are rarely not zero,
with the largest weight as a correction above (Fay and Feuer, 1997); it is right for a handful of
missed results where the normal one is not, and tends to it for many. Below it cannot pass the
missed results actually seen. Recall falls as L grows, so its interval has the same coverage. If
all tuples are kept (p = 1) V is 0 and the interval a point; if nothing was dropped, recall is 1.

Memory: an eighth of the budget in tuples, at least 256 and at most 4,096 (:func:`room`), of about
a hundred bytes each and beside the budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bankfull.core.plan import NEVER, Plan
from bankfull.kernels import memory as m
from bankfull.kernels import recall as k

#: Tuples kept aside: this part of the budget, within these bounds.
_PART, _LEAST, _MOST = 8, 256, 4096
#: What a stored tuple takes about, for budgets in bytes.
_TUPLE_BYTES = 512
#: The normal quantile of a two-sided interval of 95 %.
_QUANTILE = 1.959964

#: Tuples between two looks of the controller, and what it begins with.
PERIOD = 512
START_TUPLES = 256
#: How far a budget changes at a time; it shrinks when recall is above its target by more than
#: this part of the loss allowed, or by the last number.
_GROW, _SHRINK, _SLACK, _SLACK_MOST = 2.0, 0.95, 0.2, 0.02
#: A standard error of recall that is small enough to act on.
_SURE = 0.01


@dataclass(frozen=True, slots=True)
class Recall:
    """Emitted ÷ exact so far, and by importance, each with an interval of 95 %.

    ``sampled_tuples`` is from how many tuples it was estimated.
    """

    estimate: float
    low: float
    high: float
    importance: float
    importance_low: float
    importance_high: float
    sampled_tuples: int


def room(budget: int, in_bytes: bool) -> int:
    """Return how many tuples are kept aside beside a budget."""
    tuples = budget // _TUPLE_BYTES if in_bytes else budget
    return min(max(tuples // _PART, _LEAST), _MOST)


def can_watch(plan: Plan) -> bool:
    """Tell whether recall can be estimated: all joins are of two streams."""
    return all(len(join.streams) == 2 for join in plan.joins)


def new_watch(plan: Plan, most: int) -> k.Watch:
    """Return what is known before the first tuple, to keep up to ``most`` aside one day."""
    joins = len(plan.joins)
    return k.Watch(
        np.zeros((0, k.LINKS + 2 * joins), np.int64),
        np.zeros((0, 4)),
        np.zeros((0, joins), np.uint64),
        np.full(joins << (2 * most - 1).bit_length(), m.NONE, np.int64),
        np.zeros(len(plan.streams), np.int64),
        np.array([m.NONE, 0, 0], np.int64),
        np.ones(1),
        np.zeros((3, 5)),
    )


def with_slots(watch: k.Watch, slots: int) -> k.Watch:
    """Have at least so many slots."""
    have = len(watch.whole)
    if slots <= have:
        return watch
    whole = np.full((slots, watch.whole.shape[1]), m.NONE, np.int64)
    real, codes = np.zeros((slots, 4)), np.zeros((slots, watch.codes.shape[1]), np.uint64)
    whole[:have], real[:have], codes[:have] = watch.whole, watch.real, watch.codes
    whole[have:, k.LINKS] = [*range(have + 1, slots), int(watch.now[k.FREE])]
    watch.now[k.FREE] = have
    return watch._replace(whole=whole, real=real, codes=codes)


def estimate(watch: k.Watch, dropped: int) -> Recall:
    """Return the recall so far; ``dropped`` tuples were shed or evicted."""
    drawn = int(watch.now[k.DRAWN])
    if not dropped:
        return Recall(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, drawn)
    results = _interval(watch.totals[k.RESULTS], float(watch.chance[0]))
    emitted, mean = watch.totals[k.RESULTS, k.EMITTED], 1.0
    if emitted:
        mean = float(watch.totals[k.WORTH, k.EMITTED] / emitted)
    worth = _interval(watch.totals[k.WORTH], float(watch.chance[0]), mean)
    return Recall(*results, *worth, drawn)


def _interval(
    totals: NDArray[np.float64], chance: float, unit: float = 1.0
) -> tuple[float, float, float]:
    """Return recall, its lower and its upper bound, if a result counts about ``unit``."""
    emitted, lost, variance, largest, seen = map(float, totals)
    if emitted + lost == 0.0:
        return 1.0, 0.0, 1.0
    largest = max(largest, unit * (1.0 - chance) / chance)
    least, most = lost, lost
    if variance > 0.0:
        freedom = 2.0 * lost * lost / variance
        least = variance / (2.0 * lost) * _chi_square(freedom, -_student(freedom))
    if largest > 0.0:
        spread, centre = variance + largest * largest, lost + largest
        freedom = 2.0 * centre * centre / spread
        most = spread / (2.0 * centre) * _chi_square(freedom, _student(freedom))
    least, most = min(max(least, seen), lost), max(most, lost)
    if emitted == 0.0:
        return 0.0, 0.0, 0.0 if seen else 1.0
    return emitted / (emitted + lost), emitted / (emitted + most), emitted / (emitted + least)


def _student(freedom: float) -> float:
    """Return the quantile to use where the variance is itself estimated from few terms."""
    return _QUANTILE * (1.0 + (_QUANTILE**2 + 1.0) / (4.0 * max(freedom / 2.0, 2.0)))


def _chi_square(freedom: float, normal: float) -> float:
    """Return the quantile of a chi-square distribution at that of the normal one.

    Reference: Wilson and Hilferty (1931).

    >>> round(_chi_square(2.0, 1.959964), 1), round(_chi_square(20.0, -1.959964), 1)
    (7.3, 9.6)
    """
    spread = 2.0 / (9.0 * freedom)
    return freedom * max(0.0, 1.0 - spread + normal * math.sqrt(spread)) ** 3


def start_budget(budget: int, in_bytes: bool, buffers: int) -> int:
    """Return with how much memory the search for a recall begins."""
    tuples = max(START_TUPLES, 8 * buffers)
    return min(budget, tuples * _TUPLE_BYTES if in_bytes else tuples)


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

    Recall grows with the budget, ever slower: a budget changed in the ratio in which recall misses
    its target does not pass it. Recall is taken one standard error below its estimate. What was
    seen before counts less from now on: little after a large step, more while little was seen.
    """
    recent = watch.totals[k.RECENT]
    lost, variance = float(recent[k.LOST]), float(recent[k.VARIANCE])
    if recent[k.EMITTED] + lost == 0.0:
        return budget
    low = float(recent[k.EMITTED]) / (float(recent[k.EMITTED]) + lost + math.sqrt(variance))
    wanted = budget
    if low < target:
        wanted = max(budget + 1, int(budget * min(_GROW, target / max(low, 1e-9))))
    elif low > target + min(_SLACK * (1.0 - target), _SLACK_MOST):
        wanted = max(1, int(budget * max(_SHRINK, target / low)))
    unsure = target * (1.0 - target) * math.sqrt(variance) > _SURE * lost
    recent *= 0.25 if wanted > 1.1 * budget else 0.8 if unsure else 0.5
    return wanted


__all__ = [
    "PERIOD",
    "Recall",
    "can_watch",
    "estimate",
    "is_due",
    "new_watch",
    "next_budget",
    "room",
    "start_budget",
    "with_slots",
]
