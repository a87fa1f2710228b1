"""Units of ``bankfull bench spark``: that its systems run and agree; how fast, no test may ask.

In the session of all tests, on a tenth of the rows of a quick run. The command as a whole, in a
process and a Java of its own, runs under ``make soak`` (``tests/cli/test_cli_bench_spark.py``).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bankfull.cli.benchmarks import spark_joins, spark_targets
from bankfull.cli.benchmarks.spark_streams import Shape

SYSTEMS = [
    "bankfull",
    "built-in, RocksDB",
    "built-in, in-memory",
    "pass-through",
    "pass-through, Spark's own renames",
]
#: Rows enough for some results in every micro-batch.
SMALL = Shape(window_s=60, keys=5_000, batch_rows=20_000, batches=6)


@pytest.fixture
def restored(spark: Any) -> Iterator[None]:
    """Give the session back the settings with which systems are run."""
    names = [
        "spark.sql.streaming.stateStore.providerClass",
        "spark.sql.streaming.checkpointFileManagerClass",
    ]
    before = {name: spark.conf.get(name) for name in names}
    yield
    for name, value in before.items():
        spark.conf.set(name, value)
    spark.sparkContext.setLogLevel("OFF")


@pytest.mark.usefixtures("restored")
def test_bench_runs_systems_that_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_joins, "JOIN60", SMALL)
    found = spark_joins._join60(tmp_path, quick=True, repeats=1)
    assert [one["system"] for one in found] == SYSTEMS
    for one in found:
        assert one["workload"] == "join60"
        assert one["rows_out"] == one["rows_out_expected"] > 0
        assert len(one["batch_seconds"]) == 4
        assert one["measured_batches"] == [2, 4]
        assert one["rows_per_s"] > 0
    told = spark_targets.targets(found)
    assert len(told) == 3
    assert {"text", "measured", "met"} == set(told[0])
