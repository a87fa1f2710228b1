"""Families: oracle (brute force counts), property, differential (batch splits, restored states).

The recall estimate is exact while every tuple can be kept aside, its interval covers the truth at
its stated rate when only a sample can, and nothing of it depends on how the input is cut. The
target test shows that a recall asked for is reached with less than the whole window.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from recall_cases import exact_pairs, exact_worths, pair, run

import bankfull as bf
from bankfull.core import Ledger
from bankfull.core.bounded.join import BoundedJoin
from bankfull.errors import PlanError
from bankfull.oracle import exact
from bankfull.spec import Equal, Join, Query, Shed, Stream, Ticks

WORTH = {
    "min": min,
    "max": max,
    "sum": lambda a, b: a + b,
    "product": lambda a, b: a * b,
    "average": lambda a, b: (a + b) / 2,
}


def table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    names = ["t", "v", "x", "y"]
    kinds = [pa.int64(), pa.float64(), pa.int64(), pa.int64()]
    return pa.Table.from_pylist(list(rows), schema=pa.schema(list(zip(names, kinds, strict=True))))


def of_weighed(worth: Callable[[float, float], float]) -> Callable[[Any, Any], float]:
    """Return the importance of a pair of which one or both may have none."""

    def of_pair(*both: float | None) -> float:
        given = [one for one in both if one is not None]
        return worth(*given) if len(given) == 2 else sum(given) or 1.0

    return of_pair


def same(key: str) -> Callable[[dict[str, Any], dict[str, Any]], bool]:
    """Return whether two rows have one key."""
    return lambda a, b: a[key] is not None and a[key] == b[key]


@pytest.mark.parametrize("policy", ["fifo", "prob", "random"])
def test_oracle_all_kept_aside(policy: str) -> None:
    """Streams no longer than the room: recall is known exactly, and the interval is a point."""
    for seed in range(12):
        dice = random.Random(seed)
        how, counted = dice.choice(sorted(WORTH)), dice.random() < 0.4
        window = dice.choice([5, 20])
        rows: dict[str, list[dict[str, Any]]] = {
            name: [
                {
                    "t": t,
                    "v": float(dice.choice([1, 2, 50])),
                    "x": dice.choice([None, 1, 2, 3]),
                    "y": dice.choice([1, 2]),
                }
                for t in sorted(dice.randrange(100) for _ in range(80))
            ]
            for name in "abc"
        }
        weighed = dice.choice(["abc", "abc", "ac", "a"])
        made = {
            name: bf.stream(
                table(rows[name]), time="t", importance="v" if name in weighed else None, name=name
            )
            for name in "abc"
        }
        for name in set("abc") - set(weighed):
            rows[name] = [{**row, "v": None} for row in rows[name]]
        within = bf.rows(window) if counted else window
        shed = bf.shed(bf.tuples(dice.choice([2, 7, 15])), policy, importance=how, seed=seed)
        both = [("ab", "x"), ("bc", "y")]
        joined = bf.joins(
            *(
                bf.join(made[p[0]], made[p[1]], on=key, within=within, name=p, overload=shed)
                for p, key in both
            )
        )
        found = joined.read_all()
        worths = []
        for p, key in both:
            worths += exact_worths(rows, p, (window, counted), same(key), of_weighed(WORTH[how]))
        got = joined.recall
        assert got is not None
        assert got.estimate == got.low == got.high, f"seed {seed}"
        assert got.estimate == pytest.approx(found.num_rows / len(worths)), f"seed {seed}"
        emitted = sum(found.column("importance").to_pylist())
        assert got.importance == pytest.approx(emitted / sum(worths)), f"seed {seed}"
        assert got.importance_low == pytest.approx(got.importance_high)


def test_joins_of_many_keys_are_kept_apart() -> None:
    """Two joins over the same streams, with more keys than places to list them by."""
    dice = random.Random(5)
    rows = {
        name: [
            {"t": t, "v": 1.0, "x": dice.randrange(400), "y": dice.randrange(400)}
            for t in range(120)
        ]
        for name in "ab"
    }
    sides = [bf.stream(table(rows[name]), time="t", name=name) for name in "ab"]
    shed = bf.shed(bf.tuples(20), "fifo")
    joined = bf.joins(*(bf.join(*sides, on=k, within=90, name=k, overload=shed) for k in "xy"))
    found = joined.read_all().num_rows
    exact = sum(len(exact_worths(rows, "ab", (90, False), same(key), min)) for key in "xy")
    assert 0 < found < exact
    assert joined.recall is not None
    assert joined.recall.estimate == pytest.approx(found / exact)


@pytest.mark.parametrize("policy", ["fifo", "prob", "gain"])
def test_interval_covers(policy: str) -> None:
    """An interval of 95 % covers the true recall at least 92 % of the time."""
    covered, runs = np.zeros(2), 0
    for keys, skew in ((300, 0.0), (5000, 0.0), (1000, 1.2)):
        for seed in range(20):
            tables = pair(1000 + seed, 2000, keys, skew)
            total, worth, _ = exact_pairs(tables, 500)
            for budget in (50, 300, 700):
                runs += 1
                joined, found = run(tables, 500, bf.shed(bf.tuples(budget), policy, seed=runs))
                got = joined.recall
                assert got is not None
                assert got.sampled_tuples < 4000
                true = found.num_rows / total, sum(found["importance"].to_pylist()) / worth
                covered += (
                    got.low - 1e-9 <= true[0] <= got.high + 1e-9,
                    got.importance_low - 1e-9 <= true[1] <= got.importance_high + 1e-9,
                )
                # Not by being useless.
                assert got.high - got.low < 0.45, (seed, budget, got)
    assert runs == 180
    assert covered.min() / runs >= 0.92, covered / runs


def test_nothing_dropped_is_recall_one() -> None:
    """A budget that suffices loses nothing and says so."""
    joined, found = run(pair(1, 2000, 100, 0.0), 500, bf.shed(bf.tuples(3000), "fifo"))
    got = joined.recall
    assert got is not None
    assert found.num_rows
    assert (got.estimate, got.low, got.high) == (1.0, 1.0, 1.0)
    assert (got.importance, got.importance_low, got.importance_high) == (1.0, 1.0, 1.0)


def many(seed: int, streams: int, count: int, keys: int, skew: float) -> list[pa.Table]:
    """Return several streams like those of :func:`pair`."""
    made = [
        one for n in range((streams + 1) // 2) for one in pair(seed + 500 * n, count, keys, skew)
    ]
    return made[:streams]


def run_many(tables: list[pa.Table], within: Any, shed: Shed, **more: Any) -> Any:
    """Join several tables under a budget, and return the join with its results."""
    made = [bf.stream(one, time="t", name=n, **more)
            for n, one in zip("abcde", tables, strict=False)]  # fmt: skip
    joined = bf.join(*made, on="k", within=within, overload=shed)
    return joined, joined.read_all()


@pytest.mark.parametrize(("streams", "rows"), [(3, 50), (4, 24), (5, 16)])
def test_oracle_many_streams_all_kept_aside(streams: int, rows: int) -> None:
    """More than two streams, no longer than the room: recall is known exactly."""
    for seed in range(5):
        tables = many(seed, streams, rows, 4, 0.5)
        joined, found = run_many(tables, 15, bf.shed(bf.tuples(9 * streams), "prob", seed=seed))
        named = dict(zip("abcde", tables, strict=False))
        query = Query(
            tuple(Stream(name, "t") for name in named),
            (Join("j", tuple(named), Equal((("k",),)), (Ticks(15),)),),
        )
        whole = len(exact(query, named)["j"])
        got = joined.recall
        assert got is not None
        assert 0 < found.num_rows < whole, f"seed {seed}"
        assert got.estimate == got.low == got.high, f"seed {seed}"
        assert got.estimate == pytest.approx(found.num_rows / whole), f"seed {seed}"
        assert got.importance == pytest.approx(got.estimate)


def test_interval_covers_with_three_streams() -> None:
    """With a sample the interval covers the truth, by count and by importance, which is drawn."""
    covered, runs = np.zeros(2), 0
    for keys, skew in ((300, 0.0), (1000, 0.7)):
        for seed in range(20):
            tables = many(2000 + seed, 3, 1200, keys, skew)
            _, whole = run_many(tables, 300, bf.shed(bf.tuples(10_000), "fifo"), importance="v")
            for budget in (60, 300):
                runs += 1
                shed = bf.shed(bf.tuples(budget), "prob", seed=runs)
                joined, found = run_many(tables, 300, shed, importance="v")
                got = joined.recall
                assert got is not None
                assert got.sampled_tuples < 3600
                true = found.num_rows / whole.num_rows
                worth = sum(found["importance"].to_pylist()) / sum(whole["importance"].to_pylist())
                covered += (
                    got.low <= true <= got.high,
                    got.importance_low <= worth <= got.importance_high,
                )
    assert covered.min() / runs >= 0.92, covered / runs


def test_none_where_it_cannot_be_known() -> None:
    """No shedding, or more than two streams whose windows differ: no estimate."""
    a, b = pair(1, 50, 5, 0.0)
    streams = [bf.stream(one, time="t", name=n) for n, one in zip("abc", (a, b, a), strict=True)]
    assert bf.join(*streams[:2], on="k", within=5).recall is None
    for within in ((5, 5, 6), bf.rows(5)):
        three = bf.join(*streams, on="k", within=within, overload=bf.shed(bf.tuples(9), "fifo"))
        three.read_all()
        assert three.recall is None
        assert "recall" not in three.ledger.as_dict()
        with pytest.raises(PlanError, match=r"3 streams.*the same window of time"):
            bf.join(*streams, on="k", within=within, overload=bf.shed(recall=0.9))


def test_operators_that_number_alike_do_not_draw_alike() -> None:
    """Samples of operators with other keys are independent: what they miss may be added up."""
    kept = []
    for shift in (0, 10_000):
        tables = [one.set_column(1, "k", pa.array(one["k"].to_numpy() + shift))
                  for one in pair(1, 2000, 100, 0.0)]  # fmt: skip
        joined, _ = run(tables, 500, bf.shed(bf.tuples(300), "fifo"))
        shedding = joined._state.stage(BoundedJoin)
        assert shedding is not None
        assert shedding.watch is not None
        sample = shedding.watch.kept
        kept.append({int(seq) for seq in sample.seq[sample.stream >= 0]})
    chance = 256 / 1000
    assert min(map(len, kept)) > 100
    assert len(kept[0] & kept[1]) < 2 * chance * len(kept[0])


def test_the_ledger_has_the_recall() -> None:
    """It is part of the account, survives as JSON, and can be added over operators."""
    joined, found = run(pair(1, 2000, 100, 0.0), 500, bf.shed(bf.tuples(300), "fifo"))
    ledger = joined.ledger
    assert ledger.recall == joined.recall
    written = json.loads(json.dumps(ledger.as_dict()))
    assert Ledger.from_dict(written) == ledger
    assert ledger.recall is not None
    assert written["recall"]["low"] == ledger.recall.low < 1.0
    assert ledger.watched is not None
    assert ledger.watched.emitted == found.num_rows
    # Twice the work, done by two operators: the same recall, better known.
    twice = (ledger.watched + ledger.watched).recall()
    assert twice.estimate == pytest.approx(ledger.recall.estimate)
    assert ledger.recall.low < twice.low < twice.estimate < twice.high < ledger.recall.high
    # One operator more that lost nothing: as many results missed, of more.
    whole, _ = run(pair(2, 2000, 100, 0.0), 500, bf.shed(bf.tuples(3000), "fifo"))
    assert whole.ledger.watched is not None
    both = (ledger.watched + whole.ledger.watched).recall()
    assert ledger.recall.estimate < both.low < both.estimate < both.high < 1.0
