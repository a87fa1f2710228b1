"""Who may come in: bad rows are set aside with a reason, late rows are counted out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.bounded.arrays import bad_importance, unknown_type
from bankfull.core.codes.sets import bad_weights
from bankfull.core.intake.text import as_bytes, has_text, is_sound, not_utf8
from bankfull.core.intake.times import null_times, to_units
from bankfull.core.plan import NEVER, Plan, StreamPlan
from bankfull.core.store.forms import may_be_null, to_schema
from bankfull.errors import DataError
from bankfull.spec.predicates import is_weighted

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


def legible(plan: StreamPlan, rows: pa.RecordBatch) -> tuple[pa.RecordBatch | None, bool]:
    """Return a batch in the stream's schema, and whether all its text is UTF-8.

    Without a batch if it has another schema or is damaged. What a schema says of nulls makes no
    difference: a column is stored as one that may have them. Text that is not UTF-8 is no damage
    of the batch: those rows are told apart by :func:`text_checks`.
    """
    given, expected = rows.schema, plan.given
    if given.names != expected.names or may_be_null(given).types != may_be_null(expected).types:
        return None, False
    sound = True
    try:
        for values in rows.columns:
            values.validate(full=False)
            if not pa.types.is_primitive(values.type) and not is_sound(values):
                as_bytes(values).validate(full=True)
                sound = False
    except pa.ArrowException:
        return None, False
    return to_schema(rows, plan.schema), sound


def checks_of(plan: Plan, position: int) -> list[Check]:
    """Return what must hold of the values of a stream, beside its times."""
    checks = [
        Check(join.columns[join.streams.index(position)][0], bad_weights, "bad weight")
        for join in plan.joins
        if is_weighted(join.predicate) and position in join.streams
    ]
    column, worth = plan.importance(position), plan.streams[position].worth
    if column >= 0 and worth is not None:
        checks.append(Check(column, partial(unknown_type, worth=worth), "unknown type"))
    elif column >= 0:
        checks.append(Check(column, bad_importance, "bad importance"))
    return checks


def text_checks(plan: StreamPlan) -> list[Check]:
    """Return the checks of a stream's text, for a batch in which some is not UTF-8."""
    texts = [column for column, kind in enumerate(plan.schema.types) if has_text(kind)]
    return [Check(column, not_utf8, "text is not UTF-8") for column in texts]


def bad_rows(
    plan: StreamPlan, rows: pa.RecordBatch, checks: list[Check]
) -> tuple[NDArray[np.int64], list[tuple[str, NDArray[np.bool_]]]]:
    """Return the times of a batch, and which rows cannot be used, by reason."""
    values = rows.column(plan.time)
    times, outside = to_units(values, plan.scale)
    found = [("null time", null_times(values)), ("time out of range", outside)]
    found += [(check.reason, check.bad(rows.column(check.column))) for check in checks]
    return times, [(reason, mask) for reason, mask in found if mask.any()]


def admit(
    plan: StreamPlan,
    rows: pa.RecordBatch,
    newest: int,
    least: int,
    checks: list[Check],
    strict: bool,
) -> Admitted:
    """Part a batch into rows to store, bad rows and late rows.

    A row is late when its time lies more than the stream's bound before the largest time that
    came earlier, or before ``least``; late rows and bad rows do not move that largest time.
    """
    times, found = bad_rows(plan, rows, checks)
    admitted = Admitted(rows, times, newest)
    bad = np.zeros(len(times), np.bool_)
    for reason, mask in found:
        _set_aside(plan, admitted, mask & ~bad, reason, strict)
        bad |= mask
    if admitted.quarantined:
        admitted.rows = rows.filter(pa.array(~bad))
        admitted.times = times[~bad]
    _part_late(plan, admitted, least, strict)
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


def _part_late(plan: StreamPlan, admitted: Admitted, least: int, strict: bool) -> None:
    times = admitted.times
    if not len(times):
        return
    in_time = times[0] >= max(least, admitted.newest - plan.late)
    if in_time and (times[1:] >= times[:-1]).all():
        admitted.newest = max(admitted.newest, int(times[-1]))
        return
    reached = np.maximum.accumulate(np.maximum(times, admitted.newest))
    before = np.concatenate(([admitted.newest], reached[:-1]))
    late = times < np.maximum(before - plan.late, least)
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
    admitted.newest = max(admitted.newest, int(admitted.times.max(initial=-NEVER)))


def with_reason(rows: pa.RecordBatch, reason: str) -> pa.RecordBatch:
    """Add why the rows were set aside, as a last column; text that is none is left as bytes."""
    columns = [as_bytes(v) if not_utf8(v).any() else v for v in rows.columns]
    rows = pa.RecordBatch.from_arrays(columns, names=rows.schema.names)
    reasons = pa.array([reason]).take(pa.array(np.zeros(rows.num_rows, np.int64)))
    name = REASON
    while name in rows.schema.names:
        name += "_"
    return rows.append_column(name, reasons)
