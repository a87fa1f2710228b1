"""Families: oracle (every pair compared), property: the recall of joins on sets.

It is exact while every tuple can be kept aside, its interval covers the truth when only a sample
can, also where sets are larger than the room for them, and it does not depend on how the input is
cut.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from recall_cases import Row, exact_worths

import bankfull as bf
from bankfull.core.bounded.join import BoundedJoin
from bankfull.kernels.recall import keptsets as ks
from bankfull.spec import Shed
from compile_kernels import fewer

PREDICATES = {
    "overlap": (bf.overlap("s", at_least=2), lambda a, b: len(a & b) >= 2),
    "subset": (bf.subset("s", "s"), lambda a, b: a <= b),
    "superset": (bf.superset("s", "s"), lambda a, b: a >= b),
}


def similarity(a: dict[int, float], b: dict[int, float]) -> float:
    return sum(a[item] * b[item] for item in sorted(a.keys() & b.keys()))


def streams_of(rows: dict[str, list[Row]], weighted: bool) -> list[Any]:
    kind = pa.map_(pa.int64(), pa.float64()) if weighted else pa.list_(pa.int64())
    schema = pa.schema([("t", pa.int64()), ("v", pa.float64()), ("k", pa.int64()), ("s", kind)])

    def plain(row: Row) -> Row:
        items = row["s"]
        return {**row, "s": list(items.items()) if weighted and items is not None else items}

    return [
        bf.stream(
            pa.Table.from_pylist([plain(row) for row in rows[name]], schema=schema),
            time="t",
            importance="v",
            name=name,
        )
        for name in "ab"
    ]


def draw_rows(dice: random.Random, count: int, weighted: bool, null: bool) -> dict[str, list[Row]]:
    def items() -> Any:
        drawn = sorted(dice.sample(range(6), dice.randrange(0, 5)))
        if weighted:
            return {item: dice.choice([0.25, 0.5, 1.0]) for item in drawn}
        return None if null and dice.random() < 0.1 else drawn

    return {
        name: [
            {"t": t, "v": float(dice.choice([1, 2, 50])), "k": dice.randrange(3), "s": items()}
            for t in sorted(dice.randrange(count) for _ in range(count))
        ]
        for name in "ab"
    }


@pytest.mark.uncompiled
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside an equality"])
@pytest.mark.parametrize("kind", [*PREDICATES, "similar"])
def test_oracle_all_kept_aside(kind: str, beside: bool) -> None:
    """Streams no longer than the room: recall is known exactly, and the interval is a point."""
    lost = 0
    for seed in fewer(range(8), 3):
        dice = random.Random(seed)
        counted, window = dice.random() < 0.4, dice.choice([5, 20])
        rows = draw_rows(dice, 60, kind == "similar", null=True)
        sides = streams_of(rows, kind == "similar")
        on = bf.similar("s", at_least=0.5) if kind == "similar" else PREDICATES[kind][0]

        def holds(a: Row, b: Row) -> bool:
            if kind == "similar":
                return similarity(a["s"], b["s"]) >= 0.5
            if a["s"] is None or b["s"] is None:
                return False
            return PREDICATES[kind][1](set(a["s"]), set(b["s"]))  # type: ignore[no-untyped-call]

        within = bf.rows(window) if counted else window
        shed = bf.shed(bf.tuples(dice.choice([3, 9, 15])), "prob", seed=seed)
        joined = bf.join(*sides, on=on, within=within, name="s", overload=shed)
        worths = exact_worths(rows, "ab", (window, counted), holds, min)
        if beside:
            other = bf.join(*sides, on="k", within=within, name="k", overload=shed)
            joined = bf.joins(joined, other)
            equal = lambda a, b: a["k"] == b["k"]  # noqa: E731
            worths += exact_worths(rows, "ab", (window, counted), equal, min)
        found, got = joined.read_all(), joined.recall
        assert got is not None
        assert got.estimate == got.low == got.high, f"seed {seed}"
        assert got.estimate == pytest.approx(found.num_rows / len(worths)), f"seed {seed}"
        emitted = sum(found.column("importance").to_pylist())
        assert got.importance == pytest.approx(emitted / sum(worths)), f"seed {seed}"
        lost += len(worths) - found.num_rows
    assert lost > 10


def baskets(seed: int, count: int, items: int, skew: float, largest: int) -> list[pa.Table]:
    """Return two streams of sets of 1 to ``largest`` items, some items more frequent."""
    dice = np.random.default_rng(seed)
    chance = 1.0 / np.arange(1, items + 1) ** skew
    tables = []
    for _ in "ab":
        sizes = dice.integers(1, largest + 1, count)
        drawn = dice.choice(items, sizes.sum(), p=chance / chance.sum())
        offsets = pa.array(np.append(0, np.cumsum(sizes)).astype(np.int32))
        values = pa.ListArray.from_arrays(offsets, pa.array(drawn))
        times, worth = np.sort(dice.integers(0, count, count)), dice.pareto(1.5, count) + 1.0
        tables.append(pa.table({"t": times, "v": worth, "s": values}))
    return tables


def run(tables: list[pa.Table], within: int, shed: Shed, rows: int | None = None) -> Any:
    sides = [
        bf.stream(
            one if rows is None else iter(one.to_batches(max_chunksize=rows)),
            time="t", importance="v", name=n,
        )
        for n, one in zip("ab", tables, strict=True)
    ]  # fmt: skip
    joined = bf.join(*sides, on=bf.overlap("s", at_least=2), within=within, overload=shed)
    return joined, joined.read_all()


@pytest.mark.parametrize(
    ("items", "skew", "largest"),
    [(40, 0.0, 6), (300, 1.0, 10), pytest.param(2000, 0.7, 120, marks=pytest.mark.soak)],
    ids=["uniform", "skewed", "large sets"],
)
def test_interval_covers(items: int, skew: float, largest: int) -> None:
    """An interval of 95 % covers the true recall at least 92 % of the time."""
    covered, runs = np.zeros(2), 0
    for seed in range(30):
        tables = baskets(seed, 1500, items, skew, largest)
        _, whole = run(tables, 400, bf.shed(bf.tuples(10_000), "fifo"))
        worth = sum(whole["importance"].to_pylist())
        for budget, policy in ((60, "prob"), (300, "fifo")):
            runs += 1
            joined, found = run(tables, 400, bf.shed(bf.tuples(budget), policy, seed=runs))
            got = joined.recall
            assert got is not None
            assert got.sampled_tuples < 3_000
            true = found.num_rows / whole.num_rows, sum(found["importance"].to_pylist()) / worth
            covered += (
                got.low - 1e-9 <= true[0] <= got.high + 1e-9,
                got.importance_low - 1e-9 <= true[1] <= got.importance_high + 1e-9,
            )
            assert got.high - got.low < 0.5, (seed, budget, got)  # not by being useless
            kept = joined._state.stage(BoundedJoin).watch.sets
            assert kept.now.used <= ks.ITEMS * 256 + largest
    assert covered.min() / runs >= 0.92, covered / runs


def test_a_set_larger_than_all_room_is_kept_alone() -> None:
    """Whoever never kept it would not know what it misses; the others still count."""
    wide, narrow = list(range(5_000)), [1, 2]
    rows = [wide if n % 7 == 0 else narrow for n in range(600)]
    table = pa.table({"t": range(600), "v": [1.0] * 600, "s": rows})
    joined, found = run([table, table], 100, bf.shed(bf.tuples(20), "fifo"))
    got = joined.recall
    assert got is not None
    exact = sum(len(range(max(0, n - 100), min(600, n + 101))) for n in range(600))
    assert got.low <= found.num_rows / exact <= got.high < 0.5
    assert len(joined._state.stage(BoundedJoin).watch.sets.posts) <= 256 * ks.ITEMS + 2 * 5_000


def test_how_the_input_is_cut_leaves_no_trace() -> None:
    """The sample depends on what the tuples hold, not on numbers that items happen to have."""
    tables = baskets(3, 1500, 100_000, 0.9, 20)
    told = [
        (joined.recall, sorted(map(str, found.to_pylist())))
        for joined, found in (
            run(tables, 400, bf.shed("200 KB", "fifo"), rows) for rows in (None, 333, 41)
        )
    ]
    assert told[0][0] is not None
    assert told[0][0].low < told[0][0].estimate < told[0][0].high
    assert all(one == two for one, two in itertools.pairwise(told))


def test_a_recall_asked_for_is_reached() -> None:
    tables = baskets(5, 12_000, 200, 0.5, 6)
    joined, found = run(tables, 500, bf.shed(recall=0.9, keep="fifo"))
    _, whole = run(tables, 500, bf.shed(bf.tuples(100_000), "fifo"))
    assert 0.87 <= found.num_rows / whole.num_rows <= 0.97
    assert joined.recall.low <= found.num_rows / whole.num_rows <= joined.recall.high
    stored = sum(one.stored for one in joined.ledger.streams.values())
    assert stored < 990  # of about 1,000 in the windows
