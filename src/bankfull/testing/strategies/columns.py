"""What is compared: key columns of many types, sets, weighted sets, all from small pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import strategies as st

from bankfull.spec import Equal, Overlap, Predicate, Similar, Subset, Superset

NAN, INFINITE = float("nan"), float("inf")


@dataclass(frozen=True)
class Column:
    """A column to be: where its values come from and what it is made of."""

    values: st.SearchStrategy[Any]
    kind: pa.DataType

    def array(self, values: Sequence[Any]) -> pa.Array:
        """Build the column."""
        if pa.types.is_dictionary(self.kind):
            return text(values).dictionary_encode().cast(self.kind)
        if pa.types.is_run_end_encoded(self.kind):
            return pc.run_end_encode(text(values), run_end_type=self.kind.run_end_type)
        if self.kind in (pa.string(), pa.large_string(), pa.string_view()):
            return text(values, self.kind)
        if pa.types.is_timestamp(self.kind):
            scale = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[self.kind.unit]
            scaled = [None if value is None else value * scale for value in values]
            return pa.array(scaled, pa.int64()).cast(self.kind)
        return pa.array(values, self.kind)


#: Text that is not UTF-8, as ``surrogateescape`` writes it; rows with it are set aside.
BROKEN = "\udcff"


def text(values: Sequence[str | None], kind: pa.DataType | None = None) -> pa.Array:
    """Build a column of text from any bytes.

    >>> text(["a", BROKEN]).view(pa.binary()).to_pylist()
    [b'a', b'\\xff']
    """
    given = [None if value is None else value.encode(errors="surrogateescape") for value in values]
    kinds = {pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    return pa.array(given, kinds.get(kind, pa.binary())).view(kind or pa.string())


@dataclass(frozen=True)
class Compared:
    """A predicate and, for every stream, the columns it reads."""

    predicate: Predicate
    columns: tuple[dict[str, Column], ...]


def _integers(signed: bool) -> list[pa.DataType]:
    names = ("int64", "int32", "int16", "int8") + (() if signed else ("uint8", "uint32", "uint64"))
    return [getattr(pa, name)() for name in names]


_TEXTS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.int32(), pa.string()),
    pa.run_end_encoded(pa.int16(), pa.string()),
]
_STRUCT = pa.struct([("x", pa.int32()), ("y", pa.float64())])

#: Kinds of keys: a small pool of values, and the types that can hold and be compared with it.
KEYS: dict[str, tuple[list[Any], list[pa.DataType]]] = {
    "integer": ([0, 1, 2, 3], _integers(signed=False)),
    "negative": ([-1, 0, 1], _integers(signed=True)),
    "large": ([2**63 - 1, -(2**63), 2**53, 2**53 + 1], [pa.int64()]),
    "unsigned": ([2**64 - 1, 0, 2**63], [pa.uint64()]),
    "text": (["a", "", "é", "a\0", "ab" * 9], _TEXTS),
    "bytes": ([b"a", b"", b"\0"], [pa.binary(), pa.large_binary()]),
    "float": ([0.0, -0.0, NAN, 1.5, INFINITE], [pa.float64(), pa.float32()]),
    "boolean": ([False, True], [pa.bool_()]),
    "timestamp": ([0, 1, -1], [pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")]),
    "date": ([0, 1, 2], [pa.date32()]),
    "decimal": (
        [Decimal("1.5"), Decimal(0), Decimal("-1.5")],
        [pa.decimal128(5, 1), pa.decimal128(12, 3)],
    ),
    "struct": (
        [{"x": 1, "y": NAN}, {"x": None, "y": 0.0}, {"x": None, "y": -0.0}, {"x": 1, "y": None}],
        [_STRUCT],
    ),
    "list": ([[], [1], [1, None], [None]], [pa.list_(pa.int64())]),
}


def compared(kind: str, names: Sequence[str], suffix: str = "") -> st.SearchStrategy[Compared]:
    """Draw what a predicate of this kind compares in the streams of these names."""
    if kind == "equal":
        return _keys(names, suffix)
    return _weighted(names, suffix) if kind == "similar" else _sets(kind, names, suffix)


@st.composite
def _keys(draw: st.DrawFn, names: Sequence[str], suffix: str) -> Compared:
    """One key column mostly, a composite key sometimes, under one name or under several."""
    kinds = draw(st.lists(st.sampled_from(list(KEYS)), min_size=1, max_size=2))
    shared = draw(st.booleans())
    fewest = 5 if len(names) + len(kinds) < 4 else 2  # or a combination would hardly ever agree
    columns = []
    for name in names:
        side = {}
        for number, kind in enumerate(kinds):
            pool, types = KEYS[kind]
            title = f"k{number}{suffix}" if shared else f"k{number}{suffix}_{name}"
            values = _rarely_null(pool[:fewest], [BROKEN] if kind == "text" else [])
            side[title] = Column(values, draw(st.sampled_from(types)))
        columns.append(side)
    return Compared(Equal(tuple(tuple(side) for side in columns)), tuple(columns))


@st.composite
def _sets(draw: st.DrawFn, kind: str, names: Sequence[str], suffix: str) -> Compared:
    items, types = draw(_items())
    titles = draw(_titles("tags", names, suffix))
    predicates: dict[str, Callable[[tuple[str, ...]], Predicate]] = {
        "overlap": lambda sides: Overlap(sides, draw(st.integers(1, 3))),
        "subset": Subset,
        "superset": Superset,
    }
    lists = st.lists(_rarely_null(items), max_size=5)
    return Compared(
        predicates[kind](titles),
        tuple(
            {title: Column(_or_null(lists), draw(st.sampled_from([pa.list_, pa.large_list]))(item))}
            for title, item in ((title, draw(st.sampled_from(types))) for title in titles)
        ),
    )


@st.composite
def _weighted(draw: st.DrawFn, names: Sequence[str], suffix: str) -> Compared:
    """Weighted sets as maps and as lists of structs; sums that meet the threshold exactly."""
    items, types = draw(_items())
    titles = draw(_titles("weights", names, suffix))
    weights = st.sampled_from([1.0, 0.5, 0.1, 0.2, 0.7, -1.0, 2.0, 0.0])
    bad = st.sampled_from([NAN, INFINITE, -INFINITE, None])
    weight = st.integers(0, 40).flatmap(lambda number: bad if number == 40 else weights)
    columns = []
    for title in titles:
        item = draw(st.sampled_from(types))
        if draw(st.booleans()):
            entry = st.tuples(st.sampled_from(items), weight)
            kind = pa.map_(item, draw(st.sampled_from([pa.float64(), pa.float32()])))
        else:
            entry = _or_null(st.tuples(_rarely_null(items), weight).map(_entry))
            kind = pa.list_(pa.struct([("item", item), ("weight", pa.float64())]))
        columns.append({title: Column(_or_null(st.lists(entry, max_size=4)), kind)})
    threshold = draw(st.sampled_from([0.5, 1.0, 0.3, 0.1 + 0.2, 1e-9]))
    return Compared(Similar(titles, threshold), tuple(columns))


def _entry(pair: tuple[Any, Any]) -> dict[str, Any]:
    return {"item": pair[0], "weight": pair[1]}


def _items() -> st.SearchStrategy[tuple[list[Any], list[pa.DataType]]]:
    """Draw what sets are made of; items of different widths compare by value."""
    texts = ["a", "b", "é", "", "\U0001f600"]
    return st.sampled_from(
        [
            ([1, 2, 3, 4, 5], [*_integers(signed=True), pa.uint8(), pa.uint32()]),
            ([-1, 0, 1, 2], _integers(signed=True)),
            ([0, 1, 2**63, 2**64 - 1], [pa.uint64()]),
            (texts, [pa.string(), pa.large_string()]),
        ]
    )


@st.composite
def _titles(draw: st.DrawFn, title: str, names: Sequence[str], suffix: str) -> tuple[str, ...]:
    shared = draw(st.booleans())
    return tuple(f"{title}{suffix}" if shared else f"{title}{suffix}_{name}" for name in names)


def _rarely_null(pool: Sequence[Any], rare: Sequence[Any] = ()) -> st.SearchStrategy[Any]:
    return st.sampled_from([*list(pool) * 4, None, *rare])


def _or_null(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.integers(0, 9).flatmap(lambda number: st.none() if number == 9 else values)
