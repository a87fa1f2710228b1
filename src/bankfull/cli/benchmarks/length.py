"""Ten times the stream at the same window: cost and memory may not grow with its length.

Each length runs in a fresh process. Its source repeats a few prepared batches with later times,
so that the input itself takes no memory; the seconds spent in the source are not counted.
"""

from __future__ import annotations

import contextlib
import gc
import json
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import bankfull as bf
from bankfull.cli.benchmarks.timing import Result, in_fresh_process

WORKLOAD = "length"
_WINDOW_MS = 60_000
_KEYS = 100_000
_BATCH_ROWS = 25_000
_SEED = 13


def measure(quick: bool, repeats: int) -> list[Result]:
    """Measure one length and ten of it, in turns."""
    base = 8 if quick else 40  # batches a stream
    repeats = {True: 1, False: repeats}[quick]
    turns: dict[int, list[Result]] = {1: [], 10: []}
    for _ in range(repeats):
        for times in turns:
            turns[times].append(in_fresh_process(__name__, base * times))
    found = []
    for times, taken in turns.items():
        best = min(taken, key=lambda one: one["ns_per_tuple"])
        found.append(
            {
                "system": "bankfull",
                "workload": WORKLOAD,
                "length": times,
                "rows_per_s": round(1e9 / best["ns_per_tuple"]),
                **best,
                "repeats": len(taken),
                "all_ns_per_tuple": [one["ns_per_tuple"] for one in taken],
                "rss_growth_bytes": max(one["rss_growth_bytes"] for one in taken),
            }
        )
    found[1]["ratio_ns_per_tuple"] = round(found[1]["ns_per_tuple"] / found[0]["ns_per_tuple"], 3)
    growth = [one["rss_growth_bytes"] for one in found]
    found[1]["rss_growth_ratio"] = round(growth[1] / max(growth[0], 1), 3)
    return found


class _Repeating:
    """Two streams of a thousand rows a second, made of a few prepared batches."""

    def __init__(self, batches: int) -> None:
        self.seconds = 0.0
        self._batches = batches
        random = np.random.default_rng(_SEED)
        self._prepared = [
            (random.integers(0, _KEYS, _BATCH_ROWS), random.random(_BATCH_ROWS)) for _ in range(8)
        ]

    def stream(self, payload: str, offset: int) -> pa.RecordBatchReader:
        columns = [("k", pa.int64()), ("t", pa.int64()), (payload, pa.float64())]
        return pa.RecordBatchReader.from_batches(pa.schema(columns), self._made(payload, offset))

    def _made(self, payload: str, offset: int) -> Iterator[pa.RecordBatch]:
        for index in range(self._batches):
            began = time.perf_counter()
            keys, values = self._prepared[(index + offset) % len(self._prepared)]
            times = np.arange(index * _BATCH_ROWS, (index + 1) * _BATCH_ROWS)
            batch = pa.record_batch({"k": keys, "t": times, payload: values})
            self.seconds += time.perf_counter() - began
            yield batch


def main(batches: int) -> None:
    """Run one length and print what it cost."""
    _consume(_Repeating(2))  # loads the kernels
    gc.collect()
    _forget_peak()
    before = _peak_bytes()
    source = _Repeating(batches)
    began = time.perf_counter()
    joined, results, stored_bytes, stored = _consume(source)
    seconds = time.perf_counter() - began - source.seconds
    rows = sum(stream.arrived for stream in joined.ledger.streams.values())
    measured = {
        "seconds": round(seconds, 6),
        "rows": rows,
        "rows_out": results,
        "ns_per_tuple": round(seconds / rows * 1e9, 1),
        "rss_growth_bytes": _peak_bytes() - before,
        "stored_tuples": stored,
        "stored_bytes": stored_bytes,
        "payload_bytes_per_tuple": 24,  # key, time and payload, eight bytes each
        "overhead_bytes_per_tuple": round(stored_bytes / stored - 24, 1) if stored else None,
    }
    print(json.dumps(measured))


def _consume(source: _Repeating) -> tuple[bf.Joined, int, int, int]:
    joined = bf.join(
        bf.stream(source.stream("x", 0), time="t", name="left"),
        bf.stream(source.stream("y", 3), time="t", name="right"),
        on="k",
        within=_WINDOW_MS,
    )
    results = stored_bytes = stored = 0
    for batch in joined:
        results += batch.num_rows
        kept = sum(stream.stored for stream in joined.ledger.streams.values())
        if kept >= stored:
            stored, stored_bytes = kept, joined.stored_bytes()
    return joined, results, stored_bytes, stored


def _forget_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _peak_bytes() -> int:
    """Return the largest resident memory since the peak was forgotten (since birth elsewhere)."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
