"""The operator: how one batch goes in, and what comes out.

``step`` consumes its state: the state handed in must not be used again, only the one returned.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.admit import Check, admit, conforms, with_reason
from bankfull.core.arrays import bad_importance
from bankfull.core.batch import Batch, Budget, Share, Step
from bankfull.core.emit import emit
from bankfull.core.equal_index import EqualIndex
from bankfull.core.forms import to_schema
from bankfull.core.index import Index, rewind
from bankfull.core.ledger import JoinLedger, Ledger, StreamLedger
from bankfull.core.log import Log, counted_rows
from bankfull.core.plan import NEVER, JoinPlan, Plan
from bankfull.core.reorder import Reorder, in_order
from bankfull.core.set_index import SetIndex
from bankfull.core.sets import bad_weights
from bankfull.core.shedding import Shedding
from bankfull.errors import BankfullError, DataError
from bankfull.spec import Equal, Similar

#: Results a kernel writes before they become a record batch; stays in the cache.
_BLOCK = 1 << 15


class Input:
    """The state of one stream: its log, rows that wait for their turn, how far time has come."""

    def __init__(self, plan: Plan, position: int, first: int = 0) -> None:
        self.plan = plan.streams[position]
        self.log = Log(self.plan, first)
        self.reorder = Reorder(self.plan.schema) if plan.ordered else None
        self.stored = 0
        self.newest = -NEVER
        self.promised = -NEVER
        self.checks = [
            Check(join.columns[join.streams.index(position)][0], bad_weights, "bad weight")
            for join in plan.joins
            if isinstance(join.predicate, Similar) and position in join.streams
        ]
        if plan.shed is not None and plan.shed.importance[position] >= 0:
            column = plan.shed.importance[position]
            self.checks.append(Check(column, bad_importance, "bad importance"))

    @property
    def frontier(self) -> int:
        """No row that is still to come has a smaller time."""
        return max(self.promised, self.newest - self.plan.late)

    @property
    def reached(self) -> int:
        """The largest time known of this stream."""
        ended = self.promised >= NEVER
        return self.newest if ended else max(self.newest, self.promised + self.plan.late)

    @property
    def waiting(self) -> int:
        """Rows accepted but not stored yet."""
        return counted_rows(self.plan, self.reorder.rows) if self.reorder else 0


class State:
    """Everything the operator remembers between steps."""

    def __init__(self, plan: Plan, firsts: list[int] | None = None) -> None:
        firsts = firsts or [0] * len(plan.streams)
        self.plan = plan
        self.inputs = [Input(plan, k, first) for k, first in enumerate(firsts)]
        self.shedding = Shedding(plan) if plan.shed is not None else None
        self.indexes: list[Index] = []
        if self.shedding is None:
            self.indexes = [_index(join, self.logs(join)) for join in plan.joins]
        self.ledger = Ledger(
            {stream.name: StreamLedger() for stream in plan.streams},
            {join.name: JoinLedger() for join in plan.joins},
        )
        self.pending = False

    def logs(self, join: JoinPlan) -> list[Log]:
        """Return the logs of a join's streams, in its order."""
        return [self.inputs[k].log for k in join.streams]

    def index_rows(self, position: int, rows: pa.RecordBatch) -> None:
        """Let every join over a stream prepare the rows that were just stored."""
        for join, index in zip(self.plan.joins, self.indexes, strict=True):
            if position in join.streams:
                index.append(join.streams.index(position), rows)

    def expire_rows(self, position: int, before: int) -> int:
        """Let every join over a stream forget the tuples from ``before`` to the log's start.

        Returns how many of them the ledger counts.
        """
        source = self.inputs[position]
        lanes = source.log.lanes
        gone = source.log.counted(before, lanes.start) if lanes.start > before else 0
        source.stored -= gone
        if lanes.start > before:
            for join, index in zip(self.plan.joins, self.indexes, strict=True):
                if position in join.streams:
                    index.expire(join.streams.index(position), before)
            lanes.shrink()
        return gone

    def nbytes(self) -> int:
        """Bytes held by stored tuples, indexes and working memory."""
        if self.shedding is not None:
            return self.shedding.nbytes()
        logs = sum(source.log.nbytes() for source in self.inputs)
        return logs + sum(index.nbytes() for index in self.indexes)


