"""Unit tests of what a Spark query says of itself: counts of batch joins, events of streaming ones,
the README's example. Families: ledger, telemetry, documentation."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import bankfull as bf

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
