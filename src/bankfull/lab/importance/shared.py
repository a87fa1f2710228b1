"""What the experiments of this paper have in common, and how its open points are read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from bankfull.lab.claims import Claim
from bankfull.lab.generators import IMPORTANCES
from bankfull.lab.observers import ratio
from bankfull.lab.readings import BY_KEY

QUALITY = "share of the exact importance"
#: What PROB estimates matches from (section 5.2), by the name of its curve.
PROBS = {"prob-window": "PROB from the windows", "prob": "PROB from all that has arrived"}
_BELOW, _ABOVE = ("random", "simp"), ("simpprob", "dimpprob", "dgl")
#: What competes; everybody is compared with the same tolerance.
PUBLISHED = (*_BELOW, *PROBS, *_ABOVE)
ONLINE = (*PUBLISHED, "gain")
#: How importance is drawn, which the paper does not print (section 5).
KINDS = {kind: f"importance {kind}" for kind in (*IMPORTANCES, BY_KEY)}
#: The default and the fifth kind, where all would be too many.
TWO_KINDS = {kind: KINDS[kind] for kind in ("rare", BY_KEY)}
#: Importances may differ by one per cent and count as equal, whoever is said to be better.
EQUAL = 0.01


def published(prob: str) -> tuple[str, ...]:
    """Return the published policies from worst to best, as Figures 8 to 10 have them."""
    return (*_BELOW, prob, *_ABOVE)


def order(told: str, kinds: dict[str, str]) -> tuple[Claim, ...]:
    """Return the published order as one claim a step, under every reading that concerns it."""
    found: dict[tuple[str, str, str], Claim] = {}
    for kind, worth in kinds.items():
        for prob, reading in PROBS.items():
            for worse, better in pairwise(published(prob)):
                concerned = prob in (worse, better)
                found.setdefault(
                    (kind, worse, better),
                    Claim(
                        f"{_name(better)} is better than {_name(worse)} {told}",
                        f"{better} / {worse}",
                        ratio(better, worse, kind=kind),
                        "at least",
                        1.0,
                        EQUAL,
                        f"{worth}; {reading}" if concerned else worth,
                    ),
                )
    return tuple(found.values())


def _name(policy: str) -> str:
    return policy.partition("-")[0].upper()


def near(
    text: str, number: str, observe: Any, expected: float, tolerance: float, reading: str = ""
) -> Claim:
    """Claim that a number is about what was published."""
    return Claim(text, number, observe, "near", expected, tolerance, reading)


def others(name: str, prob: str) -> Sequence[str]:
    """Return the published policies beside one of them, with PROB under one reading."""
    return tuple(one for one in published(prob) if one != name)