def _index(join: JoinPlan, logs: list[Log]) -> Index:
    return EqualIndex(join, logs) if isinstance(join.predicate, Equal) else SetIndex(join, logs)


def start(plan: Plan) -> State:
    """Return the state before the first batch."""
    return State(plan)


def resize(state: State, share: Share) -> None:
    """Let an operator have this part of the query's memory budget from now on."""
    if state.shedding is not None:
        state.shedding.resize(share)


def step(state: State, batch: Batch, budget: Budget | None = None) -> Step:
    """Take a batch in; return the results it makes possible.

    When the results exceed ``budget.output_rows`` the step stops early with ``pending`` set, and
    wants to be called with an empty batch until it is done.
    """
    budget = budget or Budget()
    quarantine: dict[str, list[pa.RecordBatch]] = {}
    if state.pending and any(rows.num_rows for rows in batch.rows.values()):
        raise BankfullError("results are pending: call step with an empty batch before new rows")
    if state.shedding is not None:
        return _step_shedding(state, state.shedding, batch, budget, quarantine)
    if not state.pending:
        for join, index in zip(state.plan.joins, state.indexes, strict=True):
            rewind(index.clock, state.logs(join))
    stored: dict[str, pa.RecordBatch] = {}
    for position, source in enumerate(state.inputs):
        rows = _take_in(state, position, source, batch, quarantine)
        if rows is not None:
            stored[source.plan.name] = rows
    _pass_idle(state)
    output = _join(state, budget)
    if not state.pending:
        _expire(state)
    for source in state.inputs:
        counts = state.ledger.streams[source.plan.name]
        counts.waiting, counts.stored = source.waiting, source.stored
        counts.copies = source.log.stored - source.stored
    state.ledger.check()
    return Step(state, output, state.ledger.copy(), quarantine, state.pending, stored)


def _step_shedding(
    state: State,
    shedding: Shedding,
    batch: Batch,
    budget: Budget,
    quarantine: dict[str, list[pa.RecordBatch]],
) -> Step:
    """Take a batch in and join within the memory budget."""
    for source in state.inputs:
        rows, times = _admit_rows(state, source, batch, quarantine)
        if rows is not None and source.reorder is not None:
            source.reorder.hold(rows, times)
    _pass_idle(state)
    if not state.pending:
        released = {}
        for position, limit in enumerate(_limits(state, range(len(state.inputs)))):
            reorder = state.inputs[position].reorder
            if reorder is not None and len(reorder.times):
                released[position] = reorder.release(limit)
        shedding.take({k: (rows, times) for k, (rows, times) in released.items() if len(times)})
    output, state.pending = shedding.advance(budget.output_rows, state.ledger.joins)
    for position, source in enumerate(state.inputs):
        shedding.count(position, state.ledger.streams[source.plan.name], source.waiting)
    state.ledger.watched = shedding.watched
    state.ledger.lost_by_importance = shedding.lost_by_importance()
    state.ledger.check()
    return Step(state, output, state.ledger.copy(), quarantine, state.pending, {})


def _admit_rows(
    state: State, source: Input, batch: Batch, quarantine: dict[str, list[pa.RecordBatch]]
) -> tuple[pa.RecordBatch | None, NDArray[np.int64]]:
    """Return the rows of one stream that may come in, and their times."""
    name = source.plan.name
    rows = batch.rows.get(name)
    counts = state.ledger.streams[name]
    times = np.zeros(0, np.int64)
    source.promised = max(source.promised, batch.frontiers.get(name, -NEVER))
    if rows is not None:
        if conforms(source.plan, rows):
            counts.arrived += counted_rows(source.plan, rows)
            rows = to_schema(rows, source.plan.schema)
            strict = state.plan.query.strict
            admitted = admit(source.plan, rows, source.reached, source.checks, strict)
            rows, times, source.newest = admitted.rows, admitted.times, admitted.newest
            for aside in admitted.aside:
                gone = counted_rows(source.plan, aside)
                if admitted.late and aside is admitted.aside[-1]:
                    counts.late += gone
                else:
                    counts.quarantined += gone
            if admitted.aside:
                quarantine.setdefault(name, []).extend(admitted.aside)
        else:
            _set_batch_aside(state, source, rows, quarantine)
            rows = None
    if name in batch.ended:
        source.promised = NEVER
    return rows, times


