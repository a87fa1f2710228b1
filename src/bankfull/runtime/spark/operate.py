"""The middle stage: one operator a bucket, its state in Spark's state store.

What is written grows with what a micro-batch changes, not with the window (``durable.py``). Workers
keep the live operator between micro-batches (``live.py``); one that
is behind takes in the segments it missed, one that is missing is built anew from all of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from bankfull.core import Batch, Budget, Plan, Step, step
from bankfull.core.plan import NEVER
from bankfull.runtime.spark.durable import Durable
from bankfull.runtime.spark.gather import Gathered, Packet
from bankfull.runtime.spark.layout import Layout
from bankfull.runtime.spark.live import Live, live_states
from bankfull.runtime.spark.quarantine import Quarantine
from bankfull.runtime.spark.report import LateRows, counts_line
from bankfull.runtime.spark.results import as_frame, count_row, result_rows

if TYPE_CHECKING:
    import pandas as pd

#: What a frame of results may have. Spark's bridge to pandas copies it several times.
_GIVEN = Budget(output_bytes=2 << 20)


class Operator:
    """The operators of the buckets that one task is given, over its state variable."""

    def __init__(self, segments: Any, layout: Layout, quarantine: Quarantine | None) -> None:
        self.durable = Durable(segments, layout)
        self.layout = layout
        self.quarantine = quarantine
        self._plan = layout.plan()

    def join(self, key: int, rows: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """Join the packets of a micro-batch with what a bucket has stored, and commit."""
        plan = self._plan
        timed = Timed()
        gathered = Gathered(plan, _packets(rows))
        live = self._load(plan)
        before, late = live.state.ledger.copy(), LateRows(live.state)
        bucket = self.layout.keys.index(key)
        aside = None if self.quarantine is None else self.quarantine.open(bucket)
        for outcome in _steps(plan, live, gathered):
            late.note(outcome.quarantine)
            if aside is not None:
                aside.add(outcome.quarantine)
            if outcome.output:
                frame = as_frame(result_rows(plan, _together(outcome)))
                timed.pause()
                yield frame
                timed.go_on()
        if aside is not None:
            aside.close()
        self._tell(live, timed)
        self.durable.commit(live)
        live_states.keep(live)
        line = counts_line(plan.query, before, live.state.ledger, str(late))
        yield as_frame(count_row(plan, line))

    def _tell(self, live: Live, timed: Timed) -> None:
        """Tell the operator what part of its work it did in the time that it had.

        That is the time in which its rows came, from the beginning of the micro-batch before to
        that of this one, on its part of the cores. It is part of what is committed, so that a
        replay of the next micro-batch decides the same. A worker that did not have the micro-batch
        before does not know.
        """
        timed.pause()
        before, live.began = live.began, timed.began
        if self._plan.compare is not None and before is not None and timed.busy > 0.0:
            cores = min(1.0, self.layout.cores / len(self.layout.keys))
            had = self._plan.compare.share * cores * (timed.began - before)
            live.state.hear(had / timed.busy)

    def _load(self, plan: Plan) -> Live:
        header = self.durable.header()
        if header is None:
            return Live.fresh(plan)
        live = live_states.take(header["lineage"])
        if live is not None and live.history[-1] == header["history"][-1]:
            return live
        if live is not None:
            live.began = None
        if live is not None and live.history[-1] in header["history"]:
            self.durable.catch_up(live, header)
            return live
        return self.durable.rebuild(plan, header)


class Timed:
    """How long an operator was busy, without the time in which Spark took its results."""

    def __init__(self) -> None:
        self.began = self._since = time.monotonic()
        self.busy = 0.0

    def pause(self) -> None:
        """Count the time since it went on."""
        self.busy += time.monotonic() - self._since

    def go_on(self) -> None:
        """Count from now on."""
        self._since = time.monotonic()


def _together(outcome: Step) -> pa.RecordBatch:
    """Return the results of a step as one batch, and forget them: they are a few megabytes.

    Under a budget results are found a thousand tuples at a time, and every frame costs milliseconds
    on its way to Spark.
    """
    rows = outcome.output[0]
    if len(outcome.output) > 1:
        rows = pa.concat_batches(outcome.output)
    outcome.output.clear()
    return rows


def _packets(rows: Iterator[pd.DataFrame]) -> Iterator[Packet]:
    for frame in rows:
        columns = (frame[name] for name in ("stream", "newest", "sound", "loads", "rows"))
        yield from zip(*columns, strict=True)


def _steps(plan: Plan, live: Live, gathered: Gathered) -> Iterator[Step]:
    """Step with the new rows, and then with how far time came in all buckets together.

    Nobody holds a batch that the operator has taken in: its rows are there, or in results.
    """

    def take_in(batch: Batch) -> Step:
        return step(live.state, batch, _GIVEN)

    for outcome in map(take_in, _batches(plan, live, gathered)):
        yield outcome
        state = outcome.state
        while state.pending:
            more = step(state, Batch(), _GIVEN)
            state = more.state
            yield more
        live.state = state


def _batches(plan: Plan, live: Live, gathered: Gathered) -> Iterator[Batch]:
    """Yield the new rows piece by piece, with what is known of the others.

    What the buckets got is told first: it decides over the memory in which rows are joined.
    """
    frontiers = dict(live.frontiers)
    for stream in plan.streams:
        reached = gathered.newest.get(stream.name, -NEVER) - stream.late
        live.frontiers[stream.name] = max(frontiers.get(stream.name, -NEVER), reached)
    # Every piece of input reaches every bucket, so a stream without any had nothing to give.
    quiet = frozenset(stream.name for stream in plan.streams) - gathered.newest.keys()
    loads = gathered.loads if len(gathered.loads) else None
    # Whether too many rows wait for a quiet stream is judged when all of them have come.
    pieces = gathered.pieces(whole=bool(quiet))
    for piece in pieces[:-1]:
        yield Batch(gathered.take(piece), frontiers, loads=loads, validated=gathered.sound)
        loads = None
    yield Batch(
        gathered.take(pieces[-1], last=True),
        frontiers,
        then=live.frontiers,
        quiet=quiet,
        loads=loads,
        validated=gathered.sound,
    )
