"""Hypothesis strategies that invent small, hostile cases; needs the extra ``bankfull[dev]``.

Hostile: few keys, many equal times, disorder within and beyond the late bound, nulls everywhere,
streams that are empty, start late or end early, times of different units, at the edge of what
64 bits hold, keys that are equal under different types, text that is not UTF-8, dictionaries that
change with every batch. Small: brute force stays quick, and a
counter-example shrinks to something a person can draw. To add a kind of key: one line in
``columns.py``; a kind of time: one in ``clocks.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st

from bankfull.spec import Duration, Join, Query, Rows, Stream, Window
from bankfull.spec.query import SEARCHES
from bankfull.testing.cases import Case
from bankfull.testing.strategies.clocks import Clock, clocks
from bankfull.testing.strategies.columns import BROKEN, Compared, compared, text

PREDICATES = ("equal", "overlap", "subset", "superset", "similar")
WINDOWS = ("time", "per-stream", "count", "mixed")

#: Brute force looks at every combination: the more streams, the fewer rows each.
ROWS_MAX = {2: 24, 3: 12, 4: 8, 5: 7}


@st.composite
def cases(
    draw: st.DrawFn,
    predicates: Sequence[str] = PREDICATES,
    windows: Sequence[str] = WINDOWS,
    streams: Sequence[int] = (2,),
    searches: Sequence[str] = SEARCHES,
) -> Case:
    """Invent one join: a predicate, windows of a kind, so many streams, a way to search."""
    kind = draw(st.sampled_from(list(predicates)))
    count = draw(st.sampled_from(list(streams))) if kind == "equal" else 2
    names = _names(count)
    clock = draw(clocks(count))
    subject = draw(compared(kind, names))
    lengths = draw(_windows(clock, draw(st.sampled_from(list(windows))), count))
    fitting = [search for search in searches if search in _searches(kind)]
    join = Join("join", names, subject.predicate, lengths, draw(st.sampled_from(fitting)))
    query = Query(
        tuple(draw(_streams(clock, names))),
        (join,),
        draw(st.sampled_from([None, _basic(lengths)])),
    )
    tables = {
        stream.name: draw(_tables(clock, index, stream, [subject.columns[index]], ROWS_MAX[count]))
        for index, stream in enumerate(query.streams)
    }
    return Case.of(query, **tables)


@st.composite
def shared_cases(draw: st.DrawFn, windows: Sequence[str] = WINDOWS) -> Case:
    """Invent two to four joins over shared streams: on keys, on sets, of two and of three."""
    names = ("a", "b", "c")
    clock = draw(clocks(3))
    plans: list[tuple[str, tuple[str, ...], str]] = [
        ("ab", ("a", "b"), "equal"),
        ("bc", ("b", "c"), "equal"),
        ("tags", ("a", "b"), draw(st.sampled_from(PREDICATES[1:]))),
        ("abc", ("c", "a", "b"), "equal"),
    ]
    chosen = draw(st.lists(st.sampled_from(range(4)), min_size=2, max_size=4, unique=True))
    columns: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    joins = []
    for number in chosen:
        title, members, kind = plans[number]
        subject = draw(compared(kind, members, suffix=f"_{title}"))
        for name, column in zip(members, subject.columns, strict=True):
            columns[name].append(column)
        lengths = draw(_windows(clock, draw(st.sampled_from(list(windows))), len(members)))
        search = draw(st.sampled_from(_searches(kind)))
        joins.append(Join(title, members, subject.predicate, lengths, search))
    used = list(dict.fromkeys(name for join in joins for name in join.streams))
    streams = {stream.name: stream for stream in draw(_streams(clock, names))}
    query = Query(tuple(streams[name] for name in used), tuple(joins))
    tables = {
        name: draw(_tables(clock, names.index(name), query.stream(name), columns[name], 10))
        for name in used
    }
    return Case.of(query, **tables)


def _names(count: int) -> tuple[str, ...]:
    return ("left", "right") if count == 2 else tuple(f"s{number + 1}" for number in range(count))


def _searches(kind: str) -> list[str]:
    return (
        ["auto", "hash", "scan"] if kind == "equal" else ["auto", "inverted", "identifier", "scan"]
    )


@st.composite
def _windows(draw: st.DrawFn, clock: Clock, kind: str, count: int) -> tuple[Window, ...]:
    rows = st.integers(1, 5).map(Rows)
    if kind == "time":
        return (draw(clock.windows()),)
    if kind == "per-stream":
        return tuple(draw(clock.windows()) for _ in range(count))
    if kind == "count":
        return tuple(draw(rows) for _ in range(draw(st.sampled_from([1, count]))))
    counted = draw(st.lists(st.booleans(), min_size=count, max_size=count).filter(_both))
    return tuple(draw(rows if rowwise else clock.windows()) for rowwise in counted)


def _both(flags: list[bool]) -> bool:
    return any(flags) and not all(flags)


def _basic(lengths: tuple[Window, ...]) -> Window | None:
    """Return a basic window that fits: the shortest of the first window's own kind, if any."""
    alike = [length for length in lengths if type(length) is type(lengths[0])]
    return min(filter(_size, alike), key=_size, default=None)


