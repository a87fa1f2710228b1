"""What the experiments of this paper have in common."""

from __future__ import annotations

from typing import Any

from bankfull.lab.claims import Claim
from bankfull.lab.observers import ratio
from bankfull.lab.systems import HINDSIGHT

STREAMS = ("synthetic", "stock-like", "dew point", "tail number")
OUTPUT = "share of the exact output"
#: Results may differ by one per cent and count as equal.
EQUAL = 0.01


def above(other: str, told: str, **where: Any) -> Claim:
    """Claim that GDJ gives more than another policy."""
    return Claim(
        f"GDJ gives more than {other.upper()} {told}",
        f"{HINDSIGHT} / {other}",
        ratio(HINDSIGHT, other, **where),
        "at least",
        1.0,
        EQUAL,
    )
