"""How several operators of one query share its memory budget.

Each operator gets a part by the rows that came to it, beside a least part that it always has. The
parts follow stream time and content alone: time is divided into *periods* of fixed length, and the
part that holds during a period follows from the rows of the periods before it, which are all known
when its first tuple is processed. How the input was cut into micro-batches leaves no trace.

Every operator knows its own rows and the sum over all operators, of each period. Both are smoothed
alike, so that the parts of all operators add up to one without any of them knowing the others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.core.plan import NEVER, Plan

#: Periods in the longest window. The more, the sooner the parts follow a change.
PERIODS = 4
#: What the rows of a period count for after each further period.
_FADE = 0.75
#: Before the first tuple no period has begun.
_NONE = -(2**62)


class Share(NamedTuple):
    """What an operator has of its query's memory budget, where there are others beside it.

    ``memory`` is its part of the budget, ``equal_part`` an equal part as a multiple of that.
    ``sample_share`` is how much of its part it can fill if all operators draw their samples with
    the same chance.
    """

    memory: float = 1.0
    equal_part: float = 1.0
    sample_share: float = 1.0


def share_of(own: float, total: float, operators: int, least: float) -> Share:
    """Return an operator's part of a budget: by what it gets, beside the least that each one has.

    A sample is one of the whole result only if every operator draws it with the same chance, so
    none makes use of that least part, which is more for those that get little.

    >>> [share_of(own, 8.0, 4, 0.5).memory for own in (6.0, 2.0, 0.0, 0.0)]
    [0.5, 0.25, 0.125, 0.125]
    >>> [share_of(own, 8.0, 4, 0.5).sample_share for own in (6.0, 2.0, 0.0, 0.0)]
    [0.75, 0.5, 0.0, 0.0]
    """
    equal = 1.0 / operators
    by_load = (1.0 - least) * (own / total if total else equal)
    memory = least * equal + by_load
    return Share(memory, equal / memory, by_load / memory if operators > 1 else 1.0)


def least_part(unbiased: bool) -> float:
    """Return the least part, in equal parts: less where all operators sample with one chance."""
    return 0.125 if unbiased else 0.5


class Shares:
    """What one operator knows of the loads, and the part of the budget that follows from it."""

    def __init__(self, period: int, operators: int, least: float) -> None:
        self.period = period
        self.operators = operators
        self.least = least
        #: The last period taken into account, with smoothed rows of this operator and of all.
        self.smoothed = np.array([_NONE, 0.0, 0.0])
        #: Rows of (period, own, all), by period, not taken into account yet.
        self.coming: NDArray[np.int64] = np.zeros((0, 3), np.int64)

    def learn(self, loads: NDArray[np.int64]) -> None:
        """Add rows of (period, own, all); those of periods taken into account came too late."""
        known = np.concatenate([self.coming, loads[loads[:, 0] > self.smoothed[0]]])
        periods, places = np.unique(known[:, 0], return_inverse=True)
        self.coming = np.zeros((len(periods), 3), np.int64)
        self.coming[:, 0] = periods
        np.add.at(self.coming[:, 1:], places, known[:, 1:])

    def next_change(self, time: int) -> int:
        """Return the time from which on another part holds than at ``time``."""
        return (time // self.period + 1) * self.period

    def at(self, time: int) -> Share:
        """Return the part that holds for tuples of this time; times must not go back."""
        past = int(np.searchsorted(self.coming[:, 0], time // self.period))
        for period, own, total in self.coming[:past].tolist():
            last = self.smoothed[0]
            fade = _FADE ** (period - last) if last > _NONE else 0.0
            self.smoothed[:] = (
                period, self.smoothed[1] * fade + own, self.smoothed[2] * fade + total,
            )  # fmt: skip
        self.coming = self.coming[past:]
        return self.now()

    def now(self) -> Share:
        """Return the part that follows from all that was taken into account."""
        own, total = float(self.smoothed[1]), float(self.smoothed[2])
        return share_of(own, total, self.operators, self.least)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all that is known, by name."""
        return {"shares.smoothed": self.smoothed, "shares.coming": self.coming}

    def load(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Take over what :meth:`arrays` gave."""
        self.smoothed, self.coming = arrays["shares.smoothed"], arrays["shares.coming"]


def count_periods(times: NDArray[np.int64], period: int) -> NDArray[np.int64]:
    """Return rows of (period, rows) for these times.

    >>> count_periods(np.array([1, 5, 12, 3]), 10).tolist()
    [[0, 3], [1, 1]]
    """
    periods, counts = np.unique(times // period, return_counts=True)
    return np.stack([periods, counts], axis=1)


def share_period(plan: Plan) -> int:
    """Return for how long the parts of a budget hold that operators share."""
    spans = [span for join in plan.joins for span in join.span if span < NEVER]
    return max(1, max(spans, default=1) // PERIODS)
