"""Joins of sets and weighted sets: by inverted lists, or by a plain scan.

A tuple's items are small numbers (``intern.py``) in the order of their values; ``postings.py``
keeps the lists. A search visits the lists of the arriving tuple's items and counts, for every
tuple in them, what it shares.

Reference: Gedik, Wu, Yu, Liu, *CPU Load Shedding for Binary Stream Joins*, section 4.2.
Deviations: a search adds up counts in an array over the window instead of merging the lists with
a heap, which visits the same entries without the heap; the scan marks the items of the arriving
tuple instead of merging sorted items, so that weights are added in the same order everywhere.
Cost: the entries of the tuple's lists within the window.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.compiler import Float64, Int64, inner, kernel
from bankfull.kernels.exact.merge import Clock, raise_low
from bankfull.kernels.exact.postings import (
    NO_SET,
    SCAN,
    TIME_ORDERED,
    Lists,
    Rule,
    StoredSets,
    drop_expired,
    insert,
)
from bankfull.kernels.predicates import CONTAINS, EMPTY, PRODUCT, in_reach

#: Counts start afresh before they reach this.
COUNT_MAX = 1 << 30
#: Why a kernel returned.
DONE, OUTPUT_FULL, LISTS_FULL = 0, 1, 2


class Scratch(NamedTuple):
    """Working memory: a count, a score and a stamp for every row, a mark for every item."""

    counts: NDArray[np.int32]
    score: Float64
    stamp: Int64
    found: Int64
    mark: Int64
    mark_weight: Float64
    turn: Int64


@inner
def _first_entry(lists: Lists, item: int, low: int, oldest: int, rule: Rule) -> Any:
    """Return where in an item's list the search begins."""
    if rule.search != TIME_ORDERED:
        return lists.begin[item]
    drop_expired(lists, item, oldest)
    begin, stop = lists.begin[item], lists.stop[item]
    return begin + np.searchsorted(lists.entries[begin:stop], low)


@inner
def _next_zero(scratch: Scratch, size: int) -> Any:
    """Return a number from which this search can count, above all counts of earlier ones."""
    if scratch.turn[1] + size > COUNT_MAX:
        scratch.counts[:] = 0
        scratch.turn[1] = 0
    zero = scratch.turn[1]
    scratch.turn[1] = zero + size
    return np.int32(zero)


@inner
def _count_lists(
    own: StoredSets, i: int, other: StoredSets, lists: Lists, base: int, low: int, oldest: int,
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
    enough = zero + np.int32(size if rule.kind == CONTAINS else min(rule.at_least, size + 1))
    by_size = rule.kind == CONTAINS and not contained
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


@inner
def _score_lists(
    own: StoredSets, i: int, lists: Lists, base: int, low: int, oldest: int,
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


@inner
def _add_empty(lists: Lists, base: int, scratch: Scratch, found: int) -> int:
    """Add the stored empty sets, which lie within any set."""
    for p in range(lists.begin[EMPTY], lists.stop[EMPTY]):
        x = lists.entries[p] - base
        scratch.score[x] = 0.0
        scratch.found[found] = x
        found += 1
    return found


@inner
def _score_scan(
    own: StoredSets,
    i: int,
    other: StoredSets,
    base: int,
    low: int,
    cursor: int,
    rule: Rule,
    scratch: Scratch,
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
        if shared or (rule.kind == CONTAINS and other.sizes[x] != NO_SET):
            scratch.score[x] = score
            scratch.found[found] = x
            found += 1
    return found, cursor - low


@inner
def _all(other: StoredSets, base: int, low: int, cursor: int, scratch: Scratch) -> int:
    """Take every set of the window: the arriving tuple is empty and lies within all of them."""
    found = 0
    for x in range(low - base, cursor - base):
        if other.sizes[x] != NO_SET:
            scratch.score[x] = 0.0
            scratch.found[found] = x
            found += 1
    return found


@inner
def _search(
    own: StoredSets, i: int, other: StoredSets, lists: Lists, base: int, low: int, cursor: int,
    oldest: int, contained: bool, rule: Rule, scratch: Scratch,
) -> tuple[int, int]:  # fmt: skip
    """Find candidates and their scores; ``contained``: the arriving set must lie within."""
    scratch.turn[0] += 1
    if rule.search == SCAN:
        return _score_scan(own, i, other, base, low, cursor, rule, scratch)
    if rule.kind == CONTAINS and contained and own.sizes[i] == 0:
        return _all(other, base, low, cursor, scratch), cursor - low
    if rule.kind == PRODUCT:
        return _score_lists(own, i, lists, base, low, oldest, rule, scratch)
    found, compared = _count_lists(
        own, i, other, lists, base, low, oldest, contained, rule, scratch
    )
    if rule.kind == CONTAINS and not contained:
        if rule.search == TIME_ORDERED:
            drop_expired(lists, EMPTY, oldest)
        empty = lists.stop[EMPTY] - lists.begin[EMPTY]
        found = _add_empty(lists, base, scratch, found)
        compared += empty
    return found, compared


@inner
def _turn(
    s: int, own: StoredSets, own_lists: Lists, other: StoredSets, other_lists: Lists, clock: Clock,
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
        if x + base < clock.low[j] or not in_reach(t, u, clock.span[s], clock.span[j]):
            continue
        score = scratch.score[x]
        if rule.kind == CONTAINS:
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
    left: StoredSets, right: StoredSets, left_lists: Lists, right_lists: Lists, clock: Clock,
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
