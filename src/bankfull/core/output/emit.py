"""The last stage: results become record batches, a bounded piece at a time.

Results are found as numbers; here they become the columns of all members. What is found beyond the
bounds of a step waits for the next one, as numbers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.output.results import Allowance, Results
from bankfull.core.plan import JoinPlan, Plan
from bankfull.core.stage import Stage, Turn
from bankfull.core.store.columns import Column
from bankfull.core.store.forms import to_form
from bankfull.core.workers import Workers


class Emit(Stage):
    """Writes results out, and holds those that a step may not give out any more.

    Their tuples must stay in the logs until they are written: stages forget tuples only when
    nothing is left to do.
    """

    name: ClassVar[str] = "emit"

    def __init__(self, plan: Plan, workers: Workers) -> None:
        self.plan, self._workers = plan, workers
        self._waiting: deque[Results] = deque()

    @property
    def has_work(self) -> bool:
        """Whether results wait to be written."""
        return bool(self._waiting)

    def advance(self, turn: Turn, found: Iterator[Results]) -> Iterator[Results]:
        """Write what the allowance admits; nothing is found beyond that."""
        self._write(turn)
        while not turn.allowance.is_used_up:
            results = next(found, None)
            if results is None:
                break
            self._waiting.append(results)
            self._write(turn)
        return iter(())

    def _write(self, turn: Turn) -> None:
        while self._waiting and not turn.allowance.is_used_up:
            results = self._waiting.popleft()
            stop, taken = _fitting(results, turn.allowance)
            if stop < results.joined.size:
                results, rest = results.cut(stop)
                self._waiting.appendleft(rest)
            turn.allowance.rows -= stop
            turn.allowance.bytes -= taken
            turn.output.append(emit(self.plan, results, self._workers))


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


def emit(plan: Plan, results: Results, workers: Workers) -> pa.RecordBatch:
    """Write results in the output schema of the query, with their importance if it has one."""
    join = results.join
    arrays = _gathered(results, workers)
    joined = results.joined
    joined = joined.copy() if plan.joined_scale == 1 else joined // plan.joined_scale
    arrays.append(pa.array(joined).view(join.schema.field("joined_at").type))
    if results.importance is not None and len(arrays) < len(join.schema):
        arrays.append(pa.array(results.importance))
    arrays = [to_form(values, kind) for values, kind in zip(arrays, join.schema.types, strict=True)]
    rows = pa.RecordBatch.from_arrays(arrays, schema=join.schema)
    return rows if len(plan.joins) == 1 else _widen(plan, join, rows)


def _gathered(results: Results, workers: Workers) -> list[pa.Array]:
    """Return the columns of all members; threads take every so-manieth column."""
    wanted: list[tuple[Column, NDArray[np.int64]]] = []
    for log, numbers in zip(results.logs, results.numbers, strict=True):
        numbers = np.ascontiguousarray(numbers)
        payload = log.columns[:-1] if log.plan.masked else log.columns
        wanted.extend((column, numbers) for column in payload)
    groups = workers.share(results.joined.size)
    arrays: list[pa.Array] = [None] * len(wanted)

    def gather(group: int) -> None:
        for place in range(group, len(wanted), groups):
            column, numbers = wanted[place]
            arrays[place] = column.gather(numbers)

    workers.run(gather, range(min(groups, len(wanted))))
    return arrays


def _widen(plan: Plan, join: JoinPlan, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Bring the results of one of several joins into their common schema."""
    count = rows.num_rows
    name = pa.array([join.name]).take(pa.array(np.zeros(count, np.int64)))
    arrays = [name]
    for field in list(plan.schema)[1:]:
        position = rows.schema.get_field_index(field.name)
        arrays.append(rows.column(position) if position >= 0 else pa.nulls(count, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=plan.schema)
