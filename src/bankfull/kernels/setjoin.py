"""Joins of sets and weighted sets: inverted index with time-ordered lists, or a plain scan.

A tuple's items are small numbers (``intern.py``) in the order of their values. The index keeps,
for every item, the list of the tuples that hold it. Lists are contiguous and ordered by arrival:
an insertion appends, expired tuples are dropped from the front whenever a search or an insertion
comes by, and a search can begin at any moment of the window.

Reference: Gedik, Wu, Yu, Liu, *CPU Load Shedding for Binary Stream Joins*, section 4.2.
Deviations: lists are arrays that double instead of linked lists (a search touches thousands of
entries a tuple, next to each other); a search adds up scores in an array over the window instead
of merging the lists with a heap, which visits the same entries without the heap; the scan marks
the items of the arriving tuple instead of merging sorted items, so that weights are added in the
same order everywhere. The identifier-sorted variant orders a list by a scrambled identifier, as
pointers would be: insertion searches and shifts, expiry is eager.
Cost: insertion constant amortised; search, the entries of the tuple's lists within the window.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.compiler import Float64, Int64, kernel
from bankfull.kernels.hashing import mix
from bankfull.kernels.merge import Clock, raise_low

#: ``sizes`` of a tuple whose set is null: stored, never found.
NO_SET = -1
#: The item under which empty sets are listed where a predicate can match them.
EMPTY = 0
#: ``Rule.kind``.
OVERLAP, CONTAINED, PRODUCT = 0, 1, 2
#: ``Rule.search``.
TIME_ORDERED, IDENTIFIER_ORDERED, SCAN = 0, 1, 2
#: Counts start afresh before they reach this.
COUNT_MAX = 1 << 30
#: Why a kernel returned.
DONE, OUTPUT_FULL, LISTS_FULL = 0, 1, 2


class Sets(NamedTuple):
    """The stored tuples of one stream.

    Row i holds ``sizes[i]`` items from ``items[starts[i] - first]`` on.
    """

    times: Int64
    sizes: Int64
    starts: Int64
    first: int
    items: NDArray[np.int32]
    weights: Float64


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

    ``contained`` is the stream whose set must lie within the other's (CONTAINED only).
    """

    kind: int
    contained: int
    at_least: float
    search: int


class Scratch(NamedTuple):
    """Working memory: a count, a score and a stamp for every row, a mark for every item."""

    counts: NDArray[np.int32]
    score: Float64
    stamp: Int64
    found: Int64
    mark: Int64
    mark_weight: Float64
    turn: Int64


@kernel
def _identifier(seq: int) -> np.uint64:
    """Return a unique number without any order in time, as an address would be."""
    return mix(np.uint64(seq))


@kernel
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


@kernel
def _drop_expired(lists: Lists, item: int, oldest: int) -> None:
    """Drop what expired from the front of a time-ordered list."""
    begin, stop = lists.begin[item], lists.stop[item]
    while begin < stop and lists.entries[begin] < oldest:
        begin += 1
    lists.begin[item] = begin


@kernel
def _larger(entries: int) -> int:
    """Return the room that a list gets when it outgrows its home."""
    return entries + entries // 2 + 2


@kernel
def _room_needed(lists: Lists, items: NDArray[np.int32]) -> int:
    """Return the most entries that listing a tuple under ``items`` may newly claim."""
    needed = 0
    for item in items:
        if lists.stop[item] == lists.room[item]:
            needed += _larger(lists.stop[item] - lists.begin[item])
    return needed


@kernel
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


@kernel
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


@kernel
def insert(lists: Lists, own: Sets, i: int, seq: int, oldest: int, rule: Rule) -> bool:
    """List tuple ``seq`` (row i) under its items; False, with nothing done, when room is short."""
    by_identifier = rule.search == IDENTIFIER_ORDERED
    size, start = own.sizes[i], own.starts[i] - own.first
    if size == NO_SET or rule.search == SCAN:
        return True
    items = own.items[start : start + size]
    if not by_identifier:
        for item in items:
            _drop_expired(lists, item, oldest)
    needed = _room_needed(lists, items)
    if size == 0:
        needed += _larger(lists.stop[EMPTY] - lists.begin[EMPTY])
    if lists.used[0] + needed > lists.entries.size:
        lists.used[1] = needed
        return False
    if size == 0 and rule.kind == CONTAINED:
        _list(lists, EMPTY, seq, 0.0, by_identifier)
    for k in range(size):
        weight = own.weights[start + k] if lists.weights.size > 0 else 0.0
        _list(lists, items[k], seq, weight, by_identifier)
    return True


@kernel
def insert_stored(
    lists: Lists, side: Sets, base: int, oldest: int, start: int, stop: int, rule: Rule
) -> int:
    """List the tuples ``start`` to ``stop`` anew; returns the first one without room, or stop."""
    for seq in range(start, stop):
        if not insert(lists, side, seq - base, seq, oldest, rule):
            return seq
    return stop


