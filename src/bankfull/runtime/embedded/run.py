"""The loop: read from the stream that is furthest behind, step, hand out results."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pyarrow as pa

from bankfull.core import Batch, Budget, Ledger, Plan, State, restore, snapshot, start, step
from bankfull.core.interval import Recall
from bankfull.errors import BankfullError
from bankfull.runtime.embedded.sources import Source

#: Rows read from a stream at a time; bounds memory, and keeps the working set in the cache.
BATCH_ROWS = 1 << 15
#: Quarantined rows kept for inspection, a stream; all are counted, all reach ``on_quarantine``.
KEPT_ROWS = 10_000

OnQuarantine = Callable[[str, pa.RecordBatch], None]


class Joined:
    """Results of a query, computed as they are asked for.

    A source that fails ends its stream: everything read so far is still joined, and the error is
    raised after the last result (at once with ``strict=True``).

    An iterator of record batches. ``ledger`` is the account so far, ``quarantined`` the rows set
    aside (the first 10,000 a stream).
    """

    def __init__(
        self,
        plan: Plan,
        sources: dict[str, Source],
        on_quarantine: OnQuarantine | None = None,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        self.plan = plan
        self.query = plan.query
        self.schema = plan.schema
        self._sources = sources
        self._on_quarantine = on_quarantine
        self._batch_rows = batch_rows
        self._kept: dict[str, list[pa.RecordBatch]] = {}
        self._state: State = start(plan)
        self._open = {stream.name for stream in plan.streams}
        self._batches = self._run()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self

    def __next__(self) -> pa.RecordBatch:
        return next(self._batches)

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
        """Tuples shed and evicted so far, by stream and class of importance (powers of ten)."""
        return self._state.ledger.lost_by_importance

    @property
    def quarantined(self) -> dict[str, pa.Table]:
        """Rows set aside so far, by stream, each with its reason."""
        return {
            name: _together([_table(rows) for rows in batches])
            for name, batches in self._kept.items()
        }

    def read_all(self) -> pa.Table:
        """Run to the end and return all results as one table."""
        return pa.Table.from_batches(list(self), self.schema)

    def to_reader(self) -> pa.RecordBatchReader:
        """Return the results as a record batch reader, for libraries that take one."""
        return pa.RecordBatchReader.from_batches(self.schema, self)

    def stored_bytes(self) -> int:
        """Bytes held by stored tuples and indexes now."""
        return self._state.nbytes()

    def snapshot(self) -> bytes:
        """Write the operator's state down, between two batches of results."""
        return snapshot(self._state)

    def restore(self, data: bytes) -> None:
        """Go on from a snapshot; the sources must go on from where it was taken."""
        self._state = restore(self.plan, data)

    def explain(self) -> str:
        """Describe what will run, in words."""
        return explain(self.plan)

    def __repr__(self) -> str:
        return f"<bankfull join\n{self.explain()}\n>"

    def _run(self) -> Iterator[pa.RecordBatch]:
        failed: BankfullError | None = None
        while self._open:
            name = self._furthest_behind()
            rows = None
            try:
                rows = self._sources[name].read(self._batch_rows)
            except BankfullError as error:
                if self.query.strict:
                    raise
                failed = failed or error
            if rows is None:
                self._open.discard(name)
                yield from self._steps(Batch(ended=frozenset([name])))
            else:
                yield from self._steps(Batch({name: rows}))
        if failed is not None:
            raise failed

    def _furthest_behind(self) -> str:
        """Choose the open stream whose time has come the least far."""
        reached = {source.plan.name: source.newest for source in self._state.inputs}
        return min(sorted(self._open), key=lambda name: reached[name])

    def _steps(self, batch: Batch) -> Iterator[pa.RecordBatch]:
        outcome = step(self._state, batch, Budget())
        while True:
            self._state = outcome.state
            self._set_aside(outcome.quarantine)
            yield from outcome.output
            if not outcome.pending:
                return
            outcome = step(self._state, Batch(), Budget())

    def _set_aside(self, quarantine: dict[str, list[pa.RecordBatch]]) -> None:
        for name, batches in quarantine.items():
            kept = self._kept.setdefault(name, [])
            for rows in batches:
                if self._on_quarantine is not None:
                    self._on_quarantine(name, rows)
                room = KEPT_ROWS - sum(batch.num_rows for batch in kept)
                if room > 0:
                    kept.append(rows.slice(0, room))


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


def explain(plan: Plan) -> str:
    """Describe a plan: streams, joins, windows, how partners are found, what bounds memory."""
    lines = []
    for stream in plan.query.streams:
        lines.append(f"  stream {stream.name}: time {stream.time}, late {stream.late}")
    for join in plan.query.joins:
        lines.append(f"  join {join.name}: {join.predicate}, searched by {join.search}")
        for name, length in zip(join.streams, join.windows, strict=True):
            lines.append(f"    a tuple of {name} stays joinable for {length}")
    if plan.ordered:
        lines.append("  tuples wait until every stream has reached their time")
    shed = plan.query.shed
    if shed is None:
        lines.append("  overload: block (exact; a full source waits)")
    else:
        most = f"at most {shed.memory}" if shed.memory else f"memory for a recall of {shed.recall}"
        lines.append(f"  overload: shed ({most}, kept by {shed.keep.policy})")
    return "\n".join(lines)
