"""Families: ``differential_*`` (Spark against embedded) and ``oracle_*`` (Spark against others).

A join on Spark gives the rows that the embedded runtime gives, whatever the micro-batches and
however many buckets, on streams and on batch DataFrames. Both could be wrong alike, as they share
the core: brute force judges every case, DuckDB and Spark's own join judge one each.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from itertools import pairwise
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from spark_cases import CASES, CLOSING_US, SCHEMA, pair, within
from spark_runs import Runner, ledger_of, same_rows

from bankfull import oracle
from bankfull.spec import Equal, Stream
from bankfull.testing import Case, run

Fresh = Callable[[], Runner]
#: Rows a file where the built-in join is compared.
FILE_ROWS = 9
#: Counts that neither the runtime nor the way to cut the streams may change.
LASTING = ("arrived", "quarantined", "late", "shed", "inserted", "evicted", "purged", "spilled")


def _sometimes(title: str) -> Any:
    """Leave to `make soak` what other cases cover; a query takes seconds.

    Keys are encoded for batches as for streams, and batches have all kinds; what streams add, the
    state, has the same columns whatever the key. Three streams on one key are a part of "several".
    """
    rare = ("text", "float", "composite", "nested", "unlike", "subset", "superset", "three")
    rare += ("several, one bucket",)
    return pytest.param(title, marks=pytest.mark.soak if title in rare else ())


@pytest.mark.parametrize("title", [_sometimes(title) for title in CASES])
def test_differential_streaming(title: str, runner: Fresh) -> None:
    """Streaming DataFrames: the oracle's rows, value by value, and the embedded runtime's.

    The counts are those of the embedded runtime too, but where windows of rows let rows wait for
    the end, which a stream does not have.
    """
    case, splits, buckets = CASES[title]
    spark = runner()
    found = spark.run(case, splits, buckets)
    assert len(found) > 20, "the case joins next to nothing"
    same_rows(found, run(case).table.select(found.column_names))
    if title not in ("count", "mixed"):
        same_counts(case, spark)


def same_counts(case: Case, spark: Runner) -> None:
    """What was counted is what the embedded runtime counts."""
    counted, embedded = spark.counts(), run(case).ledger
    for name, wanted in embedded["streams"].items():
        # A row that is sent to several buckets has arrived once.
        assert {k: counted[f"{name}.{k}"] for k in LASTING} == {k: wanted[k] for k in LASTING}
    for name, wanted in embedded["joins"].items():
        assert counted[f"{name}.emitted"] == wanted["emitted"]


@pytest.mark.parametrize("title", CASES)
def test_differential_batch(title: str, runner: Fresh) -> None:
    """Batch DataFrames, with other buckets than the stream has."""
    case, _, buckets = CASES[title]
    found = runner().run_batch(case, {1: 5, 2: 1, 5: 2}.get(buckets or 0))
    same_rows(found, run(case).table.select(found.column_names))


@pytest.mark.soak  # cut and spread in one way each: test_differential_streaming
@pytest.mark.parametrize(
    ("title", "rows", "buckets"), [("integer", 30, 1), ("overlap", 30, 5), ("several", 45, 2)]
)
def test_differential_splits(title: str, rows: int, buckets: int, runner: Fresh) -> None:
    """The same streams cut and spread in other ways give the same rows, and count the same."""
    case, _, _ = CASES[title]
    spark = runner()
    spark.run(case, rows, buckets)
    same_counts(case, spark)


def test_differential_ledger(runner: Fresh) -> None:
    """Observed metrics and the ledger in the state add up to the embedded runtime's ledger."""
    case = _spoilt(CASES["integer"][0])
    spark = runner()
    spark.run(case, 40, 5)
    embedded, stored = run(case).ledger, ledger_of(spark.spark, spark.checkpoint)
    counted = spark.counts()
    for name, wanted in embedded["streams"].items():
        found = stored["streams"][name]
        assert {k: found[k] for k in LASTING} == {k: wanted[k] for k in LASTING}, name
        assert found["quarantined"] == 2
        assert found == {k: counted[f"{name}.{k}"] for k in found}, name
        assert found["inserted"] == found["stored"] + found["expired"] + found["purged"]
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
    """Spark's own join gives the same pairs, without those of rows that equal its watermark.

    Many rows share a time, so that files begin at the watermark that earlier ones have set.
    """
    case = _in_steps_of_10_s(pair(Equal((("k",),)), within(10), seed=220, count=45))
    ours = _pairs(runner().run(case, FILE_ROWS, 5))
    builtin = runner()
    builtin.write(case, FILE_ROWS)
    sides = []
    for name, frame in builtin.frames(case).items():
        columns = frame.select("t", "k", f"row_{name}")
        sides.append(columns.withWatermark("t", "0 seconds").alias(name))
    near = "a.k = b.k AND a.t <= b.t + INTERVAL 10 SECONDS AND b.t <= a.t + INTERVAL 10 SECONDS"
    builtin.drain(sides[0].join(sides[1]).where(near).select("row_a", "row_b"))
    theirs = _pairs(builtin.rows(pa.schema([("row_a", pa.int64()), ("row_b", pa.int64())])))
    lost = {name: _at_the_mark(table, builtin.progress) for name, table in case.tables.items()}
    kept = Counter(p for p in ours.elements() if p[0] not in lost["a"] and p[1] not in lost["b"])
    assert theirs == kept
    assert 0 < theirs.total() < ours.total(), "no row lies on a watermark, or all of them do"


def _at_the_mark(table: pa.Table, progress: list[dict[str, Any]]) -> set[int]:
    """Return the rows that Spark drops: a row is judged by the watermark of the batch before."""
    times, dropped = oracle.plain(table["t"]), set()
    for before, batch in pairwise(progress):
        assert batch["batchId"] == before["batchId"] + 1
        mark = datetime.fromisoformat(before["eventTime"]["watermark"]).timestamp() * 10**9
        first = batch["batchId"] * FILE_ROWS
        for row, moment in enumerate(times[first : first + FILE_ROWS], first):
            assert moment >= mark, "only rows at the watermark are in question"
            dropped |= {row} if moment == mark else set()
    return dropped


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


def _pairs(table: pa.Table) -> Counter[tuple[int, int]]:
    return Counter(zip(table["row_a"].to_pylist(), table["row_b"].to_pylist(), strict=True))


def _in_steps_of_10_s(case: Case) -> Case:
    """Bring rows into the order of their times, which become full tens of seconds."""
    tables = {}
    for name, table in case.tables.items():
        moments = table["t"].cast(pa.int64()).to_numpy() // 10_000_000 * 10_000_000 + CLOSING_US
        times = pa.array(moments, pa.int64()).cast(table.schema.field("t").type)
        tables[name] = table.select(SCHEMA.names).set_column(0, "t", times).sort_by("t")
    streams = tuple(Stream(name, "t") for name in tables)
    return Case.of(dataclasses.replace(case.query, streams=streams), **tables)


def _spoilt(case: Case) -> Case:
    """Add rows without a time."""
    nothing = pa.Table.from_pylist([{"k": 1}, {"k": None}], SCHEMA)
    tables = {}
    for name, table in case.tables.items():
        whole = table.select(SCHEMA.names)
        tables[name] = pa.concat_tables([whole.slice(0, 25), nothing, whole.slice(25)])
    return Case.of(case.query, **tables)
