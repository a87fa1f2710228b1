"""Families: ``oracle_*`` over deployments. One small case, run in every way people run Spark.

A row of the table is a deployment: the session's zone, its settings for Arrow and for names, how
often the query is triggered, over how many buckets it runs, what columns may be null, whether it is
stopped and started again in the middle, and then in another zone. Brute force judges the result of
each; the ledger accounts for every row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from spark_cases import pair, within
from spark_processes import Job
from spark_runs import Runner, joined, judge, output_schema
from spark_undisturbed import SHORT, Undisturbed

from bankfull.spec import Equal
from bankfull.testing import Case

ZONE = "spark.sql.session.timeZone"
LARGE = "spark.sql.execution.arrow.useLargeVarTypes"
CASE = "spark.sql.caseSensitive"
PLAIN = ("t", "k", "word", "price", "seen")
NESTED = ("t", "k", "tags", "weights", "place")


@dataclass(frozen=True)
class Deployment:
    """One way to run the query; ``resumed`` are settings from its second start on."""

    settings: Mapping[str, str]
    columns: tuple[str, ...] = PLAIN
    trigger: Mapping[str, Any] | None = None
    file_rows: int = 23
    buckets: int = 2
    nullable: bool = True
    batch: bool = False
    resumed: Mapping[str, str] | None = None
    live_mb: int | None = None


#: Spark asks for 450 MB unless it is told to set less aside for itself.
SMALL_HEAP = {"spark.driver.memory": "128m", "spark.testing.reservedMemory": 16 << 20}
NOW = {"availableNow": True}
DEPLOYMENTS = {
    "Kolkata": Deployment({ZONE: "Asia/Kolkata"}, trigger=NOW),
    "New York, nested, large": Deployment(
        {ZONE: "America/New_York", LARGE: "true"}, NESTED, NOW, nullable=False
    ),
    "large, one file": Deployment({LARGE: "true"}, trigger={"once": True}, file_rows=99, buckets=1),
    "every moment": Deployment({}, NESTED, {"processingTime": "0 seconds"}, buckets=3),
    "never null": Deployment({}, trigger=NOW, nullable=False, buckets=3),
    "200 buckets": Deployment({ZONE: "Asia/Kolkata"}, trigger=NOW, file_rows=99, buckets=200),
    "restart elsewhere": Deployment(
        {ZONE: "Asia/Kolkata"}, trigger=NOW, buckets=3, resumed={ZONE: "America/New_York"}
    ),
    "restart with large types": Deployment({}, NESTED, NOW, buckets=1, resumed={LARGE: "true"}),
    "no live state": Deployment({}, trigger=NOW, buckets=3, live_mb=0),
    "case matters": Deployment({CASE: "true"}, ("t", "k", "K"), NOW),
    "batch, Kolkata": Deployment({ZONE: "Asia/Kolkata"}, batch=True, buckets=3),
    "batch, New York, nested": Deployment({ZONE: "America/New_York"}, NESTED, batch=True),
    "batch, large": Deployment({LARGE: "true"}, batch=True, nullable=False, buckets=200),
    "batch, large, nested": Deployment({LARGE: "true"}, NESTED, batch=True),
    "batch, case matters": Deployment({CASE: "true"}, ("t", "k", "K"), batch=True, buckets=1),
}


@contextmanager
def _deployed(spark: Any, settings: Mapping[str, str], live_mb: int | None) -> Iterator[None]:
    before = {name: spark.conf.get(name) for name in settings}
    environment = spark.sparkContext.environment
    for name, value in settings.items():
        spark.conf.set(name, value)
    if live_mb is not None:
        environment["BANKFULL_LIVE_MB"] = str(live_mb)
    try:
        yield
    finally:
        environment.pop("BANKFULL_LIVE_MB", None)
        for name, value in before.items():
            spark.conf.set(name, value)


def _case(how: Deployment) -> Case:
    """Return two streams with these columns; where nothing may be null, nothing is."""
    whole = pair(Equal((("k",),)), within(1), within(2.5), seed=700, count=45)
    tables = {}
    for name, table in whole.tables.items():
        table = table.rename_columns({"word": "K"}) if "K" in how.columns else table
        table = table.select([*how.columns, f"row_{name}"])
        if not how.nullable:
            table = table.set_column(1, "k", pc.fill_null(table["k"], 0))
        tables[name] = table
    return Case(whole.query, tables)


def _frames(how: Deployment, run: Runner, case: Case) -> dict[str, Any]:
    from pyspark.sql import functions as f

    frames = run.frames(case)
    if how.batch:
        frames = {
            name: run.spark.read.schema(frame.schema).parquet(str(run.input / name))
            for name, frame in frames.items()
        }
    if how.nullable:
        return frames
    never = {"t": f.timestamp_micros(f.lit(0)), "k": f.lit(0)}
    sure = {name: f.coalesce(name, other) for name, other in never.items()}
    frames = {name: frame.withColumns(sure) for name, frame in frames.items()}
    assert not any(frame.schema[name].nullable for frame in frames.values() for name in never)
    return frames


def _drain(how: Deployment, run: Runner, case: Case) -> None:
    frame = joined(case.query, _frames(how, run, case), how.buckets)
    sink = frame.writeStream.format("parquet").option("checkpointLocation", str(run.checkpoint))
    query = sink.option("path", str(run.sink)).trigger(**how.trigger).start()
    if "processingTime" in (how.trigger or {}):
        query.processAllAvailable()
        query.stop()
    else:
        query.awaitTermination()


#: What these settings are, another deployment has too: left to `make soak`.
CONTAINED = ("Kolkata", "never null")


@pytest.mark.parametrize(
    "title",
    [
        pytest.param(title, marks=pytest.mark.soak) if title in CONTAINED else title
        for title in DEPLOYMENTS
    ],
)
def test_oracle_deployments(title: str, runner: Callable[[], Runner]) -> None:
    """The exact result, whatever the deployment."""
    how, run = DEPLOYMENTS[title], runner()
    case = _case(how)
    run.write(case, how.file_rows)
    schema: pa.Schema = output_schema(case)
    with _deployed(run.spark, how.settings, how.live_mb):
        if how.batch:
            frame = joined(case.query, _frames(how, run, case), how.buckets)
            found = frame.toArrow().cast(schema)
            counts = frame.ledger.get["ledger"]
            assert counts["join.emitted"] == len(found)
            assert counts["a.arrived"] == counts["a.inserted"] == len(case.tables["a"])
        else:
            run.show(1 if how.resumed is not None else 1000)
            _drain(how, run, case)
            if how.resumed is not None:
                run.show(1000)
                with _deployed(run.spark, how.resumed, None):
                    _drain(how, run, case)
            found = run.rows(schema)
    assert len(found) > 20, "the case joins next to nothing"
    judge(case, found)


@pytest.mark.soak  # by default test_heap_spark.py has a small heap, and much state in it
def test_oracle_in_a_small_heap(prepare: Callable[..., Job], undisturbed: Undisturbed) -> None:
    """A driver of its own, with about the smallest Java heap in which Spark itself works."""
    job = prepare("equality", SHORT, **SMALL_HEAP)
    job.finish()
    undisturbed.check(job.folder, "equality", SHORT)
