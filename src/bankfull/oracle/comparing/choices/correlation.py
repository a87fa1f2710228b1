"""The basic windows that returned most, the same part of both windows (Algorithms 2 and 3)."""

from __future__ import annotations

from bankfull.oracle.comparing.choices.parts import best_first, fill, fraction
from bankfull.oracle.comparing.work import Choice, Work


class Correlation:
    """Tell no classes apart."""

    by_size = False
    by_importance = False
    drops = False
    remembers = 0.0

    def choose(self, works: list[Work], budget: float) -> list[Choice]:
        """Return what each join compares."""
        r = fraction(works, budget)
        return [
            [[fill(tuples, best_first(work, j), r)] for j, tuples in enumerate(work.tuples)]
            for work in works
        ]
