"""From a query and the schemas of its streams to a plan, or to a clear refusal.

``times.py`` settles the unit of time, ``types.py`` in which types values are compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from bankfull.assemble.compare import compare_plan
from bankfull.assemble.shed import has_importance, shed_plan
from bankfull.assemble.times import column_unit, in_units, joined_type, query_unit
from bankfull.assemble.types import item_type, key_type
from bankfull.core import JoinPlan, Plan, StreamPlan
from bankfull.core.plan import MASK, NEVER
from bankfull.core.store.forms import may_be_null, output_type, plain_schema, plain_type, to_form
from bankfull.errors import PlanError, closest
from bankfull.spec import Equal, Join, Query, Rows, Stream, Utility
from bankfull.spec.predicates import is_weighted

#: A window is cut into this many basic windows unless the query says otherwise.
_PANES = 16

__all__ = ["assemble"]


def assemble(
    query: Query,
    schemas: Mapping[str, pa.Schema],
    masked: bool = False,
    by_content: bool = False,
    operators: int = 1,
) -> Plan:
    """Resolve a query: columns, time units, types of comparison, output schema.

    ``masked``: the runtime adds a column that says which joins may see a row. ``by_content``: it
    brings rows in any order. ``operators``: so many share the work and the budget.
    """
    for stream in query.streams:
        _check_schema(stream, schemas[stream.name])
    unit = query_unit(query, schemas)
    streams = tuple(_stream(query, stream, schemas[stream.name], unit) for stream in query.streams)
    if masked:
        streams = tuple(_with_mask(stream) for stream in streams)
    time_type, joined_scale = joined_type(query, schemas, unit)
    names = _output_names(query, schemas)
    joins = tuple(
        _join(query, join, schemas, unit, _join_schema(query, join, schemas, names, time_type))
        for join in query.joins
    )
    schema = joins[0].schema if len(joins) == 1 else _union_schema(query, schemas, names, time_type)
    counted = any(isinstance(length, Rows) for join in query.joins for length in join.windows)
    shed, compare = None, None
    if query.shed is not None and query.shed.bounds_memory:
        shed = shed_plan(query.shed, query, schemas, joins)
    if query.shed is not None and query.shed.cpu is not None:
        compare = compare_plan(query.shed, query, schemas, joins, unit)
    ordered = counted or query.shed is not None
    return Plan(
        query, streams, joins, schema, joined_scale, ordered, shed, compare, by_content, operators
    )


def _check_schema(stream: Stream, schema: pa.Schema) -> None:
    counted = Counter(schema.names)
    doubled = [name for name, count in counted.items() if count > 1]
    if doubled:
        raise PlanError(
            f"stream {stream.name!r} has {counted[doubled[0]]} columns called {doubled[0]!r}: "
            "rename all but one"
        )
    for column in filter(None, (stream.time, stream.importance_column, *stream.unique)):
        _position(stream.name, schema, column)
    for field in schema:
        try:
            one = pa.nulls(1, plain_type(field.type)).take(pa.array([0]))
            to_form(one, output_type(field.type))
        except (pa.ArrowException, NotImplementedError) as error:
            raise PlanError(
                f"column {field.name!r} of stream {stream.name!r} has type {field.type}, which "
                "cannot be stored yet: cast it to the plain form of its type first"
            ) from error


def _position(stream: str, schema: pa.Schema, column: str) -> int:
    position: int = schema.get_field_index(column)
    if position < 0:
        raise PlanError(
            f"stream {stream!r} has no column {column!r}: {closest(column, schema.names)}"
        )
    return position


def _output_names(query: Query, schemas: Mapping[str, pa.Schema]) -> dict[tuple[str, str], str]:
    """Name output columns: a name that several streams use gets its stream's name in front."""
    counted = Counter(name for stream in query.streams for name in schemas[stream.name].names)
    counted["joined_at"] += 1
    if has_importance(query):
        counted["importance"] += 1
    if len(query.joins) > 1:
        counted["join"] += 1
    names = {
        (stream.name, name): name if counted[name] == 1 else f"{stream.name}_{name}"
        for stream in query.streams
        for name in schemas[stream.name].names
    }
    final = Counter(names.values()) + Counter(["joined_at"])
    if has_importance(query):
        final["importance"] += 1
    for (stream_name, column), name in names.items():
        if final[name] > 1:
            raise PlanError(
                f"column {column!r} of stream {stream_name!r} would be called {name!r} in the "
                "output, like another one: rename the column or the stream"
            )
    return names


