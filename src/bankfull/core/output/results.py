"""Results as stages hand them on: numbers of tuples, not yet rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bankfull.core.batch import Budget
from bankfull.core.plan import JoinPlan
from bankfull.core.store.log import Log


@dataclass
class Allowance:
    """What a step may still give out."""

    rows: int
    bytes: int

    @classmethod
    def of(cls, budget: Budget) -> Allowance:
        """Return a whole budget."""
        return cls(budget.output_rows, budget.output_bytes)

    @property
    def is_used_up(self) -> bool:
        """Whether nothing more may be given out."""
        return self.rows <= 0 or self.bytes <= 0


@dataclass
class Results:
    """Results of one join: a row of sequence numbers a stream, their times and importance."""

    join: JoinPlan
    logs: list[Log]
    numbers: NDArray[np.int64]
    joined: NDArray[np.int64]
    importance: NDArray[np.float64] | None = None

    def cut(self, stop: int) -> tuple[Results, Results]:
        """Return the results before ``stop`` and a copy of the others."""
        first, rest = slice(stop), slice(stop, None)
        worth = self.importance
        return (
            Results(
                self.join, self.logs, self.numbers[:, first], self.joined[first],
                None if worth is None else worth[first],
            ),
            Results(
                self.join, self.logs, self.numbers[:, rest].copy(), self.joined[rest].copy(),
                None if worth is None else worth[rest].copy(),
            ),
        )  # fmt: skip


def gathered(found: Iterator[Results], allowance: Allowance, most: int) -> Iterator[Results]:
    """Yield small pieces of a join together: rows are written faster many at a time.

    At most half of ``most`` results, or of what may still be given out, wait for others; nobody
    stops reading while any do, so none is lost. They are copied: whoever found them may use the
    same memory again.
    """
    waiting: list[Results] = []
    for results in found:
        enough = min(most, allowance.rows) // 2
        if waiting and waiting[0].join is not results.join:
            yield together(waiting)
            waiting = []
        if not waiting and results.joined.size >= enough:
            yield results
            continue
        waiting.append(results.cut(0)[1])
        if sum(some.joined.size for some in waiting) >= enough:
            yield together(waiting)
            waiting = []
    if waiting:
        yield together(waiting)


def together(pieces: list[Results]) -> Results:
    """Return the results of one join over the same logs as one, in their order."""
    if len(pieces) == 1:
        return pieces[0]
    first = pieces[0]
    importance = [some.importance for some in pieces if some.importance is not None]
    assert len(importance) in (0, len(pieces)), "all of one join have an importance, or none"
    return Results(
        first.join,
        first.logs,
        np.concatenate([some.numbers for some in pieces], axis=1),
        np.concatenate([some.joined for some in pieces]),
        np.concatenate(importance) if importance else None,
    )
