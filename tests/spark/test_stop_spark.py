"""Family: fault injection, a query that is stopped in the middle of a micro-batch.

Its ``foreachBatch`` function waits for a job at that moment. The query says that it has stopped, no
error is left behind, and a new start gives what an undisturbed run gives.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from spark_cases import pair, within
from spark_processes import until
from spark_runs import Runner, joined, output_schema

from bankfull.spec import Equal
from bankfull.testing.checks import check_output


def _held(flag: Path) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for ``mapInArrow`` that does not come to an end when first called."""

    def hold(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if not flag.exists():
            flag.touch()
            time.sleep(100)
        yield from batches

    return hold


def test_oracle_stopped_while_a_function_waits_for_java(runner: Callable[[], Runner]) -> None:
    case, run = pair(Equal((("k",),)), within(2), seed=640), runner()
    run.write(case, 60)
    flag = run.folder / "held"
    hold = _held(flag)
    run.sink.mkdir()

    def keep(frame: Any, number: int) -> None:
        rows = frame.coalesce(1).mapInArrow(hold, frame.schema).toArrow()
        pq.write_table(rows, run.sink / f"{number}.parquet")

    def start() -> Any:
        writer = joined(case.query, run.frames(case), 2).writeStream.foreachBatch(keep)
        writer = writer.option("checkpointLocation", str(run.checkpoint))
        return writer.trigger(availableNow=True).start()

    query = start()
    until(flag.exists, "the function waits")
    query.stop()
    assert query.exception() is None
    # Otherwise Spark has not recognised the stop: its thread has ended with an error of Java's.
    assert query.status["message"] == "Stopped"
    assert not list(run.sink.iterdir())
    start().awaitTermination()
    check_output(case, pq.read_table(run.sink).cast(output_schema(case)))
