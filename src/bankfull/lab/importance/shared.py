"""What the experiments of this paper have in common."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from bankfull.lab.claims import Claim
from bankfull.lab.observers import ratio

QUALITY = "share of the exact importance"
#: From worst to best, as Figures 8 to 10 have them.
ORDER = ("random", "simp", "prob", "simpprob", "dimpprob", "dgl")
ONLINE = (*ORDER, "gain")


def order(told: str, **where: Any) -> tuple[Claim, ...]:
    """Return the published order as one claim a step."""
    return tuple(
        Claim(
            f"{better.upper()} is better than {worse.upper()} {told}",
            f"{better} / {worse}",
            ratio(better, worse, **where),
            "at least",
            1.0,
        )
        for worse, better in pairwise(ORDER)
    )


def near(text: str, number: str, observe: Any, expected: float, tolerance: float) -> Claim:
    """Claim that a number is about what was published."""
    return Claim(text, number, observe, "near", expected, tolerance)
