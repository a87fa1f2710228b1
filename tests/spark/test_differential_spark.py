"""Families: ``differential_*`` (Spark against embedded) and ``oracle_*`` (Spark against others).

A join on Spark gives the rows that the embedded runtime gives, whatever the micro-batches and
however many buckets, on streams and on batch DataFrames. Both could be wrong alike, as they share
the core: brute force judges every case, DuckDB and Spark's own join judge one each.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from spark_cases import CASES, SCHEMA, pair, within
from spark_runs import Runner, ledger_of, same_rows

from bankfull import oracle
from bankfull.spec import Equal, Stream
from bankfull.testing import Case, run

Fresh = Callable[[], Runner]
#: Rows a file where the built-in join is compared.
FILE_ROWS = 24
#: Counts that neither the runtime nor the way to cut the streams may change.
LASTING = ("arrived", "quarantined", "late", "shed", "inserted", "evicted", "purged", "spilled")


def _sometimes(title: str) -> Any:
    """Leave to `make soak` what the other cases nearly cover; a query takes seconds."""
    rare = ("superset", "several, one bucket", "text")
    return pytest.param(title, marks=pytest.mark.soak if title in rare else ())


@pytest.mark.parametrize("title", [_sometimes(title) for title in CASES])
def test_differential_streaming(title: str, runner: Fresh) -> None:
    """Streaming DataFrames: the oracle's rows, value by value, and the embedded runtime's."""
    case, splits, buckets = CASES[title]
    found = runner().run(case, splits, buckets)
    assert len(found) > 20, "the case joins next to nothing"
    same_rows(found, run(case).table.select(found.column_names))


@pytest.mark.parametrize("title", CASES)
def test_differential_batch(title: str, runner: Fresh) -> None:
    """Batch DataFrames, with other buckets than the stream has."""
    case, _, buckets = CASES[title]
    found = runner().run_batch(case, {1: 5, 2: 1, 5: 2}.get(buckets or 0))
    same_rows(found, run(case).table.select(found.column_names))


@pytest.mark.parametrize(
    ("title", "rows", "buckets"), [("integer", 12, 1), ("overlap", 30, 5), ("several", 45, 2)]
)
def test_differential_splits(title: str, rows: int, buckets: int, runner: Fresh) -> None:
    """The same streams cut and spread in other ways give the same rows, and count the same."""
    case, _, _ = CASES[title]
    spark = runner()
    spark.run(case, rows, buckets)
    counted, embedded = spark.counts(), run(case).ledger
    for name, wanted in embedded["streams"].items():
        # A row that is sent to several buckets has arrived once.
        assert {k: counted[f"{name}.{k}"] for k in LASTING} == {k: wanted[k] for k in LASTING}
    for name, wanted in embedded["joins"].items():
        assert counted[f"{name}.emitted"] == wanted["emitted"]


def test_differential_ledger(runner: Fresh) -> None:
    """Observed metrics and the ledger in the state add up to the embedded runtime's ledger."""
    case = _spoilt(CASES["integer"][0])
    spark = runner()
    spark.run(case, 20, 5)
    embedded, stored = run(case).ledger, ledger_of(spark.spark, spark.checkpoint)
    counted = spark.counts()
    for name, wanted in embedded["streams"].items():
        found = stored["streams"][name]
        assert {k: found[k] for k in LASTING} == {k: wanted[k] for k in LASTING}, name
        assert found["quarantined"] == 2
        assert found == {k: counted[f"{name}.{k}"] for k in found}, name
        assert found["inserted"] == found["stored"] + found["expired"]
    assert stored["joins"]["join"]["emitted"] == embedded["joins"]["join"]["emitted"]
    assert counted["join.emitted"] == embedded["joins"]["join"]["emitted"]


def test_oracle_late(runner: Fresh) -> None:
    """A row beyond the bound that comes in a later micro-batch is counted and not joined."""
    case = pair(Equal((("k",),)), within(1), seed=200)
    early = pa.Table.from_pylist([{"t": 0, "k": key} for key in range(10)], SCHEMA)
    tables = {name: table.select(SCHEMA.names) for name, table in case.tables.items()}
    tables["a"] = pa.concat_tables([tables["a"].slice(0, 70), early, tables["a"].slice(70)])
    case = Case.of(case.query, **tables)
    spark = runner()
    spark.run(case, {"a": [70, 5], "b": [40]}, 5)
    late = Counter(oracle.fates(case.query, case.tables)["a"])["late"]
    assert late == 10
    counted = spark.counts()
    assert (counted["a.late"], counted["b.late"]) == (10, 0)
    assert counted["a.arrived"] == len(tables["a"]) == counted["a.inserted"] + 10


