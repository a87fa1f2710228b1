"""Batch DataFrames: the whole history of a bucket at once, through the same operator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain

import pyarrow as pa

from bankfull.core import Batch, State, Step, start, step
from bankfull.runtime.spark.columns import is_large, to_wire
from bankfull.runtime.spark.gather import Gathered, Packet
from bankfull.runtime.spark.layout import Layout
from bankfull.runtime.spark.quarantine import Quarantine
from bankfull.runtime.spark.report import counts_line
from bankfull.runtime.spark.results import count_row, result_rows

#: Rows and bytes that enter the operator at a time.
_SLICE_ROWS, _SLICE_BYTES = 1 << 16, 64 << 20


def replay(
    layout: Layout, quarantine: Quarantine | None = None
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that joins all packets of one bucket; Spark reads its annotations."""

    def bucket(packets: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        state = start(layout.plan())
        before = state.ledger.copy()
        first = next(packets)
        at = layout.keys.index(first.column("bucket")[0].as_py())
        large = is_large(first.schema.field("rows").type)
        gathered = Gathered(state.plan, _unpacked(chain([first], packets)))
        aside = None if quarantine is None else quarantine.open(at)
        for outcome in _results(state, gathered):
            if aside is not None:
                aside.add(outcome.quarantine)
            for rows in outcome.output:
                yield to_wire(result_rows(state.plan, rows), large)
        if aside is not None:
            aside.close()
        line = counts_line(state.plan.query, before, state.ledger)
        yield to_wire(count_row(state.plan, line), large)

    return bucket


def _results(state: State, gathered: Gathered) -> Iterator[Step]:
    """Feed the operator from the stream that is furthest behind, then end all streams."""
    names = [stream.name for stream in state.plan.streams]
    left, taken = dict(gathered.rows), dict.fromkeys(names, 0)
    yield from _steps(state, Batch(loads=gathered.loads))
    while left:
        name = min(left, key=lambda name: state.inputs[names.index(name)].newest)
        rows = left[name]
        size = min(_SLICE_ROWS, max(1, rows.count * _SLICE_BYTES // max(1, rows.nbytes)))
        piece = rows.slice(taken[name], taken[name] + size)
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


def _steps(state: State, batch: Batch) -> Iterator[Step]:
    outcome = step(state, batch)
    yield outcome
    while outcome.pending:
        outcome = step(outcome.state, Batch())
        yield outcome
