"""The stored tuples of one stream: an append-only log, divided into basic windows.

A basic window (a *pane*) is a slice of the log, the unit in which tuples expire and in which
state is kept. Panes are aligned to multiples of their length, so how the input was cut into
batches leaves no trace.

Reference: Gedik, Wu, Yu, Liu, *CPU Load Shedding for Binary Stream Joins*, section 5.1.
Deviations: panes begin at fixed multiples instead of at the first tuple; a search still checks
every tuple's own time, so results do not depend on the pane length.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.kept import Numbered
from bankfull.core.plan import HOME, MASK, NEVER, StreamPlan
from bankfull.core.store.columns import Column, column
from bankfull.core.store.lanes import Lane, Lanes
from bankfull.core.workers import Workers

#: Up to so many borders of panes are looked up one by one; to divide all times takes longer.
_FEW_PANES = 64
#: Rows are written down in pieces of this many bytes: Arrow counts those of text in 32 bits.
_PIECE_BYTES = 64 << 20


@dataclass(slots=True)
class Pane:
    """A basic window: its first tuple, and a time that none of its tuples exceeds."""

    first: int
    latest: int


def home_rows(masks: pa.Array) -> int:
    """Return how many rows with these masks are counted."""
    return int(np.count_nonzero(masks.to_numpy() & HOME))


def counted_rows(plan: StreamPlan, rows: pa.RecordBatch) -> int:
    """Return how many of these rows of a stream the ledger counts: of copies, only one."""
    return home_rows(rows.column(MASK)) if plan.masked else int(rows.num_rows)


def uncounted(plan: StreamPlan, rows: pa.RecordBatch) -> NDArray[np.int64]:
    """Return 1 for every row of a stream of which the ledger counts another copy."""
    if not plan.masked:
        return np.zeros(rows.num_rows, np.int64)
    copies: NDArray[np.int64] = (rows.column(MASK).to_numpy() & HOME == 0).astype(np.int64)
    return copies


class Log:
    """Times, payload columns and panes of one stream."""

    def __init__(self, plan: StreamPlan, first: int = 0, workers: Workers | None = None) -> None:
        self.plan = plan
        self.lanes = Lanes(first, workers)
        self.times: Lane[np.int64] = self.lanes.add(np.dtype(np.int64))
        self.columns: list[Column] = [column(self.lanes, field.type) for field in plan.schema]
        self.panes: deque[Pane] = deque()
        self._newest = -NEVER
        self._pane: int | None = None

    @property
    def stored(self) -> int:
        """Number of stored tuples."""
        return self.lanes.end - self.lanes.start

    def forget_all(self) -> None:
        """Forget all tuples."""
        self.panes.clear()
        self.lanes.expire(self.lanes.end)
        for stored in self.columns:
            stored.expire(self.lanes.end)

    def begin_at(self, first: int) -> None:
        """Give the next tuple this number; nothing may be stored."""
        assert self.lanes.start == self.lanes.end <= first
        self.lanes.base = self.lanes.start = self.lanes.end = first

    def append(self, rows: pa.RecordBatch, times: NDArray[np.int64]) -> None:
        """Store rows in the order given."""
        for store in self.parts(rows, times):
            store()

    def parts(self, rows: pa.RecordBatch, times: NDArray[np.int64]) -> list[Callable[[], None]]:
        """Make room for rows, and return what stores them: calls that may run at the same time."""
        if len(times) == 0:
            return []
        first = self.lanes.end
        self.lanes.extend(len(times))
        columns = zip(self.columns, rows.columns, strict=True)
        return [
            partial(self._place, times, first),
            *(partial(stored.append, values) for stored, values in columns),
        ]

    def _place(self, times: NDArray[np.int64], first: int) -> None:
        """Store the times of new tuples, and open the panes that they need."""
        self.times.tail(len(times))[:] = times
        self._divide(times, first)

    def _divide(self, times: NDArray[np.int64], first: int) -> None:
        """Open the panes that these tuples need."""
        newest = np.maximum(times, self._newest)
        if (newest[1:] < newest[:-1]).any():  # hardly ever; to look is much faster than to do
            newest = np.maximum.accumulate(newest)
        if self.plan.pane_rows < NEVER:
            values, length = np.arange(first, first + len(times)), self.plan.pane_rows
        else:
            values, length = newest, self.plan.pane_span
        if self._pane is None:
            self._pane = int(values[0]) // length - 1
        bounds = [*_cuts(values, length, self._pane), len(times)]
        if bounds[0] > 0:  # the first rows continue the open pane, if it is still here
            if not self.panes:
                self.panes.append(Pane(first, 0))
            self.panes[-1].latest = int(newest[bounds[0] - 1])
        for begin, end in pairwise(bounds):
            self.panes.append(Pane(first + begin, int(newest[end - 1])))
        self._pane = int(values[-1]) // length
        self._newest = int(newest[-1])

    def expire(self, useless: int, oldest: int) -> int:
        """Forget panes before tuple ``useless`` whose times all lie before ``oldest``.

        Returns the number of tuples forgotten.
        """
        before = self.lanes.start
        while self.panes:
            end = self.panes[1].first if len(self.panes) > 1 else self.lanes.end
            if end > useless or self.panes[0].latest >= oldest:
                break
            self.panes.popleft()
            self.lanes.expire(end)
        if self.lanes.start > before:
            for stored in self.columns:
                stored.expire(self.lanes.start)
        return self.lanes.start - before

    def describe(self) -> dict[str, Any]:
        """Return where the log stands, as plain data, without its rows."""
        return {
            "first": self.lanes.start,
            "log_newest": self._newest,
            "pane": self._pane,
            "panes": [[pane.first, pane.latest] for pane in self.panes],
        }

    def resume(self, described: dict[str, Any]) -> None:
        """Stand where another log stood, whose rows were appended here."""
        self._newest, self._pane = described["log_newest"], described["pane"]
        self.lanes.expire(described["first"])
        for stored in self.columns:
            stored.expire(self.lanes.start)
        self.panes = deque(Pane(first, latest) for first, latest in described["panes"])

    def counted(self, start: int, stop: int) -> int:
        """Return how many of these tuples the ledger counts: of copies, only one."""
        if not self.plan.masked:
            return stop - start
        mask = self.columns[-1]
        return home_rows(mask.gather(np.arange(start, stop, dtype=np.int64)))

    def counted_of(self, numbers: NDArray[np.int64]) -> int:
        """Return how many of some tuples the ledger counts."""
        return home_rows(self.columns[-1].gather(numbers)) if self.plan.masked else len(numbers)

    def rows(self, start: int, stop: int) -> pa.RecordBatch:
        """Return stored tuples as a record batch."""
        return self.gather(np.arange(start, stop, dtype=np.int64))

    def fit(self, numbers: NDArray[np.int64], most_bytes: int) -> int:
        """Return how many of these tuples take no more than so many bytes, at least one."""
        if self.row_bytes_most() * len(numbers) <= most_bytes:
            return len(numbers)
        sums = np.cumsum(self.row_bytes(numbers))
        return max(1, int(np.searchsorted(sums, most_bytes, side="right")))

    def gather(self, numbers: NDArray[np.int64]) -> pa.RecordBatch:
        """Return the tuples with these sequence numbers as a record batch."""
        arrays = [stored.gather(numbers) for stored in self.columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self.plan.schema)

    def row_bytes_most(self) -> int:
        """Return an upper bound for the bytes of any stored tuple's payload."""
        return sum(stored.row_bytes_most() for stored in self.columns)

    def row_bytes(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the bytes of the payload of the tuples with these sequence numbers."""
        sizes = np.zeros(len(numbers), np.int64)
        for stored in self.columns:
            sizes += stored.row_bytes(numbers)
        return sizes

    def nbytes(self) -> int:
        """Bytes held: lanes (also those of indexes) and Arrow chunks."""
        return self.lanes.nbytes() + sum(stored.nbytes() for stored in self.columns)


def _cuts(values: NDArray[np.int64], length: int, pane: int) -> list[int]:
    """Return where ascending values enter another multiple of ``length``; they were in ``pane``.

    >>> _cuts(np.array([3, 5, 9, 10, 31]), 10, 0)
    [3, 4]
    """
    crossed = int(values[-1]) // length - pane
    if crossed > _FEW_PANES:
        return [int(cut) for cut in np.flatnonzero(np.diff(values // length, prepend=pane))]
    cuts = np.searchsorted(values, [(pane + k) * length for k in range(1, crossed + 1)])
    return sorted({int(cut) for cut in cuts})


class LogRows:
    """The rows of a log as they are kept for good (``kept.RowList``)."""

    scattered = False

    def __init__(self, log: Log) -> None:
        self._log, self.schema = log, log.plan.schema

    @property
    def end(self) -> int:
        """One more than the number of the newest tuple."""
        return self._log.lanes.end

    def alive(self, first: int, end: int) -> int:
        """Return how many of these tuples are stored."""
        lanes = self._log.lanes
        return max(0, min(end, lanes.end) - max(first, lanes.start))

    def since(self, first: int) -> Iterator[Numbered]:
        """Yield the stored tuples from number ``first`` on, in pieces of bounded size."""
        numbers = np.arange(max(first, self._log.lanes.start), self.end, dtype=np.int64)
        while numbers.size:
            count = self._log.fit(numbers, _PIECE_BYTES)
            yield self._log.gather(numbers[:count]), numbers[:count]
            numbers = numbers[count:]
