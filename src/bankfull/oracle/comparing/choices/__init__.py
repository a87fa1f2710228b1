"""The ways to choose what is compared, as their definitions read; one file each."""

from __future__ import annotations

from typing import Protocol

from bankfull.oracle.comparing.choices.auto import Auto
from bankfull.oracle.comparing.choices.correlation import Correlation
from bankfull.oracle.comparing.choices.direction import Direction
from bankfull.oracle.comparing.choices.drop import Drop
from bankfull.oracle.comparing.choices.rate import Rate
from bankfull.oracle.comparing.choices.utility import Utility
from bankfull.oracle.comparing.work import Choice, Work


class Algorithm(Protocol):
    """A way to choose; which classes it tells apart, and whether it drops tuples instead.

    Of so many results a basic window what it ``remembers`` is at the least, or 0.
    """

    by_size: bool
    by_importance: bool
    drops: bool
    remembers: float

    def choose(self, works: list[Work], budget: float) -> list[Choice]:
        """Return what each join compares with so many comparisons."""


#: Every twin by the public name of its algorithm.
TWINS: dict[str, Algorithm] = {
    "auto": Auto(),
    "rate": Rate(),
    "correlation": Correlation(),
    "direction": Direction(),
    "utility": Utility(),
    "drop": Drop(),
}

__all__ = ["TWINS", "Algorithm"]
