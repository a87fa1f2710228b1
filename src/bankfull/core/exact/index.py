"""How a join finds partners: what every index offers, and the clock they share."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.plan import NEVER, JoinPlan
from bankfull.core.store.log import Log
from bankfull.kernels.exact.merge import UNBOUNDED, Clock


class Found(NamedTuple):
    """Results found: a row of sequence numbers a stream, their times, comparisons, any more?"""

    numbers: NDArray[np.int64]
    joined: NDArray[np.int64]
    compared: int
    more: bool


class Index(Protocol):
    """The search structure of one join over the logs of its streams."""

    clock: Clock
    #: How large the hash table is, in bits. Comparisons are counted by its chains, so a restored
    #: index must have the size that it had, which follows from windows long past.
    bits: int
    #: Which part of a window a tuple is compared with.
    selection: Any

    def append(self, side: int, rows: pa.RecordBatch) -> None:
        """Prepare rows that were just stored at the end of a side's log."""

    def is_behind(self, until: int) -> bool:
        """Tell whether stored tuples of a time before ``until`` have not been processed."""

    def advance(self, most: int, until: int) -> Found:
        """Process stored tuples of times before ``until`` until about ``most`` results are found.

        Only an index with one clock may be given another ``until`` than NEVER.
        """

    def leave_out(self, side: int, numbers: NDArray[np.int64]) -> None:
        """Never find these tuples: they were dropped on arrival."""

    def expire(self, side: int, before: int) -> None:
        """Learn that tuples from ``before`` to the log's start have left; called after they did."""

    def resize(self, bits: int) -> None:
        """Have a hash table of this size."""

    def link(self) -> None:
        """Count all stored tuples as processed, without searching for partners."""

    def nbytes(self) -> int:
        """Bytes held outside the logs."""


def new_clock(plan: JoinPlan, logs: list[Log]) -> Clock:
    """Return a clock at the beginning; equal times are ordered by the streams' place."""

    def entries(values: list[int]) -> NDArray[np.int64]:
        return np.array(values, np.int64)

    starts = [log.lanes.start for log in logs]
    return Clock(
        base=entries(starts),
        cursor=entries(starts),
        end=entries(starts),
        low=entries(starts),
        rank=entries(list(plan.streams)),
        span=entries([UNBOUNDED if span == NEVER else span for span in plan.span]),
        rows=entries([UNBOUNDED if rows == NEVER else rows for rows in plan.rows]),
    )


def is_behind(clock: Clock, logs: list[Log], until: int) -> bool:
    """Tell whether tuples of the logs, of times before ``until``, have not been processed."""
    return next_time(clock, logs) < until


def next_time(clock: Clock, logs: list[Log]) -> int:
    """Return the time of the next tuple to process; NEVER when there is none."""
    times = [
        int(log.times.data[int(clock.cursor[k]) - log.lanes.base])
        for k, log in enumerate(logs)
        if int(clock.cursor[k]) < log.lanes.end
    ]
    return min(times, default=NEVER)


def wind(clock: Clock, logs: list[Log], until: int) -> None:
    """Set the clock to where the logs are now, or to where they have tuples of time ``until``."""
    for k, log in enumerate(logs):
        clock.base[k] = log.lanes.base
        clock.end[k] = log.lanes.end
        if until < NEVER:
            first = int(clock.cursor[k])
            coming = log.times.data[first - log.lanes.base : log.lanes.end - log.lanes.base]
            clock.end[k] = first + np.searchsorted(coming, until)
        clock.low[k] = max(clock.low[k], log.lanes.start)
        # Compiled, the kernels do not look whether they stay within their arrays.
        log.lanes.check()
        first, last = log.lanes.base, log.lanes.base + log.lanes.capacity
        assert first <= clock.low[k]
        assert first <= clock.cursor[k] <= clock.end[k] <= last


def rewind(clock: Clock, logs: list[Log]) -> None:
    """Begin a step: arrivals may be earlier than those of the step before."""
    for k, log in enumerate(logs):
        clock.low[k] = log.lanes.start


def unseen(log: Log, rows: pa.RecordBatch, plan: JoinPlan) -> NDArray[np.bool_]:
    """Return which rows this join must not see: it meets them in another operator."""
    if not log.plan.masked:
        return np.zeros(rows.num_rows, np.bool_)
    masks = rows.column(rows.num_columns - 1).to_numpy()
    hidden: NDArray[np.bool_] = (masks >> plan.bit) & 1 == 0
    return hidden


class Room:
    """Room for results, doubled when a single tuple has more than fit."""

    def __init__(self, streams: int) -> None:
        self.numbers = np.empty((streams, 1 << 10), np.int64)
        self.joined = np.empty(1 << 10, np.int64)

    def room(self, most: int) -> None:
        """Provide for at least ``most`` results."""
        if self.joined.size < most:
            self.numbers = np.empty((len(self.numbers), most), np.int64)
            self.joined = np.empty(most, np.int64)
        assert self.numbers.shape[1] == self.joined.size

    def found(self, count: int, compared: int, more: bool) -> Found:
        """Return the first ``count`` results."""
        return Found(self.numbers[:, :count], self.joined[:count], compared, more)


def together(parts: list[Found]) -> Found:
    """Return what several threads found as one, part after part."""
    if len(parts) == 1:
        return parts[0]
    return Found(
        np.concatenate([found.numbers for found in parts], axis=1),
        np.concatenate([found.joined for found in parts]),
        sum(found.compared for found in parts),
        any(found.more for found in parts),
    )
