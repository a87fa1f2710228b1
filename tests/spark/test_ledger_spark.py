"""Unit tests of what a Spark query says of itself: counts of batch joins, events of streaming ones,
the README's example. Families: ledger, telemetry, documentation."""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import bankfull as bf
from bankfull.telemetry import read_events

NOON = datetime(2024, 5, 1, 12)


def _wait_for(path: Path) -> None:
    for _ in range(600):
        if path.exists():
            return
        time.sleep(0.1)
    raise AssertionError(f"no event reached {path} within a minute")


def test_a_batch_join_counts_what_it_could_not_use(spark: Any) -> None:
    columns = "t timestamp, k long"
    rows = [(NOON, 1), (None, 1), (NOON + timedelta(seconds=5), 2)]
    left = spark.createDataFrame(rows, columns)
    right = spark.createDataFrame([(NOON, 1), (NOON, 2)], columns)
    joined = bf.join(
        bf.stream(left, time="t", name="a"),
        bf.stream(right, time="t", name="b"),
        on="k",
        within="10 seconds",
    )
    assert joined.count() == 2
    counts = joined.ledger.get["ledger"]
    assert (counts["a.arrived"], counts["a.quarantined"], counts["a.inserted"]) == (3, 1, 2)
    assert counts["join.emitted"] == 2


def test_the_readme_runs_and_reports(spark: Any, tmp_path: Path) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    example = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)[1]
    orders = [(number, NOON + timedelta(minutes=number)) for number in range(30)]
    paid = [(number, NOON + timedelta(minutes=2 * number)) for number in range(30)]
    for name, rows, column in (("orders", orders, "ordered_at"), ("payments", paid, "paid_at")):
        frame = spark.createDataFrame(rows, f"order_id long, {column} timestamp")
        frame.write.parquet(str(tmp_path / name))
    # Spark resolves relative paths where its Java process started.
    example = re.sub(r'"(orders|payments|checkpoint|joined)"\)', rf'"{tmp_path}/\1")', example)
    listener = bf.listen(spark, str(tmp_path / "events.ndjson"))
    names: dict[str, Any] = {}
    try:
        exec(compile(example, "README.md", "exec"), names)
        names["query"].processAllAvailable()
        found = spark.read.parquet(str(tmp_path / "joined")).count()
        assert found == 11  # paid at most ten minutes later: orders 0 to 10
        metrics = [progress["observedMetrics"] for progress in names["query"].recentProgress]
        assert any("bankfull" in observed for observed in metrics)
        _wait_for(tmp_path / "events.ndjson")  # Spark tells its listeners in its own time
    finally:
        names["query"].stop()
        spark.streams.removeListener(listener)
    events = list(read_events(tmp_path / "events.ndjson"))
    assert sum(event.counts["join"]["emitted"] for event in events) == 11
