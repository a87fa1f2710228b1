"""A stream of long rows that do not compress, for state that is large against the Java heap."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bankfull.spec import Equal, Join, Query, Stream, Ticks
from bankfull.testing import Case

ROW_BYTES = 100_000
ROWS_A_FILE = 300
#: One row in so many of the long stream finds a partner, in its last file.
EVERY = 50


def _case() -> Case:
    streams = (Stream("a", "t"), Stream("b", "t"))
    join = Join("join", ("a", "b"), Equal((("k",),)), (Ticks(10**6),) * 2)
    long = pa.schema([("t", pa.int64()), ("k", pa.int64()), ("load", pa.binary())])
    short = pa.schema([("t", pa.int64()), ("k", pa.int64())])
    return Case.of(Query(streams, (join,)), a=long.empty_table(), b=short.empty_table())


LARGE = {"large": _case()}


def write_large(folder: Path, files: int) -> None:
    """Write the long stream, and a short one whose rows come with the last file."""
    for name in "ab":
        (folder / name).mkdir(parents=True)
    dice = np.random.default_rng(5)
    for number in range(files):
        rows = np.arange(number * ROWS_A_FILE, (number + 1) * ROWS_A_FILE)
        load = [dice.bytes(ROW_BYTES) for _ in rows]
        partners = np.arange(0, (number + 1) * ROWS_A_FILE, EVERY) if number == files - 1 else []
        tables = {
            "a": {"t": rows, "k": rows, "load": load, "row_a": rows},
            "b": {"t": [rows[0]] * len(partners), "k": partners, "row_b": partners},
        }
        for name, columns in tables.items():
            path = folder / name / f"{number:05}.parquet"
            fields = [*LARGE["large"].tables[name].schema]
            pq.write_table(pa.table(columns, pa.schema(fields)), path, compression="none")
            os.utime(path, (1_000_000_000 + number,) * 2)