@kernel
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
def remove(lists: Lists, side: Sets, base: int, start: int, stop: int, rule: Rule) -> None:
    """Take the expired tuples ``start`` to ``stop`` out of identifier-sorted lists."""
    for seq in range(start, stop):
        i = seq - base
        if side.sizes[i] == 0 and rule.kind == CONTAINED:
            _unlist(lists, EMPTY, seq)
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


@kernel
def _first_entry(lists: Lists, item: int, low: int, oldest: int, rule: Rule) -> Any:
    """Return where in an item's list the search begins."""
    if rule.search != TIME_ORDERED:
        return lists.begin[item]
    _drop_expired(lists, item, oldest)
    begin, stop = lists.begin[item], lists.stop[item]
    return begin + np.searchsorted(lists.entries[begin:stop], low)


@kernel
def _next_zero(scratch: Scratch, size: int) -> Any:
    """Return a number from which this search can count, above all counts of earlier ones."""
    if scratch.turn[1] + size > COUNT_MAX:
        scratch.counts[:] = 0
        scratch.turn[1] = 0
    zero = scratch.turn[1]
    scratch.turn[1] = zero + size
    return np.int32(zero)


@kernel
def _count_lists(
    own: Sets, i: int, other: Sets, lists: Lists, base: int, low: int, oldest: int,
    contained: bool, rule: Rule, scratch: Scratch,
) -> tuple[int, int]:  # fmt: skip
    """Find the tuples that share enough items; returns (found, compared).

    A tuple is found at the moment its count reaches what it must, which is rare, so that the
    inner loop runs without a branch to guess. Counts of earlier searches are no higher than
    ``zero`` and need no setting back.
    """
    found, compared = 0, 0
    counts, entries = scratch.counts, lists.entries
    start, size = own.starts[i] - own.first, own.sizes[i]
    zero = _next_zero(scratch, size)
    enough = zero + np.int32(size if rule.kind == CONTAINED else min(rule.at_least, size + 1))
    by_size = rule.kind == CONTAINED and not contained
    for k in range(start, start + size):
        item = own.items[k]
        begin, stop = _first_entry(lists, item, low, oldest, rule), lists.stop[item]
        compared += stop - begin
        for entry in entries[begin:stop]:
            x = np.uint64(entry - base)  # unsigned: no check for indexes from the end
            now = max(counts[x], zero) + np.int32(1)
            counts[x] = now
            if by_size:
                enough = zero + np.int32(other.sizes[x])
            if now == enough:
                scratch.found[found] = x
                scratch.score[x] = enough - zero
                found += 1
    return found, compared


@kernel
def _score_lists(
    own: Sets, i: int, lists: Lists, base: int, low: int, oldest: int,
    rule: Rule, scratch: Scratch,
) -> tuple[int, int]:  # fmt: skip
    """Add up, for every tuple that shares an item, their weights; returns (found, compared)."""
    turn = scratch.turn[0]
    found, compared = 0, 0
    start = own.starts[i] - own.first
    for k in range(start, start + own.sizes[i]):
        item = own.items[k]
        begin, stop = _first_entry(lists, item, low, oldest, rule), lists.stop[item]
        for p in range(begin, stop):
            x = lists.entries[p] - base
            if scratch.stamp[x] != turn:
                scratch.stamp[x] = turn
                scratch.score[x] = 0.0
                scratch.found[found] = x
                found += 1
            scratch.score[x] += own.weights[k] * lists.weights[p]
        compared += stop - begin
    return found, compared


@kernel
def _add_empty(lists: Lists, base: int, scratch: Scratch, found: int) -> int:
    """Add the stored empty sets, which lie within any set."""
    for p in range(lists.begin[EMPTY], lists.stop[EMPTY]):
        x = lists.entries[p] - base
        scratch.score[x] = 0.0
        scratch.found[found] = x
        found += 1
    return found


@kernel
def _score_scan(
    own: Sets, i: int, other: Sets, base: int, low: int, cursor: int, rule: Rule, scratch: Scratch
) -> tuple[int, int]:
    """Score every tuple of the window by its own items; returns (found, compared)."""
    turn = scratch.turn[0]
    weighted = rule.kind == PRODUCT
    start = own.starts[i] - own.first
    for k in range(start, start + own.sizes[i]):
        scratch.mark[own.items[k]] = turn
        if weighted:
            scratch.mark_weight[own.items[k]] = own.weights[k]
    found = 0
    for x in range(low - base, cursor - base):
        score = 0.0
        shared = False
        start = other.starts[x] - other.first
        for k in range(start, start + other.sizes[x]):
            item = other.items[k]
            if scratch.mark[item] == turn:
                shared = True
                score += scratch.mark_weight[item] * other.weights[k] if weighted else 1.0
        if shared or (rule.kind == CONTAINED and other.sizes[x] != NO_SET):
            scratch.score[x] = score
            scratch.found[found] = x
            found += 1
    return found, cursor - low


