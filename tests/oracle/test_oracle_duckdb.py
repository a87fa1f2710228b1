"""The oracle against DuckDB SQL: nobody judges the judge but a stranger.

Families: *oracle* (brute force against SQL) over random tables with nulls, NaN, duplicates and
empty sets, for equality on several types and for the list predicates, within time windows.
DuckDB 2.0 calls NaN equal to NaN and the two zeros equal, as the contract does.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from bankfull.oracle import exact
from bankfull.spec import Equal, Join, Overlap, Predicate, Query, Stream, Subset, Superset, Ticks

ROWS = 150
WINDOWS = (5, 11)


def _case(
    predicate: Predicate, seed: int, columns: dict[str, tuple[pa.DataType, list[Any]]]
) -> tuple[Query, dict[str, pa.Table]]:
    dice = random.Random(seed)
    tables = {}
    for name in ("left", "right"):
        arrays = {
            "t": pa.array(sorted(dice.choices(range(60), k=ROWS)), pa.int64()),
            f"row_{name}": pa.array(range(ROWS), pa.int64()),
        }
        for title, (kind, pool) in columns.items():
            arrays[title] = pa.array(dice.choices(pool, k=ROWS), kind)
        tables[name] = pa.table(arrays)
    join = Join("join", ("left", "right"), predicate, tuple(Ticks(length) for length in WINDOWS))
    return Query((Stream("left", "t"), Stream("right", "t")), (join,)), tables


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    ("kind", "pool"),
    [
        (pa.int64(), [0, 1, -(2**63), 2**63 - 1, None]),
        (pa.string(), ["", "a", "é", "a ", None]),
        (pa.float64(), [0.0, -0.0, float("nan"), float("inf"), None]),
        (pa.timestamp("ns"), [0, 1, 1_000, None]),
        (pa.list_(pa.int64()), [[], [1], [1, 2], [2, 1], None]),
    ],
    ids=str,
)
def test_oracle_equal(
    sql_pairs: Callable[..., Any], kind: pa.DataType, pool: list[Any], seed: int
) -> None:
    query, tables = _case(Equal((("k",),)), seed, {"k": (kind, pool)})
    expected = sql_pairs(tables["left"], tables["right"], "l.k = r.k", WINDOWS)
    assert expected
    assert exact(query, tables)["join"] == expected


def test_oracle_composite(sql_pairs: Callable[..., Any]) -> None:
    columns = {"x": (pa.int32(), [1, 2, None]), "y": (pa.string(), ["a", "b", None])}
    query, tables = _case(Equal((("x", "y"),)), 3, columns)
    condition = "l.x = r.x AND l.y = r.y"
    expected = sql_pairs(tables["left"], tables["right"], condition, WINDOWS)
    assert expected
    assert exact(query, tables)["join"] == expected


L, R = "list_distinct(l.tags)", "list_distinct(r.tags)"  # which also drops nulls
BOTH = "l.tags IS NOT NULL AND r.tags IS NOT NULL"  # DuckDB reads a null second list as empty


@pytest.mark.parametrize(
    ("predicate", "condition"),
    [
        (Overlap(("tags",), 1), f"len(list_intersect({L}, {R})) >= 1"),
        (Overlap(("tags",), 3), f"len(list_intersect({L}, {R})) >= 3"),
        (Subset(("tags",)), f"{BOTH} AND len(list_intersect({L}, {R})) = len({L})"),
        (Superset(("tags",)), f"{BOTH} AND len(list_intersect({L}, {R})) = len({R})"),
    ],
    ids=str,
)
@pytest.mark.parametrize("kind", [pa.int32(), pa.string()], ids=str)
def test_oracle_sets(
    sql_pairs: Callable[..., Any], predicate: Predicate, condition: str, kind: pa.DataType
) -> None:
    dice = random.Random(4)
    items = [*range(7), None] if pa.types.is_integer(kind) else [*"abcdefg", None]
    pool: list[Any] = [dice.choices(items, k=dice.randrange(6)) for _ in range(60)]
    query, tables = _case(predicate, 5, {"tags": (pa.list_(kind), [*pool, None, []])})
    expected = sql_pairs(tables["left"], tables["right"], condition, WINDOWS)
    assert expected
    assert exact(query, tables)["join"] == expected
