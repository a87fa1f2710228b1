"""Rows of one stream, brought into the order of their times.

Where the order of tuples matters (count windows), a row waits until no earlier one can follow:
until the stream's own frontier has passed it. Rows of equal time keep their order of arrival.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.content import row_codes
from bankfull.core.plan import StreamPlan


class Reorder:
    """The waiting rows of one stream, sorted by time.

    Rows of equal time keep their order of arrival. Where arrival means nothing (``by_content``,
    on a runtime that brings rows in any order) they are sorted by what they contain.
    """

    def __init__(self, plan: StreamPlan, by_content: bool = False) -> None:
        schema = plan.schema
        self.rows = pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in schema], schema=schema)
        self.times: NDArray[np.int64] = np.zeros(0, np.int64)
        self._by_content = by_content

    def hold(self, rows: pa.RecordBatch, times: NDArray[np.int64]) -> None:
        """Take new rows in."""
        if len(self.times):
            rows = pa.concat_batches([self.rows, rows])
            times = np.concatenate([self.times, times])
        if self._by_content:
            order = content_order(lambda which: rows.take(pa.array(which)), times)
            self.rows, self.times = rows.take(pa.array(order)), times[order]
        else:
            self.rows, self.times = in_order(rows, times)

    def release(self, frontier: int) -> tuple[pa.RecordBatch, NDArray[np.int64]]:
        """Return the rows that the frontier has reached, in order."""
        rows, times = self.rows, self.times
        ready = int(np.searchsorted(times, frontier, side="right"))
        self.rows, self.times = rows.slice(ready), times[ready:]
        return rows.slice(0, ready), times[:ready]


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
