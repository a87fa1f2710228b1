"""Inverted lists: for every item, the tuples that hold it.

Lists are contiguous and ordered by arrival: an insertion appends, and expired tuples are dropped
from the front whenever a search or an insertion comes by. The identifier-sorted variant orders a
list by a scrambled identifier, as pointers would be: insertion searches and shifts, expiry is
eager.

Reference: Gedik, Wu, Yu, Liu, *CPU Load Shedding for Binary Stream Joins*, section 4.2.
Deviations: lists are arrays that grow by half instead of linked lists, because a search reads
thousands of entries one after the other.
Cost: an insertion is constant, amortised; identifier-sorted, linear in the list.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.compiler import Float64, Int64, inlined, inner, kernel, rule
from bankfull.kernels.hashing import mix
from bankfull.kernels.passing import by_address
from bankfull.kernels.probes import sets as probe

#: ``sizes`` of a tuple whose set is null: stored, never found.
NO_SET = -1
#: ``Rule.search``.
TIME_ORDERED, IDENTIFIER_ORDERED, SCAN = 0, 1, 2


@by_address
class StoredSets(NamedTuple):
    """The stored tuples of one stream.

    Row i holds ``sizes[i]`` items from ``items[starts[i] - first]`` on.
    """

    times: Int64
    sizes: Int64
    starts: Int64
    first: int
    items: NDArray[np.int32]
    weights: Float64


@by_address
class Lists(NamedTuple):
    """Item to tuples. Item k owns ``entries[origin[k]:room[k]]``, in use from begin to stop.

    ``used[0]`` entries belong to some item; ``used[1]`` is what a refused insertion needed.
    """

    origin: Int64
    begin: Int64
    stop: Int64
    room: Int64
    entries: Int64
    weights: Float64
    used: Int64


class Rule(NamedTuple):
    """What matches and how it is searched.

    ``contained`` is the stream whose set must lie within the other's (CONTAINS only).
    """

    kind: int
    contained: int
    at_least: float
    search: int


class LogLists(NamedTuple):
    """The lists of one stream as a search sees them.

    ``base`` is the number of row 0, ``low`` of the first tuple that is still searched, ``oldest``
    of the first that is stored. ``by_time``: lists are in order, so searches begin at ``low``.
    """

    lists: Lists
    stored: StoredSets
    base: int
    low: int
    oldest: int
    by_time: bool


@inlined
def _first_entry(lists: Lists, item: int, seq: int) -> Any:
    """Return the first entry of a time-ordered list that is not before tuple ``seq``."""
    first, last = lists.begin[item], lists.stop[item]
    while first < last:
        middle = (first + last) >> 1
        if lists.entries[middle] < seq:
            first = middle + 1
        else:
            last = middle
    return first


@rule(probe.newest_entry, LogLists)
def _newest_entry(view: LogLists, item: int) -> tuple[int, int]:
    lists = view.lists
    if not view.by_time:
        return lists.stop[item] - 1, lists.begin[item] - 1
    drop_expired(lists, item, view.oldest)
    return lists.stop[item] - 1, _first_entry(lists, item, view.low) - 1


class LogPart(NamedTuple):
    """The lists of one stream, of whose tuples only those from ``low`` to before ``high`` count."""

    lists: Lists
    stored: StoredSets
    base: int
    low: int
    high: int
    oldest: int
    by_time: bool


@rule(probe.newest_entry, LogPart)
def _newest_in_part(view: LogPart, item: int) -> tuple[int, int]:
    lists = view.lists
    if not view.by_time:
        return lists.stop[item] - 1, lists.begin[item] - 1
    drop_expired(lists, item, view.oldest)
    return _first_entry(lists, item, view.high) - 1, _first_entry(lists, item, view.low) - 1


@rule(probe.is_entry_of, LogPart)
def _is_in_part(view: LogPart, entry: int, item: int) -> bool:
    return view.by_time or view.low <= view.lists.entries[entry] < view.high


@rule(probe.older_entry, LogPart)
@rule(probe.older_entry, LogLists)
def _older_entry(view: LogLists | LogPart, entry: int) -> Any:
    return entry - 1


@rule(probe.holder, LogPart)
@rule(probe.holder, LogLists)
def _holder(view: LogLists | LogPart, entry: int) -> Any:
    # Unsigned: the compiler then does not provide for indexes from the end.
    return np.uint64(view.lists.entries[np.uint64(entry)] - view.base)


@rule(probe.entry_weight, LogPart)
@rule(probe.entry_weight, LogLists)
def _entry_weight(view: LogLists | LogPart, entry: int) -> Any:
    return view.lists.weights[entry]


@rule(probe.items_held, LogPart)
@rule(probe.items_held, LogLists)
def _items_held(view: LogLists | LogPart, x: int) -> Any:
    return view.stored.sizes[x]


@inner
def _identifier(seq: int) -> np.uint64:
    """Return a unique number without any order in time, as an address would be."""
    return mix(np.uint64(seq))


@inner
def _place(lists: Lists, item: int, seq: int) -> Any:
    """Return where ``seq`` belongs in an identifier-sorted list."""
    low, high = lists.begin[item], lists.stop[item]
    wanted = _identifier(seq)
    while low < high:
        middle = (low + high) // 2
        if _identifier(lists.entries[middle]) < wanted:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def drop_expired(lists: Lists, item: int, oldest: int) -> None:
    """Drop what expired from the front of a time-ordered list."""
    begin, stop = lists.begin[item], lists.stop[item]
    while begin < stop and lists.entries[begin] < oldest:
        begin += 1
    lists.begin[item] = begin


@inner
def _larger(entries: int) -> int:
    """Return the room that a list gets when it outgrows its home."""
    return entries + entries // 2 + 2


@inner
def _room_needed(lists: Lists, items: NDArray[np.int32]) -> int:
    """Return the most entries that listing a tuple under ``items`` may newly claim."""
    needed = 0
    for item in items:
        if lists.stop[item] == lists.room[item]:
            needed += _larger(lists.stop[item] - lists.begin[item])
    return needed


@inner
def _make_room(lists: Lists, item: int) -> None:
    """Give a full list space behind its last entry: shift it down, or move it to a larger home."""
    begin, stop, origin = lists.begin[item], lists.stop[item], lists.origin[item]
    live = stop - begin
    home = origin
    if 2 * live > lists.room[item] - origin or live == 0:
        if live > 0 or lists.room[item] == origin:
            home = lists.used[0]
            lists.used[0] = home + _larger(live)
            lists.room[item] = lists.used[0]
            lists.origin[item] = home
    for k in range(live):
        lists.entries[home + k] = lists.entries[begin + k]
    if lists.weights.size > 0:
        for k in range(live):
            lists.weights[home + k] = lists.weights[begin + k]
    lists.begin[item] = home
    lists.stop[item] = home + live


@inner
def _list(lists: Lists, item: int, seq: int, weight: float, by_identifier: bool) -> None:
    """Enter a tuple in one item's list."""
    if lists.stop[item] == lists.room[item]:
        _make_room(lists, item)
    at = lists.stop[item]
    if by_identifier:
        at = _place(lists, item, seq)
        for k in range(lists.stop[item], at, -1):
            lists.entries[k] = lists.entries[k - 1]
        if lists.weights.size > 0:
            for k in range(lists.stop[item], at, -1):
                lists.weights[k] = lists.weights[k - 1]
    lists.entries[at] = seq
    if lists.weights.size > 0:
        lists.weights[at] = weight
    lists.stop[item] += 1


