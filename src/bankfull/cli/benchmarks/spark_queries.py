"""The systems under test as streaming queries over the same files, and the clock that times them.

A turn is one query: a fresh checkpoint, one file a stream and micro-batch, every file that is
there (``availableNow``), results to Parquet. Its rate is the input rows of the measured
micro-batches over the sum of Spark's own durations of them (``batchDuration``: planning, tasks and
commits); the first micro-batches only warm up. Micro-batches without input rows are left out.
"""

from __future__ import annotations

import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

import bankfull as bf
from bankfull.cli.benchmarks.spark_streams import Shape, rows_in
from bankfull.cli.benchmarks.timing import Result

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Shuffle partitions, hence buckets, in every run; also the cores, where no other number is said.
PARTITIONS = 2
#: Micro-batches of a turn that do not count, and seconds that each system runs before the first.
WARM_UP = 2
WARM_UP_S = 60.0
BANKFULL, PASS_THROUGH = "bankfull", "pass-through"
BUILT_IN_ROCKSDB, BUILT_IN_MEMORY = "built-in, RocksDB", "built-in, in-memory"
#: The pass-through with the files of its checkpoint renamed as Spark does it by itself.
PLAIN_PASS_THROUGH = "pass-through, Spark's own renames"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_FILE_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"
_STREAMING = "org.apache.spark.sql.execution.streaming"

Frame = Callable[[], "DataFrame"]


@dataclass(frozen=True, slots=True)
class Turn:
    """What one query took, and the results it wrote.

    ``state_seconds`` is Spark's account of the stateful operators, summed over tasks and including
    whatever runs after them in the same stage.
    """

    seconds: float
    batch_seconds: list[float]
    state_seconds: list[float]
    batch_rows: list[int]
    rows_out: int
    checkpoint_bytes: int


class Bench:
    """A session and a folder with the input, in which systems take turns."""

    def __init__(self, folder: Path, quick: bool, cores: int = PARTITIONS, **more: object) -> None:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        settings: dict[str, object] = {
            "spark.driver.memory": "4g",
            "spark.driver.host": "127.0.0.1",
            "spark.local.dir": folder / "local",
            "spark.sql.warehouse.dir": folder / "warehouse",
            "spark.sql.shuffle.partitions": PARTITIONS,
            "spark.sql.streaming.numRecentProgressUpdates": 1_000,
            **more,
        }
        self.spark: SparkSession = bf.session("bankfull bench", f"local[{cores}]", **settings)
        self.folder = folder
        self.quick = quick
        self._turns = 0

    def stream(self, side: str, fields: str, data: str = "data") -> DataFrame:
        """Read one side of the input, a file a micro-batch."""
        reader = self.spark.readStream.schema(fields).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(self.folder / data / side))

    def turn(self, system: str, frame: Frame) -> Turn:
        """Run one system once, from an empty checkpoint."""
        provider = "HDFSBacked" if system == BUILT_IN_MEMORY else "RocksDB"
        self.spark.conf.set(_PROVIDER, f"{_STREAMING}.state.{provider}StateStoreProvider")
        manager = "FileContext" if system == PLAIN_PASS_THROUGH else "FileSystem"
        manager = f"checkpointing.{manager}BasedCheckpointFileManager"
        self.spark.conf.set(_FILE_MANAGER, f"{_STREAMING}.{manager}")
        self._turns += 1
        place = self.folder / f"turn{self._turns}"
        began = time.perf_counter()
        writer = frame().writeStream.format("parquet").option("path", str(place / "out"))
        writer = writer.option("checkpointLocation", str(place / "checkpoint"))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        seconds = time.perf_counter() - began
        fed: list[Any] = [one for one in query.recentProgress if one["numInputRows"]]
        turn = Turn(
            seconds,
            [one["batchDuration"] / 1_000 for one in fed],
            [_state_ms(one) / 1_000 for one in fed],
            [one["numInputRows"] for one in fed],
            rows_in(place / "out"),
            sum(one.stat().st_size for one in (place / "checkpoint").rglob("*") if one.is_file()),
        )
        shutil.rmtree(place)
        return turn


