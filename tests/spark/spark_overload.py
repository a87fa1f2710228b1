"""Two streams in files whose windows do not fit into the memory budget.

Popular keys, many equal times, and disorder within the late bound that also crosses the border
between two files.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bankfull.spec import Duration, Equal, Join, Keep, Query, Shed, Stream, Tuples
from bankfull.testing import Case

SECOND_US = 1_000_000
WINDOW_S, LATE_S = 40, 3
_SCHEMA = pa.schema([("t", pa.timestamp("us", "UTC")), ("k", pa.int64()), ("load", pa.string())])


@dataclass(frozen=True)
class Overload:
    """How much comes, in how many files a stream, and how many tuples may be kept."""

    files: int
    rows_a_file: int
    file_seconds: int
    budget: int

    def case(self) -> Case:
        """Return the query, and the columns of its streams without rows."""
        late = Duration(LATE_S * SECOND_US * 1000)
        streams = tuple(Stream(name, "t", late) for name in "ab")
        windows = (Duration(WINDOW_S * SECOND_US * 1000),) * 2
        join = Join("join", ("a", "b"), Equal((("k",),)), windows)
        query = Query(streams, (join,), shed=Shed(Tuples(self.budget), Keep("gain")))
        empty = _SCHEMA.empty_table()
        return Case.of(query, a=empty, b=empty)

    def write(self, folder: Path) -> None:
        """Write the rows, a file for every few seconds and stream."""
        count = self.files * self.rows_a_file
        for position, name in enumerate("ab"):
            dice = np.random.default_rng([11, position])
            seconds = dice.integers(self.files * self.file_seconds, size=count)
            order = np.argsort(seconds + dice.uniform(0, LATE_S - 1, count), kind="stable")
            times = pa.array(seconds[order] * SECOND_US, pa.timestamp("us", "UTC"))
            whole = pa.table(
                {
                    "t": times,
                    "k": dice.zipf(1.3, count) % 500,
                    "load": [f"{number % 97:040}" for number in range(count)],
                    f"row_{name}": np.arange(count),
                }
            )
            (folder / name).mkdir(parents=True)
            for number in range(self.files):
                path = folder / name / f"{number:05}.parquet"
                pq.write_table(whole.slice(number * self.rows_a_file, self.rows_a_file), path)
                os.utime(path, (1_000_000_000 + number,) * 2)


OVERLOADS = {
    "overload": Overload(files=9, rows_a_file=400, file_seconds=20, budget=300),
    "long overload": Overload(files=40, rows_a_file=6000, file_seconds=20, budget=8000),
}
