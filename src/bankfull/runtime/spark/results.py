"""What leaves the operator's stage: rows of results, and one row of counts a micro-batch.

Columns of plain types travel as they are, in the Arrow arrays that the operator made. Spark's
bridge to pandas takes nested columns apart value by value; results that have one are packed into
binary cells instead, and unpacked by a stage of their own (``decode.py``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from bankfull.core import Plan
from bankfull.runtime.spark.columns import COUNTS
from bankfull.runtime.spark.packets import pack

if TYPE_CHECKING:
    import pandas as pd

_CELLS = pa.schema([("rows", pa.binary()), (COUNTS, pa.string())])


def is_packed(plan: Plan) -> bool:
    """Tell whether results travel in cells."""
    return any(pa.types.is_nested(kind) or pa.types.is_null(kind) for kind in plan.schema.types)


def result_schema(plan: Plan) -> pa.Schema:
    """Return the columns that the operator's stage gives: all may be null, for the counts' sake."""
    columns = [field.with_nullable(True) for field in plan.schema]
    return _CELLS if is_packed(plan) else pa.schema([*columns, pa.field(COUNTS, pa.string())])


def result_rows(plan: Plan, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return results as the stage gives them."""
    columns = [pa.array([pack(rows)], pa.binary())] if is_packed(plan) else rows.columns
    nothing = pa.nulls(len(columns[0]), pa.string())
    return pa.RecordBatch.from_arrays([*columns, nothing], schema=result_schema(plan))


def count_row(plan: Plan, line: str) -> pa.RecordBatch:
    """Return the row of counts (``report.counts_line``)."""
    schema = result_schema(plan)
    columns = [pa.nulls(1, kind) for kind in schema.types[:-1]]
    return pa.RecordBatch.from_arrays([*columns, pa.array([line])], schema=schema)


def as_frame(rows: pa.RecordBatch) -> pd.DataFrame:
    """Wrap Arrow columns in a pandas frame, which Spark asks for, without converting them."""
    import pandas as pd

    wrap = pd.arrays.ArrowExtensionArray
    columns = {
        field.name: pd.Series(wrap(values), copy=False)
        for field, values in zip(rows.schema, rows.columns, strict=True)
    }
    return pd.DataFrame(columns, copy=False)
