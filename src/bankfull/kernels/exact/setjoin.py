"""Joins of sets and weighted sets over logs: by inverted lists, or by a plain scan.

A tuple's items are small numbers (``intern.py``) in the order of their values; ``postings.py``
keeps the lists, ``probes/sets.py`` searches them.

Reference: Gedik, Wu, Yu, Liu, *CPU Load Shedding for Binary Stream Joins*, section 4.2.
Deviations: the scan marks the items of the arriving tuple instead of merging sorted items, so that
weights are added in the same order everywhere.
Cost: the entries of the tuple's lists within the window.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bankfull.kernels.compiler import Float64, Int64, hook, inner, kernel
from bankfull.kernels.compiler import rule as rule_of
from bankfull.kernels.exact.merge import Clock, raise_low
from bankfull.kernels.exact.postings import (
    NO_SET,
    SCAN,
    TIME_ORDERED,
    Lists,
    LogLists,
    LogPart,
    Rule,
    StoredSets,
    insert,
)
from bankfull.kernels.predicates import PRODUCT, in_reach
from bankfull.kernels.probes.selection import (
    COMPARED,
    EXHAUSTED,
    MOST,
    OTHERS,
    PAIRS,
    SEARCHED,
    STEPS,
    Selection,
    begin,
    is_dropped,
    miss_all,
    note,
    piece,
    pieces,
    selected_share,
    settle,
)
from bankfull.kernels.probes.sets import Agreement, SearchRoom, agreeing, agrees, newest_entry

#: Marks begin again when they reach this.
MARK_MAX = 1 << 30
#: Why a kernel returned.
DONE, OUTPUT_FULL, LISTS_FULL = 0, 1, 2


class Scratch(NamedTuple):
    """Working memory: room for a search, and for the scan a mark and a weight for every item.

    ``marked[0]`` is the largest mark that was given out.
    """

    room: SearchRoom
    items: Int64
    item_weights: Float64
    marked: Int64


@inner
def _scan(
    own: StoredSets, i: int, other: StoredSets, first: int, last: int, rule: Agreement,
    scratch: Scratch, left: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Compare with the sets of the rows before ``last`` down to ``first``, one by one.

    No more than ``left`` are compared; rows without a set take no comparison. A mark of its own
    says which items the arriving set has. Returns how many agree, comparisons, rows looked at.
    """
    mark = scratch.marked[0] + 1
    weighted = rule.kind == PRODUCT
    start, size = own.starts[i] - own.first, own.sizes[i]
    for k in range(start, start + size):
        scratch.items[own.items[k]] = mark
        if weighted:
            scratch.item_weights[own.items[k]] = own.weights[k]
    found, steps = 0, 0
    for x in range(last - 1, first - 1, -1):
        if other.sizes[x] == NO_SET:
            continue
        if steps >= left:
            return found, steps, last - 1 - x
        steps += 1
        score, shares = 0.0, False
        start = other.starts[x] - other.first
        for k in range(start, start + other.sizes[x]):
            item = other.items[k]
            if scratch.items[item] == mark:
                shares = True
                score += scratch.item_weights[item] * other.weights[k] if weighted else 1.0
        if shares and agrees(rule, size, other.sizes[x], score):
            scratch.room.found[found] = x
            found += 1
    return found, steps, last - first


@hook
def _compare(
    selection: Any, s: int, own: StoredSets, i: int, seq: int, other: StoredSets,
    other_lists: Lists, clock: Clock, oldest: Int64, rule: Rule, wanted: Agreement,
    scratch: Scratch,
) -> tuple[int, int]:  # fmt: skip
    """Compare a tuple with the window of the other stream; returns how many agree, comparisons."""
    j = 1 - s
    base, low = clock.base[j], clock.low[j]
    if rule.search == SCAN:
        last = clock.cursor[j] - base
        found, compared, _ = _scan(own, i, other, low - base, last, wanted, scratch, last)
    else:
        if scratch.marked[0] > MARK_MAX:
            _set_back(scratch)
        lists = LogLists(other_lists, other, base, low, oldest[j], rule.search == TIME_ORDERED)
        start = own.starts[i] - own.first
        found, compared = agreeing(
            lists, own.items, own.weights, start, own.sizes[i], wanted, scratch.marked[0],
            scratch.room,
        )  # fmt: skip
    scratch.marked[0] += own.sizes[i] + 1
    return found, compared