def _size(length: Window) -> int:
    return length.nanoseconds if isinstance(length, Duration) else length.count


@st.composite
def _streams(draw: st.DrawFn, clock: Clock, names: Sequence[str]) -> list[Stream]:
    """Invent streams. ``idle`` changes nothing where no source is ever without rows."""
    shared = draw(st.booleans())
    idles = st.none() | clock.lates()
    return [
        Stream(name, "t" if shared else f"t_{name}", draw(clock.lates()), idle=draw(idles))
        for name in names
    ]


@st.composite
def _tables(
    draw: st.DrawFn,
    clock: Clock,
    index: int,
    stream: Stream,
    columns: Sequence[dict[str, Any]],
    rows_max: int,
) -> pa.Table:
    """Draw rows, then let them arrive out of order by a drawn delay, then build the columns."""
    row = st.tuples(clock.ticks(index), st.integers(0, 5), *(_values(column) for column in columns))
    rows_min = rows_max * 2 // 3 if draw(st.integers(0, 19)) else 0  # some streams are empty
    rows = draw(st.lists(row, min_size=rows_min, max_size=rows_max))
    begin = draw(st.sampled_from([*[0] * 8, 6, 20]))  # some streams start late
    rows.sort(key=lambda row: row[0].tick + row[1])
    arrays: dict[str, pa.Array] = {
        stream.time: clock.column(index, [row[0] for row in rows], begin)
    }
    for position, column in enumerate(columns, start=2):
        for number, (name, spec) in enumerate(column.items()):
            arrays[name] = spec.array([row[position][number] for row in rows])
    return pa.table({**arrays, **draw(_payloads(len(rows)))})


def _values(column: dict[str, Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(*(spec.values for spec in column.values()))


@st.composite
def _payloads(draw: st.DrawFn, length: int) -> dict[str, pa.Array]:
    """Columns that only travel along: nested, null, and under a name the output needs itself."""
    kind = draw(st.sampled_from(["none", "joined_at", "dictionary", *_PAYLOADS]))
    numbers = range(length)
    words = [None if n % 3 == 2 else f"w{n % 2}" for n in numbers]
    if kind == "joined_at":
        return {"joined_at": pa.array([n / 2 for n in numbers], pa.float32())}
    if kind == "dictionary":
        index = draw(st.sampled_from([pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.int64()]))
        return {"note": pa.array(words).dictionary_encode().cast(pa.dictionary(index, pa.string()))}
    return {"note": _PAYLOADS[kind](words)} if kind in _PAYLOADS else {}


def _nested(words: list[str | None]) -> pa.Array:
    notes = [
        None if n % 4 == 3 else [{"x": n, "y": ["é" * n, None]}] * (n % 3)
        for n in range(len(words))
    ]
    inner = pa.struct([("x", pa.int16()), ("y", pa.list_(pa.string()))])
    return pa.array(notes, pa.list_(inner))


def _lists(words: list[str | None]) -> pa.Array:
    """Lists within lists, of text that rarely is not UTF-8."""
    cells = text([BROKEN if n % 11 == 10 else word for n, word in enumerate(words)])
    inner = pa.LargeListArray.from_arrays(range(len(words) + 1), cells)
    return pa.ListArray.from_arrays(range(len(words) + 1), inner)


#: Payloads of types whose rows take more than their share of a buffer, or that Arrow cannot take
#: rows from as they are.
_PAYLOADS: dict[str, Callable[[list[str | None]], pa.Array]] = {
    "nested": _nested,
    "lists": _lists,
    "large text": lambda words: text([word and word * 9 for word in words], pa.large_string()),
    "views": lambda words: text([word and word * 9 for word in words], pa.string_view()),
    "runs": lambda words: pc.run_end_encode(pa.array(words, pa.string()), run_end_type=pa.int16()),
}


__all__ = ["PREDICATES", "WINDOWS", "Compared", "cases", "shared_cases"]
