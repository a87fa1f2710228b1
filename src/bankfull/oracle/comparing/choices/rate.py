"""The newest part of every window, as large as the comparisons allow (section 4.1)."""

from __future__ import annotations

from bankfull.oracle.comparing.choices.parts import fill, fraction
from bankfull.oracle.comparing.work import Choice, Work


class Rate:
    """Tell no classes apart, and prefer no basic window."""

    by_size = False
    by_importance = False
    drops = False
    remembers = 0.0

    def choose(self, works: list[Work], budget: float) -> list[Choice]:
        """Return what each join compares."""
        r = fraction(works, budget)
        return [
            [[fill(tuples, list(range(work.windows)), r)] for tuples in work.tuples]
            for work in works
        ]