def _join_schema(
    query: Query,
    join: Join,
    schemas: Mapping[str, pa.Schema],
    names: dict[tuple[str, str], str],
    time_type: pa.DataType,
) -> pa.Schema:
    fields = [
        field.with_name(names[stream, field.name]).with_type(output_type(field.type))
        for stream in join.streams
        for field in may_be_null(schemas[stream])
    ]
    return pa.schema([*fields, *_last_fields(query, time_type)])


def _last_fields(query: Query, time_type: pa.DataType) -> list[pa.Field]:
    """Return what every result carries beside its members' columns."""
    fields = [pa.field("joined_at", time_type, nullable=False)]
    if has_importance(query):
        fields.append(pa.field("importance", pa.float64(), nullable=False))
    return fields


def _union_schema(
    query: Query,
    schemas: Mapping[str, pa.Schema],
    names: dict[tuple[str, str], str],
    time_type: pa.DataType,
) -> pa.Schema:
    fields = [
        field.with_name(names[stream.name, field.name]).with_type(output_type(field.type))
        for stream in query.streams
        for field in may_be_null(schemas[stream.name])
    ]
    return pa.schema(
        [
            pa.field("join", pa.string(), nullable=False),
            *fields,
            *_last_fields(query, time_type),
        ]
    )


def _stream(query: Query, stream: Stream, schema: pa.Schema, unit: int | None) -> StreamPlan:
    lengths = [
        join.windows[join.streams.index(stream.name)]
        for join in query.joins
        if stream.name in join.streams
    ]
    late = in_units(stream.late, unit, f"late bound of stream {stream.name!r}")
    spans = [in_units(length, unit, "within") for length in lengths if not isinstance(length, Rows)]
    counts = [length.count for length in lengths if isinstance(length, Rows)]
    basic = query.basic_window
    pane_span, pane_rows = NEVER, NEVER
    if spans:
        given = basic if basic is not None and not isinstance(basic, Rows) else None
        pane_span = (
            in_units(given, unit, "basic_window") if given is not None else -(-max(spans) // _PANES)
        )
    else:
        pane_rows = basic.count if isinstance(basic, Rows) else -(-max(counts) // _PANES)
    own_unit = column_unit(stream, schema)
    scale = 1 if own_unit is None or unit is None else own_unit // unit
    return StreamPlan(
        stream.name,
        schema,
        plain_schema(schema),
        schema.get_field_index(stream.time),
        scale,
        late,
        max(1, pane_span),
        max(1, pane_rows),
        NEVER if stream.idle is None else in_units(stream.idle, unit, f"idle of {stream.name!r}"),
        worth=None if not isinstance(stream.importance, Utility) else stream.importance.worth,
    )


def _join(
    query: Query, join: Join, schemas: Mapping[str, pa.Schema], unit: int | None, schema: pa.Schema
) -> JoinPlan:
    sides = [side if isinstance(side, tuple) else (side,) for side in join.predicate.sides]
    columns = tuple(
        tuple(_position(stream, schemas[stream], column) for column in side)
        for stream, side in zip(join.streams, sides, strict=True)
    )
    compared = [
        [(stream, schemas[stream].field(position)) for position in side]
        for stream, side in zip(join.streams, columns, strict=True)
    ]
    if isinstance(join.predicate, Equal):
        types = tuple(key_type([side[k] for side in compared]) for k in range(len(columns[0])))
    else:
        weighted = is_weighted(join.predicate)
        types = (item_type([side[0] for side in compared], weighted),)
    rows = [isinstance(length, Rows) for length in join.windows]
    lengths = [in_units(length, unit, f"within of join {join.name!r}") for length in join.windows]
    return JoinPlan(
        join.name,
        tuple(
            next(k for k, s in enumerate(query.streams) if s.name == name) for name in join.streams
        ),
        join.predicate,
        join.search,
        columns,
        types,
        tuple(NEVER if counted else length for counted, length in zip(rows, lengths, strict=True)),
        tuple(length if counted else NEVER for counted, length in zip(rows, lengths, strict=True)),
        schema,
        query.joins.index(join),
    )


def _with_mask(stream: StreamPlan) -> StreamPlan:
    mask = pa.field(MASK, pa.int64(), nullable=False)
    given, schema = stream.given.append(mask), stream.schema.append(mask)
    return replace(stream, given=given, schema=schema, masked=True)
