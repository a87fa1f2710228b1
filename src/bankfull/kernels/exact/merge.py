"""Whose turn it is: the canonical order of tuples across streams.

Tuples are processed by time, then by the rank of their stream, then by arrival.
"""

from __future__ import annotations

from typing import NamedTuple

from bankfull.kernels.compiler import Int64, inlined


class Clock(NamedTuple):
    """Where every stream of a join stands; one entry a stream.

    ``base`` sequence number of the first array element; ``cursor`` next tuple to process; ``end``
    one past the last; ``low`` first tuple still searched; ``rank`` who goes first at equal times;
    ``span`` and ``rows`` the window.
    """

    base: Int64
    cursor: Int64
    end: Int64
    low: Int64
    rank: Int64
    span: Int64
    rows: Int64


@inlined
def next_stream(times: tuple[Int64, ...], clock: Clock) -> int:
    """Return the stream whose next tuple comes first, or -1 when all are processed."""
    chosen = -1
    earliest = 0
    for j in range(len(times)):
        if clock.cursor[j] < clock.end[j]:
            t = times[j][clock.cursor[j] - clock.base[j]]
            if chosen < 0 or t < earliest or (t == earliest and clock.rank[j] < clock.rank[chosen]):
                chosen = j
                earliest = t
    return chosen


#: Tuples that are looked at together, without a branch, to see which of them have left.
AT_ONCE = 4
#: A ``span`` or ``rows`` of this much bounds nothing.
UNBOUNDED = 2**63 - 1


@inlined
def raise_low(times: Int64, base: int, cursor: int, low: int, t: int, span: int, rows: int) -> int:
    """Return the first tuple that a search at time ``t`` may still have to look at.

    Everything before it left its window: it is older than ``span``, or ``rows`` tuples of its own
    stream came after it. Within a step time does not go back, so ``low`` only rises.
    """
    if rows != UNBOUNDED:
        low = max(low, cursor - rows)
    if span != UNBOUNDED:
        oldest = t - span
        passed = AT_ONCE
        # How many leave for one tuple, no processor could foresee; that it is few, it can.
        while passed == AT_ONCE and low + AT_ONCE <= cursor:
            passed, gone = 0, 1
            for k in range(AT_ONCE):
                gone &= times[low - base + k] < oldest
                passed += gone
            low += passed
        while passed == AT_ONCE and low < cursor and times[low - base] < oldest:
            low += 1
    return low
