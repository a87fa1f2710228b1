"""An hour of two streams that never pause, in files: far more rows than their windows hold."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bankfull.spec import Equal, Join, Keep, Query, Shed, Stream, Tuples, window
from bankfull.testing import Case

FILES = 300
SECONDS = 3600
WINDOW_S = 30
ROWS_A_FILE = 3000
KEYS = 15_000
#: A quarter of what two windows hold.
BUDGET = Tuples(2 * ROWS_A_FILE * WINDOW_S * FILES // SECONDS // 4)
_EMPTY = pa.table(
    {
        "t": pa.array([], pa.timestamp("us", "UTC")),
        "k": pa.array([], pa.int64()),
        "load": pa.array([], pa.string()),
    }
)


def hour(shed: Shed | None = None) -> Case:
    """Return the query, and the columns of its streams without rows."""
    streams = tuple(Stream(name, "t") for name in "ab")
    windows = (window(timedelta(seconds=WINDOW_S)),) * 2
    join = Join("join", ("a", "b"), Equal((("k",),)), windows)
    return Case.of(Query(streams, (join,), shed=shed), a=_EMPTY, b=_EMPTY)


#: The hour with room for everything, and with room for a quarter.
HOURS = {"hour": hour(), "hour of overload": hour(Shed(BUDGET, Keep("prob")))}


def write_hour(folder: Path) -> None:
    """Write the rows, a file for every few seconds and stream."""
    length_us = SECONDS * 10**6 // FILES
    for position, name in enumerate("ab"):
        (folder / name).mkdir(parents=True)
        for number in range(FILES):
            dice = np.random.default_rng([position, number])
            times = np.sort(dice.integers(length_us, size=ROWS_A_FILE)) + number * length_us
            first = number * ROWS_A_FILE
            rows = pa.table(
                {
                    "t": pa.array(times, pa.timestamp("us", "UTC")),
                    "k": dice.integers(KEYS, size=ROWS_A_FILE),
                    "load": [f"{row:0200}" for row in range(first, first + ROWS_A_FILE)],
                    f"row_{name}": np.arange(first, first + ROWS_A_FILE),
                }
            )
            path = folder / name / f"{number:05}.parquet"
            pq.write_table(rows, path)
            os.utime(path, (1_000_000_000 + number,) * 2)
