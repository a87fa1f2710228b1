"""Units of ``bankfull bench spark``: that it runs and agrees; how fast, no test may ask."""

from __future__ import annotations

import json

import pytest
import shop

pytestmark = pytest.mark.xdist_group("spark")


@pytest.mark.soak  # in the session of all tests: tests/spark/test_bench_spark.py
def test_bench_on_spark_runs_systems_that_agree() -> None:
    pytest.importorskip("pyspark")
    words = ("bench", "spark", "--quick", "--repeats", "1", "--only", "join60", "--json")
    done = shop.bankfull(*words)
    assert (done.returncode, done.stderr) == (0, b"")
    told = json.loads(done.stdout)
    assert told["bench"] == "spark"
    assert [one["system"] for one in told["results"]] == [
        "bankfull",
        "built-in, RocksDB",
        "built-in, in-memory",
        "pass-through",
        "pass-through, Spark's own renames",
    ]
    for one in told["results"]:
        assert one["workload"] == "join60"
        assert one["rows_out"] == one["rows_out_expected"] > 0
        assert len(one["batch_seconds"]) == 4
        assert one["measured_batches"] == [2, 4]
        assert one["rows_per_s"] > 0
    assert len(told["targets"]) == 3
    assert {"text", "measured", "met"} == set(told["targets"][0])


def test_workloads_belong_to_a_bench() -> None:
    done = shop.bankfull("bench", "spark", "--only", "join60,equi")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"equi" in done.stderr
