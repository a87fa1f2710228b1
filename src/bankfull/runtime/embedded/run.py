"""The loop: read from the stream that is furthest behind, step, hand out results."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator

import pyarrow as pa

from bankfull.core import Batch, Budget, Ledger, Plan, State, Step, restore, snapshot, start, step
from bankfull.core.recall.interval import Recall
from bankfull.errors import BankfullError, SnapshotError
from bankfull.runtime.embedded.explain import explain
from bankfull.runtime.embedded.lateness import LateRows, lateness, warn
from bankfull.runtime.embedded.live import Pace, live_sources
from bankfull.runtime.embedded.saved import join_parts, split_parts
from bankfull.runtime.embedded.sources import Source
from bankfull.telemetry.lateness import Lateness

#: Rows read from a stream at a time; bounds memory, and keeps the working set in the cache.
BATCH_ROWS = 1 << 16
#: For so many threads, at most, that many more rows are read, where threads divide a step.
_THREADS_MOST = 4
#: Quarantined rows kept for inspection, a stream; all are counted, all reach ``on_quarantine``.
KEPT_ROWS = 10_000

OnQuarantine = Callable[[str, pa.RecordBatch], None]


class Joined:
    """Results of a query, computed as they are asked for.

    A source that fails ends its stream: everything read so far is still joined, and the error is
    raised after the last result (at once with ``strict=True``).

    An iterator of record batches, to be read once. ``ledger`` is the account so far,
    ``quarantined`` the rows set aside (the first 10,000 a stream), ``lateness`` how late the late
    ones were.
    """

    def __init__(
        self,
        plan: Plan,
        sources: dict[str, Source],
        on_quarantine: OnQuarantine | None = None,
        batch_rows: int | None = None,
        threads: int | None = None,
    ) -> None:
        self.plan = plan
        self.query = plan.query
        self.schema = plan.schema
        #: How many threads a step may use: all cores, unless told otherwise.
        self.threads = cores() if threads is None else threads
        #: Whether anything has been read from the sources.
        self.started = False
        self._sources = live_sources(plan, sources)
        self._pace = Pace(plan, self._sources)
        self._on_quarantine = on_quarantine
        self._batch_rows = batch_rows or _batch_rows(plan, self.threads)
        self._kept: dict[str, list[pa.RecordBatch]] = {}
        self._state: State = start(plan, self.threads)
        self._late = LateRows(plan)
        self._open = {stream.name for stream in plan.streams}
        #: Streams whose source has nothing, and those of them asked since another gave a batch.
        self._quiet: set[str] = set()
        self._asked: set[str] = set()
        self._ready: deque[pa.RecordBatch] = deque()
        self._source_error: BankfullError | None = None
        self._ended = False
        self._restored = False
        self._broken: BaseException | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        self._check_readable()
        if self._ended:
            raise BankfullError(
                "this join has been read to its end, and its streams are used up: keep what was "
                "read, or make the join anew from new streams"
            )
        return self

    def __next__(self) -> pa.RecordBatch:
        self._check_readable()
        try:
            while not self._ready and not self._ended:
                self._go_on()
        except BaseException as error:
            self._broken = error
            self._pace.stop()
            raise
        if self._ready:
            return self._ready.popleft()
        raise StopIteration

    @property
    def ledger(self) -> Ledger:
        """What happened to every tuple so far."""
        return self._state.ledger.copy()

    @property
    def recall(self) -> Recall | None:
        """Emitted ÷ exact so far, estimated, with an interval of 95 %.

        None where nothing is shed by a memory budget, or it cannot be estimated: a join of more
        than two streams whose windows are not equally long.
        """
        return self._state.ledger.recall

    @property
    def lost_by_importance(self) -> dict[str, dict[str, dict[str, int]]]:
        """Tuples shed and evicted so far, by stream and class of importance (powers of ten).

        Only what was lost is listed: a stream without a loss is not there.
        """
        return self.ledger.lost_by_importance

    @property
    def lateness(self) -> dict[str, Lateness]:
        """How late the late rows were so far, by stream, and which ``late=`` would keep them."""
        return lateness(self._late, self._state)

    @property
    def quarantined(self) -> dict[str, pa.Table]:
        """Rows set aside so far, by stream, each with its reason."""
        return {
            name: _together([_table(rows) for rows in batches])
            for name, batches in self._kept.items()
        }

    def read_all(self) -> pa.Table:
        """Run to the end and return all results that were not read yet as one table."""
        return pa.Table.from_batches(list(self), self.schema)

    def to_reader(self) -> pa.RecordBatchReader:
        """Return the results as a record batch reader, for libraries that take one."""
        return pa.RecordBatchReader.from_batches(self.schema, self)

    def stored_bytes(self) -> int:
        """Bytes held by stored tuples and indexes now."""
        return self._state.nbytes()

    def snapshot(self) -> bytes:
        """Write down the operator's state, and the results that are made and not read yet.

        It is possible between any two batches of results. If the rows just taken in have more
        results than were asked for so far, those are computed first and become part of it.
        """
        self._check_readable()
        while self._state.pending:
            self._take(self._step(Batch()))
        return join_parts(snapshot(self._state), list(self._ready), self.schema)

    def restore(self, data: bytes) -> None:
        """Go on from a snapshot; the sources must go on from where it was taken."""
        if self.started:
            raise SnapshotError(
                "this join has already read from its streams: restore() a join that was just made, "
                "over streams that go on from where the snapshot was taken"
            )
        operator, waiting = split_parts(data, self.schema)
        self._state = restore(self.plan, operator, self.threads)
        self._ready = deque(waiting)
        self._restored = True

    def explain(self) -> str:
        """Describe what will run, in words."""
        return explain(self.plan, self.threads)

    def __repr__(self) -> str:
        return f"<bankfull join\n{self.explain()}\n>"

    def _check_readable(self) -> None:
        if self._broken is not None:
            raise BankfullError(
                f"this join ended with an error ({self._broken!r}) and cannot go on: mend the "
                "cause and make the join anew, or restore() its last snapshot into a new one"
            ) from self._broken

    def _go_on(self) -> None:
        """Make further results, or find that there are none."""
        if not self.started:
            for name, source in self._sources.items():
                source.claim(self, name, self._restored)
            self.started = True
        if self._state.pending:
            self._take(self._step(Batch()))
        elif self._open:
            self._read()
        else:
            self._ended = True
            warn(self._late, self._state)
            if self._source_error is not None:
                raise self._source_error

    def _read(self) -> None:
        """Read from the stream that is furthest behind, and join what came."""
        name = self._furthest_behind()
        rows = None
        try:
            rows = self._sources[name].read(self._batch_rows)
        except BankfullError as error:
            if self.query.strict:
                raise
            self._source_error = self._source_error or error
        if rows is None:
            self._open.discard(name)
            self._take(self._step(Batch(ended=frozenset([name]))))
            return
        source = next(one for one in self._state.inputs if one.plan.name == name)
        reached, late = source.reached, self._state.ledger.streams[name].late
        self._hear(name)
        quiet = frozenset(self._quiet)
        outcome = self._step(Batch({name: rows}, quiet=quiet))
        if outcome.ledger.streams[name].late > late:
            self._late.note(source, rows, reached)
        self._take(outcome)

    def _step(self, batch: Batch) -> Step:
        """Run the operator, and tell it how well it keeps up."""
        with self._pace.steps:
            outcome = step(self._state, batch, Budget(BATCH_ROWS))
        self._pace.tell(outcome.state)
        return outcome

    def _hear(self, name: str) -> None:
        """Remember whether a source had something to give."""
        if self._sources[name].is_quiet:
            self._quiet.add(name)
            self._asked.add(name)
        else:
            self._quiet.discard(name)
            self._asked.clear()

    def _furthest_behind(self) -> str:
        """Choose the open stream whose time has come the least far.

        If its source had nothing when it was last asked, the others are asked first.
        """
        reached = {source.plan.name: source.newest for source in self._state.inputs}
        if self._asked >= self._open:
            self._asked.clear()
        return min(sorted(self._open - self._asked), key=lambda name: reached[name])

    def _take(self, outcome: Step) -> None:
        self._state = outcome.state
        self._ready.extend(outcome.output)
        self._set_aside(outcome.quarantine)

    def _set_aside(self, quarantine: dict[str, list[pa.RecordBatch]]) -> None:
        for name, batches in quarantine.items():
            kept = self._kept.setdefault(name, [])
            for rows in batches:
                if self._on_quarantine is not None:
                    self._on_quarantine(name, rows)
                room = KEPT_ROWS - sum(batch.num_rows for batch in kept)
                if room > 0:
                    kept.append(rows.slice(0, room))


def _batch_rows(plan: Plan, threads: int) -> int:
    """Return how many rows to read at a time: as many for a thread, however many there are.

    What is not divided costs about the same for any number of rows.
    """
    if plan.shed is not None or plan.compare is not None:
        return BATCH_ROWS
    return BATCH_ROWS * min(threads, _THREADS_MOST)


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _table(rows: pa.RecordBatch) -> pa.Table:
    """Return rows set aside; of columns that share a name, all but the first get a number."""
    names = list(rows.schema.names)
    for place, name in enumerate(names):
        again = names[:place].count(name)
        names[place] = f"{name}_{again + 1}" if again else name
    return pa.Table.from_batches([rows]).rename_columns(names)


def _together(tables: list[pa.Table]) -> pa.Table:
    """Return rows set aside as one table; a column of several types that cannot be one is text."""
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException:
        kinds: dict[str, set[str]] = {}
        for table in tables:
            for field in table.schema:
                kinds.setdefault(field.name, set()).add(str(field.type))
        clashing = {name for name, found in kinds.items() if len(found) > 1}
        written = [
            pa.table(
                {
                    name: _text(values) if name in clashing else values
                    for name, values in zip(table.column_names, table.columns, strict=True)
                }
            )
            for table in tables
        ]
        return pa.concat_tables(written, promote_options="permissive")


def _text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    try:
        return values.cast(pa.string())
    except pa.ArrowException:
        text = [str(value) if value.is_valid else None for value in values]
        return pa.chunked_array([pa.array(text, pa.string())])
