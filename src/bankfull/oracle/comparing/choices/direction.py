"""The window that returns more first, and the other with what is left (Algorithm 4)."""

from __future__ import annotations

from bankfull.oracle.comparing.choices.parts import best_first, fill, fraction, mean_results
from bankfull.oracle.comparing.work import Choice, Work


class Direction:
    """Tell no classes apart."""

    by_size = False
    by_importance = False
    drops = False
    remembers = 0.0

    def choose(self, works: list[Work], budget: float) -> list[Choice]:
        """Return what each join compares."""
        r = fraction(works, budget)
        chosen = []
        for work in works:
            parts = self._parts(work, r)
            chosen.append([[fill(work.tuples[j], best_first(work, j), parts[j])] for j in range(2)])
        return chosen

    def _parts(self, work: Work, r: float) -> tuple[float, float]:
        """Return r1 and r2, such that ``r (D1 + D2) = r1 D1 + r2 D2`` with the demands D."""
        first, second = work.demand_of(0), work.demand_of(1)
        if r >= 1.0 or first <= 0.0 or second <= 0.0:
            return r, r
        o = [mean_results(work, j) for j in range(2)]
        total = r * (first + second)
        better, other = (first, second) if o[0] >= o[1] else (second, first)
        parts = min(1.0, total / better), 0.0
        if total > better:
            parts = 1.0, min(1.0, (total - better) / other)
        return parts if o[0] >= o[1] else (parts[1], parts[0])
