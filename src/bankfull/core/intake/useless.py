"""Rows that no join can use: a null key equals nothing, so they need not be stored."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bankfull.core.plan import MASK, NEVER, JoinPlan, Plan


def without_keys(plan: Plan, position: int, rows: pa.RecordBatch) -> NDArray[np.bool_] | None:
    """Return which rows of a stream no join can use, or None if all can be used.

    In a window of rows a row counts whether it has a key or not, so there all are kept.
    """
    joins = [join for join in plan.joins if position in join.streams]
    if any(count < NEVER for join in joins for count in join.rows):
        return None
    masked = plan.streams[position].masked
    nulls = any(rows.column(c).null_count for j in joins for c in key_columns(j, position))
    if not (nulls or masked):
        return None
    useless = np.ones(rows.num_rows, np.bool_)
    for join in joins:
        lacking = null_keys(join, position, rows)
        if masked:
            lacking |= (rows.column(MASK).to_numpy() >> join.bit) & 1 == 0
        useless &= lacking
    return useless if useless.any() else None


def null_keys(join: JoinPlan, position: int, rows: pa.RecordBatch) -> NDArray[np.bool_]:
    """Return which rows of a stream have a null where a join compares."""
    lacking = np.zeros(rows.num_rows, np.bool_)
    for column in key_columns(join, position):
        if rows.column(column).null_count:
            lacking |= pc.is_null(rows.column(column)).to_numpy(zero_copy_only=False)
    return lacking


def key_columns(join: JoinPlan, position: int) -> tuple[int, ...]:
    """Return the columns of a stream that a join compares."""
    return join.columns[join.streams.index(position)]
