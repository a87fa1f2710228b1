"""Results as record batches: sequence numbers become the columns of all members."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.forms import to_form
from bankfull.core.index import Found
from bankfull.core.log import Log
from bankfull.core.plan import JoinPlan, Plan


def emit(
    plan: Plan,
    join: JoinPlan,
    logs: list[Log],
    found: Found,
    importance: NDArray[np.float64] | None = None,
) -> pa.RecordBatch:
    """Write results in the output schema of the query, with their importance if it has one."""
    arrays: list[pa.Array] = []
    for log, numbers in zip(logs, found.numbers, strict=True):
        numbers = np.ascontiguousarray(numbers)
        payload = log.columns[:-1] if log.plan.masked else log.columns
        arrays.extend(column.gather(numbers) for column in payload)
    joined = found.joined if plan.joined_scale == 1 else found.joined // plan.joined_scale
    time_type = join.schema.field("joined_at").type
    arrays.append(pa.array(joined.copy()).view(time_type))
    if importance is not None and len(arrays) < len(join.schema):
        arrays.append(pa.array(importance))
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
