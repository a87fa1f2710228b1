"""The demo on Spark: two folders that fill with files, joined as Structured Streaming."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.parquet as pq

import bankfull as bf
from bankfull.cli import demo_burst_spark, flights
from bankfull.cli.demo_burst import POLICIES, Burst, streams
from bankfull.cli.demo_story import Delays, Story
from bankfull.cli.spark_line import Line
from bankfull.cli.spark_session import quiet_session, require
from bankfull.core import JoinLedger, Ledger, StreamLedger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
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
        from bankfull.runtime.spark.report import metrics_of

        observed = metrics_of(progress).get("bankfull")
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


class Stage:
    """One Spark session for both parts of the demo, and the folder that their files are in."""

    def __init__(
        self, spark: SparkSession, folder: Path, start_s: float, compiled: Callable[[], None]
    ) -> None:
        self._spark, self._folder, self._start_s = spark, folder, start_s
        self._compiled = compiled

    def join_exactly(self, told: Line) -> Story:
        """Write flights and weather as files, join them, and look at what came out."""
        tables = {"flights": flights.departures(), "weather": flights.weather()}
        flights.write_slices(self._folder, tables, SLICES)
        account = Account()
        began = time.perf_counter()
        _run(self._spark, self._folder, tables, account, told)
        seconds = time.perf_counter() - began
        told.say("reading a sample", 1.0, passing=True)
        delays, seen, rows_out = _look(self._spark, self._folder / "pairs")
        account.ledger.check()
        if rows_out != account.ledger.emitted:
            raise bf.BankfullError(
                f"the sink holds {rows_out:,} pairs and the ledger counted "
                f"{account.ledger.emitted:,}: please report this"
            )
        more = {"start_s": round(self._start_s, 3), "micro_batches": account.batches}
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

    def join_within_a_tenth(self, told: Line) -> Burst:
        """Join departures within a tenth of the memory, by two policies side by side."""
        told.say("compiling both policies for this machine, once", 0.0, passing=True)
        self._compiled()
        told.say("both queries start", 0.0, passing=True)
        return demo_burst_spark.run(self._spark, self._folder / "burst", streams(), told)


@contextlib.contextmanager
def opened(told: Line, keep: Path | None) -> Iterator[Stage]:
    """Start Spark; what the policies need is compiled meanwhile, where it is not there yet."""
    require()
    with (
        tempfile.TemporaryDirectory(prefix="bankfull-", ignore_cleanup_errors=True) as made,
        _compiling(POLICIES) as ready,
    ):
        scratch = Path(made)
        told.say("starting Spark, which takes a few seconds")
        began = time.perf_counter()
        with quiet_session("bankfull demo", scratch) as spark:
            yield Stage(spark, keep or scratch / "data", time.perf_counter() - began, ready)


@contextlib.contextmanager
def _compiling(policies: Sequence[str]) -> Iterator[Callable[[], None]]:
    """Compile policies in processes of their own; give a function that waits for them.

    Otherwise every worker of Spark would compile the same kernels for itself.
    """
    code = "import sys; from bankfull.warm import *; compile_now(Kernels('keys', sys.argv[1]))"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code, policy],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for policy in policies
    ]

    def wait() -> None:
        for one in started:
            one.wait()  # one that failed is compiled by the workers, who say why they cannot

    try:
        yield wait
    finally:
        for one in started:
            one.kill()
        wait()


def _run(
    spark: SparkSession, folder: Path, tables: dict[str, pa.Table], account: Account, told: Line
) -> None:
    read = {
        name: demo_burst_spark.stream(spark, folder / name, table) for name, table in tables.items()
    }
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
