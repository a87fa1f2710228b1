"""How much the process grows by while a join runs: within a budget, and without one.

Two streams with 100 characters of payload, a few popular keys. Prints megabytes of resident memory
beyond what was there before the first row, beside what the ledger's bytes were.

    python benchmarks/resident_memory.py --rows 3000000 --window 400000 --memory "64 MB"
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import bankfull as bf

BATCH = 1 << 14


def resident() -> int:
    """Return the bytes of memory that this process has in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def batches(
    rows: int, keys: int, seed: int, popular_part: float = 0.004
) -> Iterator[pa.RecordBatch]:
    """Yield a stream: a row a tick, some of the rows with one popular key."""
    dice = np.random.default_rng(seed)
    for start in range(0, rows, BATCH):
        count = min(BATCH, rows - start)
        popular = dice.random(count) < popular_part
        numbers = np.where(popular, 0, dice.integers(1, keys, count))
        payload = [f"{number:0100d}" for number in range(start, start + count)]
        yield pa.RecordBatch.from_pydict(
            {"t": np.arange(start, start + count), "k": numbers, "text": payload}
        )


def measure(
    rows: int, window: int, memory: str | None, keep: str, popular: float
) -> dict[str, object]:
    """Run a join; return the largest growth, in megabytes."""
    overload = "block" if memory is None else bf.shed(memory, keep=keep)

    def joined(count: int) -> bf.Joined:
        streams = [
            bf.stream(batches(count, 100_000, seed, popular), time="t", name=name)
            for seed, name in enumerate("ab")
        ]
        return bf.join(*streams, on="k", within=window, overload=overload)

    for _ in joined(40_000):  # loads and compiles
        pass
    before, most, done = resident(), 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.01):
            most = max(most, resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    began, results, run, stored = time.perf_counter(), 0, joined(rows), 0
    for number, batch in enumerate(run):
        results += batch.num_rows
        if number % 100 == 0:
            stored = max(stored, run.stored_bytes())
    done.set()
    watcher.join()
    return {
        "memory": memory or "block",
        "keep": keep,
        "results": results,
        "seconds": round(time.perf_counter() - began, 1),
        "grew_mb": round((most - before) / 1e6, 1),
        "stored_mb": round(stored / 1e6, 1),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--window", type=int, default=40_000)
    parser.add_argument("--memory", default=None, help='for instance "64 MB"; without: block')
    parser.add_argument("--keep", default="fifo")
    parser.add_argument("--popular", type=float, default=0.004, help="part with the popular key")
    given = parser.parse_args()
    print(json.dumps(measure(given.rows, given.window, given.memory, given.keep, given.popular)))
