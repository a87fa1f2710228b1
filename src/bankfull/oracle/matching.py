"""Each predicate as a question about two plain values. Null never matches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

from bankfull.oracle.values import canonical, plain
from bankfull.spec import Equal, Overlap, Predicate, Similar, Subset

Agree = Callable[[Any, Any], bool]


def sides(predicate: Predicate, tables: list[pa.Table]) -> list[list[Any]]:
    """Read what each stream brings to the comparison, one value a row."""
    if isinstance(predicate, Equal):
        return [_keys(table, side) for table, side in zip(tables, predicate.sides, strict=True)]
    columns = [plain(table[side]) for table, side in zip(tables, predicate.sides, strict=True)]
    read = _weights if isinstance(predicate, Similar) else _items
    return [[None if value is None else read(value) for value in column] for column in columns]


def agree(predicate: Predicate) -> Agree:
    """Return the comparison of a value of the first stream with one of another."""

    def both(left: Any, right: Any) -> bool:
        return left is not None and right is not None and _matches(predicate, left, right)

    return both


def _matches(predicate: Predicate, left: Any, right: Any) -> bool:
    if isinstance(predicate, Equal):
        return bool(left == right)
    if isinstance(predicate, Overlap):
        return len(left & right) >= predicate.at_least
    if isinstance(predicate, Similar):
        return inner(left, right) >= predicate.at_least
    return bool(left <= right) if isinstance(predicate, Subset) else bool(left >= right)


def inner(left: dict[Any, float], right: dict[Any, float]) -> float:
    """Return the inner product, accumulated over the common items in ascending order.

    >>> inner({"b": 0.5, "a": 2.0}, {"a": 1.0, "b": 4.0, "c": 1.0})
    4.0
    """
    product = 0.0
    for item in sorted(left.keys() & right.keys(), key=_ascending):
        product += left[item] * right[item]
    return product


def _keys(table: pa.Table, side: tuple[str, ...]) -> list[Any]:
    rows = zip(*(plain(table[name]) for name in side), strict=True)
    return [None if None in row else canonical(row) for row in rows]


def _items(value: Iterable[Any]) -> frozenset[Any]:
    return frozenset(item for item in value if item is not None)


def _weights(value: Iterable[Any]) -> dict[Any, float]:
    """Add up the weights of each item in order of occurrence; a bad weight never gets here."""
    total: dict[Any, float] = {}
    for item, weight in (entry for entry in value if entry is not None):
        if item is not None and weight is not None:
            total[item] = total[item] + float(weight) if item in total else float(weight)
    return total


def _ascending(item: int | str) -> int | bytes:
    return item.encode() if isinstance(item, str) else item
