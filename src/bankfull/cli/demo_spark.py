"""The demo on Spark: two folders that fill with files, joined as Structured Streaming."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq

import bankfull as bf
from bankfull.cli import flights
from bankfull.cli.demo_story import Delays, Story
from bankfull.cli.spark_line import Line
from bankfull.cli.spark_session import quiet_session, require
from bankfull.core import JoinLedger, Ledger, StreamLedger

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

#: Files a stream, hence micro-batches: enough to see it move, few enough for a slow machine.
SLICES = 8
_POLL_S = 0.2
_SEEN_MAX = 1_000
_LEVELS = ("stored", "waiting", "copies")

#: What runs, as a user would write it.
CODE = """\
flights = bf.stream(flights_df, time="scheduled", name="flights")
weather = bf.stream(weather_df, time="observed", name="weather")
pairs = bf.join(flights, weather, on="origin", within="1 hour")
pairs.writeStream.format("parquet").option("path", ...).start()"""


class Account:
    """The ledger, added up from the metrics that Spark reports with every micro-batch."""

    def __init__(self) -> None:
        self.ledger = Ledger(
            {"flights": StreamLedger(), "weather": StreamLedger()}, {"join": JoinLedger()}
        )
        self.batches: list[dict[str, Any]] = []
        self.stored_max = 0

    def add(self, progress: Any) -> None:
        """Take the progress of one micro-batch in."""
        observed = progress["observedMetrics"].get("bankfull")
        counts = {} if observed is None else observed["ledger"]
        if any(value is None for value in counts.values()) or not counts:
            return  # a micro-batch without rows
        for name, value in counts.items():
            owner, _, count = name.rpartition(".")
            held: Any = self.ledger.streams.get(owner) or self.ledger.joins[owner]
            before = 0 if count in _LEVELS else getattr(held, count)
            setattr(held, count, before + value)
        streams = self.ledger.streams.values()
        stored = sum(found.stored for found in streams)
        self.stored_max = max(self.stored_max, stored)
        self.batches.append(
            {
                "rows_in": sum(found.arrived for found in streams),
                "pairs": self.ledger.emitted,
                "stored": stored,
                "seconds": progress["batchDuration"] / 1000,
            }
        )


def tell(told: Line, keep: Path | None) -> Story:
    """Write the streams, join them on Spark, and look at what came out."""
    require()
    tables = {"flights": flights.departures(), "weather": flights.weather()}
    with tempfile.TemporaryDirectory(prefix="bankfull-", ignore_cleanup_errors=True) as made:
        scratch = Path(made)
        folder = keep or scratch / "data"
        flights.write_slices(folder, tables, SLICES)
        told.say("starting Spark, which takes a few seconds")
        began = time.perf_counter()
        with quiet_session("bankfull demo", scratch) as spark:
            start_s = time.perf_counter() - began
            account = Account()
            began = time.perf_counter()
            _run(spark, folder, tables, account, told)
            seconds = time.perf_counter() - began
            told.say("reading a sample", 1.0, passing=True)
            delays, seen, rows_out = _look(spark, folder / "pairs")
    account.ledger.check()
    if rows_out != account.ledger.emitted:
        raise bf.BankfullError(
            f"the sink holds {rows_out:,} pairs and the ledger counted "
            f"{account.ledger.emitted:,}: please report this"
        )
    more = {"start_s": round(start_s, 3), "micro_batches": account.batches}
    return Story(
        "spark",
        tables["flights"].num_rows,
        tables["weather"].num_rows,
        account.ledger,
        rows_out,
        seconds,
        account.stored_max,
        delays,
        seen,
        more,
    )


def _run(
    spark: SparkSession, folder: Path, tables: dict[str, pa.Table], account: Account, told: Line
) -> None:
    read = {name: _stream(spark, folder / name, table) for name, table in tables.items()}
    pairs = bf.join(
        bf.stream(read["flights"], time="scheduled", name="flights"),
        bf.stream(read["weather"], time="observed", name="weather"),
        on="origin",
        within="1 hour",
    )
    told.say(f"micro-batch 1 of {SLICES}: Spark starts its Python workers", 0.0, passing=True)
    writer = pairs.writeStream.format("parquet").option("path", str(folder / "pairs"))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(
        availableNow=True
    )
    started = query.start()
    try:
        for progress in _finished(started):
            account.add(progress)
            done = account.batches[-1]
            told.say(
                f"micro-batch {len(account.batches)} of {SLICES} · {done['rows_in']:,} rows in · "
                f"{done['pairs']:,} pairs · {done['stored']:,} rows kept",
                len(account.batches) / SLICES,
            )
    finally:
        started.stop()


def _stream(spark: SparkSession, folder: Path, table: pa.Table) -> DataFrame:
    from pyspark.sql.pandas.types import from_arrow_schema

    reader = spark.readStream.schema(from_arrow_schema(flights.in_spark(table).schema))
    return reader.option("maxFilesPerTrigger", 1).parquet(str(folder))


def _finished(query: StreamingQuery) -> Iterator[Any]:
    """Yield the progress of every micro-batch, each once, as they finish."""
    seen = -1
    running = True
    while running:
        time.sleep(_POLL_S)
        running = query.isActive
        for progress in query.recentProgress:
            if progress["batchId"] > seen:
                seen = progress["batchId"]
                yield progress
    query.awaitTermination()  # raises if the query failed


def _look(spark: SparkSession, sink: Path) -> tuple[Delays, list[dict[str, Any]], int]:
    """Read what the sink has committed: delays, rows to choose a sample from, their number."""
    delays, rows_out = Delays(), 0
    seen: list[dict[str, Any]] = []
    for uri in spark.read.parquet(str(sink)).inputFiles():
        rows = pq.read_table(unquote(urlparse(uri).path))
        rows_out += rows.num_rows
        for batch in rows.to_batches():
            delays.add(batch)
        step = max(1, rows.num_rows // (_SEEN_MAX // (4 * SLICES)))
        seen += rows.take(pa.array(range(0, rows.num_rows, step))).to_pylist()
    return delays, sorted(seen, key=lambda row: row["scheduled"]), rows_out
