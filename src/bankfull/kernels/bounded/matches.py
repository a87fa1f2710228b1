"""Arrivals in, results with stored tuples out, under a memory budget."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.bounded.memory import (
    NONE,
    Memory,
    listed,
)
from bankfull.kernels.compiler import Float64, Int64, inlined, inner
from bankfull.kernels.predicates import has_stayed

#: How the importance of a result follows from its members'.
BY_MIN, BY_MAX, BY_SUM, BY_PRODUCT, BY_AVERAGE = range(5)


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
def worth_of(combine: int, sum_: float, product: float, low: float, high: float, n: int) -> float:
    """Return the importance of a result from its members' sum, product, least, most and number.

    Members are those whose streams have an importance; a result without any is worth 1.
    """
    if n == 0:
        return 1.0
    if combine == BY_MIN:
        return low
    if combine == BY_MAX:
        return high
    if combine == BY_SUM:
        return sum_
    if combine == BY_PRODUCT:
        return product
    return sum_ / n


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
    width = about.width
    own = 0
    for member in range(width):
        if about.members[member] == s:
            own = member
    compared = 0
    j = 1 if own == 0 else 0
    at[j] = listed(memory, key, about.members[j])
    while True:
        x = at[j]
        while x >= 0:
            compared += 1
            after = memory.streams[about.members[j]].arrived - memory.slots[x].nth - 1
            if has_stayed(t, memory.slots[x].time, about.spans[j], after, about.rows[j]):
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
            low, high, total, product, weighed = np.inf, -np.inf, 0.0, 1.0, 0
            for member in range(width):
                if member == own:
                    out.rows[member, count] = row
                    out.slots[member, count] = NONE
                    out.arrivals[member, count] = memory.now.seq_next
                    each = importance
                else:
                    out.rows[member, count] = memory.slots[at[member]].row
                    out.slots[member, count] = at[member]
                    out.arrivals[member, count] = memory.slots[at[member]].seq
                    each = memory.slots[at[member]].importance
                if memory.streams[about.members[member]].weighed:
                    low, high = min(low, each), max(high, each)
                    total += each
                    product *= each
                    weighed += 1
            out.joins[count] = join
            out.times[count] = t
            out.importance[count] = worth_of(combine, total, product, low, high, weighed)
            count += 1
        else:
            j = j - 1 - (j - 1 == own)
            if j < 0:
                return count, compared
        at[j] = memory.links[at[j], join].older


@inlined
def worth_of_pair(combine: int, a: float, a_weighed: bool, b: float, b_weighed: bool) -> float:
    """Return the importance of a result of two, of whom each counts if its stream is weighed."""
    if not b_weighed:
        return a if a_weighed else 1.0
    if not a_weighed:
        return b
    return worth_of(combine, a + b, a * b, min(a, b), max(a, b), 2)


@inlined
def weigh_pairs(
    memory: Memory, importance: float, s: int, combine: int, out: Output, start: int, stop: int
) -> None:
    """Write the importance of results of an arrival on stream ``s``, with one partner each."""
    for result in range(start, stop):
        partner = max(out.slots[0, result], out.slots[1, result])
        other = memory.streams[memory.slots[partner].stream].weighed == 1
        out.importance[result] = worth_of_pair(
            combine, importance, memory.streams[s].weighed == 1,
            memory.slots[partner].importance, other,
        )  # fmt: skip
