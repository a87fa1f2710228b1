"""Property tests on thousands of rows against DuckDB SQL, a foreign engine.

Families: *oracle* (SQL instead of brute force, so tables can be large enough for windows to
slide, indexes to grow and panes to expire many times over): equality on one key, on text, on a
composite key; the list predicates; time windows alike and per stream; disorder within the bound;
several batch sizes. Seeds are fixed and are part of a test's name.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from bankfull.spec import Equal, Join, Overlap, Predicate, Query, Stream, Subset, Superset, Ticks
from bankfull.testing import Case, run

LATE = 12
Sql = Callable[[pa.Table, pa.Table, str, tuple[int, int]], list[tuple[int, int]]]


def _times(dice: random.Random, rows: int) -> list[int]:
    """Times that rise by about one a row, arriving up to ``LATE`` out of order."""
    base = sorted(dice.choices(range(rows), k=rows))
    return [time for _, time in sorted((time + dice.randrange(LATE), time) for time in base)]


def _case(
    seed: int,
    rows: int,
    predicate: Predicate,
    windows: tuple[int, int],
    search: str,
    columns: Callable[[random.Random, int], dict[str, pa.Array]],
) -> Case:
    dice = random.Random(seed)
    tables = {
        name: pa.table({"t": pa.array(_times(dice, count), pa.int64()), **columns(dice, count)})
        for name, count in (("left", rows), ("right", rows * 2 // 3))
    }
    lengths = (Ticks(windows[0]), Ticks(windows[1]))
    query = Query(
        tuple(Stream(name, "t", Ticks(LATE)) for name in tables),
        (Join("join", ("left", "right"), predicate, lengths, search),),
    )
    return Case.of(query, **tables)


def _check(case: Case, condition: str, windows: tuple[int, int], splits: int, sql: Sql) -> None:
    result = run(case, splits, each=lambda joined: joined.ledger.check())
    expected = sql(case.tables["left"], case.tables["right"], condition, windows)
    assert len(expected) > 1000
    assert result.combinations["join"] == expected
    for name in ("left", "right"):
        assert result.ledger["streams"][name]["late"] == 0
        assert result.ledger["streams"][name]["expired"] > 0


def _some(dice: random.Random, pool: list[Any], rows: int, kind: pa.DataType) -> pa.Array:
    return pa.array(dice.choices([*pool, None], k=rows), kind)


def _number(dice: random.Random, rows: int) -> dict[str, pa.Array]:
    return {"k": _some(dice, [n * n for n in range(80)], rows, pa.int64())}


def _text(dice: random.Random, rows: int) -> dict[str, pa.Array]:
    return {"k": _some(dice, [f"key {n}" * (n % 4) for n in range(80)], rows, pa.string())}


def _float(dice: random.Random, rows: int) -> dict[str, pa.Array]:
    special = [0.0, -0.0, float("nan"), float("inf")]
    return {"k": _some(dice, [*special, *(n / 7 for n in range(60))], rows, pa.float64())}


def _composite(dice: random.Random, rows: int) -> dict[str, pa.Array]:
    return {
        "x": _some(dice, list(range(9)), rows, pa.int32()),
        "y": _some(dice, [f"{n:>{n}}" for n in range(9)], rows, pa.string()),
    }


@pytest.mark.parametrize("splits", [97, 1000])
@pytest.mark.parametrize("windows", [(40, 40), (15, 90)])
@pytest.mark.parametrize(
    ("columns", "side"),
    [(_number, ("k",)), (_text, ("k",)), (_float, ("k",)), (_composite, ("x", "y"))],
)
def test_oracle_equal_sql(
    sql_pairs: Sql,
    columns: Callable[[random.Random, int], dict[str, pa.Array]],
    side: tuple[str, ...],
    windows: tuple[int, int],
    splits: int,
) -> None:
    case = _case(7, 4000, Equal((side,)), windows, "hash", columns)
    condition = " AND ".join(f"l.{name} = r.{name}" for name in side)
    _check(case, condition, windows, splits, sql_pairs)


def _tags(kind: pa.DataType) -> Callable[[random.Random, int], dict[str, pa.Array]]:
    items = [*(range(20) if pa.types.is_integer(kind) else "abcdefghijklmnopqrst"), None]

    def columns(dice: random.Random, rows: int) -> dict[str, pa.Array]:
        lists: list[Any] = [dice.choices(items, k=dice.randrange(7)) for _ in range(rows)]
        lists[::50] = [None] * len(lists[::50])
        return {"tags": pa.array(lists, pa.list_(kind))}

    return columns


L, R = "list_distinct(l.tags)", "list_distinct(r.tags)"
COMMON = f"l.tags IS NOT NULL AND r.tags IS NOT NULL AND len(list_intersect({L}, {R}))"


@pytest.mark.parametrize("search", ["inverted", "identifier", "scan"])
@pytest.mark.parametrize("kind", [pa.int16(), pa.string()], ids=str)
@pytest.mark.parametrize(
    ("predicate", "condition"),
    [
        (Overlap(("tags",), 2), f"{COMMON} >= 2"),
        (Subset(("tags",)), f"{COMMON} = len({L})"),
        (Superset(("tags",)), f"{COMMON} = len({R})"),
    ],
    ids=["overlap", "subset", "superset"],
)
def test_oracle_sets_sql(
    sql_pairs: Sql, predicate: Predicate, condition: str, kind: pa.DataType, search: str
) -> None:
    windows = (30, 45)
    case = _case(8, 1800, predicate, windows, search, _tags(kind))
    _check(case, condition, windows, 131, sql_pairs)
