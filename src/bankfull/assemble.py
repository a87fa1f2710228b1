"""From a query and the schemas of its streams to a plan, or to a clear refusal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce

import pyarrow as pa

from bankfull.core import JoinPlan, Plan, StreamPlan
from bankfull.core.forms import plain_schema, plain_type
from bankfull.core.plan import MASK, NEVER
from bankfull.errors import PlanError, closest
from bankfull.spec import Duration, Equal, Join, Query, Rows, Similar, Stream, Ticks, Window

_UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
#: A window is cut into this many basic windows unless the query says otherwise.
_PANES = 16


def assemble(query: Query, schemas: Mapping[str, pa.Schema], masked: bool = False) -> Plan:
    """Resolve a query: columns, time units, types of comparison, output schema.

    ``masked``: the runtime adds a column that says which joins may see a row.
    """
    for stream in query.streams:
        _check_schema(stream, schemas[stream.name])
    unit = _unit(query, schemas)
    streams = tuple(_stream(query, stream, schemas[stream.name], unit) for stream in query.streams)
    if masked:
        streams = tuple(_with_mask(stream) for stream in streams)
    time_type, joined_scale = _joined_type(query, schemas, unit)
    names = _output_names(query, schemas)
    joins = tuple(
        _join(query, join, schemas, unit, _join_schema(join, schemas, names, time_type))
        for join in query.joins
    )
    schema = joins[0].schema if len(joins) == 1 else _union_schema(query, schemas, names, time_type)
    ordered = any(isinstance(length, Rows) for join in query.joins for length in join.windows)
    return Plan(query, streams, joins, schema, joined_scale, ordered)


# -- columns ----------------------------------------------------------------------------------


def _check_schema(stream: Stream, schema: pa.Schema) -> None:
    counted = Counter(schema.names)
    doubled = [name for name, count in counted.items() if count > 1]
    if doubled:
        raise PlanError(
            f"stream {stream.name!r} has {counted[doubled[0]]} columns called {doubled[0]!r}: "
            "rename all but one"
        )
    for column in filter(None, (stream.time, stream.importance, *stream.unique)):
        _position(stream.name, schema, column)
    for field in schema:
        try:
            pa.nulls(1, plain_type(field.type)).take(pa.array([0]))
        except pa.ArrowException as error:
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
    if len(query.joins) > 1:
        counted["join"] += 1
    names = {
        (stream.name, name): name if counted[name] == 1 else f"{stream.name}_{name}"
        for stream in query.streams
        for name in schemas[stream.name].names
    }
    final = Counter(names.values()) + Counter(["joined_at"])
    for (stream_name, column), name in names.items():
        if final[name] > 1:
            raise PlanError(
                f"column {column!r} of stream {stream_name!r} would be called {name!r} in the "
                "output, like another one: rename the column or the stream"
            )
    return names


def _join_schema(
    join: Join,
    schemas: Mapping[str, pa.Schema],
    names: dict[tuple[str, str], str],
    time_type: pa.DataType,
) -> pa.Schema:
    fields = [
        field.with_name(names[stream, field.name])
        for stream in join.streams
        for field in schemas[stream]
    ]
    return pa.schema([*fields, pa.field("joined_at", time_type, nullable=False)])


def _union_schema(
    query: Query,
    schemas: Mapping[str, pa.Schema],
    names: dict[tuple[str, str], str],
    time_type: pa.DataType,
) -> pa.Schema:
    fields = [
        field.with_name(names[stream.name, field.name]).with_nullable(True)
        for stream in query.streams
        for field in schemas[stream.name]
    ]
    return pa.schema(
        [
            pa.field("join", pa.string(), nullable=False),
            *fields,
            pa.field("joined_at", time_type, nullable=False),
        ]
    )


# -- time -------------------------------------------------------------------------------------


def _column_unit(stream: Stream, schema: pa.Schema) -> int | None:
    """Return the nanoseconds of one unit of a time column, or None for integer times."""
    kind = schema.field(stream.time).type
    if pa.types.is_integer(kind):
        return None
    if pa.types.is_timestamp(kind):
        return _UNITS[kind.unit]
    if pa.types.is_date32(kind):
        return 86_400 * _UNITS["s"]
    if pa.types.is_date64(kind):
        return _UNITS["ms"]
    raise PlanError(
        f"time column {stream.time!r} of stream {stream.name!r} has type {kind}: "
        "give a timestamp, a date or an integer column"
    )


def _unit(query: Query, schemas: Mapping[str, pa.Schema]) -> int | None:
    """Return the nanoseconds of the finest unit in use, or None when times are integers."""
    units = {stream.name: _column_unit(stream, schemas[stream.name]) for stream in query.streams}
    whole = [name for name, unit in units.items() if unit is None]
    if whole and len(whole) < len(units):
        other = next(name for name in units if name not in whole)
        raise PlanError(
            f"stream {whole[0]!r} has integer times and stream {other!r} has timestamps: "
            "cast one to the other's type"
        )
    zones = {
        stream.name: schemas[stream.name].field(stream.time).type.tz is not None
        for stream in query.streams
        if pa.types.is_timestamp(schemas[stream.name].field(stream.time).type)
    }
    if len(set(zones.values())) > 1:
        raise PlanError(
            "some time columns have a time zone and others have none: give all of them one"
        )
    if whole:
        return None
    spans: list[Window] = [stream.late for stream in query.streams]
    spans += [stream.idle for stream in query.streams if stream.idle is not None]
    spans += [length for join in query.joins for length in join.windows]
    spans += [query.basic_window] if query.basic_window else []
    finest = min(_UNITS["s"], *(unit for unit in units.values() if unit is not None))
    for length in spans:
        if isinstance(length, Duration):
            while finest > 1 and length.nanoseconds % finest:
                finest = max(unit for unit in _UNITS.values() if unit < finest)
    return finest


def _units(length: Window, unit: int | None, what: str) -> int:
    """Return a span in units of the query."""
    if isinstance(length, Duration):
        if unit is None:
            raise PlanError(
                f"{what} is {length} but times are integers: give a whole number of their unit"
            )
        return length.nanoseconds // unit
    if isinstance(length, Ticks) and unit is not None and length.count:
        raise PlanError(
            f'{what} is {length} but times are timestamps: give a duration such as "10 minutes"'
        )
    return length.count


def _joined_type(
    query: Query, schemas: Mapping[str, pa.Schema], unit: int | None
) -> tuple[pa.DataType, int]:
    """Return the type of ``joined_at`` and how many units make one of its own."""
    if unit is None:
        return pa.int64(), 1
    columns = [(_column_unit(s, schemas[s.name]), s) for s in query.streams]
    finest = min(size for size, _ in columns if size is not None)
    symbol, size = next((symbol, size) for symbol, size in _UNITS.items() if size <= finest)
    zones = [
        kind.tz
        for kind in (schemas[s.name].field(s.time).type for s in query.streams)
        if pa.types.is_timestamp(kind)
    ]
    zone = zones[0] if len(set(zones)) == 1 else "UTC" if any(zones) else None
    return pa.timestamp(symbol, zone), size // unit


# -- streams and joins ------------------------------------------------------------------------


def _stream(query: Query, stream: Stream, schema: pa.Schema, unit: int | None) -> StreamPlan:
    lengths = [
        join.windows[join.streams.index(stream.name)]
        for join in query.joins
        if stream.name in join.streams
    ]
    late = _units(stream.late, unit, f"late bound of stream {stream.name!r}")
    spans = [_units(length, unit, "within") for length in lengths if not isinstance(length, Rows)]
    counts = [length.count for length in lengths if isinstance(length, Rows)]
    basic = query.basic_window
    pane_span, pane_rows = NEVER, NEVER
    if spans:
        given = basic if basic is not None and not isinstance(basic, Rows) else None
        pane_span = _units(given, unit, "basic_window") if given else -(-max(spans) // _PANES)
    else:
        pane_rows = basic.count if isinstance(basic, Rows) else -(-max(counts) // _PANES)
    column_unit = _column_unit(stream, schema)
    scale = 1 if column_unit is None or unit is None else column_unit // unit
    return StreamPlan(
        stream.name,
        schema,
        plain_schema(schema),
        schema.get_field_index(stream.time),
        scale,
        late,
        max(1, pane_span),
        max(1, pane_rows),
        NEVER if stream.idle is None else _units(stream.idle, unit, f"idle of {stream.name!r}"),
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
        types = tuple(_key_type([side[k] for side in compared]) for k in range(len(columns[0])))
    else:
        weighted = isinstance(join.predicate, Similar)
        types = (_item_type([side[0] for side in compared], weighted),)
    rows = [isinstance(length, Rows) for length in join.windows]
    lengths = [_units(length, unit, f"within of join {join.name!r}") for length in join.windows]
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


# -- types of comparison ----------------------------------------------------------------------

Side = tuple[str, pa.Field]


def _plain(kind: pa.DataType) -> pa.DataType:
    """Look through extension types and dictionaries."""
    if isinstance(kind, pa.BaseExtensionType):
        kind = kind.storage_type
    kind = plain_type(kind)
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _key_type(sides: list[Side]) -> pa.DataType:
    """Return the type in which key columns are compared by value."""
    kinds = [_plain(field.type) for _, field in sides]
    for (stream, field), kind in zip(sides, kinds, strict=True):
        if not _has_equality(kind):
            raise PlanError(
                f"column {field.name!r} of stream {stream!r} has type {kind}, which has no "
                "equality of values: join on a plain column"
            )
    common = _common(kinds)
    if common is None:
        listed = ", ".join(
            f"{field.name!r} of stream {stream!r} is {kind}"
            for (stream, field), kind in zip(sides, kinds, strict=True)
        )
        raise PlanError(f"key columns cannot be compared ({listed}): cast one to the other's type")
    return pa.float64() if pa.types.is_floating(common) else common


def _has_equality(kind: pa.DataType) -> bool:
    """Whether values of a type, and of everything inside it, can be compared."""
    kind = _plain(kind)
    if pa.types.is_struct(kind):
        return all(_has_equality(kind.field(k).type) for k in range(kind.num_fields))
    if _is_list(kind):
        return _has_equality(kind.value_type)
    return bool(not pa.types.is_nested(kind) and not pa.types.is_interval(kind))


def _common(kinds: list[pa.DataType]) -> pa.DataType | None:
    """Return one type that holds the values of all, or None."""
    if all(kind == kinds[0] for kind in kinds):
        return kinds[0]
    if all(map(pa.types.is_integer, kinds)):
        if pa.uint64() not in kinds:
            return pa.int64()
        signed = any(map(pa.types.is_signed_integer, kinds))
        return pa.decimal128(20, 0) if signed else pa.uint64()
    if all(map(pa.types.is_floating, kinds)):
        return pa.float64()
    if all(map(_is_text, kinds)):
        return pa.large_string()
    if all(map(_is_bytes, kinds)):
        return pa.large_binary()
    if all(map(pa.types.is_decimal, kinds)):
        scale = max(kind.scale for kind in kinds)
        digits = scale + max(kind.precision - kind.scale for kind in kinds)
        return (
            pa.decimal128(digits, scale) if digits <= 38 else pa.decimal256(min(76, digits), scale)
        )
    for same in (pa.types.is_timestamp, pa.types.is_duration, pa.types.is_time, pa.types.is_date):
        if all(map(same, kinds)):
            return reduce(_finer, kinds)
    return None


def _finer(a: pa.DataType | None, b: pa.DataType) -> pa.DataType | None:
    if a is None or (pa.types.is_timestamp(b) and (a.tz is None) != (b.tz is None)):
        return None
    if pa.types.is_date(b):
        return pa.timestamp("ms")
    unit = a.unit if _UNITS[a.unit] <= _UNITS[b.unit] else b.unit
    if pa.types.is_timestamp(a):
        return pa.timestamp(unit, a.tz)
    if pa.types.is_duration(a):
        return pa.duration(unit)
    return pa.time64(unit) if unit in ("us", "ns") else pa.time32(unit)


def _is_text(kind: pa.DataType) -> bool:
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(check(kind) for check in checks)


def _is_bytes(kind: pa.DataType) -> bool:
    checks = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)
    return any(check(kind) for check in checks)


def _is_list(kind: pa.DataType) -> bool:
    checks = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(check(kind) for check in checks)


def _item_type(sides: list[Side], weighted: bool) -> pa.DataType:
    """Return the type of a set's items: integers or strings, the same on both sides."""
    kinds = [_items_of(stream, field, weighted) for stream, field in sides]
    if all(_is_text(kind) for kind in kinds):
        return pa.string() if all(map(pa.types.is_string, kinds)) else pa.large_string()
    if all(pa.types.is_integer(kind) for kind in kinds):
        if pa.uint64() in kinds and any(kind != pa.uint64() for kind in kinds):
            raise PlanError("items are uint64 on one side only: cast both sides to one type")
        return pa.uint64() if pa.uint64() in kinds else pa.int64()
    (left, a), (right, b) = sides
    raise PlanError(
        f"column {a.name!r} of stream {left!r} holds items of type {kinds[0]} and column "
        f"{b.name!r} of stream {right!r} of type {kinds[1]}: give integers or strings on both"
    )


def _items_of(stream: str, field: pa.Field, weighted: bool) -> pa.DataType:
    kind = field.type
    listed = _is_list(kind)
    if weighted and pa.types.is_map(kind):
        item, weight = kind.key_type, kind.item_type
    elif (
        weighted
        and listed
        and pa.types.is_struct(kind.value_type)
        and kind.value_type.num_fields == 2
    ):
        item, weight = (kind.value_type.field(k).type for k in (0, 1))
    elif not weighted and listed:
        item, weight = kind.value_type, pa.float64()
    else:
        wanted = "a map, or a list of structs of item and weight" if weighted else "a list column"
        raise PlanError(f"column {field.name!r} of stream {stream!r} is {kind}: give {wanted}")
    number = pa.types.is_integer(weight) or pa.types.is_floating(weight)
    if not number:
        raise PlanError(
            f"column {field.name!r} of stream {stream!r} has weights of type {weight}: give numbers"
        )
    item = _plain(item)
    if not (pa.types.is_integer(item) or _is_text(item)):
        raise PlanError(
            f"column {field.name!r} of stream {stream!r} holds items of type {item}: "
            "give integers or strings"
        )
    return item
