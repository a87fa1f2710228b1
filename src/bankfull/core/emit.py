"""Results as record batches: sequence numbers become the columns of all members.

Results are found as numbers and written out in pieces of bounded size. What is found beyond the
bounds of a step stays in the :class:`Backlog`, as numbers, until the next one.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.batch import Budget
from bankfull.core.forms import to_form
from bankfull.core.log import Log
from bankfull.core.plan import JoinPlan, Plan


@dataclass
class Allowance:
    """What a step may still give out."""

    rows: int
    bytes: int

    @classmethod
    def of(cls, budget: Budget) -> Allowance:
        """Return a whole budget."""
        return cls(budget.output_rows, budget.output_bytes)

    @property
    def is_used_up(self) -> bool:
        """Whether nothing more may be given out."""
        return self.rows <= 0 or self.bytes <= 0


@dataclass
class Results:
    """Results of one join: a row of sequence numbers a stream, their times and importance."""

    join: JoinPlan
    logs: list[Log]
    numbers: NDArray[np.int64]
    joined: NDArray[np.int64]
    importance: NDArray[np.float64] | None = None

    def cut(self, stop: int) -> tuple[Results, Results]:
        """Return the results before ``stop`` and a copy of the others."""
        first, rest = slice(stop), slice(stop, None)
        worth = self.importance
        return (
            Results(
                self.join, self.logs, self.numbers[:, first], self.joined[first],
                None if worth is None else worth[first],
            ),
            Results(
                self.join, self.logs, self.numbers[:, rest].copy(), self.joined[rest].copy(),
                None if worth is None else worth[rest].copy(),
            ),
        )  # fmt: skip


class Backlog:
    """Results found and not given out yet; their tuples must stay in the logs until they are."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._waiting: deque[Results] = deque()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, results: Results) -> None:
        """Take results in; their arrays may be used for others after the next :meth:`give`."""
        self._waiting.append(results)

    def give(self, allowance: Allowance) -> list[pa.RecordBatch]:
        """Write out what the allowance admits, and charge it."""
        output = []
        while self._waiting and not allowance.is_used_up:
            results = self._waiting.popleft()
            stop, taken = _fitting(results, allowance)
            if stop < results.joined.size:
                results, rest = results.cut(stop)
                self._waiting.appendleft(rest)
            allowance.rows -= stop
            allowance.bytes -= taken
            output.append(emit(self.plan, results))
        return output


def _fitting(results: Results, allowance: Allowance) -> tuple[int, int]:
    """Return how many results fit an allowance, at least one, and the bytes that they take."""
    count = min(results.joined.size, allowance.rows)
    most = sum(log.row_bytes_most() for log in results.logs)
    if most * count <= allowance.bytes:
        return count, most * count
    sizes = np.zeros(count, np.int64)
    for log, numbers in zip(results.logs, results.numbers, strict=True):
        sizes += log.row_bytes(numbers[:count])
    sums = np.cumsum(sizes)
    stop = max(1, int(np.searchsorted(sums, allowance.bytes, side="right")))
    return stop, int(sums[stop - 1])


def emit(plan: Plan, results: Results) -> pa.RecordBatch:
    """Write results in the output schema of the query, with their importance if it has one."""
    arrays: list[pa.Array] = []
    join = results.join
    for log, numbers in zip(results.logs, results.numbers, strict=True):
        numbers = np.ascontiguousarray(numbers)
        payload = log.columns[:-1] if log.plan.masked else log.columns
        arrays.extend(column.gather(numbers) for column in payload)
    joined = results.joined
    joined = joined.copy() if plan.joined_scale == 1 else joined // plan.joined_scale
    arrays.append(pa.array(joined).view(join.schema.field("joined_at").type))
    if results.importance is not None and len(arrays) < len(join.schema):
        arrays.append(pa.array(results.importance))
    arrays = [to_form(values, kind) for values, kind in zip(arrays, join.schema.types, strict=True)]
    rows = pa.RecordBatch.from_arrays(arrays, schema=join.schema)
    return rows if len(plan.joins) == 1 else _widen(plan, join, rows)


def _widen(plan: Plan, join: JoinPlan, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Bring the results of one of several joins into their common schema."""
    count = rows.num_rows
    name = pa.array([join.name]).take(pa.array(np.zeros(count, np.int64)))
    arrays = [name]
    for field in list(plan.schema)[1:]:
        position = rows.schema.get_field_index(field.name)
        arrays.append(rows.column(position) if position >= 0 else pa.nulls(count, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=plan.schema)
