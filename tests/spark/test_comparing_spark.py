"""Family: differential. A budget of comparisons on Spark: real queries, sets, several buckets.

``tests/property/test_cuts_over_buckets.py`` tries many cuts without Spark, and
``tests/property/test_comparing.py`` all algorithms; here is what only Spark shows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from spark_runs import Runner, ledger_of, write_stream

import bankfull as bf

Fresh = Callable[[], Runner]
COUNT, WITHIN, BUCKETS = 400, 60, 3


def streams() -> dict[str, pa.Table]:
    made = {}
    for number, name in enumerate("ab"):
        dice = np.random.default_rng([5, number])
        times = np.append(np.sort(dice.integers(0, 400, COUNT)), [5000, 5001])
        tags = [sorted({int(tag) for tag in dice.zipf(1.5, 5) % 30}) for _ in range(COUNT)]
        tags += [[0], [0]]  # have no partner: they are there to let time pass
        made[name] = pa.table({"t": times, "id": range(COUNT + 2), "tags": tags})
    return made


def run(spark: Runner, lengths: list[int], shed: Any, stop_after: int | None = None) -> Any:
    """Join the streams on Spark; return the pairs, and the ledger."""
    tables = streams()
    for name, table in tables.items():
        write_stream(spark.input / name, table, lengths)
    for files in [*([stop_after] if stop_after else []), 1000]:
        spark.show(files)
        given = [bf.stream(spark.streaming(n, tables[n]), time="t", name=n) for n in "ab"]
        on = bf.overlap("tags", at_least=2)
        joined = bf.join(*given, on=on, within=WITHIN, overload=shed, buckets=BUCKETS)
        spark.drain(joined)
    found = spark.spark.read.parquet(str(spark.sink)).toArrow().to_pylist()
    pairs = Counter((row["a_id"], row["b_id"]) for row in found)
    return pairs, ledger_of(spark.spark, spark.checkpoint)


def exact() -> Counter[tuple[int, int]]:
    """Every pair compared, in plain Python."""
    a, b = (table.to_pylist() for table in streams().values())
    return Counter(
        (x["id"], y["id"])
        for x in a
        for y in b
        if abs(x["t"] - y["t"]) <= WITHIN and len(set(x["tags"]) & set(y["tags"])) >= 2
    )


def test_differential_comparisons(runner: Fresh) -> None:
    whole = exact()
    scarce = bf.shed(cpu=bf.comparisons(150))
    rows, ledger = run(runner(), [100] * 4, scarce)
    assert rows <= whole
    assert 0.1 * whole.total() < rows.total() < 0.9 * whole.total()
    assert ledger["joins"]["join"]["skipped"] > 1000
    again, other = run(runner(), [30, 250, 100], scarce, stop_after=2)
    assert again == rows
    assert other["joins"] == ledger["joins"]
    both = bf.shed(bf.tuples(120), keep="fifo", cpu=bf.comparisons(60))
    fewer, ledger = run(runner(), [100] * 4, both)
    assert fewer <= whole
    assert 0.02 * whole.total() < fewer.total() < rows.total()
    assert ledger["joins"]["join"]["skipped"] > 1000
    assert sum(one["stored"] for one in ledger["streams"].values()) <= 120
    again, other = run(runner(), [30, 250, 100], both, stop_after=2)
    assert again == fewer
    assert other["joins"] == ledger["joins"]
    timed, _ = run(runner(), [200, 200], bf.shed(bf.tuples(2000), keep="fifo", cpu=1.0))
    assert timed <= whole
    assert timed.total() > 0.5 * whole.total()
