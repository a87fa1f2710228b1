"""Arrivals in, results with stored tuples out, under a memory budget."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.bounded.memory import NONE, Memory, listed
from bankfull.kernels.compiler import Float64, Int64, inlined, inner, rule
from bankfull.kernels.importance import worth_of
from bankfull.kernels.passing import by_address
from bankfull.kernels.predicates import has_stayed
from bankfull.kernels.probes import chains


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


class ListsOfKey(NamedTuple):
    """The lists of one key in a join, for an arrival: ``row`` of its batch, of member ``own``."""

    memory: Memory
    join: int
    key: int
    own: int
    t: int
    row: int
    importance: float
    combine: int
    out: Output


@rule(chains.newest_candidate, ListsOfKey)
def _newest(lists: ListsOfKey, j: int) -> Any:
    return listed(lists.memory, lists.key, lists.memory.joins[lists.join].members[j])


@rule(chains.older_candidate, ListsOfKey)
def _older(lists: ListsOfKey, j: int, x: int) -> Any:
    return lists.memory.links[x, lists.join].older


@rule(chains.next_partner, ListsOfKey)
def _next_partner(lists: ListsOfKey, j: int, x: int, compared: int) -> tuple[int, bool, int]:
    while x >= 0:
        compared += 1
        if in_window(lists.memory, lists.join, j, x, lists.t):
            return x, True, compared
        x = lists.memory.links[x, lists.join].older
    return x, False, compared


@rule(chains.write_result, ListsOfKey)
def _write(lists: ListsOfKey, j: int, x: int, count: int) -> None:
    write(
        lists.memory, lists.join, lists.own, lists.t, lists.row, lists.importance, lists.combine,
        lists.out, count,
    )  # fmt: skip


@inner
def search(
    memory: Memory, join: int, key: int, s: int, t: int, row: int, importance: float,
    combine: int, out: Output, count: int,
) -> tuple[int, int]:  # fmt: skip
    """Find one stored partner from every other stream of a join, newest first.

    Returns the number of results, or -1 without room, and the comparisons made.
    """
    own = place_of(memory, join, s)
    lists = ListsOfKey(memory, join, key, own, t, row, importance, combine, out)
    width, most = memory.joins[join].width, out.times.size
    return chains.find_all(lists, out.at, own, width, count, most)  # type: ignore[no-any-return]


@inlined
def place_of(memory: Memory, join: int, stream: int) -> Any:
    """Return which member of a join a stream is."""
    for member in range(memory.joins[join].width):
        if memory.joins[join].members[member] == stream:
            return member
    return 0
