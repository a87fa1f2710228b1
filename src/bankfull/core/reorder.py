"""Rows of one stream, brought into the order of their times.

Where the order of tuples matters (count windows), a row waits until no earlier one can follow:
until the stream's own frontier has passed it. Rows of equal time keep their order of arrival.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


class Reorder:
    """The waiting rows of one stream, sorted by time."""

    def __init__(self, schema: pa.Schema) -> None:
        self.rows = pa.RecordBatch.from_arrays([pa.nulls(0, f.type) for f in schema], schema=schema)
        self.times: NDArray[np.int64] = np.zeros(0, np.int64)

    def hold(self, rows: pa.RecordBatch, times: NDArray[np.int64]) -> None:
        """Take new rows in."""
        if len(self.times):
            rows = pa.concat_batches([self.rows, rows])
            times = np.concatenate([self.times, times])
        self.rows, self.times = in_order(rows, times)

    def release(self, frontier: int) -> tuple[pa.RecordBatch, NDArray[np.int64]]:
        """Return the rows that the frontier has reached, in order."""
        rows, times = self.rows, self.times
        ready = int(np.searchsorted(times, frontier, side="right"))
        self.rows, self.times = rows.slice(ready), times[ready:]
        return rows.slice(0, ready), times[:ready]


def in_order(
    rows: pa.RecordBatch, times: NDArray[np.int64]
) -> tuple[pa.RecordBatch, NDArray[np.int64]]:
    """Sort rows by time, keeping the order of arrival among equals."""
    if (times[1:] >= times[:-1]).all():
        return rows, times
    order = np.argsort(times, kind="stable")
    return rows.take(pa.array(order)), times[order]
