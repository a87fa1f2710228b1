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
from bankfull.oracle import exact as brute_force
from bankfull.spec import Equal, Join, Query, Rows, Stream, Ticks

Fresh = Callable[[], Runner]
COUNT, FEW, WITHIN, BUCKETS = 400, 100, 60, 3
#: Comparisons a unit of time with which three streams give some of their results.
SCARCE = 3.0


def streams(count: int = COUNT) -> dict[str, pa.Table]:
    made = {}
    for number, name in enumerate("ab"):
        dice = np.random.default_rng([5, number])
        times = np.append(np.sort(dice.integers(0, count, count)), [5000, 5001])
        tags = [sorted({int(tag) for tag in dice.zipf(1.5, 5) % 30}) for _ in range(count)]
        tags += [[0], [0]]  # have no partner: they are there to let time pass
        first = [tag[0] for tag in tags]
        made[name] = pa.table({"t": times, "id": range(count + 2), "tags": tags, "first": first})
    return made


ON_SETS = bf.overlap("tags", at_least=2)


def run(
    spark: Runner,
    lengths: list[int],
    shed: Any,
    stop_after: int | None = None,
    tables: dict[str, pa.Table] | None = None,
    **how: Any,
) -> Any:
    """Join the streams on Spark; return the members of each result, and the ledger."""
    tables = tables or streams()
    how = {"on": ON_SETS, "within": WITHIN, "buckets": BUCKETS, **how}
    for name, table in tables.items():
        write_stream(spark.input / name, table, lengths)
    for files in [*([stop_after] if stop_after else []), 1000]:
        spark.show(files)
        given = [bf.stream(spark.streaming(n, tables[n]), time="t", name=n) for n in tables]
        spark.drain(bf.join(*given, overload=shed, **how))
    found = spark.spark.read.parquet(str(spark.sink)).toArrow()
    return members(found, tables), ledger_of(spark.spark, spark.checkpoint)


def members(found: pa.Table, tables: dict[str, pa.Table]) -> Counter[tuple[int, ...]]:
    return Counter(zip(*(found[f"{name}_id"].to_pylist() for name in tables), strict=True))


@contextmanager
def uncompiled(spark: Any) -> Iterator[None]:
    """Have Python workers of their own for these settings, with the compiler off."""
    environment = spark.sparkContext.environment
    environment["NUMBA_DISABLE_JIT"] = "1"
    try:
        yield
    finally:
        del environment["NUMBA_DISABLE_JIT"]


def exact(by_key: bool = False, count: int = COUNT) -> Counter[tuple[int, int]]:
    """Every pair compared, in plain Python."""
    a, b = (table.to_pylist() for table in streams(count).values())
    return Counter(
        (x["id"], y["id"])
        for x in a
        for y in b
        if abs(x["t"] - y["t"]) <= WITHIN
        and (x["first"] == y["first"] if by_key else len(set(x["tags"]) & set(y["tags"])) >= 2)
    )


def test_differential_comparisons(runner: Fresh) -> None:
    """Sets in a grid of buckets: a part of the exact result, the same however it is cut."""
    whole = exact()
    scarce = bf.shed(cpu=bf.comparisons(150))
    rows, ledger = run(runner(), [100] * 4, scarce)
    assert rows <= whole
    assert 0.1 * whole.total() < rows.total() < 0.9 * whole.total()
    assert ledger["joins"]["join"]["skipped"] > 1000
    again, other = run(runner(), [30, 250, 100], scarce, stop_after=2)
    assert again == rows
    assert other["joins"] == ledger["joins"]


def test_differential_both_budgets(runner: Fresh, spark: Any) -> None:
    """With the compiler off, and so few rows that this takes no longer than the others."""
    whole, tables = exact(count=FEW), streams(FEW)
    both = bf.shed(bf.tuples(120), keep="fifo", cpu=bf.comparisons(40))
    with uncompiled(spark):
        fewer, ledger = run(runner(), [50], both, tables=tables)
        again, other = run(runner(), [20, 70], both, stop_after=2, tables=tables)
    assert fewer <= whole
    assert 0.02 * whole.total() < fewer.total() < 0.7 * whole.total()
    assert ledger["joins"]["join"]["skipped"] > 300
    assert sum(one["copies_lost"] for one in ledger["streams"].values()) > 0
    assert sum(one["stored"] for one in ledger["streams"].values()) <= 120
    assert again == fewer
    assert other["joins"] == ledger["joins"]


def test_a_share_of_the_time(runner: Fresh) -> None:
    timed = bf.shed(bf.tuples(2000), keep="fifo", cpu=1.0)
    found, _ = run(runner(), [200, 200], timed, on="first")
    whole = exact(by_key=True)
    assert found <= whole
    assert found.total() > 0.5 * whole.total()


# ---------------------------------------------------------------------------- several streams


def three() -> dict[str, pa.Table]:
    """Three streams, each with times of its own, so that their order is the same everywhere."""
    made = {}
    for number, name in enumerate("abc"):
        dice = np.random.default_rng([6, number])
        times = np.append(np.sort(dice.choice(600, 200, replace=False)), [5000, 5001])
        keys = np.append(dice.zipf(1.5, 200) % 12, [-1 - number] * 2)
        made[name] = pa.table({"t": times, "id": range(202), "k": keys})
    return made


def exact_of_three(windows: list[Any]) -> Counter[tuple[int, ...]]:
    """Every combination compared, by the oracle."""
    join = Join("join", tuple("abc"), Equal((("k",),)), tuple(windows))
    query = Query(tuple(Stream(name, "t") for name in "abc"), (join,))
    return Counter(brute_force(query, three())["join"])


def test_differential_three_streams(runner: Fresh) -> None:
    """Over buckets: exact with an ample budget, else a part of it, however it is cut."""
    tables, whole = three(), exact_of_three([Ticks(40)] * 3)
    how: dict[str, Any] = {"tables": tables, "on": "k", "within": 40}
    ample, ledger = run(runner(), [110], bf.shed(cpu=bf.comparisons(10_000)), **how)
    assert ample == whole
    assert ledger["joins"]["join"]["skipped"] == 0
    scarce = bf.shed(cpu=bf.comparisons(2 * SCARCE))
    rows, ledger = run(runner(), [110], scarce, **how)
    assert rows <= whole
    assert 0.1 * whole.total() < rows.total() < 0.9 * whole.total()
    again, other = run(runner(), [30, 120], scarce, stop_after=2, **how)
    assert again == rows
    assert other["joins"] == ledger["joins"]


def test_differential_windows_of_rows(runner: Fresh) -> None:
    """Three streams, two with windows of rows, in one bucket: as in one process, restarted too."""
    tables, windows = three(), [Rows(12), Ticks(40), Rows(10)]
    whole = exact_of_three(windows)
    how: dict[str, Any] = {"on": "k", "within": windows}
    scarce = bf.shed(cpu=bf.comparisons(SCARCE))
    streams = [bf.stream(tables[name], time="t", name=name) for name in tables]
    here = bf.join(*streams, overload=scarce, **how)
    expected = members(here.read_all(), tables)
    found, ledger = run(runner(), [70, 70], scarce, stop_after=2, tables=tables, buckets=1, **how)
    assert found == expected
    assert found <= whole
    assert 0.1 * whole.total() < found.total() < 0.9 * whole.total()
    told = here.ledger.joins["join"]
    counts = ledger["joins"]["join"]
    assert (counts["compared"], counts["skipped"]) == (told.compared, told.skipped)
    assert counts["skipped"] > 100
