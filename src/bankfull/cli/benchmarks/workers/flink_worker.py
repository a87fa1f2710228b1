"""Flink SQL's interval join over two CSV files: ``python flink_worker.py FOLDER WINDOW_MS``."""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from pathlib import Path

_SOURCE = """
CREATE TABLE {name}_side (
    k BIGINT, t BIGINT, {payload} DOUBLE,
    happened AS TO_TIMESTAMP_LTZ(t, 3), WATERMARK FOR happened AS happened
) WITH ('connector' = 'filesystem', 'path' = '{folder}/{name}-bare.csv', 'format' = 'csv')
"""
_SINK = """
CREATE TABLE joined (
    k BIGINT, t BIGINT, x DOUBLE, right_k BIGINT, right_t BIGINT, y DOUBLE
) WITH ('connector' = 'filesystem', 'path' = '{folder}/flink', 'format' = 'csv')
"""
_JOIN = """
INSERT INTO joined
SELECT l.k, l.t, l.x, r.k, r.t, r.y FROM left_side l JOIN right_side r ON l.k = r.k
AND l.happened BETWEEN r.happened - INTERVAL '{seconds}' SECOND
    AND r.happened + INTERVAL '{seconds}' SECOND
"""


def main(folder: str, window_ms: int) -> None:
    """Join, write the results as CSV and print how long it took."""
    from pyflink.table import (  # type: ignore[import-not-found]
        EnvironmentSettings,
        TableEnvironment,
    )

    for name in ("left", "right"):  # Flink's CSV has no header
        rows = Path(f"{folder}/{name}.csv").read_bytes()
        Path(f"{folder}/{name}-bare.csv").write_bytes(rows[rows.index(b"\n") + 1 :])
    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.get_config().set("parallelism.default", "2")
    for name, payload in (("left", "x"), ("right", "y")):
        tables.execute_sql(_SOURCE.format(name=name, payload=payload, folder=folder))
    tables.execute_sql(_SINK.format(folder=folder))
    began = time.perf_counter()
    tables.execute_sql(_JOIN.format(seconds=window_ms // 1000)).wait()
    seconds = time.perf_counter() - began
    rows_out = 0
    for part in Path(f"{folder}/flink").rglob("*"):
        if part.is_file():
            with part.open("rb") as written:
                rows_out += sum(1 for _ in written)
    told = {"seconds": seconds, "rows_out": rows_out, "version": version("apache-flink")}
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
