"""The second part of the demo on Spark: two policies side by side, as two streaming queries."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq

import bankfull as bf
from bankfull.cli import flights
from bankfull.cli.demo_burst import (
    POLICIES,
    Burst,
    Outcome,
    budget_of,
    find_truth,
    join,
    window_max,
)
from bankfull.cli.spark_line import Line

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

#: Files a stream, hence micro-batches.
SLICES = 6
_POLL_S = 0.2
_CALLED = {"random": "random dropping", "gain": "bankfull"}


def run(spark: SparkSession, folder: Path, tables: dict[str, pa.Table], told: Line) -> Burst:
    """Join both streams on Spark with every policy, while the truth is found in this process."""
    flights.write_slices(folder, tables, SLICES)
    truth, most = find_truth(tables), window_max(tables)
    started = {
        policy: _start(spark, folder, tables, policy, budget_of(most)) for policy in POLICIES
    }
    outcomes = {policy: Outcome(policy) for policy in POLICIES}
    try:
        _watch(started, outcomes, told)
    finally:
        for query in started.values():
            query.stop()
    for policy, found in outcomes.items():
        for uri in spark.read.parquet(str(folder / policy)).inputFiles():
            found.add(
                pq.read_table(unquote(urlparse(uri).path), columns=["joined_at"])["joined_at"]
            )
    return Burst(truth, most, outcomes, sum(table.num_rows for table in tables.values()))


def _start(
    spark: SparkSession, folder: Path, tables: dict[str, pa.Table], policy: str, budget: int
) -> StreamingQuery:
    read = {name: stream(spark, folder / name, table) for name, table in tables.items()}
    pairs = join(read, bf.shed(memory=bf.tuples(budget), keep=policy))
    writer = pairs.writeStream.format("parquet").option("path", str(folder / policy))
    writer = writer.option("checkpointLocation", str(folder / f"checkpoint-{policy}"))
    started: StreamingQuery = writer.trigger(availableNow=True).start()
    return started


def stream(spark: SparkSession, folder: Path, table: pa.Table) -> DataFrame:
    """Return a folder of slices as a stream that brings one file a micro-batch."""
    from pyspark.sql.pandas.types import from_arrow_schema

    reader = spark.readStream.schema(from_arrow_schema(flights.in_spark(table).schema))
    return reader.option("maxFilesPerTrigger", 1).parquet(str(folder))


def _watch(started: dict[str, StreamingQuery], outcomes: dict[str, Outcome], told: Line) -> None:
    """Tell of every micro-batch, until all queries are done."""
    seen = dict.fromkeys(started, -1)
    done = dict.fromkeys(started, 0)
    running = True
    while running:
        time.sleep(_POLL_S)
        running = any(query.isActive for query in started.values())
        for policy, query in started.items():
            for progress in query.recentProgress:
                if progress["batchId"] > seen[policy]:
                    seen[policy] = progress["batchId"]
                    done[policy] += _take(outcomes[policy], progress)
                    part = sum(done.values()) / (SLICES * len(started))
                    told.say(_line(outcomes, done), part, passing=True)
    for query in started.values():
        query.awaitTermination()  # raises if the query failed
    told.say(_line(outcomes, done), 1.0)


def _take(found: Outcome, progress: Any) -> bool:
    """Take the estimate of one micro-batch in; one without rows says nothing."""
    metrics = bf.metrics(progress).get("bankfull")
    recall = None if metrics is None else bf.recall(metrics)
    if recall is None:
        return False
    found.recall = recall
    return True


def _line(outcomes: dict[str, Outcome], done: dict[str, int]) -> str:
    told = []
    for policy, found in outcomes.items():
        if found.recall is not None:
            told.append(f"{_CALLED[policy]} {found.recall.estimate:.0%}")
    return f"micro-batch {min(done.values())} of {SLICES} · estimated recall: {', '.join(told)}"
