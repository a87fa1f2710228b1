"""A memory budget and a policy, resolved against the query and its schemas."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from bankfull.core import JoinPlan
from bankfull.core.plan import NEVER, ShedPlan
from bankfull.core.recall.sample import can_watch_all
from bankfull.errors import PlanError
from bankfull.policies import Policy, Shape, resolve
from bankfull.spec import Bytes, Equal, Query, Shed, Tuples, Utility
from bankfull.spec.overload import COMBINATIONS, LEAST_BYTES

#: A tuple takes at least this much, which bounds how many a budget in bytes can hold.
_LEAST_BYTES = 512
#: More tuples than any window has, and more bytes than any machine: the largest budgets in use. The
#: first is also the one where only the recall bounds memory.
_ENOUGH, _ENOUGH_BYTES = 2**40, 2**50


def has_importance(query: Query) -> bool:
    """Tell whether results carry an importance."""
    return query.shed is not None and any(stream.importance for stream in query.streams)


def shed_plan(
    shed: Shed, query: Query, schemas: Mapping[str, pa.Schema], joins: tuple[JoinPlan, ...]
) -> ShedPlan:
    """Resolve what to keep; say clearly what cannot be."""
    policy = resolve(shed.keep)
    _check_sets(policy, query)
    if shed.recall is not None:
        _check_recall(shed, joins)
    in_bytes = isinstance(shed.memory, Bytes)
    most = _ENOUGH_BYTES if in_bytes else _ENOUGH
    budget = most if shed.memory is None else min(shed.memory.count, most)
    tuples = max(1, budget // _LEAST_BYTES) if in_bytes else budget
    shares = None
    if not isinstance(shed.split, str):
        given = dict(shed.split)
        shares = tuple(given[stream.name] for stream in query.streams)
    proportional = shed.split == "proportional"
    buffers = len(query.streams) if proportional or shares else 1
    least: Bytes | Tuples = Bytes(LEAST_BYTES * buffers) if in_bytes else Tuples(buffers)
    if budget < least.count:
        of = "a buffer for each stream" if buffers > 1 else "one buffer for all streams"
        raise PlanError(
            f"a budget of {shed.memory} is too small for {of} (split=): the smallest is {least}"
        )
    spans = tuple(
        max(join.span[join.streams.index(position)] for join in joins if position in join.streams)
        for position in range(len(query.streams))
    )
    timed = [span for span in spans if span < NEVER]
    counted = [rows for join in joins for rows in join.rows if rows < NEVER]
    scale = float(max(1, *timed)) if timed else -float(max(counted) * len(query.streams))
    return ShedPlan(
        policy,
        Shape(
            tuple(max(1, span) for span in spans),  # policies divide by it
            len(joins),
            scale,
            buffers,
            tuples,
            COMBINATIONS.index(shed.importance),
            shed.seed,
            tuple(_once(query, joins, schemas, k) for k in range(len(query.streams))),
            can_watch_all(joins),
            has_importance(query),
        ),
        budget,
        in_bytes,
        shares,
        proportional,
        tuple(importance_column(query, k, schemas) for k in range(len(query.streams))),
        COMBINATIONS.index(shed.importance),
        shed.sample if isinstance(shed.sample, float | int) else 0.0,
        shed.sample == "unbiased",
        shed.seed,
        shed.recall,
    )


def _once(
    query: Query, joins: tuple[JoinPlan, ...], schemas: Mapping[str, pa.Schema], position: int
) -> bool:
    """Tell whether a tuple of a stream has one partner at most: what it is compared with is unique.

    So it is where the stream is in one join, of two, on keys, and all columns that are unique in
    the other stream are among those compared.
    """
    mine = [join for join in joins if position in join.streams]
    if len(mine) != 1 or len(mine[0].streams) != 2 or not isinstance(mine[0].predicate, Equal):
        return False
    side = 1 - mine[0].streams.index(position)
    other = query.streams[mine[0].streams[side]]
    names = schemas[other.name].names
    compared = {names[column] for column in mine[0].columns[side]}
    return bool(other.unique) and compared >= set(other.unique)


def _check_sets(policy: Policy, query: Query) -> None:
    for join in query.joins:
        if not isinstance(join.predicate, Equal) and not policy.sets:
            raise PlanError(
                f"join {join.name!r} compares sets, and policy {policy.name!r} knows tuples by a "
                "single key: take another one, for instance gain or fifo"
            )


def _check_recall(shed: Shed, joins: tuple[JoinPlan, ...]) -> None:
    for join in joins:
        if len(join.streams) > 2 and (len(set(join.span)) > 1 or join.span[0] == NEVER):
            raise PlanError(
                f"join {join.name!r} has {len(join.streams)} streams, and recall={shed.recall} is "
                "estimated there only if all have the same window of time: give memory= instead"
            )


def importance_column(query: Query, position: int, schemas: Mapping[str, pa.Schema]) -> int:
    """Return the column that holds the importance of a stream, or -1."""
    stream = query.streams[position]
    if stream.importance is None:
        return -1
    kind = schemas[stream.name].field(stream.importance_column).type
    if isinstance(stream.importance, Utility):
        text = isinstance(stream.importance.worth[0][0], str)
        if not (is_text(kind) if text else pa.types.is_integer(kind)):
            raise PlanError(
                f"utility of stream {stream.name!r} has {'text' if text else 'whole numbers'} for "
                f"types, and column {stream.importance_column!r} has type {kind}: give its values"
            )
        return int(schemas[stream.name].get_field_index(stream.importance_column))
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    if not number:
        raise PlanError(
            f"importance {stream.importance!r} of stream {stream.name!r} has type {kind}: "
            "give a column of numbers"
        )
    column: int = schemas[stream.name].get_field_index(stream.importance)
    return column


def is_text(kind: pa.DataType) -> bool:
    """Tell whether a column holds text, also as a dictionary."""
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(
        pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    )
