"""Ways to choose what is compared when not everything can be; one file each.

An algorithm is given, for every join, what there is to compare before the next plan and what
comparing has returned so far (:class:`bankfull.core.comparing.work.Work`), and so many comparisons.
It returns how large a part of every basic window a tuple of each class is compared with. To add
one, write such a file, name it in :data:`ALGORITHMS` and in ``spec/comparing.py``, and write its
plain twin in ``oracle/comparing``.
"""

from __future__ import annotations

from bankfull.adapt.auto import Auto
from bankfull.adapt.correlation import Correlation
from bankfull.adapt.direction import Direction
from bankfull.adapt.drop import Drop
from bankfull.adapt.rate import Rate
from bankfull.adapt.utility import Utility
from bankfull.core.plan import Algorithm

#: By their names in a query, with the share of comparisons that goes into learning by default.
ALGORITHMS: dict[str, tuple[Algorithm, float]] = {
    "auto": (Auto(), 0.03),
    "rate": (Rate(), 0.01),
    "correlation": (Correlation(), 0.1),
    "direction": (Direction(), 0.1),
    "utility": (Utility(), 0.1),
    "drop": (Drop(), 0.0),
}

__all__ = ["ALGORITHMS", "Auto", "Correlation", "Direction", "Drop", "Rate", "Utility"]
