"""Family: differential. A budget of comparisons on Spark: real queries, sets, several buckets.

``tests/property/test_cuts_over_buckets.py`` tries many cuts without Spark, and
``tests/property/test_comparing.py`` all algorithms; here is what only Spark shows. Joins on sets
within both budgets run with the compiler off: no other test needs their kernels, and each of the
workers would compile them for as long as all queries here take.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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
        first = [tag[0] for tag in tags]
        made[name] = pa.table({"t": times, "id": range(COUNT + 2), "tags": tags, "first": first})
    return made


ON_SETS = bf.overlap("tags", at_least=2)


def run(
    spark: Runner, lengths: list[int], shed: Any, stop_after: int | None = None, on: Any = ON_SETS
) -> Any:
    """Join the streams on Spark; return the pairs, and the ledger."""
    tables = streams()
    for name, table in tables.items():
        write_stream(spark.input / name, table, lengths)
    for files in [*([stop_after] if stop_after else []), 1000]:
        spark.show(files)
        given = [bf.stream(spark.streaming(n, tables[n]), time="t", name=n) for n in "ab"]
        joined = bf.join(*given, on=on, within=WITHIN, overload=shed, buckets=BUCKETS)
        spark.drain(joined)
    found = spark.spark.read.parquet(str(spark.sink)).toArrow().to_pylist()
    pairs = Counter((row["a_id"], row["b_id"]) for row in found)
    return pairs, ledger_of(spark.spark, spark.checkpoint)


@contextmanager
def uncompiled(spark: Any) -> Iterator[None]:
    """Have Python workers of their own for these settings, with the compiler off."""
    environment = spark.sparkContext.environment
    environment["NUMBA_DISABLE_JIT"] = "1"
    try:
        yield
    finally:
        del environment["NUMBA_DISABLE_JIT"]


def exact(by_key: bool = False) -> Counter[tuple[int, int]]:
    """Every pair compared, in plain Python."""
    a, b = (table.to_pylist() for table in streams().values())
    return Counter(
        (x["id"], y["id"])
        for x in a
        for y in b
        if abs(x["t"] - y["t"]) <= WITHIN
        and (x["first"] == y["first"] if by_key else len(set(x["tags"]) & set(y["tags"])) >= 2)
    )


def test_differential_comparisons(runner: Fresh, spark: Any) -> None:
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
    with uncompiled(spark):
        fewer, ledger = run(runner(), [100] * 4, both)
        again, other = run(runner(), [30, 250, 100], both, stop_after=2)
    assert fewer <= whole
    assert 0.02 * whole.total() < fewer.total() < rows.total()
    assert ledger["joins"]["join"]["skipped"] > 1000
    assert sum(one["stored"] for one in ledger["streams"].values()) <= 120
    assert again == fewer
    assert other["joins"] == ledger["joins"]
    timed = bf.shed(bf.tuples(2000), keep="fifo", cpu=1.0)
    found, _ = run(runner(), [200, 200], timed, on="first")
    whole = exact(by_key=True)
    assert found <= whole
    assert found.total() > 0.5 * whole.total()
