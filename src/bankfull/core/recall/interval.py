"""Recall with its confidence interval, from counts that can be added up.

Let E results be emitted, which is counted, and L missed, of which ``kernels/recall`` gives an
estimate L' (a sum over a sample) and an estimate V of its variance. Recall is E / (E + L).

The interval of L is the gamma interval of a sum of independent terms that are rarely not zero,
with the largest weight as a correction above (Fay and Feuer, 1997); it is right for a handful of
missed results where the normal one is not, and tends to it for many. Below it cannot pass the
missed results actually seen. Recall falls as L grows, so its interval has the same coverage. If
all tuples are kept (p = 1) V is 0 and the interval a point; if nothing was dropped, recall is 1.

Several operators that share a query's work draw independently of each other: E, L', V and what
was seen are added, and of the largest weights the root of the sum of their squares is taken, which
is never less than the largest of all (and, being a correction above, on the safe side). An operator
that dropped nothing missed nothing, and adds its E alone.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, replace

#: The normal quantile of a two-sided interval of 95 %.
_QUANTILE = 1.959964


@dataclass(frozen=True, slots=True)
class Recall:
    """Emitted ÷ exact so far, and by importance, each with an interval of 95 %.

    ``sampled_tuples`` is from how many tuples it was estimated. The estimate is about tuples whose
    turn has come. While others wait (``waiting_tuples``) nobody knows their results, and the lower
    bounds count them as missing: as many as if results grew with the square of the tuples.
    """

    estimate: float
    low: float
    high: float
    importance: float
    importance_low: float
    importance_high: float
    sampled_tuples: int
    waiting_tuples: int = 0

    def while_waiting(self, waiting: int, processed: int) -> Recall:
        """Return what is known while tuples wait beside those that were processed.

        >>> known = Recall(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9)
        >>> half = known.while_waiting(waiting=50, processed=50)
        >>> half.estimate, half.low, half.high
        (1.0, 0.25, 1.0)
        """
        if not waiting:
            return self
        part = (processed / (processed + waiting)) ** 2
        return replace(
            self,
            low=self.low * part,
            importance_low=self.importance_low * part,
            waiting_tuples=waiting,
        )


@dataclass(frozen=True, slots=True)
class Watched:
    """What recall is estimated from; all of it can be added over operators.

    ``dropped`` and ``sampled`` count tuples. Of results: how many were emitted, how many missed
    (estimated), the variance of that, the square of the largest weight, missed results seen. Then
    the same of their importance.
    """

    dropped: float = 0.0
    sampled: float = 0.0
    emitted: float = 0.0
    missed: float = 0.0
    variance: float = 0.0
    largest: float = 0.0
    seen: float = 0.0
    worth: float = 0.0
    worth_missed: float = 0.0
    worth_variance: float = 0.0
    worth_largest: float = 0.0
    worth_seen: float = 0.0

    def __add__(self, other: Watched) -> Watched:
        return Watched(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    def recall(self) -> Recall:
        """Return the estimate and its interval."""
        results = _interval(self.emitted, self.missed, self.variance, self.largest, self.seen)
        worth = _interval(
            self.worth, self.worth_missed, self.worth_variance, self.worth_largest, self.worth_seen
        )
        if not self.dropped:
            results = worth = (1.0, 1.0, 1.0)
        return Recall(*results, *worth, int(self.sampled))


def _interval(
    emitted: float, missed: float, variance: float, largest: float, seen: float
) -> tuple[float, float, float]:
    """Return recall, its lower and its upper bound."""
    missed, largest = max(missed, 0.0), math.sqrt(largest)
    if emitted + missed == 0.0:
        return 1.0, 0.0, 1.0
    least, most = missed, missed
    if variance > 0.0 and missed > 0.0:
        freedom = 2.0 * missed * missed / variance
        least = variance / (2.0 * missed) * _chi_square(freedom, -_student(freedom))
    if largest > 0.0:
        spread, centre = variance + largest * largest, missed + largest
        freedom = 2.0 * centre * centre / spread
        most = spread / (2.0 * centre) * _chi_square(freedom, _student(freedom))
    least, most = min(max(least, seen), missed), max(most, missed)
    if emitted == 0.0:
        return 0.0, 0.0, 0.0 if seen else 1.0
    return emitted / (emitted + missed), emitted / (emitted + most), emitted / (emitted + least)


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