@rule_of(_compare, Selection)
def _compare_selected(
    selection: Selection, s: int, own: StoredSets, i: int, seq: int, other: StoredSets,
    other_lists: Lists, clock: Clock, oldest: Int64, rule: Rule, wanted: Agreement,
    scratch: Scratch,
) -> tuple[int, int]:  # fmt: skip
    """Compare a tuple with the parts of the window that are selected for it, newest first."""
    j = 1 - s
    z = selection.classes[s][i]
    base, low, cursor = clock.base[j], clock.low[j], clock.cursor[j]
    whole = begin(selection, s, i, seq, True)
    state = selection.state
    parts = pieces(selection, j, z, False)
    total, compared = 0, 0
    for k in range(parts):
        first, last = piece(selection, j, z, k, cursor, False)
        first = max(first, low)
        if first >= last:
            continue
        left = state[MOST] - compared
        found, steps, looked_at = _compare_part(
            own, i, other, other_lists, base, first, last, oldest[j], rule.search, wanted, scratch,
            total, left,
        )  # fmt: skip
        compared += steps
        state[SEARCHED] += looked_at
        if looked_at < last - first:
            state[EXHAUSTED] = 1
        if whole:
            selection.now[PAIRS, k] += looked_at
            selection.now[STEPS, k] += steps
        for n in range(total, total + found):
            x = scratch.room.found[n]
            note(selection, s, i, own.times[i], x + base, x, other.times[x], cursor)
        total += found
    state[COMPARED] = compared
    if whole and rule.search != SCAN:
        needed = 0.0
        for a in range(parts):
            needed += selection.now[STEPS, a] * selected_share(selection, j, z, a)
        if needed > selection.left[OTHERS]:  # lists are searched whole or not at all
            miss_all(selection)
    return total, compared


