"""What becomes of each row on arrival: quarantined, late or accepted.

Rules, in this order, row by row as they arrive:

1. *quarantined*: no time; a time that 64-bit arithmetic has no room for; a weight of a present
   item that is null, NaN or infinite; text that is not UTF-8. Such rows leave no trace.
2. *late*: earlier than the largest accepted time of the same stream by more than its bound.
3. *accepted*: everything else. Of these, rows without a key are *useless*: purged, not stored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal, NamedTuple

import pyarrow as pa

from bankfull.oracle.values import NANOSECONDS, is_broken, plain, unit_ns
from bankfull.spec import Duration, Join, Query, Rows, Similar, Ticks

Fate = Literal["quarantined", "late", "accepted"]
Tables = Mapping[str, pa.Table]
FURTHEST = 2**62 - 1


class Arrival(NamedTuple):
    """An accepted tuple, comparable in canonical order: time, then stream, then row."""

    time: int
    stream: int
    row: int


def fates(query: Query, streams: Tables) -> dict[str, list[Fate]]:
    """Say of every row of every stream what becomes of it."""
    furthest = FURTHEST * _internal_unit(query, streams)
    return {
        stream.name: _fates(
            times(streams[stream.name][stream.time]),
            _bad_values(query, stream.name, streams[stream.name]),
            length(stream.late),
            furthest,
        )
        for stream in query.streams
    }


def accepted(query: Query, streams: Tables) -> dict[str, list[int]]:
    """Return the row numbers of each stream that take part in the join, as they arrive."""
    return {
        name: [row for row, fate in enumerate(decided) if fate == "accepted"]
        for name, decided in fates(query, streams).items()
    }


def arrivals(query: Query, streams: Tables) -> dict[str, list[Arrival]]:
    """Return each stream's accepted tuples in canonical order."""
    kept = accepted(query, streams)
    ordered = {}
    for position, stream in enumerate(query.streams):
        when = times(streams[stream.name][stream.time])
        tuples = [Arrival(_sure(when[row]), position, row) for row in kept[stream.name]]
        ordered[stream.name] = sorted(tuples)
    return ordered


def useless(query: Query, streams: Tables) -> dict[str, int]:
    """Count the accepted rows of each stream that no join can use: a null where it compares.

    A window of rows counts rows, with or without a key: where there is one, none is useless.
    """
    counts = {}
    for name, rows in accepted(query, streams).items():
        joins = [join for join in query.joins if name in join.streams]
        counted = any(isinstance(window, Rows) for join in joins for window in join.windows)
        nulls = {
            column: [value is None for value in plain(streams[name][column])]
            for join in joins
            for column in _compared(join, name)
        }
        counts[name] = 0
        for row in rows:
            lacking = [any(nulls[c][row] for c in _compared(join, name)) for join in joins]
            counts[name] += all(lacking) and not counted
    return counts


def _compared(join: Join, name: str) -> tuple[str, ...]:
    """Return the columns of a stream that a join compares."""
    sides = join.predicate.sides
    side = sides[join.streams.index(name)] if len(sides) > 1 else sides[0]
    return (side,) if isinstance(side, str) else side


def times(column: pa.ChunkedArray) -> list[int | None]:
    """Read a time column: nanoseconds for timestamps and dates, the number for integers."""
    values = plain(column)
    assert all(value is None or isinstance(value, int) for value in values)
    return values


def length(span: Duration | Ticks) -> int:
    """Return a span in the unit of :func:`times`."""
    return span.nanoseconds if isinstance(span, Duration) else span.count


def _fates(when: list[int | None], bad: list[bool], late: int, furthest: int) -> list[Fate]:
    latest = -math.inf
    decided: list[Fate] = []
    for time, spoilt in zip(when, bad, strict=True):
        if time is None or abs(time) > furthest or spoilt:
            decided.append("quarantined")
        elif time < latest - late:
            decided.append("late")
        else:
            latest = max(latest, time)
            decided.append("accepted")
    return decided


def _bad_values(query: Query, name: str, table: pa.Table) -> list[bool]:
    """Mark the rows with broken text, or an unusable weight in a weighted set that is read."""
    bad = [False] * len(table)
    for column in table.columns:
        bad = [was or is_broken(value) for was, value in zip(bad, plain(column), strict=True)]
    for join in query.joins:
        if not isinstance(join.predicate, Similar) or name not in join.streams:
            continue
        column = join.predicate.sides[join.streams.index(name)]
        for row, items in enumerate(plain(table[column])):
            bad[row] |= any(
                entry[0] is not None and (entry[1] is None or not math.isfinite(entry[1]))
                for entry in items or ()
                if entry is not None
            )
    return bad


def _internal_unit(query: Query, streams: Tables) -> int:
    """Return the finest unit of all time columns and all spans, in the unit of `times`."""
    kinds = [streams[stream.name].schema.field(stream.time).type for stream in query.streams]
    if any(pa.types.is_integer(kind) for kind in kinds):
        return 1
    finest = min(NANOSECONDS["s"], *(unit_ns(kind) for kind in kinds))
    spans = [stream.late for stream in query.streams]
    spans += [span for join in query.joins for span in join.windows if not isinstance(span, Rows)]
    for span in spans:
        fitting = [unit for unit in NANOSECONDS.values() if length(span) % unit == 0]
        finest = min(finest, max(fitting))
    return finest


def _sure(time: int | None) -> int:
    assert time is not None, "a row without a time is never accepted"
    return time
