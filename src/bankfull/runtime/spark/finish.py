"""What a streaming join would still give if its input ended where its checkpoint stands.

Rows that wait for their turn (under a memory budget, with count windows) wait for later rows, and
the end of one run is not the end of the input: the next run on the same checkpoint may bring rows
that come before them. So a run never takes its own end for the end of the streams. Who knows that
nothing more will come asks for the rest, as a batch DataFrame. The checkpoint is read and not
changed: asked twice, it gives the same rows twice, and a query that goes on gives them itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from bankfull.core import Batch, State, Step, step
from bankfull.errors import PlanError
from bankfull.runtime.spark.columns import is_large, to_wire
from bankfull.runtime.spark.durable import Durable
from bankfull.runtime.spark.layout import Layout
from bankfull.runtime.spark.processor import VARIABLE
from bankfull.runtime.spark.report import counts_line
from bankfull.runtime.spark.results import count_row, result_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: What Spark calls the operator of a join in its metadata begins with this.
_OPERATOR = "transformWithState"


class Written:
    """A state variable as it was read from a checkpoint, for :class:`Durable` to look into."""

    def __init__(self, cells: Iterator[pa.RecordBatch]) -> None:
        self._values: dict[tuple[int, int], tuple[bytes]] = {}
        for batch in cells:
            columns = (batch.column(name).to_pylist() for name in ("stream", "number", "rows"))
            for stream, number, rows in zip(*columns, strict=True):
                self._values[stream, number] = (rows,)

    def getValue(self, key: tuple[int, int]) -> tuple[bytes] | None:  # noqa: N802 - Spark's name
        """Return a value, or None."""
        return self._values.get(key)

    def exists(self) -> bool:
        """Tell whether anything is there."""
        return bool(self._values)


def ending(layout: Layout) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that ends the streams of one bucket; Spark reads its annotations."""

    def bucket(cells: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        plan = layout.plan()
        first = next(cells)
        large = is_large(first.schema.field("rows").type)
        durable = Durable(Written(_and(first, cells)), layout)
        header = durable.header()
        assert header is not None, "a bucket with values has a header, or header() raises"
        state = durable.rebuild(plan, header).state
        before = state.ledger.copy()
        for outcome in _ended(state):
            for rows in outcome.output:
                yield to_wire(result_rows(plan, rows), large)
        yield to_wire(count_row(plan, counts_line(plan.query, before, state.ledger)), large)

    return bucket


def _and(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield first
    yield from rest


def _ended(state: State) -> Iterator[Step]:
    outcome = step(state, Batch(ended=frozenset(stream.name for stream in state.plan.streams)))
    yield outcome
    while outcome.pending:
        outcome = step(outcome.state, Batch())
        yield outcome


def stored_values(spark: SparkSession, checkpoint: str) -> DataFrame:
    """Return the state of the one join in a checkpoint, as rows of bucket, stream, number, rows."""
    from pyspark.errors import PySparkException

    ours: set[int] = set()
    why = ""
    try:
        listed = spark.read.format("state-metadata").load(checkpoint).collect()
        ours = {row.operatorId for row in listed if row.operatorName.startswith(_OPERATOR)}
    except PySparkException as error:
        why = f" ({str(error).splitlines()[0]})"
    if not ours:
        raise PlanError(
            f"there is no state of a join in {checkpoint!r}{why}: give the folder that was the "
            "query's checkpointLocation, after its first micro-batch"
        )
    if len(ours) > 1:
        raise PlanError(
            f"the checkpoint {checkpoint!r} has {len(ours)} joins, and finish() is for one: write "
            "joins that build on each other as queries of their own"
        )
    state = spark.read.format("statestore").option("path", checkpoint)
    state = state.option("operatorId", ours.pop()).option("stateVarName", VARIABLE)
    return state.load().selectExpr(
        "key.bucket AS bucket",
        "user_map_key.stream AS stream",
        "user_map_key.number AS number",
        "user_map_value.rows AS rows",
    )
