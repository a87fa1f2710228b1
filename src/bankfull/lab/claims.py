"""A claim is a number the paper promises; the verdict is whether ours agree, everywhere or not.

A claim observes one number at each place it speaks of (a setting, a seed) and compares every one
with what is expected. All agree: it *holds*. None: it *fails*. Some: it *depends*, and the report
says where it does not hold. Nothing is averaged before it is judged.

Two more verdicts say that nothing was decided. *Too small to judge*: a quick run has small streams,
few places and one seed, and what it finds may differ from what the declared grid finds, so it
decides only claims that do not depend on size (``at_any_size``). *Not comparable*: there is no
place at which the claim's comparison makes sense, for example because two curves have no distortion
in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import median
from typing import Any

#: One plotted point, flat.
Record = Mapping[str, Any]
#: Where, in words, and the number there.
Observation = tuple[str, float]


@dataclass(frozen=True)
class Points:
    """All points of an experiment; ``settings`` are the fields that say where one was taken."""

    records: Sequence[Record]
    settings: tuple[str, ...]

    def places(
        self, where: Mapping[str, Any], without: Sequence[str] = ()
    ) -> Iterator[tuple[str, list[Record]]]:
        """Group the points by place, told in words, leaving some settings out.

        ``where`` keeps points whose fields have a value, are one of several, or pass a test.
        """
        names = [name for name in self.settings if name not in without]
        groups: dict[str, list[Record]] = {}
        for record in self.records:
            if all(_fits(record.get(name), wanted) for name, wanted in where.items()):
                told = ", ".join(_told(name, record[name]) for name in names if name in record)
                groups.setdefault(told, []).append(record)
        yield from groups.items()


Observer = Callable[[Points], Sequence[Observation]]

HOLDS, FAILS, DEPENDS = "holds", "fails", "depends"
TOO_SMALL, NOT_COMPARABLE = "too small to judge", "not comparable"
VERDICTS = (HOLDS, FAILS, DEPENDS, TOO_SMALL, NOT_COMPARABLE)
_SIGNS = {"at least": "≥", "at most": "≤", "near": "="}
_SHOWN_MAX = 12


@dataclass(frozen=True)
class Claim:
    """What a paper (or we) say of an experiment.

    ``number`` says what is observed (``"gdj / prob"``); ``tolerance`` is in its units. ``reading``
    names the understanding of the paper under which it is judged, where there are several.
    ``at_any_size`` is set for what a small grid decides as a large one does.
    """

    text: str
    number: str
    observe: Observer
    relation: str
    expected: float
    tolerance: float = 0.0
    reading: str = ""
    at_any_size: bool = False

    def __post_init__(self) -> None:
        assert self.relation in _SIGNS, self.relation
        assert self.tolerance >= 0.0

    def agrees(self, number: float) -> bool:
        """Say whether one observation is as expected."""
        if self.relation == "at least":
            return number >= self.expected - self.tolerance
        if self.relation == "at most":
            return number <= self.expected + self.tolerance
        return abs(number - self.expected) <= self.tolerance

    def describe(self) -> dict[str, Any]:
        """Return what is expected as plain values."""
        return {
            "text": self.text,
            "reading": self.reading,
            "expected": self.wording(),
            "tolerance": self.tolerance,
        }

    def wording(self) -> str:
        """Say what is expected.

        >>> Claim("", "gdj / prob", lambda points: [], "at least", 1.0, 0.01).wording()
        'gdj / prob ≥ 1 ± 0.01'
        """
        spare = f" ± {self.tolerance:g}" if self.tolerance else ""
        return f"{self.number} {_SIGNS[self.relation]} {self.expected:g}{spare}"

    def judge(self, points: Points, quick: bool = False) -> dict[str, Any]:
        """Compare what was measured with what is expected.

        An observation that is no number is a place where the comparison makes no sense.
        """
        observed = self.observe(points)
        assert observed, f"nothing to judge {self.text!r} by"
        found = [(where, number) for where, number in observed if isfinite(number)]
        told = {
            "text": self.text,
            "reading": self.reading,
            "expected": self.wording(),
            "not_comparable_at": [where for where, number in observed if not isfinite(number)],
        }
        if not found:
            return told | _undecided(NOT_COMPARABLE)
        numbers = [number for _, number in found]
        missed = [(where, number) for where, number in found if not self.agrees(number)]
        verdict = HOLDS if not missed else FAILS if len(missed) == len(found) else DEPENDS
        if quick and not self.at_any_size:
            verdict = TOO_SMALL
        return told | {
            "measured": round(median(numbers), 6),
            "verdict": verdict,
            "lowest": round(min(numbers), 6),
            "highest": round(max(numbers), 6),
            "agreeing": len(found) - len(missed),
            "observations": len(found),
            "disagreeing_at": [f"{where}: {number:.4g}" for where, number in missed[:_SHOWN_MAX]],
        }


def _undecided(verdict: str) -> dict[str, Any]:
    """Return the fields of a verdict that has no observation to stand on."""
    return {
        "measured": None,
        "verdict": verdict,
        "lowest": None,
        "highest": None,
        "agreeing": 0,
        "observations": 0,
        "disagreeing_at": [],
    }


def _told(name: str, value: Any) -> str:
    return value if isinstance(value, str) else f"{name} {value:g}"


def _fits(given: Any, wanted: Any) -> bool:
    if callable(wanted):
        return bool(wanted(given))
    return bool(given in wanted if isinstance(wanted, tuple) else given == wanted)
