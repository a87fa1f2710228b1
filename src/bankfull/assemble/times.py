"""Units of time: one for the whole query, fine enough for every column, window and bound."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from bankfull.errors import PlanError
from bankfull.spec import Duration, Query, Stream, Ticks, Window

#: Nanoseconds of Arrow's units.
UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def column_unit(stream: Stream, schema: pa.Schema) -> int | None:
    """Return the nanoseconds of one unit of a time column, or None for integer times."""
    kind = schema.field(stream.time).type
    if pa.types.is_integer(kind):
        return None
    if pa.types.is_timestamp(kind):
        return UNITS[kind.unit]
    if pa.types.is_date32(kind):
        return 86_400 * UNITS["s"]
    if pa.types.is_date64(kind):
        return UNITS["ms"]
    raise PlanError(
        f"time column {stream.time!r} of stream {stream.name!r} has type {kind}: "
        "give a timestamp, a date or an integer column"
    )


def query_unit(query: Query, schemas: Mapping[str, pa.Schema]) -> int | None:
    """Return the nanoseconds of the finest unit in use, or None when times are integers."""
    units = {stream.name: column_unit(stream, schemas[stream.name]) for stream in query.streams}
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
    if query.shed is not None and query.shed.compare.period is not None:
        spans.append(query.shed.compare.period)
    finest = min(UNITS["s"], *(unit for unit in units.values() if unit is not None))
    for length in spans:
        if isinstance(length, Duration):
            while finest > 1 and length.nanoseconds % finest:
                finest = max(unit for unit in UNITS.values() if unit < finest)
    return finest


def in_units(length: Window, unit: int | None, what: str) -> int:
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


def joined_type(
    query: Query, schemas: Mapping[str, pa.Schema], unit: int | None
) -> tuple[pa.DataType, int]:
    """Return the type of ``joined_at`` and how many units make one of its own."""
    if unit is None:
        return pa.int64(), 1
    columns = [(column_unit(s, schemas[s.name]), s) for s in query.streams]
    finest = min(size for size, _ in columns if size is not None)
    symbol, size = next((symbol, size) for symbol, size in UNITS.items() if size <= finest)
    zones = [
        kind.tz
        for kind in (schemas[s.name].field(s.time).type for s in query.streams)
        if pa.types.is_timestamp(kind)
    ]
    zone = zones[0] if len(set(zones)) == 1 else "UTC" if any(zones) else None
    return pa.timestamp(symbol, zone), size // unit
