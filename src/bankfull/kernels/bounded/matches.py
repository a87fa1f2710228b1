"""Arrivals in, results with stored tuples out, under a memory budget."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.bounded.memory import (
    NONE,
    Memory,
    listed,
)
from bankfull.kernels.compiler import Float64, Int64, inlined, inner
from bankfull.kernels.importance import worth_of
from bankfull.kernels.passing import by_address
from bankfull.kernels.predicates import has_stayed


@by_address
class Arrivals(NamedTuple):
    """New tuples of all streams in canonical order. ``codes`` and ``keyed`` have a row a join.

    A tuple is in the joins in which it is keyed. ``copies`` is 1 where another operator has the
    copy of the tuple that is counted.
    """

    streams: Int64
    times: Int64
    rows: Int64
    sizes: Int64
    importance: Float64
    codes: NDArray[np.uint64]
    keyed: NDArray[np.bool_]
    copies: Int64


@by_address
class Output(NamedTuple):
    """Room for results: the join, of every member row, slot and canonical number, time, worth.

    ``at`` is room for a search: where it is in the list of every member. ``compared`` counts, of
    each join, the comparisons so far and those of the present arrival.
    """

    joins: Int64
    rows: Int64
    slots: Int64
    arrivals: Int64
    times: Int64
    importance: Float64
    at: Int64
    compared: Int64


@inlined
def in_window(memory: Memory, join: int, member: int, x: int, t: int) -> bool:
    """Tell whether a stored tuple is in the window that a member of a join has at time ``t``."""
    about = memory.joins[join]
    after = memory.streams[about.members[member]].arrived - memory.slots[x].nth - 1
    return has_stayed(t, memory.slots[x].time, about.spans[member], after, about.rows[member])


@inner
def write(
    memory: Memory, join: int, own: int, t: int, row: int, importance: float, combine: int,
    out: Output, count: int,
) -> None:  # fmt: skip
    """Write result ``count``: an arrival, of member ``own``, with the tuples in ``out.at``."""
    about = memory.joins[join]
    low, high, total, product, weighed = np.inf, -np.inf, 0.0, 1.0, 0
    for member in range(about.width):
        if member == own:
            out.rows[member, count] = row
            out.slots[member, count] = NONE
            out.arrivals[member, count] = memory.now.seq_next
            each = importance
        else:
            partner = memory.slots[out.at[member]]
            out.rows[member, count] = partner.row
            out.slots[member, count] = out.at[member]
            out.arrivals[member, count] = partner.seq
            each = partner.importance
        if memory.streams[about.members[member]].weighed:
            low, high = min(low, each), max(high, each)
            total += each
            product *= each
            weighed += 1
    out.joins[count] = join
    out.times[count] = t
    out.importance[count] = worth_of(combine, total, product, low, high, weighed)


@inner
def search(
    memory: Memory, join: int, key: int, s: int, t: int, row: int, importance: float,
    combine: int, out: Output, count: int,
) -> tuple[int, int]:  # fmt: skip
    """Find one stored partner from every other stream of a join, newest first.

    Walks the lists like an odometer. Returns the number of results, or -1 without room, and the
    comparisons made.
    """
    about, at = memory.joins[join], out.at
    width, own = about.width, place_of(memory, join, s)
    compared = 0
    j = 1 if own == 0 else 0
    at[j] = listed(memory, key, about.members[j])
    while True:
        x = at[j]
        while x >= 0:
            compared += 1
            if in_window(memory, join, j, x, t):
                break
            x = memory.links[x, join].older
        at[j] = x
        if x >= 0:
            deeper = j + 1 + (j + 1 == own)
            if deeper < width:
                j = deeper
                at[j] = listed(memory, key, about.members[j])
                continue
            if count == out.times.size:
                return -1, compared
            write(memory, join, own, t, row, importance, combine, out, count)
            count += 1
        else:
            j = j - 1 - (j - 1 == own)
            if j < 0:
                return count, compared
        at[j] = memory.links[at[j], join].older


@inlined
def place_of(memory: Memory, join: int, stream: int) -> Any:
    """Return which member of a join a stream is."""
    for member in range(memory.joins[join].width):
        if memory.joins[join].members[member] == stream:
            return member
    return 0
