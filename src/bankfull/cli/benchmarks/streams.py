"""Equality of keys over two to five streams: what a tuple costs where more streams are joined.

All have as many rows in all and the same window. With ``m`` tuples of its key in every other window
a tuple of n streams completes ``m ** (n - 1)`` results on average, so there are fewer keys where
there are more streams, and every tuple has about as many results whatever their number. One thread.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

import bankfull as bf
from bankfull.cli.benchmarks.timing import Result, result, take_turns

WORKLOAD = "streams"
_ROWS = 2_400_000
_WINDOW_S = 30
_ROWS_PER_S = 1_000
#: Results that a tuple completes, on average, once windows are full.
_RESULTS = 0.6
_STREAMS = (2, 3, 4, 5)
_BATCHES = 10
_SEED = 29


def measure(quick: bool, repeats: int) -> list[Result]:
    """Join every number of streams, in turns."""
    rows = _ROWS // 10 if quick else _ROWS
    runs = {f"bankfull/{count} streams": _run(count, rows) for count in _STREAMS}
    found_rows = {name: run().num_rows for name, run in runs.items()}  # also loads the kernels
    seconds = take_turns(runs, repeats)
    of_two = min(seconds["bankfull/2 streams"])
    found = []
    for count, (name, taken) in zip(_STREAMS, seconds.items(), strict=True):
        one = result(name, WORKLOAD, rows, taken, streams=count, threads=1, keys=_keys(count))
        one["results_per_tuple"] = round(found_rows[name] / rows, 3)
        one["ratio_to_two_streams"] = round(of_two / min(taken), 3)
        found.append(one)
    return found


def _keys(streams: int) -> int:
    partners: float = _RESULTS ** (1 / (streams - 1))
    return round(_ROWS_PER_S * _WINDOW_S / partners)


def _run(streams: int, rows: int) -> Callable[[], pa.Table]:
    random = np.random.default_rng(_SEED)
    each = rows // streams
    tables = []
    for number in range(streams):
        times = pa.array(np.arange(each) * (1_000_000 // _ROWS_PER_S)).cast(pa.timestamp("us"))
        keys = random.integers(0, _keys(streams), each)
        tables.append(pa.table({"k": keys, "t": times, f"x{number}": random.random(each)}))
    inputs = [table.to_batches(max_chunksize=each // _BATCHES) for table in tables]

    def run() -> pa.Table:
        opened = [
            bf.stream(iter(batches), time="t", name=f"s{number}")
            for number, batches in enumerate(inputs)
        ]
        joined = bf.join(*opened, on="k", within=f"{_WINDOW_S} seconds", threads=1)
        return joined.read_all()

    return run