def _state_ms(progress: Any) -> int:
    return sum(
        operator[spent]
        for operator in progress["stateOperators"]
        for spent in ("allUpdatesTimeMs", "allRemovalsTimeMs", "commitTimeMs")
    )


def take_turns(
    bench: Bench, systems: Mapping[str, Frame], warm_up: Mapping[str, Frame], repeats: int
) -> dict[str, list[Turn]]:
    """Run each for a minute, uncounted, then in turns.

    Java compiles what a query runs through while it runs: a system whose code is cold takes twice
    its time for ten micro-batches, and gets faster for a hundred. A query that runs for days does
    not notice.
    """
    if not bench.quick:
        for system, frame in warm_up.items():
            began = time.perf_counter()
            while time.perf_counter() - began < WARM_UP_S:
                bench.turn(system, frame)
    turns: dict[str, list[Turn]] = {system: [] for system in systems}
    for _ in range(repeats):
        for system, frame in systems.items():
            turns[system].append(bench.turn(system, frame))
    return turns


def summary(
    system: str, workload: str, turns: list[Turn], measured: slice, **more: object
) -> Result:
    """Lay out what was measured; the best turn gives the rate, the others stand beside it."""
    rates = [sum(t.batch_rows[measured]) / sum(t.batch_seconds[measured]) for t in turns]
    best = turns[rates.index(max(rates))]
    taken = best.batch_seconds[measured]
    return {
        "system": system,
        "workload": workload,
        "rows_per_s": round(max(rates)),
        "seconds": round(best.seconds, 3),
        "batch_seconds": best.batch_seconds,
        "state_seconds": best.state_seconds,
        "measured_batches": [measured.start, measured.start + len(taken)],
        "measured_rows": sum(best.batch_rows[measured]),
        "measured_seconds": round(sum(taken), 3),
        "median_batch_seconds": round(statistics.median(taken), 3),
        "repeats": len(turns),
        "all_rows_per_s": [round(rate) for rate in rates],
        "rows": sum(best.batch_rows),
        "rows_out": best.rows_out,
        "checkpoint_bytes": best.checkpoint_bytes,
        **more,
    }


def joins(
    bench: Bench, shape: Shape, data: str = "data", overload: Any = "block"
) -> dict[str, Frame]:
    """Return the ways to join (or only move) the keys' streams; ``overload`` is for ours."""
    window = f"{round(shape.window_s * 1_000)} milliseconds"

    def left() -> DataFrame:
        return bench.stream("left", "k long, t timestamp, x double", data)

    def right() -> DataFrame:
        return bench.stream("right", "k long, t timestamp, y double", data)

    def ours() -> DataFrame:
        streams = (bf.stream(left(), time="t", name="left"), bf.stream(right(), time="t", name="r"))
        joined: DataFrame = bf.join(*streams, on="k", within=window, overload=overload)
        return joined

    def built_in() -> DataFrame:
        from pyspark.sql import functions as f

        # No delay: the least state that Spark can get away with.
        streams = [frame.withWatermark("t", "0 seconds") for frame in (left(), right())]
        within = f"r.t BETWEEN l.t - INTERVAL {window} AND l.t + INTERVAL {window}"
        joined = (
            streams[0].alias("l").join(streams[1].alias("r"), f.expr(f"l.k = r.k AND {within}"))
        )
        both = "l.k AS left_k, l.t AS left_t, x, r.k AS r_k, r.t AS r_t, y"
        return joined.selectExpr(*both.split(", "), "greatest(l.t, r.t) AS joined_at")

    def moved() -> DataFrame:
        return pass_through(left().union(right()))

    return {
        BANKFULL: ours,
        BUILT_IN_ROCKSDB: built_in,
        BUILT_IN_MEMORY: built_in,
        PASS_THROUGH: moved,
        PLAIN_PASS_THROUGH: moved,
    }


def pass_through(frame: DataFrame, key: str = "k") -> DataFrame:
    """Shuffle rows by key, send them to Python as Arrow and take them back."""

    def same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    return frame.repartition(PARTITIONS, key).mapInArrow(same, frame.schema)
