"""Times: integers and timestamps of any unit, drawn as ticks of the coarsest unit in use.

Streams of a case may tell the time in different units. A *tick* is one unit of the coarsest of
them, so that most times and all windows coincide; finer streams are sometimes one of their own
units off, which is where a window's edge is decided.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
from hypothesis import strategies as st

from bankfull.spec import Duration, Ticks

SECOND = 1_000_000_000
DAY = 86_400 * SECOND
UNITS = {"s": SECOND, "ms": 1_000_000, "us": 1_000, "ns": 1}

INTEGERS = tuple(
    getattr(pa, name)()
    for name in ("int64", "int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64")
)
_DATES = (pa.date32(), pa.date64())
#: Timestamps with a zone and without one do not mix, dates mix with either.
STAMPS = (*(pa.timestamp(unit) for unit in UNITS), *_DATES)
ZONED = (*(pa.timestamp(unit, "UTC") for unit in UNITS), pa.timestamp("ms", "Asia/Tokyo"), *_DATES)


class Moment(NamedTuple):
    """A drawn time: ``tick`` decides the order of arrival, ``None`` replaces it when ``lost``."""

    tick: int
    fine: int
    lost: bool


@dataclass(frozen=True)
class Clock:
    """The time columns of one case."""

    kinds: tuple[pa.DataType, ...]
    origin: int
    integer: bool

    @property
    def tick_ns(self) -> int:
        """How long a tick is: nanoseconds, or one unit of an integer time."""
        return 1 if self.integer else max(_unit(kind) for kind in self.kinds)

    def ticks(self, index: int) -> st.SearchStrategy[Moment]:
        """Draw one row's time."""
        exact = self.integer or _unit(self.kinds[index]) == self.tick_ns
        fine = st.just(0) if exact else st.sampled_from([0, 0, 0, 1, -1])
        lost = st.integers(0, 24).map(lambda number: number == 24)
        return st.builds(Moment, st.integers(0, 15), fine, lost)

    def column(self, index: int, moments: list[Moment], begin: int) -> pa.Array:
        """Build a time column; what its type cannot hold becomes null."""
        kind = self.kinds[index]
        unit = 1 if self.integer else _unit(kind)
        ratio = self.tick_ns // unit
        values = [
            None if moment.lost else (self.origin + begin + moment.tick) * ratio + moment.fine
            for moment in moments
        ]
        if pa.types.is_date64(kind):
            days = [None if value is None else value * (DAY // UNITS["ms"]) for value in values]
            return pa.array(days, pa.int64()).cast(kind)
        width = kind if self.integer else pa.int32() if pa.types.is_date32(kind) else pa.int64()
        return pa.array(values, width).cast(kind)

    def windows(self) -> st.SearchStrategy[Duration | Ticks]:
        """Draw a time window: none, a few ticks, sometimes one unit off, rarely without an end."""
        few = st.integers(0, 6).map(lambda ticks: ticks * self.tick_ns)
        if self.integer:
            return st.one_of(few, few, st.just(2**61 - 1)).map(Ticks)
        finest = min(_unit(kind) for kind in self.kinds)
        off = few.map(lambda length: length + finest)
        return st.one_of(few, few, off, st.just(2**60 - 2**60 % DAY)).map(Duration)

    def lates(self) -> st.SearchStrategy[Duration | Ticks]:
        """Draw a late bound of a few ticks, or none."""
        few = st.integers(0, 4).map(lambda ticks: ticks * self.tick_ns)
        return few.map(Ticks if self.integer else Duration)


@st.composite
def clocks(draw: st.DrawFn, count: int) -> Clock:
    """Draw the time columns' types and where the time begins."""
    pool = draw(st.sampled_from([INTEGERS, STAMPS, ZONED]))
    kinds = tuple(draw(st.sampled_from(pool)) for _ in range(count))
    integer = pool is INTEGERS
    return Clock(kinds, draw(st.sampled_from(_origins(kinds, integer))), integer)


def _origins(kinds: tuple[pa.DataType, ...], integer: bool) -> list[int]:
    """Where the time may begin: at zero, before it, far away, at the edge of what is accepted."""
    if not integer:
        finest, coarsest = min(map(_unit, kinds)), max(map(_unit, kinds))
        edge = (2**62 - 1) * min(finest, SECOND) // coarsest - 10
        edges = [edge, -edge - 20] if finest == coarsest and coarsest <= SECOND else []
        return [0, -7, 15_000 * (DAY // coarsest), *edges]
    if all(kind.equals(pa.int64()) for kind in kinds):
        return [0, -7, 2**40, 2**62 - 11, -(2**62) - 4]
    return [0] if any(pa.types.is_unsigned_integer(kind) for kind in kinds) else [0, -7]


def _unit(kind: pa.DataType) -> int:
    """Return the step in which a column of this type can tell the time."""
    return DAY if pa.types.is_date(kind) else UNITS[kind.unit]
