"""Small cases for Spark, always the same: every predicate and window, and columns that hurt.

Times fall on quarters of a second, so that windows and late bounds are met exactly; disorder
stays within the late bound, since Spark judges lateness a micro-batch at a time.
"""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa

import bankfull as bf
from bankfull.spec import (
    Equal,
    Join,
    Overlap,
    Predicate,
    Query,
    Rows,
    Similar,
    Stream,
    Subset,
    Superset,
    Ticks,
    Window,
    span,
    window,
)
from bankfull.testing import Case

ROWS = 90
QUARTER_US = 250_000
LATE = span(timedelta(seconds=1), "late bound")
SECONDS = 20
CLOSING_US = 3_600_000_000
STAMP = pa.timestamp("us", "UTC")
SCHEMA = pa.schema(
    [
        ("t", STAMP),
        ("k", pa.int64()),
        ("word", pa.string()),
        ("x", pa.float64()),
        ("tags", pa.list_(pa.int64())),
        ("weights", pa.map_(pa.string(), pa.float64())),
        ("big", pa.int64()),
        ("price", pa.decimal128(20, 4)),
        ("seen", STAMP),
        ("place", pa.struct([("id", pa.int64()), ("names", pa.list_(pa.string()))])),
    ]
)


def within(seconds: float) -> Window:
    """Return a time window."""
    return window(timedelta(seconds=seconds))


def rows(seed: int, count: int = ROWS, distinct: bool = False) -> list[dict[str, Any]]:
    """Invent rows in the order in which they arrive."""
    dice = random.Random(seed)
    moments = range(SECONDS * 4 * (4 if distinct else 1))
    drawn = dice.sample(moments, count) if distinct else dice.choices(moments, k=count)
    unit = QUARTER_US // (4 if distinct else 1)
    arriving = sorted((t * unit + dice.randint(0, 4) * QUARTER_US, t * unit) for t in drawn)
    return [_row(dice, moment) for _, moment in arriving]


def _row(dice: random.Random, moment: int) -> dict[str, Any]:
    def sometimes(value: Any, share: float = 0.15) -> Any:
        return None if dice.random() < share else value

    return {
        "t": moment,
        "k": sometimes(dice.randint(0, 9)),
        "word": sometimes(dice.choice(["", "é", "ab", "ba", "\U0001f409"])),
        "x": sometimes(dice.choice([0.0, -0.0, float("nan"), 1.5, float("inf")])),
        "tags": sometimes([sometimes(dice.randint(0, 7)) for _ in range(dice.randint(0, 5))]),
        "weights": sometimes(
            [(tag, dice.choice([0.5, 1.0, -0.25])) for tag in dice.sample("abcdef", 3)]
        ),
        "big": sometimes(dice.choice([2**53 + 1, -(2**63), 2**63 - 1, 2**60 + dice.randint(0, 9)])),
        "price": sometimes(Decimal(dice.randint(-(10**12), 10**12)).scaleb(-4)),
        "seen": sometimes(dice.randint(-(10**15), 10**15)),
        "place": sometimes(
            {"id": sometimes(2**55 + dice.randint(0, 3)), "names": sometimes(["u", None, "v"])}
        ),
    }


def table(seed: int, count: int = ROWS, distinct: bool = False, close: bool = False) -> pa.Table:
    """Return rows as a table, the last one an hour later if the stream must be closed."""
    made = rows(seed, count, distinct)
    if close:
        made.append({**dict.fromkeys(SCHEMA.names), "t": CLOSING_US})
    return pa.Table.from_pylist(made, SCHEMA)


