"""A burst of five times what a Spark query can compare: does it keep up, what is lost?

Run: python benchmarks/spark_burst.py [--rate 2000] [--cpu 0.8] [--ways auto,drop]
Two folders of Parquet files fill in real time, a file of each stream every half second: 40 s at the
rate, 15 s at five times the rate, 25 s at the rate again. A Spark query joins them, sets with 3
items in common within 5 s, by scan, in one bucket, a micro-batch every second. For each way it
prints results, the largest lag (from the newest row of a micro-batch to when its results were
committed), the lag at the end of the burst and 15 s after it, and tuples that were dropped.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import bankfull as bf

CALM, BURST, AFTER = 40.0, 15.0, 25.0
ITEMS, CYCLE, EVERY = 100, 10.0, 0.5


def write(folder: Path, seed: int, shift: float, rate: float, began: float) -> None:
    """Write what came in the last half second, until the end."""
    dice = np.random.default_rng(seed)
    chances = np.cumsum(1.0 / np.arange(1, ITEMS + 1) ** 0.6)
    last, end, number = began, began + CALM + BURST + AFTER, 0
    while last < end:
        time.sleep(max(0.0, last + EVERY - time.time()))
        now = last + EVERY
        factor = 5.0 if CALM <= now - began < CALM + BURST else 1.0
        count = dice.poisson(factor * rate * EVERY)
        times = np.sort(last + dice.random(count) * EVERY)
        first = (ITEMS * (((times - shift) % CYCLE) / CYCLE)).astype(int)
        drawn = np.searchsorted(chances / chances[-1], dice.random((count, 5)))
        items = (drawn + first[:, None]) % ITEMS
        offsets = pa.array(np.arange(count + 1, dtype=np.int32) * 5)
        sets = pa.ListArray.from_arrays(offsets, pa.array(items.ravel()))
        seen = pa.array((times * 1e6).astype("int64"), pa.timestamp("us", "UTC"))
        hidden = folder / f".{number}.parquet"
        pq.write_table(pa.table({"t": seen, "s": sets}), hidden)
        hidden.rename(folder / f"{number:05d}.parquet")
        last, number = now, number + 1


def run(spark: Any, how: str, rate: float, cpu: float) -> None:
    """Run one query through the burst, and print what became of it."""
    home = Path(tempfile.mkdtemp(prefix="burst"))
    began = time.time() + 5.0  # the query starts meanwhile
    streams = []
    for k, name in enumerate("ab"):
        folder = home / name
        folder.mkdir()
        given = (folder, k, 3.1 * k, rate, began)
        threading.Thread(target=write, args=given, daemon=True).start()
        frame = spark.readStream.schema("t timestamp, s array<bigint>").parquet(str(folder))
        streams.append(bf.stream(frame, time="t", name=name))
    shed = bf.shed(cpu=cpu, compare=how)
    on = bf.overlap("s", at_least=3)
    joined = bf.join(*streams, on=on, within="5 seconds", search="scan", overload=shed, buckets=1)
    commits: list[tuple[float, float, int]] = []

    def note(frame: Any, number: int) -> None:
        found = frame.selectExpr("count(*) as many", "max(joined_at) as newest").first()
        if found.many:
            commits.append(
                (time.time() - began, time.time() - found.newest.timestamp(), found.many)
            )

    query = (
        joined.writeStream.foreachBatch(note)
        .option("checkpointLocation", str(home / "checkpoint"))
        .trigger(processingTime="1 second")
        .start()
    )
    while time.time() < began + CALM + BURST + AFTER + 5.0:
        time.sleep(0.5)
        if not query.isActive:
            raise SystemExit(f"{how}: the query failed: {query.exception()}")
    query.stop()

    def around(second: float) -> float:
        return max((lag for at, lag, _ in commits if second - 3 <= at < second), default=np.nan)

    end = CALM + BURST
    print(
        f"{how}: {sum(many for _, _, many in commits):,} results, largest lag "
        f"{max(lag for _, lag, _ in commits):.1f} s, before the burst {around(CALM):.1f} s, at its "
        f"end {around(end):.1f} s, 15 s later {around(end + 15):.1f} s",
        flush=True,
    )
    shutil.rmtree(home, ignore_errors=True)


def main() -> None:
    """Run the ways one after the other in one session."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rate", type=float, default=2000.0)
    options.add_argument("--cpu", type=float, default=0.8)
    options.add_argument("--ways", default="auto,drop")
    given = options.parse_args()
    spark = bf.session()
    spark.sparkContext.setLogLevel("ERROR")
    for how in given.ways.split(","):
        run(spark, how, given.rate, given.cpu)


if __name__ == "__main__":
    main()
