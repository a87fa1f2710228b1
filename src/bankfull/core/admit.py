"""Who may come in: bad rows are set aside with a reason, late rows are counted out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.plan import StreamPlan
from bankfull.core.times import null_times, to_units
from bankfull.errors import DataError

REASON = "reason"
LATE = "late"


@dataclass(frozen=True)
class Check:
    """Rows that a join cannot use: the column to look at, how, and what to call it."""

    column: int
    bad: Callable[[pa.Array], NDArray[np.bool_]]
    reason: str


@dataclass
class Admitted:
    """Rows to store, their times in arrival order, and the rows set aside by reason."""

    rows: pa.RecordBatch
    times: NDArray[np.int64]
    newest: int
    aside: list[pa.RecordBatch] = field(default_factory=list)
    quarantined: int = 0
    late: int = 0


def conforms(plan: StreamPlan, rows: pa.RecordBatch) -> bool:
    """Whether a batch has the promised schema and holds what Arrow says it holds."""
    if not rows.schema.equals(plan.given, check_metadata=False):
        return False
    try:
        for values in rows.columns:
            values.validate(full=not pa.types.is_primitive(values.type))
    except pa.ArrowException:
        return False
    return True


def admit(
    plan: StreamPlan, rows: pa.RecordBatch, newest: int, checks: list[Check], strict: bool
) -> Admitted:
    """Part a batch into rows to store, bad rows and late rows.

    A row is late when its time lies more than the stream's bound before the largest time that
    came earlier; late rows and bad rows do not move that largest time.
    """
    values = rows.column(plan.time)
    times, outside = to_units(values, plan.scale)
    found = [("null time", null_times(values)), ("time out of range", outside)]
    found += [(check.reason, check.bad(rows.column(check.column))) for check in checks]
    admitted = Admitted(rows, times, newest)
    bad = np.zeros(len(times), np.bool_)
    for reason, mask in found:
        _set_aside(plan, admitted, mask & ~bad, reason, strict)
        bad |= mask
    if admitted.quarantined:
        admitted.rows = rows.filter(pa.array(~bad))
        admitted.times = times[~bad]
    _part_late(plan, admitted, strict)
    return admitted


def _set_aside(
    plan: StreamPlan, admitted: Admitted, mask: NDArray[np.bool_], reason: str, strict: bool
) -> None:
    count = int(mask.sum())
    if not count:
        return
    if strict:
        raise DataError(
            f"stream {plan.name!r}: {count} row(s) with {reason}: mend them, or leave out "
            "strict=True to have them set aside and counted"
        )
    admitted.quarantined += count
    admitted.aside.append(with_reason(admitted.rows.filter(pa.array(mask)), reason))


def _part_late(plan: StreamPlan, admitted: Admitted, strict: bool) -> None:
    times = admitted.times
    if not len(times):
        return
    if times[0] >= admitted.newest - plan.late and (times[1:] >= times[:-1]).all():
        admitted.newest = max(admitted.newest, int(times[-1]))
        return
    reached = np.maximum.accumulate(np.maximum(times, admitted.newest))
    before = np.concatenate(([admitted.newest], reached[:-1]))
    late = times < before - plan.late
    count = int(late.sum())
    if count and strict:
        raise DataError(
            f"stream {plan.name!r}: {count} row(s) came later than late={plan.late} allows: raise "
            "late=, or leave out strict=True to have them set aside and counted"
        )
    if count:
        admitted.late = count
        admitted.aside.append(with_reason(admitted.rows.filter(pa.array(late)), LATE))
        admitted.rows = admitted.rows.filter(pa.array(~late))
        admitted.times = times[~late]
    admitted.newest = int(reached[-1])


def with_reason(rows: pa.RecordBatch, reason: str) -> pa.RecordBatch:
    """Add why the rows were set aside, as a last column."""
    reasons = pa.array([reason]).take(pa.array(np.zeros(rows.num_rows, np.int64)))
    name = REASON
    while name in rows.schema.names:
        name += "_"
    return rows.append_column(name, reasons)