def _take_in(
    state: State,
    position: int,
    source: Input,
    batch: Batch,
    quarantine: dict[str, list[pa.RecordBatch]],
) -> pa.RecordBatch | None:
    """Admit, order and store the new rows of one stream; returns what was stored."""
    rows, times = _admit_rows(state, source, batch, quarantine)
    counts = state.ledger.streams[source.plan.name]
    if source.reorder is not None:
        if rows is not None:
            source.reorder.hold(rows, times)
        rows, times = source.reorder.release(source.frontier)
    elif rows is not None:
        rows, times = in_order(rows, times)
    if rows is None or not len(times):
        return None
    source.log.append(rows, times)
    state.index_rows(position, rows)
    fresh = counted_rows(source.plan, rows)
    counts.inserted += fresh
    source.stored += fresh
    return rows


def _pass_idle(state: State) -> None:
    """Stop waiting for streams that have fallen behind by more than their ``idle``."""
    furthest = max(source.reached for source in state.inputs)
    for source in state.inputs:
        source.promised = max(source.promised, furthest - source.plan.idle)


def _set_batch_aside(
    state: State,
    source: Input,
    rows: pa.RecordBatch,
    quarantine: dict[str, list[pa.RecordBatch]],
) -> None:
    """Quarantine a batch that cannot be read; only one of another schema is safe to keep."""
    name = source.plan.name
    if state.plan.query.strict:
        raise DataError(
            f"stream {name!r}: a batch of {rows.num_rows} rows does not have the stream's schema "
            "or is damaged: mend it, or leave out strict=True to have it set aside and counted"
        )
    state.ledger.streams[name].arrived += rows.num_rows
    state.ledger.streams[name].quarantined += rows.num_rows
    try:
        rows.validate(full=True)
    except pa.ArrowException:
        return
    quarantine.setdefault(name, []).append(with_reason(rows, "broken batch"))


def _join(state: State, budget: Budget) -> list[pa.RecordBatch]:
    """Let every join process what it may; stop when the output budget is used up."""
    output: list[pa.RecordBatch] = []
    left = budget.output_rows
    state.pending = False
    for join, index in zip(state.plan.joins, state.indexes, strict=True):
        limits, counts = _limits(state, join.streams), state.ledger.joins[join.name]
        while True:
            found = index.advance(limits, max(1, min(left, _BLOCK)))
            counts.compared += found.compared
            counts.emitted += found.joined.size
            left -= found.joined.size
            if found.joined.size:
                output.append(emit(state.plan, join, state.logs(join), found))
            if not found.more:
                break
            if left <= 0:
                state.pending = True
                return output
    return output


def _limits(state: State, streams: Sequence[int]) -> list[int]:
    """Return up to which time each stream's tuples may be processed now.

    Where order matters, a tuple waits until no stream can bring one that comes before it: streams
    that go first at equal times must have moved past its time, the others must have reached it.
    """
    if not state.plan.ordered:
        return [NEVER] * len(streams)
    frontiers = {k: state.inputs[k].frontier for k in streams}
    return [
        min(frontier - (other < own) for other, frontier in frontiers.items()) for own in streams
    ]


def _expire(state: State) -> None:
    """Forget basic windows that no future tuple can reach, in any join."""
    for position, source in enumerate(state.inputs):
        useless, oldest = NEVER, NEVER
        for join, index in zip(state.plan.joins, state.indexes, strict=True):
            if position not in join.streams:
                continue
            side = join.streams.index(position)
            processed = int(index.clock.cursor[side])
            useless = min(useless, processed)
            if join.rows[side] < NEVER:
                useless = min(useless, processed - join.rows[side])
            else:
                oldest = min(oldest, _horizon(state, join, index, side) - join.span[side])
        before = source.log.lanes.start
        source.log.expire(useless, oldest)
        gone = state.expire_rows(position, before)
        state.ledger.streams[source.plan.name].expired += gone


def _horizon(state: State, join: JoinPlan, index: Index, side: int) -> int:
    """Return the earliest time at which another stream of the join may still bring a tuple."""
    horizon = NEVER
    for other, position in enumerate(join.streams):
        if other == side:
            continue
        log = state.inputs[position].log
        cursor = int(index.clock.cursor[other])
        if cursor < log.lanes.end:
            horizon = min(horizon, int(log.times.data[cursor - log.lanes.base]))
        horizon = min(horizon, state.inputs[position].frontier)
    return horizon
