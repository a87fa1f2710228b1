"""Drop arriving tuples at random, and compare those that are left with everything.

The yardstick that the others are measured by; it learns nothing.
"""

from __future__ import annotations

from typing import ClassVar

from bankfull.core.comparing.work import Float64, Work, nothing_left_out


class Drop:
    """As many tuples of both streams as leave no more pairs than can be compared."""

    by_size: ClassVar[bool] = False
    by_importance: ClassVar[bool] = False
    drops: ClassVar[bool] = True
    foresees: ClassVar[bool] = False
    remembers: ClassVar[float] = 0.0

    def choose(self, works: list[Work], budget: float) -> list[Float64]:
        """Return that everything is compared."""
        return [nothing_left_out(work) for work in works]
