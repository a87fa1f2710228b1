"""Compare with the basic windows that have returned most.

Reference: Gedik, Wu, Yu, Liu, *CPU Load Shedding for Binary Stream Joins*, Algorithms 2 and 3.
Deviations: what was seen fades instead of being thrown away every T_c; its mean age is the same.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bankfull.adapt.parts import best_first, filled, fraction
from bankfull.core.comparing.work import Float64, Work


class Correlation:
    """The same part of both windows, the basic windows with most results a pair first."""

    by_size: ClassVar[bool] = False
    by_importance: ClassVar[bool] = False
    drops: ClassVar[bool] = False
    foresees: ClassVar[bool] = False
    remembers: ClassVar[float] = 0.0

    def choose(self, works: list[Work], budget: float) -> list[Float64]:
        """Return the share that is compared of every basic window, for each join."""
        r = fraction(works, budget)
        return [filled(work, best_first(work), np.full(work.arrivals.shape, r)) for work in works]