@inner
def insert(lists: Lists, own: StoredSets, i: int, seq: int, oldest: int, search: int) -> bool:
    """List tuple ``seq`` (row i) under its items; False, with nothing done, when room is short."""
    by_identifier = search == IDENTIFIER_ORDERED
    size, start = own.sizes[i], own.starts[i] - own.first
    if size == NO_SET or search == SCAN:
        return True
    items = own.items[start : start + size]
    if not by_identifier:
        for item in items:
            drop_expired(lists, item, oldest)
    needed = _room_needed(lists, items)
    if lists.used[0] + needed > lists.entries.size:
        lists.used[1] = needed
        return False
    for k in range(size):
        weight = own.weights[start + k] if lists.weights.size > 0 else 0.0
        _list(lists, items[k], seq, weight, by_identifier)
    return True


@kernel
def insert_stored(
    lists: Lists, side: StoredSets, base: int, oldest: int, start: int, stop: int, search: int
) -> int:
    """List the tuples ``start`` to ``stop`` anew; returns the first one without room, or stop."""
    for seq in range(start, stop):
        if not insert(lists, side, seq - base, seq, oldest, search):
            return seq
    return stop


@inner
def _unlist(lists: Lists, item: int, seq: int) -> None:
    """Remove a tuple from one identifier-sorted list."""
    at = _place(lists, item, seq)
    for k in range(at, lists.stop[item] - 1):
        lists.entries[k] = lists.entries[k + 1]
    if lists.weights.size > 0:
        for k in range(at, lists.stop[item] - 1):
            lists.weights[k] = lists.weights[k + 1]
    lists.stop[item] -= 1


@kernel
def remove(lists: Lists, side: StoredSets, base: int, start: int, stop: int) -> None:
    """Take the expired tuples ``start`` to ``stop`` out of identifier-sorted lists."""
    for seq in range(start, stop):
        i = seq - base
        start_item = side.starts[i] - side.first
        for k in range(start_item, start_item + side.sizes[i]):
            _unlist(lists, side.items[k], seq)


@kernel
def repack(lists: Lists, packed: Lists, oldest: int) -> None:
    """Copy every list into ``packed``, without expired tuples, with half as much room to spare."""
    used = 0
    for item in range(lists.begin.size):
        if lists.stop[item] == lists.begin[item]:
            packed.origin[item] = packed.begin[item] = packed.stop[item] = packed.room[item] = 0
            continue
        packed.origin[item] = packed.begin[item] = used
        for k in range(lists.begin[item], lists.stop[item]):
            if lists.entries[k] >= oldest:
                packed.entries[used] = lists.entries[k]
                if lists.weights.size > 0:
                    packed.weights[used] = lists.weights[k]
                used += 1
        packed.stop[item] = used
        used += (used - packed.begin[item]) // 2 + 1
        packed.room[item] = used
    packed.used[0] = used
