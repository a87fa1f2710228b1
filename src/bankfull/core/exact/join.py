"""The join stage that drops nothing: a log for every stream, an index for every join.

Rows enter their stream's log and leave it in basic windows, from the front, when no row to come
can reach them. An index searches the logs tuple at a time, in canonical order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bankfull.core.comparing.classes import is_weighed
from bankfull.core.comparing.comparing import Comparing
from bankfull.core.exact.equal_index import EqualIndex
from bankfull.core.exact.index import Found, Index, next_time, rewind
from bankfull.core.exact.planned import planned
from bankfull.core.exact.set_index import SetIndex
from bankfull.core.intake.intake import Input
from bankfull.core.intake.times import to_units
from bankfull.core.kept import Arrays, Kept, Loaded
from bankfull.core.ledger import Ledger
from bankfull.core.output.results import Results, gathered
from bankfull.core.plan import NEVER, JoinPlan, Plan
from bankfull.core.stage import Rows, Stage, Turn
from bankfull.core.store.log import Log, LogRows, counted_rows
from bankfull.core.workers import Workers
from bankfull.spec import Equal

#: Results a kernel writes before they become a record batch; stays in the cache.
_BLOCK = 1 << 16


class ExactJoin(Stage):
    """The logs of all streams and the indexes of all joins."""

    name: ClassVar[str] = "join"

    def __init__(self, plan: Plan, inputs: list[Input], workers: Workers) -> None:
        self.plan, self._inputs = plan, inputs
        self._workers = workers
        self.logs = [Log(stream, workers=workers) for stream in plan.streams]
        #: What is compared where not everything can be; what comes first must be chosen in order.
        self.comparing = None if plan.compare is None else Comparing(plan, self.logs)
        workers = workers if self.comparing is None else Workers()
        #: Stored tuples that the ledger counts: of copies, only one.
        self.stored = [0] * len(plan.streams)
        self.indexes: list[Index] = [_index(join, self._logs(join), workers) for join in plan.joins]
        self._planned = planned(self.comparing, self.indexes)

    def _logs(self, join: JoinPlan) -> list[Log]:
        return [self.logs[k] for k in join.streams]

    def take(self, turn: Turn) -> None:
        """Store the rows whose turn has come."""
        if not turn.resumed:
            for join, index in zip(self.plan.joins, self.indexes, strict=True):
                rewind(index.clock, self._logs(join))
        if self.comparing is not None and self.comparing.shares and turn.batch.loads is not None:
            self.comparing.shares.learn(turn.batch.loads)
        for position, rows in turn.released.items():
            fresh = self._append(position, rows)
            turn.ledger.streams[self.plan.streams[position].name].inserted += fresh

    def _append(self, position: int, given: Rows) -> int:
        """Store rows, and let every join over the stream prepare them."""
        rows, times = given
        parts = self.logs[position].parts(rows, times)
        for join, index in zip(self.plan.joins, self.indexes, strict=True):
            if position in join.streams:
                parts.append(partial(index.append, join.streams.index(position), rows))
        self._workers.each(_call, parts, len(times))
        if self.comparing is not None:
            self.comparing.append(position, rows, self._set_sizes(position, len(times)))
        fresh = counted_rows(self.plan.streams[position], rows)
        self.stored[position] += fresh
        return fresh

    def advance(self, turn: Turn, found: Iterator[Results]) -> Iterator[Results]:
        """Find results, join by join, a block at a time, up to where a plan of comparisons ends."""
        yield from found
        own = self._search(turn)
        yield from own if self.comparing is None else gathered(own, turn.allowance, _BLOCK)

    def _search(self, turn: Turn) -> Iterator[Results]:
        while self.has_work:
            most = max(1, min(turn.allowance.rows, _BLOCK))
            block = self._planned.advance(most) if self._planned is not None else None
            if block is not None:
                yield from self._counted(turn, self.plan.joins[0], block)
                continue
            until = self._plan_ahead()
            for number, (join, index) in enumerate(zip(self.plan.joins, self.indexes, strict=True)):
                while index.is_behind(until):
                    if self.comparing is not None:
                        index.selection = self.comparing.selectors[number].view()
                    yield from self._counted(turn, join, index.advance(most, until))

    def _counted(self, turn: Turn, join: JoinPlan, block: Found) -> Iterator[Results]:
        """Count what was found, and yield it if it is anything."""
        counts = turn.ledger.joins[join.name]
        counts.compared += block.compared
        counts.emitted += block.joined.size
        if block.joined.size:
            yield self._results(join, block)

    def _plan_ahead(self) -> int:
        """Return up to which time tuples can be processed; plan what they are compared with."""
        if self.comparing is None:
            return NEVER
        clocks = [index.clock for index in self.indexes]
        logs = map(self._logs, self.plan.joins)
        coming = min(next_time(clock, some) for clock, some in zip(clocks, logs, strict=True))
        self.comparing.look(coming, clocks)
        return self.comparing.until()

    def _results(self, join: JoinPlan, block: Found) -> Results:
        if self.comparing is None:
            return Results(join, self._logs(join), block.numbers, block.joined)
        if not is_weighed(self.comparing.rules):
            self.comparing.emitted += block.joined.size
            return Results(join, self._logs(join), block.numbers, block.joined)
        worth = self.comparing.importance(join, block.numbers)
        self.comparing.emitted += block.joined.size, worth.sum()
        return Results(join, self._logs(join), block.numbers, block.joined, worth)

    def _set_sizes(self, position: int, count: int) -> NDArray[np.int64] | None:
        """Return the sizes of the newest sets of a stream, if it is in a join on sets."""
        for join, index in zip(self.plan.joins, self.indexes, strict=True):
            if position in join.streams and isinstance(index, SetIndex):
                return index.sides[join.streams.index(position)].sizes.tail(count)
        return None

    def hear(self, kept_up: float) -> None:
        """Compare more or less from the next plan on, where the clock decides."""
        if self.comparing is not None:
            self.comparing.hear(kept_up)

    def be_timed(self, stopwatch: AbstractContextManager[object]) -> None:
        """Enter this around every plan."""
        if self.comparing is not None:
            self.comparing.stopwatch = stopwatch

    @property
    def has_work(self) -> bool:
        """Whether stored tuples have not been processed."""
        return any(index.is_behind(NEVER) for index in self.indexes)

    def expire(self, turn: Turn) -> None:
        """Forget basic windows that no future tuple can reach, in any join."""
        for position, log in enumerate(self.logs):
            useless, oldest = log.lanes.end, NEVER
            for join in self.plan.joins:
                if position not in join.streams:
                    continue
                side = join.streams.index(position)
                if join.rows[side] < NEVER:
                    useless = min(useless, log.lanes.end - join.rows[side])
                else:
                    # A plan of comparisons counts what its next tuple reaches, of whatever stream.
                    own = self.comparing is None
                    others = [
                        source.next_time
                        for k, source in enumerate(self._inputs)
                        if not own or (k in join.streams and k != position)
                    ]
                    oldest = min(oldest, min(others) - join.span[side])
            before = log.lanes.start
            log.expire(useless, oldest)
            if self.comparing is not None and log.plan.masked:
                dropped = self.comparing.dropped_of(position, before, log.lanes.start)
                self.comparing.gone[position] += log.counted_of(dropped)
            gone = self._left(position, before)
            turn.ledger.streams[self.plan.streams[position].name].expired += gone

    def _left(self, position: int, before: int) -> int:
        """Let every join forget the tuples from ``before`` to the log's start.

        Returns how many of them the ledger counts.
        """
        log = self.logs[position]
        if log.lanes.start == before:
            return 0
        gone = log.counted(before, log.lanes.start)
        if self.comparing is not None:
            gone -= log.counted_of(self.comparing.dropped_of(position, before, log.lanes.start))
        self.stored[position] -= gone
        for join, index in zip(self.plan.joins, self.indexes, strict=True):
            if position in join.streams:
                index.expire(join.streams.index(position), before)
        log.lanes.shrink()
        return gone

    def count(self, ledger: Ledger) -> None:
        """Say how many tuples are stored, and what was dropped or not compared."""
        for position, (stream, log) in enumerate(zip(self.plan.streams, self.logs, strict=True)):
            counts, absent = ledger.streams[stream.name], 0
            if self.comparing is not None:
                counted = self.comparing.counted_as_dropped(position)
                counts.copies_lost = int(self.comparing.dropped[position]) - counted
                dropped = counted - counts.shed
                counts.shed += dropped
                counts.inserted -= dropped
                self.stored[position] -= dropped
                absent = len(self.comparing.dropped_of(position, log.lanes.start, log.lanes.end))
            counts.stored = self.stored[position]
            counts.copies = log.stored - counts.stored - absent
        if self.comparing is not None:
            self.comparing.count(ledger)

    def keep(self) -> Kept:
        """Keep the rows, and where the logs stand; indexes are built anew."""
        kept = Kept({"tables": [index.bits for index in self.indexes]})
        for log in self.logs:
            kept.about[f"log {log.plan.name}"] = log.describe()
            kept.rows[log.plan.name] = LogRows(log)
        if self.comparing is not None:
            kept.arrays |= self.comparing.arrays()
        return kept

    def load(self, loaded: Loaded) -> None:
        """Take in rows that were processed elsewhere: nothing is joined and nothing comes out.

        The cost is that of the rows that are brought, whatever the window.
        """
        if self.comparing is not None:
            self.comparing.load(loaded.arrays)
        for position, log in enumerate(self.logs):
            for rows, numbers in loaded.rows[log.plan.name]:
                self._pass_over(position, int(numbers[0]))
                times, _ = to_units(rows.column(log.plan.time), log.plan.scale)
                self._append(position, (rows, times))
            self._pass_over(position, loaded.about[f"log {log.plan.name}"]["first"])
        self._leave_out(loaded.arrays)
        for index, bits in zip(self.indexes, loaded.about["tables"], strict=True):
            index.resize(bits)
            index.link()
        for position, log in enumerate(self.logs):
            before = log.lanes.start
            log.resume(loaded.about[f"log {log.plan.name}"])
            self._left(position, before)
        if self.comparing is not None:
            self.comparing.place()

    def _leave_out(self, arrays: Arrays) -> None:
        """Mark the tuples that were dropped on arrival elsewhere."""
        if self.comparing is None:
            return
        for position in range(len(self.logs)):
            numbers = self.comparing.leave_out(position, arrays[f"dropped.{position}"])
            self.stored[position] -= self.logs[position].counted_of(numbers)
            for join, index in zip(self.plan.joins, self.indexes, strict=True):
                if position in join.streams:
                    index.leave_out(join.streams.index(position), numbers)

    def _pass_over(self, position: int, first: int) -> None:
        """Give the next tuple of a log this number, if that is ahead of its end.

        Those between have come and gone elsewhere, and so have all that are stored before them.
        """
        log = self.logs[position]
        if first > log.lanes.end:
            before = log.lanes.start
            log.forget_all()
            self._left(position, before)
            log.begin_at(first)

    def nbytes(self) -> int:
        """Return the bytes of stored tuples, indexes and working memory."""
        return sum(log.nbytes() for log in self.logs) + sum(i.nbytes() for i in self.indexes)


def _call(function: Callable[[], None]) -> None:
    function()


def _index(join: JoinPlan, logs: list[Log], workers: Workers) -> Index:
    if isinstance(join.predicate, Equal):
        return EqualIndex(join, logs, workers)
    return SetIndex(join, logs)