@kernel
def _all(other: Sets, base: int, low: int, cursor: int, scratch: Scratch) -> int:
    """Take every set of the window: the arriving tuple is empty and lies within all of them."""
    found = 0
    for x in range(low - base, cursor - base):
        if other.sizes[x] != NO_SET:
            scratch.score[x] = 0.0
            scratch.found[found] = x
            found += 1
    return found


@kernel
def _search(
    own: Sets, i: int, other: Sets, lists: Lists, base: int, low: int, cursor: int, oldest: int,
    contained: bool, rule: Rule, scratch: Scratch,
) -> tuple[int, int]:  # fmt: skip
    """Find candidates and their scores; ``contained``: the arriving set must lie within."""
    scratch.turn[0] += 1
    if rule.search == SCAN:
        return _score_scan(own, i, other, base, low, cursor, rule, scratch)
    if rule.kind == CONTAINED and contained and own.sizes[i] == 0:
        return _all(other, base, low, cursor, scratch), cursor - low
    if rule.kind == PRODUCT:
        return _score_lists(own, i, lists, base, low, oldest, rule, scratch)
    found, compared = _count_lists(
        own, i, other, lists, base, low, oldest, contained, rule, scratch
    )
    if rule.kind == CONTAINED and not contained:
        if rule.search == TIME_ORDERED:
            _drop_expired(lists, EMPTY, oldest)
        empty = lists.stop[EMPTY] - lists.begin[EMPTY]
        found = _add_empty(lists, base, scratch, found)
        compared += empty
    return found, compared


@kernel
def _turn(
    s: int, own: Sets, own_lists: Lists, other: Sets, other_lists: Lists, clock: Clock,
    oldest: Int64, rule: Rule, scratch: Scratch, out: Int64, joined: Int64, count: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Search with and then store one tuple; returns (results so far, comparisons, status)."""
    j = 1 - s
    seq = clock.cursor[s]
    i = seq - clock.base[s]
    base = clock.base[j]
    t = own.times[i]
    clock.low[j] = raise_low(
        other.times, base, clock.cursor[j], clock.low[j], t, clock.span[j], clock.rows[j]
    )
    contained = rule.contained == s
    found, compared = _search(
        own, i, other, other_lists, base, clock.low[j], clock.cursor[j], oldest[j],
        contained, rule, scratch,
    )  # fmt: skip
    before = count
    for k in range(found):
        x = scratch.found[k]
        u = other.times[x]
        if x + base < clock.low[j] or t - u > clock.span[j] or u - t > clock.span[s]:
            continue
        score = scratch.score[x]
        if rule.kind == CONTAINED:
            match = score == (own.sizes[i] if contained else other.sizes[x])
        else:
            match = score >= rule.at_least
        if match:
            if count == joined.size:
                return before, 0, OUTPUT_FULL
            out[s, count] = seq
            out[j, count] = x + base
            joined[count] = max(t, u)
            count += 1
    if not insert(own_lists, own, i, seq, oldest[s], rule):
        return before, 0, LISTS_FULL
    return count, compared, DONE


@kernel
def join_sets(
    left: Sets, right: Sets, left_lists: Lists, right_lists: Lists, clock: Clock,
    oldest: Int64, rule: Rule, scratch: Scratch, out: Int64, joined: Int64,
) -> tuple[int, int, int]:  # fmt: skip
    """Process tuples of two streams in order until none may be processed or room is short.

    ``oldest[j]`` is the first stored tuple of stream j. Results go to ``out`` and ``joined`` as
    in ``equijoin.join_pairs``. Returns (results, comparisons, status); a tuple for which there
    was no room is left for the next call, whole.
    """
    count, compared = 0, 0
    while clock.cursor[0] < clock.end[0] or clock.cursor[1] < clock.end[1]:
        s = 0
        if clock.cursor[0] >= clock.end[0]:
            s = 1
        elif clock.cursor[1] < clock.end[1]:
            ahead = (
                right.times[clock.cursor[1] - clock.base[1]]
                - left.times[clock.cursor[0] - clock.base[0]]
            )
            if ahead < 0 or (ahead == 0 and clock.rank[1] < clock.rank[0]):
                s = 1
        i = clock.cursor[s] - clock.base[s]
        own = left if s == 0 else right
        if own.times[i] > clock.limit[s]:
            break
        if own.sizes[i] != NO_SET:
            if s == 0:
                count, steps, status = _turn(
                    0, left, left_lists, right, right_lists, clock, oldest, rule, scratch,
                    out, joined, count,
                )  # fmt: skip
            else:
                count, steps, status = _turn(
                    1, right, right_lists, left, left_lists, clock, oldest, rule, scratch,
                    out, joined, count,
                )  # fmt: skip
            if status != DONE:
                return count, compared, status
            compared += steps
        clock.cursor[s] += 1
    return count, compared, DONE