def test_oracle_late_at_the_bound(runner: Fresh) -> None:
    """A row exactly at the bound is kept, in every bucket; one microsecond earlier it is late."""
    case = pair(Equal((("k",),)), within(100), seed=210)
    edge = 10_000_000
    moved = [{"t": edge + 1_000_000, "k": 0}]
    moved += [{"t": edge - early, "k": key} for key in range(6) for early in (0, 1)]
    partners = [{"t": edge, "k": key} for key in range(6)]
    tables = {
        "a": pa.Table.from_pylist(moved, SCHEMA),
        "b": pa.Table.from_pylist(partners, SCHEMA),
    }
    spark = runner()
    found = spark.run(Case.of(case.query, **tables), {"a": [1], "b": []}, 5)
    assert len(found) == 7
    assert spark.counts()["a.late"] == 6


def test_oracle_duckdb(runner: Fresh) -> None:
    """DuckDB joins the same two tables, and every value survives the way through Spark."""
    case, _, _ = CASES["integer"]
    found = runner().run_batch(case)
    with duckdb.connect() as connection:
        for name, table in case.tables.items():
            connection.register(name, table)
        expected = connection.sql(
            """SELECT a.t, b.t, a.row_a, b.row_b, a.big, b.big, a.price, b.price, a.place, b.place
               FROM a, b WHERE a.k = b.k AND b.t - a.t <= INTERVAL 1 SECOND
                AND a.t - b.t <= INTERVAL 2500 MILLISECOND"""
        ).to_arrow_table()
    columns = ["a_t", "b_t", "row_a", "row_b", "a_big", "b_big", "a_price", "b_price"]
    columns += ["a_place", "b_place"]
    part = found.select(columns)
    same_rows(part, expected.rename_columns(columns).cast(part.schema))


def test_oracle_builtin_join(runner: Fresh) -> None:
    """Spark's own join agrees, but for rows it drops because they equal a watermark."""
    case = _sorted(pair(Equal((("k",),)), within(1), seed=220))
    streams = tuple(Stream(name, "t") for name in "ab")
    case = Case(dataclasses.replace(case.query, streams=streams), case.tables)
    ours = runner().run(case, FILE_ROWS, 5)
    builtin = runner()
    builtin.write(case, FILE_ROWS)
    sides = []
    for name, table in case.tables.items():
        frame = builtin.streaming(name, table).select("t", "k", f"row_{name}")
        sides.append(frame.withWatermark("t", "0 seconds").alias(name))
    condition = "a.k = b.k AND a.t <= b.t + INTERVAL 1 SECOND AND b.t <= a.t + INTERVAL 1 SECOND"
    builtin.drain(sides[0].join(sides[1], _expression(condition)).select("row_a", "row_b"))
    theirs = builtin.rows(ours.select(["row_a", "row_b"]).schema)
    found, wanted = _pairs(theirs), _pairs(ours)
    assert not found - wanted, "the built-in join has rows that ours lacks"
    assert len(theirs) > len(ours) // 2
    times = {name: oracle.plain(table["t"]) for name, table in case.tables.items()}
    marks = {
        moments[end - 1]
        for moments in times.values()
        for end in range(FILE_ROWS, len(moments), FILE_ROWS)
    }
    for row_a, row_b in wanted - found:
        members = {times["a"][row_a], times["b"][row_b]}
        assert members & marks, f"the built-in join lacks {row_a}, {row_b}, which no mark excuses"


def test_differential_idle_stream(runner: Fresh) -> None:
    """A stream that ends early, or never begins, holds nothing back that is joined by time."""
    case = pair(Equal((("k",),)), within(2), seed=230, count=60)
    tables = {"a": case.tables["a"], "b": case.tables["b"].slice(0, 9)}
    runner().run(Case(case.query, tables), {"a": [20, 20], "b": []}, 2)
    tables = {"a": case.tables["a"], "b": case.tables["b"].slice(0, 0)}
    spark = runner()
    found = spark.run(Case(case.query, tables), {"a": [20], "b": []}, 2)
    assert not len(found)
    assert spark.counts()["a.inserted"] == 60


def _expression(text: str) -> Any:
    from pyspark.sql import functions

    return functions.expr(text)


def _pairs(table: pa.Table) -> Counter[tuple[int, int]]:
    return Counter(zip(table["row_a"].to_pylist(), table["row_b"].to_pylist(), strict=True))


def _sorted(case: Case) -> Case:
    """A table has no order of arrival: bring rows into the order of their times."""
    tables = {}
    for stream in case.query.streams:
        table = case.tables[stream.name].drop_columns(f"row_{stream.name}")
        tables[stream.name] = table.sort_by(stream.time)
    return Case.of(case.query, **tables)


def _spoilt(case: Case) -> Case:
    """Add rows without a time."""
    nothing = pa.Table.from_pylist([{"k": 1}, {"k": None}], SCHEMA)
    tables = {}
    for name, table in case.tables.items():
        whole = table.select(SCHEMA.names)
        tables[name] = pa.concat_tables([whole.slice(0, 25), nothing, whole.slice(25)])
    return Case.of(case.query, **tables)
