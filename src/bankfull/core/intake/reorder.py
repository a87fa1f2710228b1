"""Rows of one stream, brought into the order of their times.

Where the order of tuples matters, a row waits until no stream can bring one that comes before it
(``intake.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.intake.content import row_codes
from bankfull.core.intake.times import to_units
from bankfull.core.kept import Numbered
from bankfull.core.plan import StreamPlan


class Reorder:
    """The waiting rows of one stream, sorted by time.

    Rows of equal time keep their order of arrival. Where arrival means nothing (``by_content``,
    on a runtime that brings rows in any order) they are sorted by what they contain. Every row has
    a number, by arrival, under which it is kept.
    """

    scattered = True

    def __init__(self, plan: StreamPlan, by_content: bool = False) -> None:
        self.schema = schema = plan.schema
        self.rows = pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in schema], schema=schema)
        self.times: NDArray[np.int64] = np.zeros(0, np.int64)
        self.numbers: NDArray[np.int64] = np.zeros(0, np.int64)
        self.numbered = 0
        self._plan, self._by_content = plan, by_content

    def hold(self, rows: pa.RecordBatch, times: NDArray[np.int64]) -> None:
        """Take new rows in."""
        numbers = np.arange(self.numbered, self.numbered + len(times), dtype=np.int64)
        self.numbered += len(times)
        if len(self.times):
            rows = pa.concat_batches([self.rows, rows])
            times = np.concatenate([self.times, times])
            numbers = np.concatenate([self.numbers, numbers])
        self._arrange(rows, times, numbers)

    def _arrange(
        self, rows: pa.RecordBatch, times: NDArray[np.int64], numbers: NDArray[np.int64]
    ) -> None:
        if self._by_content:
            order = content_order(lambda which: rows.take(pa.array(which)), times)
        elif (times[1:] >= times[:-1]).all():
            order = None
        else:
            order = np.argsort(times, kind="stable")
        if order is not None and (order[1:] < order[:-1]).any():
            rows, times, numbers = rows.take(pa.array(order)), times[order], numbers[order]
        self.rows, self.times, self.numbers = rows, times, numbers

    def release(self, limit: int) -> tuple[pa.RecordBatch, NDArray[np.int64]]:
        """Return the rows up to this time, in order."""
        rows, times = self.rows, self.times
        ready = int(np.searchsorted(times, limit, side="right"))
        self.rows, self.times, self.numbers = rows.slice(ready), times[ready:], self.numbers[ready:]
        if 2 * len(self.times) < len(times):  # a few rows must not keep the memory of all
            self.rows = pa.concat_batches([self.rows, self.rows.slice(0, 0)])
            self.times, self.numbers = self.times.copy(), self.numbers.copy()
        return rows.slice(0, ready), times[:ready]

    # ---------------------------------------------------------- what is kept (``kept.RowList``)

    @property
    def end(self) -> int:
        """One more than the largest number given so far."""
        return self.numbered

    def alive(self, first: int, end: int) -> int:
        """Return how many rows with these numbers still wait."""
        return int(np.count_nonzero((self.numbers >= first) & (self.numbers < end)))

    def since(self, first: int) -> Iterator[Numbered]:
        """Yield the waiting rows from number ``first`` on."""
        which = np.flatnonzero(self.numbers >= first)
        which = which[np.argsort(self.numbers[which])]
        if len(which):
            yield self.rows.take(pa.array(which)), self.numbers[which]

    def load(self, missed: Iterable[Numbered], alive: NDArray[np.int64], numbered: int) -> None:
        """Hold the rows with the numbers ``alive``: those here and those that were ``missed``."""
        pieces = [(self.rows, self.numbers), *missed]
        rows = pa.concat_batches([batch for batch, _ in pieces])
        numbers = np.concatenate([some for _, some in pieces])
        order = np.argsort(numbers, kind="stable")
        place = order[np.searchsorted(numbers[order], np.sort(alive))]
        rows, numbers = rows.take(pa.array(place)), numbers[place]
        self.numbered = numbered
        times, _ = to_units(rows.column(self._plan.time), self._plan.scale)
        self._arrange(rows, times, numbers)


def content_order(
    take: Callable[[NDArray[np.int64]], pa.RecordBatch], times: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the order of rows by time and, at equal times, by content.

    ``take`` returns rows by their numbers; it is asked for rows of equal times only.
    """
    order = np.argsort(times, kind="stable")
    arranged = times[order]
    equal = np.flatnonzero(arranged[1:] == arranged[:-1])
    if len(equal):
        tied = np.unique(np.concatenate([equal, equal + 1]))
        codes = row_codes(take(order[tied]))
        order[tied] = order[tied][np.lexsort((codes, arranged[tied]))]
    return order


def in_order(
    rows: pa.RecordBatch, times: NDArray[np.int64]
) -> tuple[pa.RecordBatch, NDArray[np.int64]]:
    """Sort rows by time, keeping the order of arrival among equals."""
    if (times[1:] >= times[:-1]).all():
        return rows, times
    order = np.argsort(times, kind="stable")
    return rows.take(pa.array(order)), times[order]