def pair(
    predicate: Predicate, *windows: Window, seed: int, count: int = ROWS, counted: bool = False
) -> Case:
    """Return a case of two streams, ``a`` and ``b``."""
    query = Query(
        (Stream("a", "t", LATE), Stream("b", "t", LATE)),
        (Join("join", ("a", "b"), predicate, windows * (2 // len(windows))),),
    )
    tables = [table(seed + k, count - 7 * k, counted, counted) for k in range(2)]
    return Case.of(query, a=tables[0], b=tables[1])


def shedding(seed: int) -> Case:
    """Return an equality join whose windows do not fit."""
    whole = pair(Equal((("k",),)), within(2), within(1), seed=seed, count=150)
    return replace(whole, query=replace(whole.query, shed=bf.shed(memory=bf.tuples(24))))


def three(seed: int) -> Case:
    """Return an equality join of three streams, each with a window of its own."""
    query = Query(
        tuple(Stream(name, "t", LATE) for name in "abc"),
        (Join("join", tuple("abc"), Equal((("k",),)), (within(1), within(2), within(0.5))),),
    )
    return Case.of(query, a=table(seed), b=table(seed + 1, 60), c=table(seed + 2, 75))


def several(seed: int) -> Case:
    """Return four joins over three streams, two of them over the same two on different keys."""
    both, ends = ("a", "b"), ("b", "c")
    query = Query(
        tuple(Stream(name, "t", LATE) for name in "abc"),
        (
            Join("keys", both, Equal((("k",),)), (within(1), within(1))),
            Join("words", both, Equal((("word",),)), (within(0.5), within(0.25))),
            Join("tags", ends, Overlap(("tags", "tags"), 2), (within(2), within(1))),
            Join("all", tuple("abc"), Equal((("k",),)), (within(1),) * 3),
        ),
    )
    return Case.of(query, a=table(seed), b=table(seed + 1, 60), c=table(seed + 2, 75))


def unlike(seed: int) -> Case:
    """Return a join of keys whose types differ and whose values agree, on whole-number times."""
    query = Query(
        (Stream("a", "t", Ticks(4)), Stream("b", "t", Ticks(4))),
        (
            Join(
                "join",
                ("a", "b"),
                Equal((("small", "price"), ("wide", "cost"))),
                (Ticks(6), Ticks(3)),
            ),
        ),
    )
    tables = []
    for side, (key, kind, cost, scale) in enumerate(
        [("small", pa.int32(), "price", 2), ("wide", pa.int64(), "cost", 4)]
    ):
        dice = random.Random(seed + side)
        moments = [row["t"] // QUARTER_US for row in rows(seed + side)]
        prices = [Decimal(dice.randint(-2, 2) * 25).scaleb(-2) for _ in moments]
        tables.append(
            pa.table(
                {
                    "t": pa.array(moments, pa.int64()),
                    key: pa.array([dice.choice([None, -1, 0, 7]) for _ in moments], kind),
                    cost: pa.array(prices, pa.decimal128(18, scale)),
                }
            )
        )
    return Case.of(query, a=tables[0], b=tables[1])


#: Cases with the files a stream is cut into and the buckets it is spread over.
CASES: dict[str, tuple[Case, Any, int | None]] = {
    "integer": (
        pair(Equal((("k",),)), within(1), within(2.5), seed=10),
        {"a": [20, 0, 30], "b": [5, 40]},
        2,
    ),
    "text": (pair(Equal((("word",),)), within(0.5), seed=20), 45, 1),
    "float": (pair(Equal((("x",),)), within(0.5), seed=30), 60, 5),
    "composite": (
        pair(Equal((("k", "word"),)), within(4), seed=40),
        {"a": [], "b": [10, 10, 10]},
        5,
    ),
    "nested": (pair(Equal((("place",),)), within(1), seed=45), 50, 3),
    "unlike": (unlike(50), 40, 5),
    "three": (three(60), {"a": [30, 30], "b": [20], "c": [1, 50]}, 5),
    "overlap": (pair(Overlap(("tags",), 2), within(1), within(3), seed=70), 30, 6),
    "subset": (pair(Subset(("tags",)), within(0.5), seed=80), 50, 2),
    "superset": (pair(Superset(("tags",)), within(0.5), seed=85), 90, 5),
    "similar": (pair(Similar(("weights",), 0.75), within(2), seed=90), 40, 4),
    "several": (several(100), {"a": [30, 30], "b": [15, 30], "c": [40]}, 5),
    "several, one bucket": (several(110), 50, 1),
    "count": (
        pair(Equal((("k",),)), Rows(12), seed=120, counted=True),
        {"a": [20, 30], "b": [5, 30, 20]},
        5,
    ),
    "mixed": (
        pair(Overlap(("tags",), 2), Rows(9), within(2), seed=130, counted=True),
        {"a": [40], "b": [30, 30]},
        2,
    ),
}


#: Cases for drivers that are killed: many files, and state that lives through several of them.
RECOVERY: dict[str, Case] = {
    "equality": pair(Equal((("k",),)), within(2), within(1), seed=300, count=150),
    "overlap": pair(Overlap(("tags",), 2), within(2), within(4), seed=310, count=150),
    "joins": several(320),
    "count": pair(Equal((("k",),)), Rows(20), within(3), seed=330, count=150, counted=True),
    "shed": shedding(340),
}
