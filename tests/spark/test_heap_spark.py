"""Family: fault injection, state that is large against the Java heap.

State is read piece by piece, so a state larger than the heap can be restarted in it. For long, the
Java process is stopped with SIGSTOP while a worker reads, for longer than workers wait: a state
server that hangs ends the query with an error, and the next start goes on as if nothing had
happened.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import duckdb
import pytest
from spark_large import EVERY, LARGE, ROWS_A_FILE, write_large
from spark_processes import Job, at_state, end, members, pause, until, workers
from spark_runs import Runner, joined
from spark_sinks import committed

#: Spark wants 450 MB unless it is told to set less aside for itself.
SMALL_HEAP = {"spark.testing.reservedMemory": 16 << 20, "spark.memory.fraction": 0.3}
#: Few of the long rows at a time, on their way from Parquet and to Python.
FEW_ROWS = {
    "spark.sql.parquet.columnarReaderBatchSize": 16,
    "spark.sql.execution.arrow.maxRecordsPerBatch": 16,
}


def _hang(job: Job) -> None:
    """Start the driver, stop its Java process while state is read, and insist that it says so."""
    process = job.start(BANKFULL_STATE_TIMEOUT_S="1")
    try:
        java = next(one.pid for one in members(process.pid) if "org.apache.spark" in one.command)
        until(lambda: at_state(workers(process.pid)) or process.poll() is not None, "state is read")
        for _ in range(10):  # a worker takes in the rows of its micro-batch before it reads state
            pause(java, 1.5)
            time.sleep(0.3)
            if process.poll() is not None:
                break
        until(lambda: process.poll() is not None, "the driver ends")
    finally:
        end(process)
    words = job.log.read_text(errors="replace")
    assert process.returncode == 1, words[-6000:]
    # Ours if we asked; Spark's own client, which asks at the start of a task, says it shorter.
    said = ("state server did not answer for 1 seconds", "TimeoutError: timed out")
    assert any(one in words for one in said), words[-6000:]


@pytest.mark.parametrize(
    ("files", "heap"), [(8, "256m"), pytest.param(15, "1g", marks=pytest.mark.soak)]
)
def test_a_large_state_restarts_in_a_small_heap(
    files: int, heap: str, spark: Any, tmp_path: Path
) -> None:
    """Stored by the session of all tests, read back by a driver whose heap could not hold it.

    For long, it is also stored with such a heap, and a driver is stopped while it reads; of a small
    state, ``test_state_server_spark.py`` does that.
    """
    write_large(tmp_path / "input", files)
    job, run, case = Job(tmp_path), Runner(spark, tmp_path), LARGE["large"]
    job.describe(
        "large", 1, "local[2,1]", **{"spark.driver.memory": heap}, **SMALL_HEAP, **FEW_ROWS
    )
    run.show(files - 1)
    if heap == "1g":
        job.finish()
        run.show(files)
        _hang(job)
    else:
        run.drain(joined(case.query, run.frames(case), 1))
        run.show(files)
    job.finish()
    a, b = (f"read_parquet('{run.input}/{name}/*.parquet') {name}" for name in "ab")
    exact = f"SELECT row_a, row_b, md5(load) FROM {a} JOIN {b} ON a.k = b.k"
    found = f"SELECT row_a, row_b, md5(load) FROM read_parquet({committed(job.sink)})"
    rows, expected = (sorted(duckdb.sql(question).fetchall()) for question in (found, exact))
    assert len(rows) == files * ROWS_A_FILE // EVERY
    assert rows == expected
