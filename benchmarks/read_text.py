"""How long reading a text file takes, beside Arrow's and DuckDB's readers of the same file.

Run ``python benchmarks/read_text.py [ROWS]``. Each reader takes turns, the best of three counts;
types are inferred by all of them. ``ratio`` is our time over the quicker of the others that read
the file on one thread; all figures are of one run.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.json

from bankfull.runtime.embedded.files import open_source

TURNS = 3


def write(folder: Path, rows: int) -> dict[str, Path]:
    """Write one file of each kind."""
    rng = random.Random(7)
    words = [f"word-{rng.randrange(10**6)}" for _ in range(5_000)]
    columns = {
        "text": lambda row: [row, rng.choice(words), f"note {rng.choice(words)} {row}"],
        "numbers": lambda row: [row, rng.randrange(10**12), round(rng.random() * 1e4, 2)],
        "doubles": lambda row: [row, rng.random(), rng.gauss(0, 1e5)],
        "times": lambda row: [f"2024-05-01T{row // 3600 % 24:02}:00:{row % 60:02}.25", row, "x"],
    }
    paths = {}
    for name, make in columns.items():
        table = [make(row) for row in range(rows)]
        paths[f"{name}.csv"] = folder / f"{name}.csv"
        with paths[f"{name}.csv"].open("w") as file:
            file.write("t,a,b\n")
            file.writelines(",".join(map(str, cells)) + "\n" for cells in table)
        paths[f"{name}.jsonl"] = folder / f"{name}.jsonl"
        with paths[f"{name}.jsonl"].open("w") as file:
            file.writelines(
                "{"
                + ",".join(f'"{key}":{_json(cell)}' for key, cell in zip("tab", cells, strict=True))
                + "}\n"
                for cells in table
            )
    return paths


def _json(cell: object) -> str:
    return f'"{cell}"' if isinstance(cell, str) else repr(cell)


def ours(path: Path) -> int:
    """Read with bankfull's reader."""
    source = open_source(str(path), path.suffix[1:], time="t", on_unreadable=print)
    return sum(batch.num_rows for batch in source.reader)


def arrow(path: Path) -> int:
    """Read with Arrow's reader on one thread."""
    if path.suffix == ".csv":
        options = pa.csv.ReadOptions(use_threads=False, block_size=4 << 20)
        return int(pa.csv.read_csv(path, read_options=options).num_rows)
    options = pa.json.ReadOptions(use_threads=False, block_size=4 << 20)
    return int(pa.json.read_json(path, read_options=options).num_rows)


def duck(path: Path) -> int:
    """Read with DuckDB's reader on one thread."""
    with duckdb.connect(config={"threads": 1}) as database:
        read = "read_csv" if path.suffix == ".csv" else "read_json"
        more = ", format='newline_delimited'" if path.suffix == ".jsonl" else ""
        found = database.sql(f"SELECT * FROM {read}('{path}'{more})")
        return int(found.to_arrow_table().num_rows)


def seconds(read: Callable[[Path], int], path: Path, rows: int) -> float:
    """Time one turn."""
    started = time.perf_counter()
    assert read(path) == rows, f"{read.__name__} read another number of rows from {path.name}"
    return time.perf_counter() - started


def main() -> None:
    """Print a line for each file."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 500_000
    with tempfile.TemporaryDirectory() as folder:
        paths = write(Path(folder), rows)
        print(f"{'file':14} {'bankfull s':>10} {'arrow s':>8} {'duckdb s':>8} {'ratio':>6}")
        for name, path in paths.items():
            best = dict.fromkeys((ours, arrow, duck), float("inf"))
            for _ in range(TURNS):
                for read in best:
                    best[read] = min(best[read], seconds(read, path, rows))
            ratio = best[ours] / min(best[arrow], best[duck])
            print(f"{name:14} {best[ours]:10.3f} {best[arrow]:8.3f} {best[duck]:8.3f} {ratio:6.2f}")


if __name__ == "__main__":
    main()
