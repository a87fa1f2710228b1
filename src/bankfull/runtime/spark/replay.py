"""Batch DataFrames: the whole history of a bucket at once, through the same operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from bankfull.core import Batch, State, start, step
from bankfull.runtime.spark.encode import Layout
from bankfull.runtime.spark.gather import Gathered, Packet
from bankfull.runtime.spark.report import counts_line
from bankfull.runtime.spark.results import count_row, result_rows

#: Rows and bytes that enter the operator at a time.
_SLICE_ROWS, _SLICE_BYTES = 1 << 16, 64 << 20


def replay(layout: Layout) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that joins all packets of one bucket; Spark reads its annotations."""

    def bucket(packets: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        state = start(layout.plan())
        before = state.ledger.copy()
        for rows in _results(state, Gathered(state.plan, _unpacked(packets))):
            yield result_rows(state.plan, rows)
        yield count_row(state.plan, counts_line(state.plan.query, before, state.ledger))

    return bucket


def _results(state: State, gathered: Gathered) -> Iterator[pa.RecordBatch]:
    """Feed the operator from the stream that is furthest behind, then end all streams."""
    names = [stream.name for stream in state.plan.streams]
    left, taken = dict(gathered.rows), dict.fromkeys(names, 0)
    yield from _steps(state, Batch(loads=gathered.loads))
    while left:
        name = min(left, key=lambda name: state.inputs[names.index(name)].newest)
        rows = left[name]
        size = min(_SLICE_ROWS, max(1, rows.count * _SLICE_BYTES // max(1, rows.nbytes)))
        piece = rows.slice(taken[name], size)
        yield from _steps(state, Batch({name: piece}, validated=gathered.sound))
        taken[name] += size
        if taken[name] >= rows.count:
            del left[name]
            yield from _steps(state, Batch(ended=frozenset([name])))
    yield from _steps(state, Batch(ended=frozenset(names)))


def _unpacked(packets: Iterator[pa.RecordBatch]) -> Iterator[Packet]:
    for batch in packets:
        names = ("stream", "newest", "sound", "loads", "rows")
        columns = (batch.column(name).to_pylist() for name in names)
        yield from zip(*columns, strict=True)


def _steps(state: State, batch: Batch) -> Iterator[pa.RecordBatch]:
    outcome = step(state, batch)
    yield from outcome.output
    while outcome.pending:
        outcome = step(outcome.state, Batch())
        yield from outcome.output
