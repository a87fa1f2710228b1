"""The operator: how one batch goes in, and what comes out.

``step`` consumes its state: the state handed in must not be used again, only the one returned.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.admit import admit, checks_of, legible, text_checks, with_reason
from bankfull.core.batch import Batch, Budget, Step
from bankfull.core.emit import Allowance, Backlog, Results
from bankfull.core.equal_index import EqualIndex
from bankfull.core.index import Index, rewind
from bankfull.core.ledger import JoinLedger, Ledger, StreamLedger
from bankfull.core.log import Log, counted_rows
from bankfull.core.plan import NEVER, JoinPlan, Plan
from bankfull.core.reorder import Reorder, in_order
from bankfull.core.set_index import SetIndex
from bankfull.core.shedding import Shedding
from bankfull.core.useless import without_keys
from bankfull.errors import BankfullError, DataError
from bankfull.spec import Equal

#: Results a kernel writes before they become a record batch; stays in the cache.
_BLOCK = 1 << 15


class Input:
    """The state of one stream: its log, rows that wait for their turn, how far time has come.

    ``newest`` is the largest time that came, ``heard`` the largest that came to any operator of
    the query, where there are several. ``promised``: no row that is still to come has a smaller
    time, because the runtime says so or because the stream is idle and nobody waits for it.
    """

    def __init__(self, plan: Plan, position: int, first: int = 0) -> None:
        self.plan = plan.streams[position]
        self.log = Log(self.plan, first)
        self.reorder = Reorder(self.plan, plan.by_content) if plan.ordered else None
        self.stored = 0
        self.newest = -NEVER
        self.heard = -NEVER
        self.promised = -NEVER
        self.checks = checks_of(plan, position)

    @property
    def frontier(self) -> int:
        """No row that is still to come has a smaller time."""
        return max(self.promised, self.newest - self.plan.late)

    @property
    def reached(self) -> int:
        """The largest time known of this stream, by its rows or by a promise."""
        return self.newest if self.has_ended else self.frontier + self.plan.late

    @property
    def has_ended(self) -> bool:
        """Whether no row is still to come."""
        return self.promised >= NEVER

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
        #: Results found and not given out yet.
        self.backlog = Backlog(plan)

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


def step(state: State, batch: Batch, budget: Budget | None = None) -> Step:
    """Take a batch in; return the results it makes possible.

    When the results exceed ``budget`` the step stops early with ``pending`` set, and wants to be
    called with an empty batch until it is done.
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
    _pass_idle(state, batch)
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
    if batch.loads is not None:
        shedding.learn_loads(batch.loads)
    _pass_idle(state, batch)
    _pass_crowded(state, shedding, batch)
    if not state.pending:
        released = {}
        for position, limit in enumerate(_limits(state, range(len(state.inputs)))):
            reorder = state.inputs[position].reorder
            if reorder is not None and len(reorder.times):
                released[position] = reorder.release(limit)
        shedding.take({k: (rows, times) for k, (rows, times) in released.items() if len(times)})
    output = shedding.advance(Allowance.of(budget), state.backlog, state.ledger.joins)
    state.pending = shedding.has_work or bool(state.backlog)
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
    name, plan = source.plan.name, source.plan
    given, counts = batch.rows.get(name), state.ledger.streams[name]
    rows, times = None, np.zeros(0, np.int64)
    told = batch.frontiers.get(name, -NEVER)
    source.promised = max(source.promised, told)
    source.heard = max(source.heard, told + plan.late)
    if given is not None:
        read, sound = (given, True) if batch.validated else legible(plan, given)
        if read is None:
            _set_batch_aside(state, source, given, quarantine)
        else:
            counts.arrived += counted_rows(plan, read)
            least = -NEVER if source.has_ended else source.promised
            strict = state.plan.query.strict
            checks = source.checks if sound else [*source.checks, *text_checks(plan)]
            admitted = admit(plan, read, source.newest, least, checks, strict)
            rows, times, source.newest = admitted.rows, admitted.times, admitted.newest
            source.heard = max(source.heard, source.newest)
            for aside in admitted.aside:
                gone = counted_rows(plan, aside)
                if admitted.late and aside is admitted.aside[-1]:
                    counts.late += gone
                else:
                    counts.quarantined += gone
            if admitted.aside:
                quarantine.setdefault(name, []).extend(admitted.aside)
            rows, times = _without_useless(state, source, rows, times)
    if name in batch.ended:
        source.promised = NEVER
    return rows, times


