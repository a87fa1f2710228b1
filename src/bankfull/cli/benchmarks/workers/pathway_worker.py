"""Pathway's interval join over two CSV files: ``python pathway_worker.py FOLDER WINDOW_MS``."""

from __future__ import annotations

import json
import sys
import time


def main(folder: str, window_ms: int) -> None:
    """Join, write the results as CSV and print how long it took."""
    import pathway as pw  # type: ignore[import-not-found]

    left_schema = pw.schema_from_types(k=int, t=int, x=float)
    right_schema = pw.schema_from_types(k=int, t=int, y=float)
    began = time.perf_counter()
    left = pw.io.csv.read(f"{folder}/left.csv", schema=left_schema, mode="static")
    right = pw.io.csv.read(f"{folder}/right.csv", schema=right_schema, mode="static")
    joined = left.interval_join(
        right, left.t, right.t, pw.temporal.interval(-window_ms, window_ms), left.k == right.k
    ).select(k=left.k, t=left.t, x=left.x, right_k=right.k, right_t=right.t, y=right.y)
    pw.io.csv.write(joined, f"{folder}/pathway.csv")
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    seconds = time.perf_counter() - began
    with open(f"{folder}/pathway.csv", "rb") as written:
        rows_out = sum(1 for _ in written) - 1
    print(json.dumps({"seconds": seconds, "rows_out": rows_out, "version": pw.__version__}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
