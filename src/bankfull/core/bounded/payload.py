"""The payload of tuples under a budget: a log in which those that were dropped leave gaps.

Where in the log the payload of a tuple lies changes when the log is rewritten; for good it is kept
under the number of its arrival (``seq`` of its slot), which does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from bankfull.core.bounded.slots import Slots
from bankfull.core.intake.times import to_units
from bankfull.core.kept import Numbered
from bankfull.core.store.log import Log

#: What is rewritten at a time.
_PIECE_BYTES, _PIECE_ROWS = 4 << 20, 1 << 15


def compact(log: Log, position: int, slots: Slots, slack: int, spare: int) -> Log:
    """Return a log with the stored tuples of a stream alone, where the given one has many others.

    Many are more than a quarter and ``slack`` rows (any, without slack), or as many as take
    ``spare`` bytes more than the stored ones pay for: a few large ones are too much as well.
    """
    stored = slots.memory.slots
    mine = np.flatnonzero(stored.stream == position)
    if log.stored == mine.size:
        return log
    paid = int(stored.cost[mine].sum()) - slots.overhead * mine.size
    few = log.stored <= mine.size + (mine.size // 4 + slack if slack else 0)
    if few and log.nbytes() <= paid + spare:
        return log
    numbers = stored.row[mine]
    order = np.argsort(numbers)
    numbers, times = numbers[order], stored.time[mine[order]]
    fresh = Log(log.plan, log.lanes.end)
    # Piece by piece, and the old rows forgotten on the way: both logs at once would take twice the
    # memory that the budget allows.
    while numbers.size:
        count = log.fit(numbers[:_PIECE_ROWS], _PIECE_BYTES)
        fresh.append(log.gather(numbers[:count]), times[:count])
        for column in log.columns:
            column.expire(int(numbers[count - 1]) + 1)
        numbers, times = numbers[count:], times[count:]
    stored.row[mine[order]] = np.arange(log.lanes.end, fresh.lanes.end)
    log.lanes.release()
    return fresh


class Payload:
    """The payload of a stream's stored tuples as it is kept for good (``kept.RowList``)."""

    scattered = True

    def __init__(self, log: Log, position: int, slots: Slots) -> None:
        self._log, self.schema = log, log.plan.schema
        stored = slots.memory.slots
        mine = np.flatnonzero(stored.stream == position)
        mine = mine[np.argsort(stored.seq[mine])]
        self._numbers, self._rows = stored.seq[mine], stored.row[mine]
        self.end = int(slots.memory.now.seq_next)

    def alive(self, first: int, end: int) -> int:
        """Return how many stored tuples have these numbers."""
        begin, stop = np.searchsorted(self._numbers, [first, end])
        return int(stop - begin)

    def since(self, first: int) -> Iterator[Numbered]:
        """Yield the payload of stored tuples from number ``first`` on."""
        begin = int(np.searchsorted(self._numbers, first))
        numbers, rows = self._numbers[begin:], self._rows[begin:]
        while numbers.size:
            count = self._log.fit(rows[:_PIECE_ROWS], _PIECE_BYTES)
            yield self._log.gather(rows[:count]), numbers[:count]
            numbers, rows = numbers[count:], rows[count:]


def take_over(log: Log, position: int, before: Any, stored: Any, missed: Iterable[Numbered]) -> Log:
    """Let the slots of a stream find their payload: in the log, or among the rows it has missed.

    ``before`` are the slots that the log belonged to, ``stored`` those that it belongs to now.
    """
    mine = np.flatnonzero(stored.stream == position)
    mine = mine[np.argsort(stored.seq[mine])]
    wanted = stored.seq[mine]
    rows = np.full(wanted.size, -1, np.int64)
    held = np.flatnonzero(before.stream == position)
    place = np.searchsorted(wanted, before.seq[held])
    known = place < wanted.size
    known[known] = wanted[place[known]] == before.seq[held][known]
    rows[place[known]] = before.row[held[known]]
    for batch, numbers in missed:
        place = np.searchsorted(wanted, numbers)
        fresh = place < wanted.size
        fresh[fresh] = (wanted[place[fresh]] == numbers[fresh]) & (rows[place[fresh]] < 0)
        first, some = log.lanes.end, batch.filter(pa.array(fresh))
        times, _ = to_units(some.column(log.plan.time), log.plan.scale)
        log.append(some, times)
        rows[place[fresh]] = np.arange(first, log.lanes.end)
    assert (rows >= 0).all(), "the payload of every stored tuple is kept"
    stored.row[mine] = rows
    return log
