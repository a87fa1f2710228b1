"""A virtual processor: the operator runs at a stated speed, the same on every machine.

Times of the rows are times of arrival. Rows that have arrived wait in a buffer for each stream
until the processor fetches them; while it works, more arrive, and those that find the buffer full
are dropped. What a step costs follows from the operator's own counts: rows fetched, comparisons
made, entries added to an index. So an experiment about overload is deterministic, and takes as
little or as much real time as the machine needs.

The operator hears how well it keeps up at regular times, as it does from the real clock.

Reference: Gedik, Wu, Yu, Liu, *CPU Load Shedding for Binary Stream Joins*, section 4.1 and 6.1.
Deviations: rows are fetched in small pieces of both streams, in order of time, and not one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bankfull.core import Batch, Budget, Ledger, Plan, State, start, step
from bankfull.core.intake.times import to_units
from bankfull.spec import Equal

Int64 = NDArray[np.int64]

#: A step gives out all its results; there are few, as a piece of the input is small.
_ALL = Budget(1 << 40, 1 << 50)


@dataclass(frozen=True)
class Processor:
    """How fast the virtual processor is and what it charges.

    ``capacity`` units of cost a second are available, of which a query that sheds uses its share.
    ``fetch`` is the cost of taking in a tuple, ``comparison`` that of one comparison as the ledger
    counts them, ``posting`` that of adding a tuple to a hash table, or one item of its set to an
    inverted index, and of removing it later.
    """

    capacity: float
    fetch: float = 1.0
    comparison: float = 1.0
    posting: float = 0.0

    def __post_init__(self) -> None:
        assert self.capacity > 0.0
        assert min(self.fetch, self.comparison, self.posting) >= 0.0


@dataclass(frozen=True)
class Pace:
    """Lengths of virtual time, in the plan's units.

    ``second`` is a second. ``buffer`` is what the input buffers hold: as many tuples as arrived in
    the last so many units. ``hear`` is how often the operator hears how it keeps up. ``look`` is
    how often the processor looks for arrivals while nothing waits. It fetches at most ``tuples``
    (and those of the same time) before it looks again.
    """

    second: int
    buffer: int
    hear: int
    look: int
    tuples: int = 64

    @classmethod
    def of(cls, second: int) -> Pace:
        """Return the paper's: buffers of a second, a rate adaptation every five.

        >>> Pace.of(1000)
        Pace(second=1000, buffer=1000, hear=5000, look=200, tuples=64)
        """
        return cls(second, second, 5 * second, max(1, second // 5))


@dataclass(frozen=True)
class Turn:
    """What the processor did in one go, and when it was done, in units."""

    time: float
    fetched: int
    dropped: int
    cost: float
    state: State
    ledger: Ledger
    output: list[pa.RecordBatch]


class _Buffer:
    """The input buffer of one stream; it knows which rows have arrived, by their place."""

    def __init__(self, times: Int64, length: int, dice: np.random.Generator | None) -> None:
        self.times, self._length, self._dice = times, length, dice
        self.came = 0
        self.waiting: Int64 = np.zeros(0, np.int64)

    def arrive(self, now: float) -> int:
        """Let in what has arrived by now; returns how many were dropped."""
        stop = int(np.searchsorted(self.times, now, side="right"))
        if stop == self.came:
            return 0
        before = len(self.waiting)
        waiting = np.concatenate([self.waiting, np.arange(self.came, stop, dtype=np.int64)])
        room = stop - int(np.searchsorted(self.times, now - self._length, side="right"))
        room = max(room, before, 1)
        dropped = max(0, len(waiting) - room)
        if dropped and self._dice is not None:
            waiting = waiting[np.sort(self._dice.permutation(len(waiting))[:room])]
        self.came, self.waiting = stop, waiting[:room]
        return dropped

    def oldest(self, count: int) -> Int64:
        """Return the times of the tuples that have waited longest."""
        oldest: Int64 = self.times[self.waiting[:count]]
        return oldest

    def overdue(self, since: float) -> int:
        """Return how many tuples have waited since a time."""
        return int(np.searchsorted(self.times[self.waiting], since))

    def fetch(self, until: int) -> Int64:
        """Take out the tuples up to a time."""
        count = int(np.searchsorted(self.times[self.waiting], until, side="right"))
        taken, self.waiting = self.waiting[:count], self.waiting[count:]
        return taken

    def next_time(self) -> int | None:
        """Return when the next tuple arrives, if one does."""
        return int(self.times[self.came]) if self.came < len(self.times) else None


class _Told:
    """How well the processor has kept up since the operator was told: the paper's beta.

    Tuples that wait for less than a look at the buffers are not counted as arrived yet: they wait
    also while the processor is idle most of the time.
    """

    def __init__(self, now: float) -> None:
        self._fetched, self._dropped, self._overdue = 0, 0, 0
        self._busy, self._since = 0.0, now

    def add(self, fetched: int, dropped: int, busy: float) -> None:
        """Count a turn, which took so much time."""
        self._fetched += fetched
        self._dropped += dropped
        self._busy += busy

    def kept_up(self, overdue: int, now: float) -> float:
        """Return fetched over arrived, and begin anew; so many tuples are overdue now.

        Who has fetched all that arrived is told how much more time there was than was needed.
        """
        arrived = self._fetched + self._dropped + overdue - self._overdue
        kept_up = self._fetched / arrived if arrived > 0 else 1.0
        if kept_up >= 1.0 and self._busy > 0.0:
            kept_up = max(1.0, (now - self._since) / self._busy)
        self._fetched, self._dropped, self._overdue = 0, 0, overdue
        self._busy, self._since = 0.0, now
        return kept_up


def run_virtually(
    plan: Plan,
    rows: Mapping[str, pa.RecordBatch],
    processor: Processor,
    pace: Pace,
    seed: int = 0,
) -> Iterator[Turn]:
    """Join streams on a virtual processor, and yield every turn.

    A query whose algorithm drops tuples is the baseline: its buffers drop tuples at random, it
    hears nothing and compares all that is left; so does a query that does not shed. In the buffers
    of all others the newest tuples find no room.
    """
    hears = plan.compare is not None and not plan.compare.algorithm.drops
    speed = processor.capacity * (plan.compare.share if plan.compare is not None else 1.0)
    buffers = {
        stream.name: _Buffer(
            to_units(rows[stream.name].column(stream.time), stream.scale)[0],
            pace.buffer,
            None if hears else np.random.default_rng([seed, k]),
        )
        for k, stream in enumerate(plan.streams)
    }
    state, ledger = start(plan), None
    begin = min((b.next_time() or 0) for b in buffers.values()) // pace.look * pace.look
    now, told_at = float(begin), begin // pace.hear
    told = _Told(now)
    while True:
        lost = sum(buffer.arrive(now) for buffer in buffers.values())
        oldest = np.concatenate([buffer.oldest(pace.tuples) for buffer in buffers.values()])
        if not oldest.size:
            nexts = [time for b in buffers.values() if (time := b.next_time()) is not None]
            if not nexts:
                break
            now = max(_boundary(now, pace.look), _boundary(min(nexts) - 1, pace.look))
            continue
        until = int(np.sort(oldest)[: pace.tuples][-1])
        taken = {name: buffer.fetch(until) for name, buffer in buffers.items()}
        batch = Batch(
            {name: _rows(rows[name], places) for name, places in taken.items() if len(places)},
            then=dict.fromkeys(buffers, until + 1),
            validated=True,
        )
        before, outcome = ledger, step(state, batch, _ALL)
        assert not outcome.pending
        state, ledger = outcome.state, outcome.ledger
        count = sum(map(len, taken.values()))
        compared = _compared(ledger) - (_compared(before) if before is not None else 0)
        cost = processor.fetch * count + processor.comparison * compared
        if processor.posting:
            cost += processor.posting * _postings(plan, batch.rows)
        now += cost / speed * pace.second
        yield Turn(now, count, lost, cost, state, ledger, outcome.output)
        told.add(count, lost, cost / speed * pace.second)
        if now // pace.hear > told_at:
            told_at = int(now // pace.hear)
            kept_up = told.kept_up(sum(b.overdue(now - pace.look) for b in buffers.values()), now)
            if hears:
                state.hear(kept_up)
        if not any(len(buffer.waiting) for buffer in buffers.values()):
            now = _boundary(now, pace.look)


def _boundary(now: float, size: int) -> float:
    """Return the next time at which the processor looks for arrivals if it has nothing to do."""
    return float((now // size + 1) * size)


def _rows(rows: pa.RecordBatch, places: Int64) -> pa.RecordBatch:
    """Return some rows; without a copy if they follow each other."""
    first, count = int(places[0]), len(places)
    if int(places[-1]) - first + 1 == count:
        return rows.slice(first, count)
    return rows.take(pa.array(places))


def _compared(ledger: Ledger) -> int:
    return sum(join.compared for join in ledger.joins.values())


def _postings(plan: Plan, rows: Mapping[str, pa.RecordBatch]) -> int:
    """Count the entries that rows add to the indexes of all joins."""
    found = 0
    for join in plan.joins:
        if join.search == "scan":
            continue
        for side, position in enumerate(join.streams):
            some = rows.get(plan.streams[position].name)
            if some is None:
                continue
            if isinstance(join.predicate, Equal):
                found += some.num_rows
            else:
                sets = some.column(join.columns[side][0])
                found += pc.sum(pc.list_value_length(sets)).as_py() or 0
    return found
