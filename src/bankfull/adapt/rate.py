"""Compare with the newest part of every window: as much as there is time for.

Reference: Gedik, Wu, Yu, Liu, *CPU Load Shedding for Binary Stream Joins*, section 4.1. How large
the part is where a clock decides is Algorithm 1 (``Comparing.hear``).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from bankfull.adapt.parts import filled, fraction, newest_first
from bankfull.core.comparing.work import Float64, Work


class Rate:
    """The same part of both windows, newest tuples first."""

    by_size: ClassVar[bool] = False
    by_importance: ClassVar[bool] = False
    drops: ClassVar[bool] = False
    foresees: ClassVar[bool] = False
    remembers: ClassVar[float] = 0.0

    def choose(self, works: list[Work], budget: float) -> list[Float64]:
        """Return the share that is compared of every basic window, for each join."""
        r = fraction(works, budget)
        return [filled(work, newest_first(work), np.full(work.arrivals.shape, r)) for work in works]
