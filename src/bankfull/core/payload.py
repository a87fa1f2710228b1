"""The payload of tuples under a budget: a log in which those that were dropped leave gaps."""

from __future__ import annotations

import numpy as np

from bankfull.core.log import Log
from bankfull.core.slots import Slots

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
