"""Families: differential, telemetry. What a query on Spark says of its recall.

In one bucket it is what the embedded runtime says; over several the numbers of all buckets add up
to an interval that holds the true recall. A recall asked for is reached by every bucket within its
share. Events carry it, and a query that lost nothing says 1.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from spark_runs import Runner, observed_in

import bankfull as bf
from bankfull.spec import Equal, Join, Query, Shed, Stream, Ticks
from bankfull.telemetry import Event
from bankfull.testing import Case

Fresh = Callable[[], Runner]


def case(rows: int, keys: int, within: int, skew: float = 0.0) -> Case:
    """Two streams, a tuple a time unit, whose last rows only say that time has come far."""
    dice = np.random.default_rng(5)
    chance = 1.0 / np.arange(1, keys + 1) ** skew
    tables = {}
    for number, name in enumerate("ab"):
        # No two alike: rows of one stream and one time come in the order of their content here.
        times = np.sort(dice.choice(2 * rows, rows, replace=False))
        drawn = dice.choice(keys, rows, p=chance / chance.sum())
        tables[name] = pa.table(
            {
                "t": np.append(times, [10**6, 10**6 + 1]),
                "k": np.append(drawn, [-1 - number] * 2),
                "v": np.append(dice.integers(1, 9, rows), [1, 1]).astype(float),
            }
        )
    query = Query(
        (Stream("a", "t"), Stream("b", "t")),
        (Join("join", ("a", "b"), Equal((("k",),)), (Ticks(within),)),),
    )
    return Case.of(query, **tables)


def plan(given: Case, sources: dict[str, Any], budget: Shed, buckets: int | None = None) -> Any:
    """Write the query as a user would."""
    streams = [bf.stream(sources[n], time="t", name=n, importance="v") for n in "ab"]
    within = given.query.joins[0].windows
    return bf.join(*streams, on="k", within=within, overload=budget, buckets=buckets)


def exact_pairs(given: Case) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return time and importance of every exact result, by comparing all with all."""
    (ta, ka, va), (tb, kb, vb) = ([given.tables[n][c].to_numpy() for c in "tkv"] for n in "ab")
    times, worths = [], []
    within = given.query.joins[0].windows[0].count
    for t, key, worth in zip(ta, ka, va, strict=True):
        fits = (kb == key) & (np.abs(tb - t) <= within)
        times.append(np.maximum(tb[fits], t))
        worths.append(np.minimum(vb[fits], worth))
    return np.concatenate(times), np.concatenate(worths)


def test_the_interval_of_all_buckets_holds_the_truth(runner: Fresh) -> None:
    given, spark = case(3_000, 150, 3_000, 0.8), runner()
    spark.write(given, 1_001)
    events: list[Event] = []
    listener = bf.listen(spark.spark, events.append)
    try:
        spark.drain(plan(given, spark.frames(given), bf.shed(bf.tuples(600), "prob"), 3))
        wanted = spark.progress[-1]["batchId"]
        for _ in range(600):  # Spark tells its listeners in its own time
            if any(event.batch == wanted for event in events):
                break
            time.sleep(0.1)
    finally:
        spark.spark.streams.removeListener(listener)
    _, worths = exact_pairs(given)
    found = spark.spark.read.parquet(str(spark.sink)).toArrow()
    metrics = observed_in(spark.progress[-1])
    told = bf.recall(metrics)
    assert told.sampled_tuples < 4_000, "all were sampled: nothing was estimated"
    assert metrics["watched"]["emitted"] == found.num_rows
    assert told.low <= found.num_rows / len(worths) <= told.high
    worth = sum(found["importance"].to_pylist()) / worths.sum()
    assert told.importance_low <= worth <= told.importance_high
    assert 0.01 < told.high - told.low < 0.15
    assert told.high < 0.95
    last = next((event for event in events if event.batch == spark.progress[-1]["batchId"]), None)
    assert last is not None
    assert last.recall is not None
    assert last.recall["low"] == told.low


def test_one_bucket_says_what_the_embedded_runtime_says(runner: Fresh) -> None:
    given, spark = case(1_000, 60, 1_000), runner()
    spark.write(given, 1_100)
    frames = {n: spark.spark.read.parquet(str(spark.input / n)) for n in "ab"}
    for budget, lost in ((200, True), (5_000, False)):
        shed = bf.shed(bf.tuples(budget), "prob")
        embedded = plan(given, dict(given.tables), shed)
        embedded.read_all()
        batch = plan(given, frames, shed, 1)
        batch.count()
        told = bf.recall(batch.ledger.get)
        assert told == embedded.recall
        assert (told.estimate == told.low == told.high == 1.0) != lost
        assert (told.importance_low == 1.0) != lost


def test_every_bucket_finds_the_memory_for_a_recall(runner: Fresh) -> None:
    given, spark = case(12_000, 200, 1_000), runner()
    spark.write(given, 3_001)
    spark.drain(plan(given, spark.frames(given), bf.shed(recall=0.8, keep="fifo"), 2))
    times, _ = exact_pairs(given)
    made = spark.spark.read.parquet(str(spark.sink)).toArrow()["joined_at"].to_numpy()
    late = 12_000  # half of the way
    reached = np.count_nonzero(made >= late) / np.count_nonzero(times >= late)
    assert 0.78 <= reached <= 0.88
    observed = [observed_in(one) for one in spark.progress]
    ledgers = [one["ledger"] for one in observed]
    stored = [one["a.stored"] + one["b.stored"] for one in ledgers if one["a.stored"] is not None]
    assert max(stored) < 950  # of 1,000 in the window
    assert abs(bf.recall(observed[-1]).estimate - len(made) / len(times)) < 0.02
