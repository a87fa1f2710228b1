"""What goes into the shedding join and comes out: rows as arrays, plans as arrays.

Arrivals are the tuples of all streams in one order; sizes are in the budget's unit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bankfull.core.codes import keys
from bankfull.core.plan import NEVER, JoinPlan, Plan
from bankfull.core.store.log import Log
from bankfull.kernels.bounded import memory as m
from bankfull.kernels.bounded.matches import Arrivals, Output
from bankfull.kernels.bounded.records import JOIN, MEMBERS, STREAM, records

#: Types of tuples with what each is worth.
Worth = tuple[tuple[str | int, float], ...]
#: The largest importance. The product of five of them, squared for the error of an estimate and
#: added up over all results, is still a number.
IMPORTANCE_MAX = 1e25


def importance_of(rows: pa.RecordBatch, column: int, worth: Worth | None) -> NDArray[np.float64]:
    """Return what every row is worth to a policy: its importance, and 1 without a column of it.

    ``worth`` has the importance of each value, where it is not the value itself.
    """
    if column < 0:
        return np.ones(rows.num_rows)
    if worth is not None:
        each = np.array([amount for _, amount in worth])
        found: NDArray[np.float64] = each[_types(rows.column(column), worth)]
        return found
    values = rows.column(column).cast(pa.float64(), safe=False)
    return values.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def unknown_type(values: pa.Array, worth: Worth) -> NDArray[np.bool_]:
    """Return which values have no importance: null, or not among the types that were given."""
    return _types(values, worth) < 0


def _types(values: pa.Array, worth: Worth) -> NDArray[np.int64]:
    """Return the place of every value among the types; -1 if it is not among them."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if not pa.types.is_integer(values.type):
        values = values.cast(pa.string())
    known = pa.array([value for value, _ in worth]).cast(values.type, safe=False)
    places = pc.index_in(values, value_set=known, skip_nulls=True).fill_null(-1)
    return places.to_numpy(zero_copy_only=False).astype(np.int64)  # type: ignore[no-any-return]


def bad_importance(values: pa.Array) -> NDArray[np.bool_]:
    """Return which values are no importance: null, not above zero, or beyond the bound."""
    numbers = values.cast(pa.float64(), safe=False).fill_null(float("nan"))
    worth = numbers.to_numpy(zero_copy_only=False)
    return ~((worth > 0.0) & (worth <= IMPORTANCE_MAX))  # type: ignore[no-any-return]


def same_keys(join: JoinPlan, logs: list[Log], numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Compare the real keys: 64 bits may agree by chance."""

    def columns(side: int) -> list[pa.Array]:
        rows = np.ascontiguousarray(numbers[side])
        return [logs[side].columns[position].gather(rows) for position in join.columns[side]]

    first, same = columns(0), np.ones(numbers.shape[1], np.bool_)
    for side in range(1, len(logs)):
        same &= keys.equal(first, columns(side), join.types)
    return same


def about_streams(plan: Plan, own: bool) -> Any:
    """Describe the streams for the kernel."""
    about = records(len(plan.streams), STREAM)
    about.oldest = about.newest = m.NONE
    for position in range(len(plan.streams)):
        sides = [(j, j.streams.index(position)) for j in plan.joins if position in j.streams]
        about[position].span = max(join.span[side] for join, side in sides)
        about[position].rows = max(join.rows[side] for join, side in sides)
        # A window by time asks for no number of rows, and one by rows for no time.
        spans = [join.span[side] for join, side in sides if join.span[side] < NEVER]
        rows = [join.rows[side] for join, side in sides if join.rows[side] < NEVER]
        about[position].needed_span = max(spans, default=-1)
        about[position].needed_rows = max(rows, default=0)
        about[position].own_buffer = position if own else 0
        about[position].weighed = plan.shed is not None and plan.shed.importance[position] >= 0
    return about


def about_joins(plan: Plan) -> Any:
    """Describe the joins for the kernel."""
    about = records(len(plan.joins), JOIN)
    for number, join in enumerate(plan.joins):
        width = len(join.streams)
        about[number].width = width
        about[number].members[:width] = join.streams
        about[number].spans[:width] = join.span
        about[number].rows[:width] = join.rows
    return about


def each(arrivals: Arrivals, change: Callable[[Any], Any]) -> Arrivals:
    """Do the same to all arrays."""
    return Arrivals(*map(change, arrivals))


def no_arrivals(joins: int) -> Arrivals:
    """Return no tuples."""
    none = np.zeros(0, np.int64)
    codes, keyed = np.zeros((joins, 0), np.uint64), np.zeros((joins, 0), np.bool_)
    return Arrivals(none, none, none, none, np.zeros(0), codes, keyed, none)


def concatenate(pieces: list[Arrivals], joins: int) -> Arrivals:
    """Put the tuples of several streams one behind the other."""
    together = zip(*[no_arrivals(joins), *pieces], strict=True)
    return Arrivals(*(np.concatenate(values, axis=-1) for values in together))


def longer(values: Any, length: int) -> Any:
    """Return a longer array of the same kind; what is new is zero."""
    more = np.zeros((length, *values.shape[1:]), values.dtype).view(type(values))
    more[: len(values)] = values
    return more


def new_output(room: int, joins: int) -> Output:
    """Return room for so many results, of so many joins."""
    rows, slots, arrivals = np.empty((3, MEMBERS, room), np.int64)
    which, times = np.empty((2, room), np.int64)
    at, compared = np.zeros(MEMBERS, np.int64), np.zeros((2, joins), np.int64)
    return Output(which, rows, slots, arrivals, times, np.empty(room), at, compared)
