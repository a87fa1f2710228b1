"""How much Spark's Python workers grow by while a join runs: within a budget, and without one.

The streams are those of ``resident_memory.py``, in files, one of each stream a micro-batch. Prints
megabytes of resident memory beyond what each worker had after a very small query of that kind: of
the worker that grew most, and of all workers together at one moment.

    python benchmarks/resident_memory_spark.py --rows 520000 --window 200000 --memory "32 MB"
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from resident_memory import batches

import bankfull as bf

FILE_BATCHES = 4
SMALL_ROWS = 1 << 12


def workers() -> Iterator[int]:
    """Yield the process numbers of this program's Python workers: what its daemons have forked.

    A process is told by its program, not by any word of its command line: Java's names the daemon
    among its settings, and for a moment there are two Javas whenever it starts another process.
    Other programs on the machine may have workers too, which are not ours to measure.
    """
    parents: dict[int, int] = {}
    daemons = set()
    for entry in Path("/proc").iterdir():
        try:
            number = int(entry.name)
            parents[number] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if words[1:2] == [b"-m"] and words[2].endswith(b"spark.daemon"):
                daemons.add(number)
        except (ValueError, OSError):
            continue  # no process, or one that has ended meanwhile
    for number in daemons:
        if parents[number] in daemons and os.getpid() in _ancestors(number, parents):
            yield number


def _ancestors(number: int, parents: dict[int, int]) -> Iterator[int]:
    """Yield the processes that a process descends from."""
    while number := parents.get(number, 0):
        yield number


def resident() -> dict[int, int]:
    """Return the bytes in use by every worker."""
    found = {}
    for number in workers():
        try:
            found[number] = 4096 * int(Path(f"/proc/{number}/statm").read_text().split()[1])
        except OSError:
            continue
    return found


def write(folder: Path, rows: int, popular: float) -> None:
    """Write both streams."""
    for seed, name in enumerate("ab"):
        (folder / name).mkdir(parents=True)
        made = batches(rows, 100_000, seed, popular)
        number = 0
        while held := list(islice(made, FILE_BATCHES)):
            pq.write_table(pa.Table.from_batches(held), folder / name / f"{number:06}.parquet")
            number += 1


def run(spark: Any, folder: Path, window: int, overload: Any, buckets: int) -> Any:
    """Run one query to its end; return its last progress."""
    frames = [
        spark.readStream.schema("t long, k long, text string")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / name))
        for name in "ab"
    ]
    streams = [
        bf.stream(frame, time="t", name=name) for frame, name in zip(frames, "ab", strict=True)
    ]
    joined = bf.join(*streams, on="k", within=window, overload=overload, buckets=buckets)
    writer = joined.writeStream.format("noop").option("checkpointLocation", str(folder / "check"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return query.lastProgress


def measure(given: argparse.Namespace, folder: Path) -> dict[str, object]:
    """Run a small join and a large one; return what the workers grew by, in megabytes."""
    overload = "block" if given.memory is None else bf.shed(given.memory, keep=given.keep)
    spark = bf.session(**{"spark.driver.memory": "2g"})
    # So few rows that the worker holds hardly more afterwards than the library and its kernels.
    write(folder / "small", SMALL_ROWS, given.popular)
    write(folder / "large", given.rows, given.popular)
    run(spark, folder / "small", given.window, overload, given.buckets)
    before, most, most_of_all, done = resident(), 0, 0, threading.Event()
    usual = sum(before.values()) // len(before)

    def watch() -> None:
        nonlocal most, most_of_all
        while not done.wait(0.02):
            grown = [size - before.get(pid, usual) for pid, size in resident().items()]
            most = max([most, *grown])
            most_of_all = max(most_of_all, sum(grown))

    watcher = threading.Thread(target=watch)
    watcher.start()
    began = time.perf_counter()
    progress = run(spark, folder / "large", given.window, overload, given.buckets)
    seconds = time.perf_counter() - began
    done.set()
    watcher.join()
    ledger = bf.metrics(progress)["bankfull"]["ledger"]
    spark.stop()
    return {
        "memory": given.memory or "block",
        "buckets": given.buckets,
        "seconds": round(seconds, 1),
        "stored": ledger["a.stored"] + ledger["b.stored"],
        "before_mb": round(usual / 1e6, 1),
        "worker_grew_mb": round(most / 1e6, 1),
        "all_workers_grew_mb": round(most_of_all / 1e6, 1),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--window", type=int, default=40_000)
    parser.add_argument("--memory", default=None, help='for instance "64 MB"; without: block')
    parser.add_argument("--keep", default="fifo")
    parser.add_argument("--buckets", type=int, default=2)
    parser.add_argument("--popular", type=float, default=0.004, help="part with the popular key")
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(measure(parser.parse_args(), Path(scratch))))
