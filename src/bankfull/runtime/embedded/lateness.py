"""How late the late rows were, and which ``late=`` would have kept them."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.assemble.times import query_unit
from bankfull.core import Plan, State
from bankfull.core.forms import to_schema
from bankfull.core.times import null_times, to_units
from bankfull.spec import Duration, Ticks
from bankfull.spec.spans import LONGEST, NANOSECONDS, Span

#: Slices of an octave in which late rows are counted: a percentile is at most 1/32 too large.
_FINE = 32
#: From this share of a stream's rows on, the order in which it was read is the likely cause.
_MANY = 0.1

log = logging.getLogger("bankfull")


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

    def __str__(self) -> str:
        said = (
            f"stream {self.stream!r}: {self.rows:,} of {self.arrived:,} rows came later than "
            f"late={_written(self.late)} allows and were not joined; half of them were up to "
            f"{self.p50} late, 99 % up to {self.p99}, the latest {self.longest}. "
            f"late={self.advice} would have kept them all"
        )
        if self.rows >= _MANY * self.arrived:
            said += (
                "; so many late rows often mean that files were read in the wrong order: sort "
                "them by time"
            )
        return said


class LateRows:
    """Counts late rows by how late they were, in bounded room."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        schemas = {stream.name: stream.given for stream in plan.streams}
        self.unit = query_unit(plan.query, schemas)
        self._counts: dict[str, Counter[int]] = {}
        self._longest: dict[str, int] = {}

    def note(self, state: State, name: str, rows: pa.RecordBatch, reached: int) -> None:
        """Count the late rows of a batch that was taken in when time had come to ``reached``."""
        source = next(one for one in state.inputs if one.plan.name == name)
        rows = to_schema(rows, source.plan.schema)
        values = rows.column(source.plan.time)
        times, bad = to_units(values, source.plan.scale)
        bad = bad | null_times(values)
        for check in source.checks:
            bad = bad | check.bad(rows.column(check.column))
        times = times[~bad]
        before = np.maximum.accumulate(np.append(reached, times))[:-1]
        self._add(name, (before - times)[times < before - source.plan.late])

    def _add(self, name: str, late_by: NDArray[np.int64]) -> None:
        if not late_by.size:
            return
        longest = int(late_by.max())
        self._longest[name] = max(longest, self._longest.get(name, 0))
        octaves = np.floor(np.log2(late_by.astype(np.float64)) * _FINE).astype(np.int64)
        numbers, counts = np.unique(octaves, return_counts=True)
        found = dict(zip(numbers.tolist(), counts.tolist(), strict=True))
        self._counts.setdefault(name, Counter()).update(found)

    def report(self, state: State) -> dict[str, Lateness]:
        """Return what is known, of the streams that had late rows."""
        return {name: self._about(state, name) for name in self._counts}

    def warn(self, state: State) -> None:
        """Say it aloud."""
        for about in self.report(state).values():
            log.warning("%s", about)

    def _about(self, state: State, name: str) -> Lateness:
        counts, longest = self._counts[name], self._longest[name]
        return Lateness(
            name,
            counts.total(),
            state.ledger.streams[name].arrived,
            self._span(_quantile(counts, 0.5, longest)),
            self._span(_quantile(counts, 0.99, longest)),
            self._span(longest),
            self.plan.query.stream(name).late,
            _advice(self._span(longest)),
        )

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


def _advice(longest: Span) -> str:
    """Return a length in the largest unit of which it has one, rounded up."""
    if isinstance(longest, Ticks):
        return str(longest.count)
    fits = [unit for unit, size in NANOSECONDS.items() if size <= longest.nanoseconds]
    size = NANOSECONDS[fits[-1]]
    rounded = -(-longest.nanoseconds // size) * size
    return _written(Duration(min(rounded, LONGEST - 1)))
