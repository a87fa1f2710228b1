"""The exact join: every combination of rows that agree, of which the windows keep some.

*Window law*: put all accepted tuples in canonical order (time, stream, row) and let ``last`` be
the last member of a combination. Every other member must still be in its own stream's window
then: a time window of w keeps what is at most w older than ``last``; a count window of n keeps a
tuple while fewer than n tuples of its stream came after it and before ``last``.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

import pyarrow as pa

from bankfull.oracle.arrivals import Arrival, arrivals, length
from bankfull.oracle.matching import agree, sides
from bankfull.spec import Join, Query, Rows, Window

Combination = tuple[int, ...]


def exact(query: Query, streams: Mapping[str, pa.Table]) -> dict[str, list[Combination]]:
    """Return, for every join, the sorted combinations of row numbers, in its stream order."""
    ordered = arrivals(query, streams)
    return {
        join.name: _join(
            join,
            [ordered[name] for name in join.streams],
            [streams[name] for name in join.streams],
        )
        for join in query.joins
    }


def _join(join: Join, streams: list[list[Arrival]], tables: list[pa.Table]) -> list[Combination]:
    return sorted(
        tuple(member.row for member in members)
        for members in _agreeing(join, streams, tables)
        if _in_windows(members, streams, join.windows)
    )


def _agreeing(
    join: Join, streams: list[list[Arrival]], tables: list[pa.Table]
) -> list[tuple[Arrival, ...]]:
    """Grow combinations stream by stream; with three or more, equality with the first is enough."""
    compared, matches = sides(join.predicate, tables), agree(join.predicate)
    grown: list[tuple[Arrival, ...]] = [(first,) for first in streams[0]]
    for position in range(1, len(streams)):
        grown = [
            (*members, arrival)
            for members in grown
            for arrival in streams[position]
            if matches(compared[0][members[0].row], compared[position][arrival.row])
        ]
    return grown


def _in_windows(
    members: tuple[Arrival, ...], streams: list[list[Arrival]], windows: tuple[Window, ...]
) -> bool:
    last = max(members)
    return all(
        member == last or _joinable(member, last, stream, window)
        for member, stream, window in zip(members, streams, windows, strict=True)
    )


def _joinable(member: Arrival, last: Arrival, stream: list[Arrival], window: Window) -> bool:
    if isinstance(window, Rows):
        between = bisect_left(stream, last) - bisect_left(stream, member) - 1
        return between < window.count
    return last.time - member.time <= length(window)
