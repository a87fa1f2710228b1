"""Family: fault injection, the server through which workers read and write Spark's state.

It is a thread in the executor's Java process. If it dies (interrupted, which closes its connection)
or hangs (the process is stopped with SIGSTOP for longer than workers wait) the query must end with
an error; a worker that waited for ever would let it hang. The next start goes on as if nothing had
happened. ``test_heap_spark.py`` lets one hang that reads a large state.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from spark_processes import PATIENCE_S, at_state, pause, workers_of
from spark_runs import Runner, joined, output_schema, words_of

from bankfull.spec import Equal, Join, Query, Stream, Ticks
from bankfull.testing import Case
from bankfull.testing.checks import check_output

Fresh = Callable[[], Runner]
FILES, FEW_FILES = 100, 12


@pytest.fixture
def impatient(spark: Any) -> Iterator[Any]:
    """Return the session with workers that wait a second for the state server."""
    spark.sparkContext.environment["BANKFULL_STATE_TIMEOUT_S"] = "1"
    yield spark
    del spark.sparkContext.environment["BANKFULL_STATE_TIMEOUT_S"]


def _begin(run: Runner, files: int) -> tuple[Case, Any]:
    """Start a query of many short micro-batches."""
    rows = pa.table({"t": np.arange(files), "k": np.arange(files) % 7})
    join = Join("join", ("a", "b"), Equal((("k",),)), (Ticks(20),) * 2)
    query = Query((Stream("a", "t"), Stream("b", "t")), (join,))
    case = Case.of(query, a=rows, b=rows)
    run.write(case, 1)
    return case, run.start(joined(case.query, run.frames(case), 2))


def _ended(query: Any, disturb: Callable[[], None]) -> str:
    """Disturb a query until it ends, and return what its error says."""
    deadline = time.monotonic() + PATIENCE_S
    try:
        while query.isActive:
            disturb()
            assert time.monotonic() < deadline, "the query neither ends nor fails"
        with pytest.raises(StreamingQueryException) as failure:
            query.awaitTermination(10)
    finally:
        query.stop()
    return words_of(failure.value)


def test_a_state_server_that_dies_ends_the_query(impatient: Any, runner: Fresh) -> None:
    """Its thread is interrupted wherever it is found at work."""
    threads = impatient._jvm.java.lang.Thread

    def interrupt() -> None:
        for thread in threads.getAllStackTraces().keySet().toArray():
            if "stateConnectionListener" in thread.getName():
                thread.interrupt()
        time.sleep(0.01)

    assert _ended(_begin(runner(), FILES)[1], interrupt)


def test_a_state_server_that_hangs_ends_the_query(impatient: Any, runner: Fresh) -> None:
    """Java is stopped when a worker has a connection to it, as often as it takes."""
    java, run = impatient.sparkContext._gateway.proc.pid, runner()
    case, query = _begin(run, FEW_FILES)

    def hang() -> None:
        if at_state(workers_of(java)):
            pause(java, 1.5)
        time.sleep(0.002)

    words = _ended(query, hang)
    # Ours if we asked; Spark's own client, which asks at the start of a task, says it shorter.
    said = ("state server did not answer for 1 seconds", "TimeoutError: timed out")
    assert any(one in words for one in said), words
    run.resume(case, 2)
    check_output(case, run.rows(output_schema(case)))
