"""Family: differential. How Spark cut the input into micro-batches leaves no trace under a budget.

Real queries over files, several buckets, popular keys, equal times: one run has a file a
micro-batch, the others have files of other lengths, a stop and a restart, or both streams far
apart. Rows and ledger must be the same. ``tests/property/test_cuts_over_buckets.py`` tries many
more cuts without Spark.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from spark_runs import Runner, ledger_of

import bankfull as bf

Fresh = Callable[[], Runner]
COUNT, WITHIN, BUCKETS = 600, 60, 3


def streams() -> dict[str, pa.Table]:
    made = {}
    for number, name in enumerate("ab"):
        dice = np.random.default_rng([4, number])
        times = np.append(np.sort(dice.integers(0, 400, COUNT)), [5000, 5001])
        keys = np.append(dice.zipf(1.4, COUNT) % 50, [-1 - number] * 2)
        about = [[("n", int(n))] for n in dice.integers(0, 10_000, COUNT + 2)]
        kind = pa.map_(pa.string(), pa.int64())
        made[name] = pa.table({"t": times, "k": keys, "about": pa.array(about, kind)})
    return made


def run(spark: Runner, lengths: dict[str, list[int]], stop_after: int | None = None) -> Any:
    from spark_runs import write_stream

    tables = streams()
    for name, table in tables.items():
        write_stream(spark.input / name, table, lengths[name])
    for files in [*([stop_after] if stop_after else []), 1000]:
        spark.show(files)
        frames = {name: spark.streaming(name, table) for name, table in tables.items()}
        given = [bf.stream(frames[n], time="t", name=n) for n in "ab"]
        shed = bf.shed(memory=bf.tuples(60))
        joined = bf.join(*given, on="k", within=WITHIN, overload=shed, buckets=BUCKETS)
        spark.drain(joined)
    found = spark.spark.read.parquet(str(spark.sink)).toArrow().to_pylist()
    return Counter(map(repr, found)), ledger_of(spark.spark, spark.checkpoint)


def test_differential_cuts_under_a_budget(runner: Fresh) -> None:
    even = {name: [300, 300] for name in "ab"}
    rows, ledger = run(runner(), even)
    assert rows.total() > 300
    assert sum(counts["evicted"] + counts["shed"] for counts in ledger["streams"].values()) > 100
    assert not any(counts["late"] for counts in ledger["streams"].values())
    others = [
        ({"a": [350, 50], "b": [10, 300, 7]}, None),
        ({"a": [COUNT + 1], "b": [200, 200]}, 2),
    ]
    for lengths, stop_after in others:
        again, other = run(runner(), lengths, stop_after)
        assert again == rows
        assert other["streams"] == ledger["streams"]
        assert other["joins"] == ledger["joins"]
