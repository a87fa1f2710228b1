"""Orders and payments for the command line's tests, and what their join must give.

The expected pairs come from a nested loop here, not from the library.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

SUFFIX = {"parquet": ".parquet", "arrow": ".arrow", "csv": ".csv", "jsonl": ".jsonl"}
START = datetime(2024, 5, 1, 12, 0, 0)
SEED = 20240501


def make(seed: int = SEED, rows: int = 60) -> tuple[pa.Table, pa.Table]:
    """Return orders and payments, sorted by time, some without a partner."""
    rng = random.Random(seed)

    def times() -> list[datetime]:
        steps = sorted(rng.uniform(0, 3600) for _ in range(rows))
        return [START + timedelta(microseconds=round(step * 1e6)) for step in steps]

    orders = {
        "order_id": [rng.randrange(40) for _ in range(rows)],
        "ordered_at": pa.array(times(), pa.timestamp("us")),
        "amount": [rng.randrange(10_000) / 100 + 0.001 for _ in range(rows)],
    }
    payments = {
        "order_id": [rng.randrange(40) for _ in range(rows)],
        "paid_at": pa.array(times(), pa.timestamp("us")),
        "method": [rng.choice(["card", 'cash, "mostly"', "übung\nzwei"]) for _ in range(rows)],
    }
    return pa.table(orders), pa.table(payments)


def pairs(orders: pa.Table, payments: pa.Table, minutes: int = 10) -> list[tuple[Any, ...]]:
    """Return (order_id, ordered_at, amount, paid_at, method) of every pair, sorted."""
    window = timedelta(minutes=minutes)
    found = [
        (left["order_id"], left["ordered_at"], left["amount"], right["paid_at"], right["method"])
        for left in orders.to_pylist()
        for right in payments.to_pylist()
        if left["order_id"] == right["order_id"]
        and abs(left["ordered_at"] - right["paid_at"]) <= window
    ]
    return sorted(found)


def rows_of(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return the joined rows in the shape of :func:`pairs`."""
    return sorted(
        (row["orders_order_id"], row["ordered_at"], row["amount"], row["paid_at"], row["method"])
        for row in table.to_pylist()
    )


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as JSON holds it."""
    return {
        key: value.isoformat() if isinstance(value, datetime) else value
        for key, value in row.items()
    }


def write(table: pa.Table, path: Path) -> Path:
    """Write a table in the format of its suffix, with the tools of Python and Arrow alone."""
    form = {suffix: name for name, suffix in SUFFIX.items()}[path.suffix]
    if form == "parquet":
        pa.parquet.write_table(table, path, row_group_size=20)
    elif form == "arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=20)
    elif form == "csv":
        pa.csv.write_csv(table, path)
    else:
        lines = [json.dumps(plain(row)) for row in table.to_pylist()]
        path.write_text("".join(line + "\n" for line in lines))
    return path


def read(path: Path) -> pa.Table:
    """Read a table back, without the library."""
    if path.suffix == ".parquet":
        return pa.parquet.read_table(path)
    if path.suffix == ".arrow":
        return pa.ipc.open_file(path).read_all()
    if path.suffix == ".csv":
        types = {name: pa.timestamp("us") for name in ("ordered_at", "paid_at", "joined_at")}
        return pa.csv.read_csv(
            path,
            parse_options=pa.csv.ParseOptions(newlines_in_values=True),
            convert_options=pa.csv.ConvertOptions(column_types=types),
        )
    rows = [json.loads(line) for line in path.read_text().split("\n") if line]
    for row in rows:
        for name in ("ordered_at", "paid_at", "joined_at"):
            row[name] = datetime.fromisoformat(row[name])
    return pa.Table.from_pylist(rows)


JOIN = """
[streams.orders]
path = "{orders}"
time = "ordered_at"

[streams.payments]
path = "{payments}"
time = "paid_at"

[join]
on = "order_id"
within = "10 minutes"
"""


def job(folder: Path, orders: str, payments: str, more: str = "", before: str = "") -> Path:
    """Write a job file that joins two files of ``folder``."""
    path = folder / "join.toml"
    path.write_text(before + JOIN.format(orders=orders, payments=payments) + more)
    return path


def bankfull(
    *arguments: object, stdin: bytes | None = None, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the real command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "bankfull", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=300,
        env={**os.environ, "NO_COLOR": "1", **environment},
    )
