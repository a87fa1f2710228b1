"""Partners by shared items: inverted index (time- or identifier-ordered) or a scan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.codes import sets
from bankfull.core.exact.index import Found, Room, is_behind, new_clock, unseen, wind
from bankfull.core.plan import JoinPlan
from bankfull.core.store.lanes import Lane, Lanes
from bankfull.core.store.log import Log
from bankfull.kernels.exact import postings, setjoin
from bankfull.kernels.exact.plannedsets import join_and_plan
from bankfull.kernels.exact.planning import NO_PLAN, Rules
from bankfull.kernels.probes.learning import Known
from bankfull.kernels.probes.selection import Everything, Selection
from bankfull.kernels.probes.sets import SearchRoom
from bankfull.spec.predicates import is_weighted

_SEARCH = {
    "inverted": postings.TIME_ORDERED,
    "identifier": postings.IDENTIFIER_ORDERED,
    "scan": postings.SCAN,
}
#: Forget items that no stored tuple holds once their number has grown this much.
_FORGET_AFTER = 4096


class SetSide:
    """Sets of one stream: sizes and starts beside the log, items in lanes of their own."""

    def __init__(self, log: Log, weighted: bool) -> None:
        self.log = log
        self.sizes: Lane[np.int64] = log.lanes.add(np.dtype(np.int64))
        self.starts: Lane[np.int64] = log.lanes.add(np.dtype(np.int64))
        self.clear(weighted)

    def clear(self, weighted: bool) -> None:
        """Hold no items and no lists."""
        self.flat = Lanes()
        self.items: Lane[np.int32] = self.flat.add(np.dtype(np.int32))
        self.weights: Lane[np.float64] | None = None
        if weighted:
            self.weights = self.flat.add(np.dtype(np.float64))
        self.lists = _new_lists(1, 16, weighted)

    def append(self, encoded: sets.EncodedSets) -> None:
        """Store the items of rows at the end of the log."""
        count = len(encoded.sizes)
        lengths = np.maximum(encoded.sizes, 0)
        self.sizes.tail(count)[:] = encoded.sizes
        self.starts.tail(count)[:] = self.flat.end + np.cumsum(lengths) - lengths
        self.flat.extend(len(encoded.items))
        self.items.tail(len(encoded.items))[:] = encoded.items
        if self.weights is not None:
            self.weights.tail(len(encoded.items))[:] = encoded.weights

    def expire(self) -> None:
        """Forget the items of tuples that left the log."""
        lanes = self.log.lanes
        first = int(self.starts.live()[0]) if lanes.end > lanes.start else self.flat.end
        self.flat.expire(first)
        self.flat.shrink()

    def view(self) -> postings.StoredSets:
        """Return the arrays for the kernels."""
        weights = self.weights.data if self.weights is not None else _NO_WEIGHTS
        return postings.StoredSets(
            self.log.times.data,
            self.sizes.data,
            self.starts.data,
            self.flat.base,
            self.items.data,
            weights,
        )

    def know(self, items: int) -> None:
        """Have a list for every item number up to ``items``."""
        lists = self.lists
        if items >= lists.begin.size:
            known = lists.begin.size
            fresh = _new_lists(2 * items + 2, 0, weighted=False)
            for longer, old in zip(fresh[:4], lists[:4], strict=True):
                longer[:known] = old
            self.lists = fresh._replace(
                entries=lists.entries, weights=lists.weights, used=lists.used
            )

    def check(self, items: int) -> None:
        """Assert the sizes that the kernels rely on: compiled, they do not look."""
        lists = self.lists
        assert len(lists.begin) == len(lists.stop) == len(lists.room) >= items
        assert lists.used[0] <= len(lists.entries)
        assert len(lists.weights) == (0 if self.weights is None else len(lists.entries))
        self.flat.check()

    def repack(self) -> None:
        """Drop expired entries and give the lists fresh room, at least what was asked for."""
        lists = self.lists
        live = lists.stop - lists.begin
        room = int((live + live // 2 + (live > 0)).sum())
        asked = int(lists.used[1])
        size = room + room // 4 + asked + 16
        packed = _new_lists(lists.begin.size, size, lists.weights.size > 0)
        postings.repack(lists, packed, self.log.lanes.start)
        self.lists = packed

    def nbytes(self) -> int:
        """Bytes held outside the log."""
        return int(self.flat.nbytes() + sum(array.nbytes for array in self.lists))


_NO_WEIGHTS: NDArray[np.float64] = np.zeros(0, np.float64)


def _new_lists(items: int, room: int, weighted: bool) -> postings.Lists:
    origin, begin, stop, end = np.zeros((4, items), np.int64)
    weights = np.zeros(room if weighted else 0, np.float64)
    entries, used = np.zeros(room, np.int64), np.zeros(2, np.int64)
    return postings.Lists(origin, begin, stop, end, entries, weights, used)


class SetIndex:
    """The index of a join on sets; items are numbered alike on both sides."""

    bits = 0

    def __init__(self, plan: JoinPlan, logs: list[Log]) -> None:
        self.plan = plan
        self.logs = logs
        self.clock = new_clock(plan, logs)
        how = self.how = sets.comparison(plan.predicate)
        self.rule = postings.Rule(how.kind, how.contained, how.at_least, _SEARCH[plan.search])
        self.weighted = is_weighted(plan.predicate)
        self.interner = sets.Interner()
        self.sides = [SetSide(log, self.weighted) for log in logs]
        self.results = Room(2)
        self.scratch = _new_scratch(0, 0)
        self._forget_at = _FORGET_AFTER
        self.selection: Any = Everything()

    def append(self, side: int, rows: pa.RecordBatch) -> None:
        """Number and store the items of new rows; they are listed when they are processed."""
        values = rows.column(self.plan.columns[side][0])
        encoded = sets.encode(values, self.plan.types[0], self.weighted, self.interner)
        hidden = unseen(self.logs[side], rows, self.plan)
        if hidden.any():
            encoded = sets.without(encoded, hidden)
        self.sides[side].append(sets.with_empty(encoded, self.how, side))

    def is_behind(self, until: int) -> bool:
        """Tell whether stored tuples of a time before ``until`` have not been processed."""
        return is_behind(self.clock, self.logs, until)

    def advance(self, most: int, until: int) -> Found:
        """Process tuples until all are done or about ``most`` results are found."""
        return self._advance(most, until, None)[0]

    def advance_and_plan(
        self, most: int, until: int, selection: Selection, planning: tuple[Known, Rules]
    ) -> tuple[Found, int]:
        """The same; at ``until``, where the present plan ends, another is made, and so on.

        It ends where a plan would leave something out: also returns what is to be done next
        (``kernels/exact/planning.py``).
        """
        self.selection = selection
        return self._advance(most, until, planning)

    def _advance(
        self, most: int, until: int, planning: tuple[Known, Rules] | None
    ) -> tuple[Found, int]:
        self.results.room(most)
        self._fit()
        wind(self.clock, self.logs, until)
        oldest = np.array([log.lanes.start for log in self.logs], np.int64)
        end = np.array([log.lanes.end for log in self.logs], np.int64)
        left, right = self.sides
        total, wanted = 0, NO_PLAN
        while True:
            given = (left.view(), right.view(), left.lists, right.lists, self.clock, oldest,
                     self.rule, self.selection, self.scratch)  # fmt: skip
            into = (self.results.numbers, self.results.joined)
            if planning is None:
                count, compared, status = setjoin.join_sets(*given, *into)
            else:
                count, compared, status, wanted = join_and_plan(*given, *planning, end, *into)
            total += int(compared)
            if status == setjoin.LISTS_FULL:
                left.repack()
                right.repack()
                if count == 0:
                    continue
            if status == setjoin.OUTPUT_FULL and count == 0:
                self.results.room(2 * self.results.joined.size)
                continue
            return self.results.found(int(count), total, status != setjoin.DONE), int(wanted)

    def leave_out(self, side: int, numbers: NDArray[np.int64]) -> None:
        """Take tuples for such as have no set."""
        self.sides[side].sizes.data[numbers - self.logs[side].lanes.base] = postings.NO_SET

    def expire(self, side: int, before: int) -> None:
        """Forget items of tuples that left; identifier-sorted lists forget them at once."""
        own = self.sides[side]
        start = own.log.lanes.start
        if self.rule.search == postings.IDENTIFIER_ORDERED:
            base = own.log.lanes.base
            postings.remove(own.lists, own.view(), base, before, start)
        own.expire()
        if self.interner.known > self._forget_at:
            self.rebuild()

    def resize(self, bits: int) -> None:
        """Nothing to do: what is compared does not depend on the tables' sizes."""

    def link(self) -> None:
        """List tuples that were processed elsewhere."""
        cursors = zip(self.clock.cursor, self.logs, strict=True)
        starts = [max(int(cursor), log.lanes.start) for cursor, log in cursors]
        self.clock.cursor[:] = [log.lanes.end for log in self.logs]
        self._list(starts)

    def rebuild(self) -> None:
        """Number, store and list all stored sets anew; items nobody holds are forgotten."""
        self.interner = sets.Interner()
        for own in self.sides:
            own.clear(self.weighted)
        for side, log in enumerate(self.logs):
            if log.stored:
                self.append(side, log.rows(log.lanes.start, log.lanes.end))
        self._list([log.lanes.start for log in self.logs])
        self._forget_at = 2 * self.interner.known + _FORGET_AFTER

    def _list(self, starts: list[int]) -> None:
        """Enter the tuples from ``starts`` up to the cursors in the lists."""
        for side, (own, log) in enumerate(zip(self.sides, self.logs, strict=True)):
            own.know(self.interner.known)
            start, stop = starts[side], int(self.clock.cursor[side])
            while start < stop:
                start = postings.insert_stored(
                    own.lists, own.view(), log.lanes.base, log.lanes.start, start, stop,
                    self.rule.search,
                )  # fmt: skip
                if start < stop:
                    own.repack()

    def nbytes(self) -> int:
        """Bytes of items, lists, numbers and working memory."""
        scratch = (*self.scratch.room, *self.scratch[1:])
        working = sum(array.nbytes for array in scratch) + self.results.numbers.nbytes
        return int(sum(own.nbytes() for own in self.sides) + self.interner.nbytes() + working)

    def _fit(self) -> None:
        """Have working memory for every row and item."""
        rows = max(log.lanes.capacity for log in self.logs)
        items = self.interner.known + 1
        if self.scratch.room.found.size < rows or self.scratch.items.size < items:
            self.scratch = _new_scratch(rows, 2 * items)
        for own in self.sides:
            own.know(self.interner.known)
            own.check(items)


def _new_scratch(rows: int, items: int) -> setjoin.Scratch:
    room = SearchRoom(np.zeros(rows, np.int32), np.zeros(rows), np.zeros(rows, np.int64))
    return setjoin.Scratch(
        room, np.zeros(items, np.int64), np.zeros(items, np.float64), np.zeros(1, np.int64)
    )