@inner
def _compare_part(
    own: StoredSets, i: int, other: StoredSets, other_lists: Lists, base: int, first: int,
    last: int, oldest: int, search: int, wanted: Agreement, scratch: Scratch, place: int, left: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Compare a tuple with tuples ``first`` to ``last``, at the cost of ``left`` at most.

    Those that agree are listed from ``place`` on. Returns how many agree, comparisons, and how
    many tuples were looked at: a scan may stop half-way, lists are searched whole or not at all.
    """
    room = SearchRoom(scratch.room.marks, scratch.room.sums, scratch.room.found[place:])
    size = own.sizes[i]
    if search == SCAN:
        part_of = Scratch(room, scratch.items, scratch.item_weights, scratch.marked)
        found, steps, looked_at = _scan(
            own, i, other, first - base, last - base, wanted, part_of, left
        )
    else:
        if scratch.marked[0] > MARK_MAX:
            _set_back(scratch)
        lists = LogPart(other_lists, other, base, first, last, oldest, search == TIME_ORDERED)
        start = own.starts[i] - own.first
        if (last - first) * size > left:
            needed = 0
            for k in range(start, start + size):
                newest, end = newest_entry(lists, own.items[k])
                needed += newest - end
            if needed > left:
                return 0, 0, 0
        found, steps = agreeing(
            lists, own.items, own.weights, start, size, wanted, scratch.marked[0], room
        )
        looked_at = last - first
    scratch.marked[0] += size + 1
    return found, steps, looked_at


@inner
def _set_back(scratch: Scratch) -> None:
    """Let all marks begin again."""
    for x in range(scratch.room.marks.size):
        scratch.room.marks[x] = 0
    for item in range(scratch.items.size):
        scratch.items[item] = 0
    scratch.marked[0] = 0


@inner
def _turn(
    s: int, own: StoredSets, own_lists: Lists, other: StoredSets, other_lists: Lists, clock: Clock,
    oldest: Int64, rule: Rule, selection: Any, scratch: Scratch, out: Int64, joined: Int64,
    count: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Search with and then store one tuple; returns (results so far, comparisons, status)."""
    j = 1 - s
    seq = clock.cursor[s]
    i = seq - clock.base[s]
    base = clock.base[j]
    t = own.times[i]
    low = raise_low(
        other.times, base, clock.cursor[j], clock.low[j], t, clock.span[j], clock.rows[j]
    )
    clock.low[j] = low
    wanted = Agreement(rule.kind, rule.contained == s, rule.at_least)
    found, compared = _compare(
        selection, s, own, i, seq, other, other_lists, clock, oldest, rule, wanted, scratch
    )
    before = count
    for k in range(found):
        x = scratch.room.found[k]
        u = other.times[x]
        if x + base >= low and in_reach(t, u, clock.span[s], clock.span[j]):
            if count == joined.size:
                return before, 0, OUTPUT_FULL
            out[s, count] = seq
            out[j, count] = x + base
            joined[count] = max(t, u)
            count += 1
    if not insert(own_lists, own, i, seq, oldest[s], rule.search):
        return before, 0, LISTS_FULL
    settle(selection, s, i, clock.cursor[j] - low)
    return count, compared, DONE


@inner
def search(
    left: StoredSets, right: StoredSets, left_lists: Lists, right_lists: Lists, clock: Clock,
    oldest: Int64, rule: Rule, selection: Any, scratch: Scratch, out: Int64, joined: Int64,
    count: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Process tuples in order until none may be processed or room is short; see ``join_sets``."""
    compared = 0
    while clock.cursor[0] < clock.end[0] or clock.cursor[1] < clock.end[1]:
        from_left = clock.cursor[1] >= clock.end[1]
        if not from_left and clock.cursor[0] < clock.end[0]:
            ahead = (
                right.times[clock.cursor[1] - clock.base[1]]
                - left.times[clock.cursor[0] - clock.base[0]]
            )
            from_left = ahead > 0 or (ahead == 0 and clock.rank[0] < clock.rank[1])
        s = 0 if from_left else 1
        own, other = (left, right) if from_left else (right, left)
        i = clock.cursor[s] - clock.base[s]
        if is_dropped(selection, s, i, clock.cursor[s]):
            own.sizes[i] = NO_SET
        if own.sizes[i] != NO_SET:
            own_lists = left_lists if from_left else right_lists
            other_lists = right_lists if from_left else left_lists
            count, steps, status = _turn(
                s, own, own_lists, other, other_lists, clock, oldest, rule, selection, scratch,
                out, joined, count,
            )  # fmt: skip
            if status != DONE:
                return count, compared, status
            compared += steps
        clock.cursor[s] += 1
    return count, compared, DONE


@kernel
def join_sets(
    left: StoredSets, right: StoredSets, left_lists: Lists, right_lists: Lists, clock: Clock,
    oldest: Int64, rule: Rule, selection: Any, scratch: Scratch, out: Int64, joined: Int64,
) -> tuple[int, int, int]:  # fmt: skip
    """Process tuples of two streams in order until none may be processed or room is short.

    ``oldest[j]`` is the first stored tuple of stream j. Results go to ``out`` and ``joined`` as
    in ``equijoin.join_pairs``. Returns (results, comparisons, status); a tuple for which there
    was no room is left for the next call, whole.
    """
    none: Any = np.int64(0)  # a literal would have every callee compiled twice
    return search(
        left, right, left_lists, right_lists, clock, oldest, rule, selection, scratch, out, joined,
        none,
    )  # fmt: skip
