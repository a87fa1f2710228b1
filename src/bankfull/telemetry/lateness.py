"""How late the late rows were, and which ``late=`` would have kept them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankfull.spec import Duration, Ticks
from bankfull.spec.spans import LONGEST, NANOSECONDS, Span

#: Slices of an octave in which late rows are counted: a percentile is at most 1/32 too large.
_FINE = 32
#: From this share of a stream's rows on, the order in which it was read is the likely cause.
_MANY = 0.1
#: What to do then.
SORT = "sort them by time"
#: The same for files that Spark reads.
SORT_FOR_SPARK = (
    "Spark reads the files of a folder by their times of modification, and files of equal times in "
    "any order; give them times in the order of their rows"
)


@dataclass(frozen=True)
class Lateness:
    """Late rows of one stream: how many of how many, and how far behind the newest they came.

    ``p50`` and ``p99`` are rounded up by a few percent, ``longest`` is exact. ``advice`` is the
    smallest round ``late=`` that would have kept all of them.
    """

    stream: str
    rows: int
    arrived: int
    p50: Span
    p99: Span
    longest: Span
    late: Span
    advice: str
    order: str = SORT

    def __str__(self) -> str:
        said = (
            f"stream {self.stream!r}: {self.rows:,} of {self.arrived:,} rows came later than "
            f"late={_written(self.late)} allows and were not joined; half of them were up to "
            f"{_near(self.p50)} late, 99 % up to {_near(self.p99)}, the latest "
            f"{_near(self.longest)}. "
            f"late={self.advice} would have kept them all"
        )
        if self.rows >= _MANY * self.arrived:
            said += (
                "; so many late rows often mean that files were read in the wrong order: "
                + self.order
            )
        return said

    def as_dict(self) -> dict[str, Any]:
        """Return plain numbers and words, for JSON."""
        spans = {name: _near(getattr(self, name)) for name in ("p50", "p99", "longest", "late")}
        return {"rows": self.rows, "arrived": self.arrived, **spans, "advice": self.advice}


@dataclass
class LateCounts:
    """Late rows of one stream, counted by how late they were, in bounded room.

    ``unit`` is how many nanoseconds a unit of time has, None for whole numbers; ``late`` is the
    stream's bound in units.
    """

    stream: str
    unit: int | None
    late: int
    longest: int = 0
    counts: Counter[int] = field(default_factory=Counter)

    def add(self, late_by: NDArray[np.int64]) -> None:
        """Count rows that came so much later than the newest before them."""
        if not late_by.size:
            return
        self.longest = max(self.longest, int(late_by.max()))
        octaves = np.floor(np.log2(late_by.astype(np.float64)) * _FINE).astype(np.int64)
        numbers, counts = np.unique(octaves, return_counts=True)
        self.counts.update(dict(zip(numbers.tolist(), counts.tolist(), strict=True)))

    def about(self, arrived: int, order: str = SORT) -> Lateness:
        """Return what is known, where so many rows of the stream arrived."""
        longest = self._span(self.longest)
        return Lateness(
            self.stream,
            self.counts.total(),
            arrived,
            self._span(_quantile(self.counts, 0.5, self.longest)),
            self._span(_quantile(self.counts, 0.99, self.longest)),
            longest,
            self._span(self.late),
            _advice(longest),
            order,
        )

    def to_json(self) -> str:
        """Return all of it as text."""
        return json.dumps(vars(self), separators=(",", ":"))

    @classmethod
    def merged(cls, texts: Iterable[str]) -> dict[str, LateCounts]:
        """Add up what several operators wrote with :meth:`to_json`, by stream.

        >>> one = LateCounts("a", None, 5, 7, Counter({90: 2}))
        >>> LateCounts.merged([one.to_json(), one.to_json()])["a"].counts
        Counter({90: 4})
        """
        found: dict[str, LateCounts] = {}
        for text in texts:
            told = json.loads(text)
            counts = Counter({int(number): n for number, n in told["counts"].items()})
            name = told["stream"]
            known = found.setdefault(name, cls(name, told["unit"], told["late"]))
            known.longest = max(known.longest, told["longest"])
            known.counts.update(counts)
        return found

    def _span(self, length: int) -> Span:
        whole = min(length * (self.unit or 1), LONGEST - 1)
        return Ticks(whole) if self.unit is None else Duration(whole)


def _quantile(counts: Counter[int], share: float, longest: int) -> int:
    """Return the upper end of the slice in which a share of the rows ends."""
    left = share * counts.total()
    for number in sorted(counts):
        left -= counts[number]
        if left <= 0:
            return min(longest, int(2 ** ((number + 1) / _FINE)))
    return longest


def _written(length: Span) -> str:
    """Return a length as it would stand in a call."""
    if isinstance(length, Ticks):
        return str(length.count)
    return f'"{length}"'


def _near(length: Span) -> str:
    """Return a length for people: in its largest unit, to three digits.

    >>> _near(Duration(5_430_000_000_000)), _near(Duration(0)), _near(Ticks(7))
    ('1.51 hours', '0 seconds', '7')
    """
    if isinstance(length, Ticks) or not length.nanoseconds:
        return _written(length).strip('"')
    unit, size = [one for one in NANOSECONDS.items() if one[1] <= length.nanoseconds][-1]
    count = f"{length.nanoseconds / size:.3g}"
    return f"{count} {unit}" + ("" if count == "1" else "s")


def _advice(longest: Span) -> str:
    """Return a length in the largest unit of which it has one, rounded up."""
    if isinstance(longest, Ticks):
        return str(longest.count)
    fits = [unit for unit, size in NANOSECONDS.items() if size <= longest.nanoseconds]
    size = NANOSECONDS[fits[-1]]
    rounded = -(-longest.nanoseconds // size) * size
    return _written(Duration(min(rounded, LONGEST - 1)))
