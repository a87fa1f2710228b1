"""Partners by equal key: the hash index (or a scan) over two to five streams."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.codes import keys
from bankfull.core.exact.chosen import ChosenParts
from bankfull.core.exact.index import Found, Room, is_behind, new_clock, together, unseen, wind
from bankfull.core.plan import NEVER, JoinPlan
from bankfull.core.store.lanes import Lane
from bankfull.core.store.log import Log
from bankfull.core.workers import Workers
from bankfull.kernels.exact.bulk import count_arrivals, count_results, takes_all
from bankfull.kernels.exact.chains import NOTHING, UNKEYED, Keyed, Part, Table, relink
from bankfull.kernels.exact.equijoin import AHEAD, join_pairs
from bankfull.kernels.exact.merge import Clock
from bankfull.kernels.exact.multijoin import join_many
from bankfull.kernels.exact.plannedkeys import join_and_plan
from bankfull.kernels.exact.planning import Rules
from bankfull.kernels.probes.learning import Known
from bankfull.kernels.probes.selection import OTHERS, Everything, Selection

_SMALLEST_BITS = 4


class EqualIndex:
    """Codes and chains in lanes of the logs, one hash table for all streams of the join.

    The buckets of the table are divided over the ``workers``, each with a clock of its own. When
    nothing is left to do all clocks show the same, and the next rows may be divided otherwise: few
    of them are processed by one thread. ``clock`` is the first, from which the others are made.
    """

    def __init__(self, plan: JoinPlan, logs: list[Log], workers: Workers) -> None:
        self.plan = plan
        self.logs = logs
        self.workers = workers
        self.clock = new_clock(plan, logs)
        self.clocks = [self.clock]
        self.codes: list[Lane[np.uint64]] = [log.lanes.add(np.dtype(np.uint64)) for log in logs]
        self.links: list[Lane[np.int64]] = [log.lanes.add(np.dtype(np.int64)) for log in logs]
        self.exact = keys.is_exact(plan.types)
        self.scan = plan.search == "scan"
        self.rooms = [Room(len(logs))]
        self.selection: Any = Everything()
        self.chosen = ChosenParts()
        self._new_table(_SMALLEST_BITS)

    def append(self, side: int, rows: pa.RecordBatch) -> None:
        """Code the keys of new rows; they are linked when they are processed."""
        columns = [rows.column(position) for position in self.plan.columns[side]]
        codes, absent = keys.encode(columns, self.plan.types)
        absent |= unseen(self.logs[side], rows, self.plan)
        self.codes[side].tail(len(codes))[:] = codes
        links = self.links[side].tail(len(codes))
        links[:] = NOTHING
        if absent.any():
            links[absent] = UNKEYED
        self._fit_table()

    def is_behind(self, until: int) -> bool:
        """Tell whether stored tuples of a time before ``until`` have not been processed."""
        return any(is_behind(clock, self.logs, until) for clock in self.clocks)

    def advance(self, most: int, until: int) -> Found:
        """Process tuples, several parts of them at the same time."""
        if all((clock.cursor == self.clock.cursor).all() for clock in self.clocks):
            self._divide()
        parts = range(len(self.clocks))
        for clock in self.clocks:
            wind(clock, self.logs, until)
        each = max(1, most // len(parts))
        return together(self.workers.run(lambda part: self._advance(part, each), parts))

    def _divide(self) -> None:
        """Choose how many threads process the tuples that came."""
        first = self.clock
        rows = sum(log.lanes.end for log in self.logs) - int(first.cursor.sum())
        parts = 1 if self.scan else self.workers.share(rows)
        more = range(1, parts)
        self.clocks = [first, *(Clock(*(entries.copy() for entries in first)) for _ in more)]
        self.rooms += [Room(len(self.logs)) for _ in range(len(self.rooms), parts)]

    def _advance(self, part: int, most: int) -> Found:
        """Process a part; results whose codes agree but whose keys differ are dropped."""
        clock, room = self.clocks[part], self.rooms[part]
        room.room(most)
        assert len(self.table.heads) == len(self.logs) << (64 - int(self.table.shift))
        own, out, joined = Part(part, len(self.clocks)), room.numbers, room.joined
        sides = self.sides()
        if len(sides) == 2:
            count, compared, full = self._join_pairs(sides, clock, own, out, joined)
        elif isinstance(self.selection, Selection):
            given = (sides, clock, self.table, self.selection, room)
            count, compared, full = self.chosen.advance(*given)
        else:
            times, codes, links = (tuple(arrays) for arrays in zip(*sides, strict=True))
            numbers = np.zeros((6, len(sides)), np.int64)
            count, compared, full = join_many(
                times, codes, links, clock, self.table, own, out, joined, numbers
            )
        if full and count == 0:  # tuples without results went before; the next needs more room
            more = self._advance(part, 2 * room.joined.size)
            return more._replace(compared=more.compared + int(compared))
        found = room.found(int(count), int(compared), full)
        return found if self.exact or count == 0 else self._verify(found)

    def _join_pairs(
        self, sides: list[Keyed], clock: Clock, own: Part, out: NDArray[np.int64],
        joined: NDArray[np.int64],
    ) -> tuple[int, int, bool]:  # fmt: skip
        """Process tuples of two streams.

        Where everything is selected, tuples are processed without a selection and counted
        afterwards, for no more results than comparisons are left: each result is one of them.
        """
        left, right = sides
        turns = np.empty((3, 2 * AHEAD), np.int64)
        chosen = self.selection
        given = (left, right, clock, self.table, own)
        timed = all(rows == NEVER for rows in self.plan.rows)
        if isinstance(chosen, Selection) and timed and not self.scan and takes_all(chosen):
            most = min(joined.size, int(chosen.left[OTHERS]))
            before = clock.cursor.copy()
            count, _, full = join_pairs(*given, Everything(), turns, out, joined[:most], 0)
            count_arrivals(chosen, left, right, clock, before)
            count_results(chosen, left, right, clock, before, out, count)
            if count or not full or most == joined.size:
                return count, count, full
            # The next tuple has more results than there are comparisons left.
        return join_pairs(*given, chosen, turns, out, joined, 0)

    def advance_and_plan(
        self, most: int, until: int, selection: Selection, planning: tuple[Known, Rules]
    ) -> tuple[Found, int]:
        """Process tuples of two streams by plans that leave nothing out, as the present one does.

        Another is made where that ends (``until``), and so on. Also returns what is to be done
        next (``kernels/exact/plannedkeys.py``).
        """
        clock, room = self.clock, self.rooms[0]
        wind(clock, self.logs, until)
        room.room(2 * most)
        stop = np.array([log.lanes.end for log in self.logs], np.int64)
        coming = (stop - clock.cursor).tolist()
        drawn = np.empty(coming[0], np.uint8), np.empty(coming[1], np.uint8)
        turns, before = np.empty((3, 2 * AHEAD), np.int64), np.empty(2, np.int64)
        left, right = self.sides()
        count, wanted = join_and_plan(
            left, right, clock, self.table, Part(0, 1), Everything(), selection, *planning, stop,
            before, drawn, turns, room.numbers, room.joined, most,
        )  # fmt: skip
        return room.found(int(count), int(count), False), int(wanted)

    def leave_out(self, side: int, numbers: NDArray[np.int64]) -> None:
        """Take tuples for such as have no key."""
        self.links[side].data[numbers - self.logs[side].lanes.base] = UNKEYED

    def expire(self, side: int, before: int) -> None:
        """Nothing to do: chains end at the first tuple that has left."""

    def resize(self, bits: int) -> None:
        """Have the hash table that another index of the same tuples had."""
        if bits != self.bits:
            self._new_table(bits)

    def link(self) -> None:
        """Link tuples that were processed elsewhere."""
        cursors = zip(self.clock.cursor, self.logs, strict=True)
        starts = [max(int(cursor), log.lanes.start) for cursor, log in cursors]
        for clock in self.clocks:
            clock.cursor[:] = [log.lanes.end for log in self.logs]
        self._link(starts)

    def nbytes(self) -> int:
        """Bytes of the hash table and the room for results."""
        results = sum(room.numbers.nbytes + room.joined.nbytes for room in self.rooms)
        return int(self.table.heads.nbytes + results)

    def sides(self) -> list[Keyed]:
        """Return the arrays of all streams for the kernels."""
        return [
            Keyed(log.times.data, codes.data, links.data)
            for log, codes, links in zip(self.logs, self.codes, self.links, strict=True)
        ]

    def _fit_table(self) -> None:
        """Keep about one bucket a tuple of the largest window."""
        most = max(log.stored for log in self.logs)
        wanted = max(_SMALLEST_BITS, (most - 1).bit_length())
        if wanted > self.bits or wanted < self.bits - 2:
            self._new_table(wanted)

    def _new_table(self, bits: int) -> None:
        streams = len(self.logs)
        heads = np.full(streams << bits, NOTHING, np.int64)
        self.bits = bits
        self.table = Table(heads, np.uint64(64 - bits), self.scan)
        self._link([log.lanes.start for log in self.logs])

    def _link(self, starts: list[int]) -> None:
        """Enter the tuples from ``starts`` up to the cursors in the chains."""
        if self.scan:
            return
        streams = len(self.logs)
        for k, (side, log) in enumerate(zip(self.sides(), self.logs, strict=True)):
            stop = int(self.clock.cursor[k])
            relink(side, self.table, k, streams, log.lanes.base, starts[k], stop)

    def _verify(self, found: Found) -> Found:
        """Compare the real keys: 64 bits may agree by chance, exact means exact."""
        first = self._keys(0, found.numbers[0])
        same = np.ones(found.joined.size, np.bool_)
        for side in range(1, len(self.logs)):
            same &= keys.equal(first, self._keys(side, found.numbers[side]), self.plan.types)
        if same.all():
            return found
        return found._replace(numbers=found.numbers[:, same], joined=found.joined[same])

    def _keys(self, side: int, numbers: NDArray[np.int64]) -> list[pa.Array]:
        columns = self.logs[side].columns
        return [columns[position].gather(numbers) for position in self.plan.columns[side]]
