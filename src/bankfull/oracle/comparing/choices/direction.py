"""The window that returns more first, and the other with what is left (Algorithm 4)."""

from __future__ import annotations

from bankfull.oracle.comparing.choices.parts import best_first, fill, fraction, mean_results
from bankfull.oracle.comparing.work import Choice, Work, over_classes


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
            parts = self._parts(work, r) if work.sides == 2 else self._parts_of_several(work, r)
            chosen.append(
                [
                    [fill(tuples, best_first(work, j), part)]
                    for j, (tuples, part) in enumerate(zip(work.tuples, parts, strict=True))
                ]
            )
        return chosen

    def _parts_of_several(self, work: Work, r: float) -> list[float]:
        """Return the part of each window, the same in all that tuples of a stream search.

        Who returns most a pair is compared first: ``r sum of D_s = sum of r_s D_s``.
        """
        demand, returned = [0.0] * work.sides, []
        for j, arriving in enumerate(work.arriving):
            demand[arriving] += work.demand_of(j)
        for side in range(work.sides):
            own = [j for j, arriving in enumerate(work.arriving) if arriving == side]
            found = sum(sum(over_classes(work.seen.found, j, work.windows)) for j in own)
            pairs = sum(sum(over_classes(work.seen.pairs, j, work.windows)) for j in own)
            returned.append(found / max(pairs, 1.0))
        left, parts = r * sum(demand), [r] * work.sides
        for side in sorted(range(work.sides), key=lambda side: -returned[side]):
            if r < 1.0 and demand[side] > 0.0:
                parts[side] = min(1.0, max(0.0, left / demand[side]))
                left -= demand[side]
        return [parts[arriving] for arriving in work.arriving]

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