def _without_useless(
    state: State, source: Input, rows: pa.RecordBatch, times: NDArray[np.int64]
) -> tuple[pa.RecordBatch, NDArray[np.int64]]:
    """Forget rows that no join can ever use; they count as inserted and purged."""
    position = state.inputs.index(source)
    useless = without_keys(state.plan, position, rows)
    if useless is None:
        return rows, times
    gone = counted_rows(source.plan, rows.filter(pa.array(useless)))
    if state.shedding is not None:
        state.shedding.purged[position] += gone
    else:
        counts = state.ledger.streams[source.plan.name]
        counts.inserted += gone
        counts.purged += gone
    return rows.filter(pa.array(~useless)), times[~useless]


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
        rows, times = source.reorder.release(source.frontier - state.plan.by_content)
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


def _pass_idle(state: State, batch: Batch) -> None:
    """Stop waiting for streams that have nothing to give and are behind by more than ``idle``.

    How far the others are is taken from times that came, never from promises: a promise made
    here must not be the reason for a further one.
    """
    furthest = max(source.heard for source in state.inputs)
    for source in state.inputs:
        if source.plan.name in batch.quiet:
            source.promised = max(source.promised, furthest - source.plan.idle)


def _pass_crowded(state: State, shedding: Shedding, batch: Batch) -> None:
    """Stop waiting for streams that have nothing to give when what waits exceeds the budget.

    Rows wait for their turn across all streams. A stream that goes quiet without ``idle`` would
    let them grow without end. So where they no longer fit the budget, the oldest are processed
    that are further than a window ahead of what the quiet stream may still bring; what it brings
    from before then is late. Within a window nothing is passed over: which stream was read last
    when a step began must not decide.
    """
    quiet = [s for s in state.inputs if s.plan.name in batch.quiet and not s.has_ended]
    held = [s.reorder for s in state.inputs if s.reorder is not None]
    excess = shedding.excess([reorder.rows for reorder in held]) if quiet else 0
    if not excess:
        return
    times = np.sort(np.concatenate([reorder.times for reorder in held]))
    furthest = max(source.heard for source in state.inputs)
    spans = [span for join in state.plan.joins for span in join.span if span < NEVER]
    for source in quiet:
        kept = furthest - max(spans, default=0) - source.plan.late
        source.promised = max(source.promised, min(int(times[excess - 1]) + 1, kept))


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
    backlog, allowance = state.backlog, Allowance.of(budget)
    output = backlog.give(allowance)
    for join, index in zip(state.plan.joins, state.indexes, strict=True):
        limits, counts = _limits(state, join.streams), state.ledger.joins[join.name]
        more = True
        while more and not allowance.is_used_up:
            found = index.advance(limits, min(allowance.rows, _BLOCK))
            counts.compared += found.compared
            counts.emitted += found.joined.size
            more = found.more
            if found.joined.size:
                backlog.add(Results(join, state.logs(join), found.numbers, found.joined))
                output += backlog.give(allowance)
        if more:
            state.pending = True
            return output
    state.pending = bool(backlog)
    return output


def _limits(state: State, streams: Sequence[int]) -> list[int]:
    """Return up to which time each stream's tuples may be processed now.

    Where order matters, a tuple waits until no stream can bring one that comes before it: streams
    that go first at equal times must have moved past its time, the others must have reached it.
    Where ties of one stream are ordered by content, its own frontier must have passed it too.
    """
    if not state.plan.ordered:
        return [NEVER] * len(streams)
    frontiers = {k: state.inputs[k].frontier for k in streams}
    ties = state.plan.by_content
    return [
        min(
            frontier - (other < own or (ties and other == own))
            for other, frontier in frontiers.items()
        )
        for own in streams
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
