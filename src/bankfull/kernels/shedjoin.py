"""The join under a memory budget: tuple at a time, each step as one arrival after the other.

For every arrival, in canonical order: expire, search, credit the partners, then store it, drop
another for it, or drop it. The budget holds after every tuple.

Reference: Ojewole, Zhu, Hou, section 4.3, and GreedyDual-Join, Algorithm 1. Deviations: tuples of
one instant are processed one after the other (time, stream, order), not all streams at once; an
arrival searches before anything is dropped for it.
Cost: partners, plus the logarithm of the buffer for each change of a priority.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels import hooks
from bankfull.kernels.bounds import least
from bankfull.kernels.compiler import Float64, Int64, inlined, kernel
from bankfull.kernels.memory import (
    ARRIVED,
    BUFFER,
    CAPACITY,
    COPIES_LOST,
    COPY,
    DRAWS,
    EQUAL,
    EVICTED,
    EXPIRED,
    FREE,
    HEAPED,
    IMPORTANCE,
    KIND,
    LINKS,
    MEMBER,
    MEMBER_ROWS,
    MEMBER_SPAN,
    NONE,
    NTH,
    OLDER,
    OLDEST,
    OWN_BUFFER,
    PLACE,
    PRIORITY,
    ROW,
    ROWS,
    SEQ,
    SEQ_NEXT,
    SHED,
    SIZE,
    SPAN,
    STREAM,
    TIME,
    TIME_NOW,
    USED,
    WIDTH,
    Memory,
    draw,
    goes_before,
    key_number,
    link,
    listed,
    pull,
    push,
    sift,
    unlink,
)
from bankfull.kernels.sethooks import (
    count_company,
    keys_fit,
    learn_items,
    tell_agreement_of_sets,
)
from bankfull.kernels.slotsets import Bags, forgo_items, items_bytes, meet_sets, take_items

#: Why the kernel returned.
DONE, OUTPUT_FULL, KEYS_FULL = 0, 1, 2
#: How the importance of a result follows from its members'.
MIN, MAX, SUM, PRODUCT, AVERAGE = range(5)
#: Tuples after which shares and chances follow the streams' rates anew.
PERIOD = 1024


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


class Rules(NamedTuple):
    """What holds for every tuple, and what follows from the streams' rates.

    ``sample[s]`` is the chance of a tuple to be dropped ahead of the policy. Every PERIOD tuples
    ``recent`` (tuples of each stream in a period, then its length in time, both smoothed) gives
    new shares of the budget and new chances, where they are to follow; ``period`` is what they
    are made from: tuples of each stream, then when the period began. ``lost[s, 0]`` and
    ``lost[s, 1]`` count the tuples shed and evicted by class of importance, a power of ten each.
    """

    seed: int
    combine: int
    budget: int
    proportional: bool
    unbiased: bool
    sample: Float64
    recent: Float64
    period: Int64
    lost: Int64


class Output(NamedTuple):
    """Room for results: the join, of every member row, slot and canonical number, time, worth."""

    joins: Int64
    rows: Int64
    slots: Int64
    arrivals: Int64
    times: Int64
    importance: Float64


@kernel
def _remove(policy: Any, memory: Memory, slot: int, t: int) -> None:
    hooks.left(policy, memory, slot)
    if not hooks.drifts(policy):
        pull(memory, slot)
    else:
        _swap_out(memory, slot)
    count_company(policy, memory, slot, t, -1)
    if hooks.watches_company(policy):
        _tell_company(policy, memory, slot, t, True)
    else:
        unlink(memory, slot)


@inlined
def _swap_out(memory: Memory, slot: int) -> None:
    """Take a tuple out of a heap that is used as a plain list."""
    buffer = memory.whole[slot, BUFFER]
    place = memory.whole[slot, PLACE]
    last = memory.buffers[buffer, HEAPED] - 1
    memory.buffers[buffer, HEAPED] = last
    moved = memory.heap[buffer, last]
    memory.heap[buffer, place] = moved
    memory.whole[moved, PLACE] = place


@inlined
def _tell_company(policy: Any, memory: Memory, slot: int, t: int, leaves: bool) -> None:
    """Tell all stored tuples that have a key in common with one that it has come or gone."""
    own = memory.whole[slot, STREAM]
    count = memory.joins.shape[0]
    keys = np.empty(count, np.int64)
    for join in range(count):
        equal = memory.joins[join, KIND] == EQUAL
        keys[join] = memory.whole[slot, LINKS + 3 * join] if equal else NONE
    if leaves:
        unlink(memory, slot)
    for join in range(count):
        if keys[join] >= 0:
            for member in range(memory.joins[join, WIDTH]):
                stream = memory.joins[join, MEMBER + member]
                if stream != own:
                    other = listed(memory, keys[join], stream)
                    while other >= 0:
                        if hooks.company(policy, memory, other, t) and not hooks.drifts(policy):
                            sift(memory, other)
                        other = memory.whole[other, LINKS + 3 * join + 1]


@inlined
def _expire(policy: Any, memory: Memory, t: int) -> None:
    for stream in range(memory.streams.shape[0]):
        about = memory.streams[stream]
        while about[OLDEST] >= 0:
            oldest = about[OLDEST]
            aged = t - memory.whole[oldest, TIME] > about[SPAN]
            passed = about[ARRIVED] - memory.whole[oldest, NTH] - 1 >= about[ROWS]
            if not (aged or passed):
                break
            about[EXPIRED] += 1 - memory.whole[oldest, COPY]
            _remove(policy, memory, oldest, t)


@inlined
def _worth(combine: int, sum_: float, product: float, low: float, high: float, n: int) -> float:
    if combine == MIN:
        return low
    if combine == MAX:
        return high
    if combine == SUM:
        return sum_
    if combine == PRODUCT:
        return product
    return sum_ / n


@kernel
def _search(
    memory: Memory, join: int, key: int, s: int, t: int, row: int, importance: float,
    combine: int, out: Output, count: int, at: Int64,
) -> tuple[int, int]:  # fmt: skip
    """Find one stored partner from every other stream of a join, newest first.

    Walks the lists like an odometer. Returns the number of results, or -1 without room, and the
    comparisons made.
    """
    about = memory.joins[join]
    width = about[WIDTH]
    hop = LINKS + 3 * join + 1
    own = 0
    for member in range(width):
        if about[MEMBER + member] == s:
            own = member
    compared = 0
    j = 1 if own == 0 else 0
    at[j] = listed(memory, key, about[MEMBER + j])
    while True:
        x = at[j]
        while x >= 0:
            compared += 1
            after = memory.streams[about[MEMBER + j], ARRIVED] - memory.whole[x, NTH] - 1
            if (
                t - memory.whole[x, TIME] <= about[MEMBER_SPAN + j]
                and after < about[MEMBER_ROWS + j]
            ):
                break
            x = memory.whole[x, hop]
        at[j] = x
        if x >= 0:
            deeper = j + 1 + (j + 1 == own)
            if deeper < width:
                j = deeper
                at[j] = listed(memory, key, about[MEMBER + j])
                continue
            if count == out.times.size:
                return -1, compared
            low = high = total = product = importance
            for member in range(width):
                if member == own:
                    out.rows[member, count] = row
                    out.slots[member, count] = NONE
                    out.arrivals[member, count] = memory.now[SEQ_NEXT]
                else:
                    out.rows[member, count] = memory.whole[at[member], ROW]
                    out.slots[member, count] = at[member]
                    out.arrivals[member, count] = memory.whole[at[member], SEQ]
                    worth = memory.real[at[member], IMPORTANCE]
                    low, high = min(low, worth), max(high, worth)
                    total += worth
                    product *= worth
            out.joins[count] = join
            out.times[count] = t
            out.importance[count] = _worth(combine, total, product, low, high, width)
            count += 1
        else:
            j = j - 1 - (j - 1 == own)
            if j < 0:
                return count, compared
        at[j] = memory.whole[at[j], hop]


@inlined
def _tell_agreement(policy: Any, memory: Memory, join: int, key: int, own: int, t: int) -> None:
    for member in range(memory.joins[join, WIDTH]):
        stream = memory.joins[join, MEMBER + member]
        if stream != own:
            other = listed(memory, key, stream)
            while other >= 0:
                if hooks.agreed(policy, memory, other, t) and not hooks.drifts(policy):
                    sift(memory, other)
                other = memory.whole[other, LINKS + 3 * join + 1]


@inlined
def _victim(policy: Any, memory: Memory, buffer: int, t: int, seed: int) -> int:
    """Return the stored tuple that would be dropped first."""
    heap = memory.heap[buffer]
    named = hooks.choose(policy, memory, buffer, t)
    if named >= 0:
        return named
    if hooks.bounds(policy):
        return least(policy, memory, buffer, t)  # type: ignore[no-any-return]
    if not hooks.drifts(policy):
        return heap[0]  # type: ignore[no-any-return]
    size = memory.buffers[buffer, HEAPED]
    most = hooks.candidates(policy)
    chosen = heap[0]
    hooks.weigh(policy, memory, chosen, t)
    if most == 0 or size <= 2 * most:
        for place in range(1, size):
            hooks.weigh(policy, memory, heap[place], t)
            if goes_before(memory, heap[place], chosen):
                chosen = heap[place]
    else:
        for _ in range(most):
            memory.now[DRAWS] += 1
            place = int(draw(seed + 2, memory.now[DRAWS]) * size)
            hooks.weigh(policy, memory, heap[place], t)
            if goes_before(memory, heap[place], chosen):
                chosen = heap[place]
    return chosen  # type: ignore[no-any-return]


@inlined
def _class(rules: Rules, importance: float) -> int:
    """Return the class of an importance: the first below 1, the second below 10, and so on."""
    found = 0
    while importance >= 1.0 and found < rules.lost.shape[2] - 1:
        importance /= 10.0
        found += 1
    return found


@inlined
def _count_evicted(memory: Memory, rules: Rules, slot: int) -> None:
    stream, copy = memory.whole[slot, STREAM], memory.whole[slot, COPY]
    memory.streams[stream, EVICTED] += 1 - copy
    memory.streams[stream, COPIES_LOST] += copy
    rules.lost[stream, 1, _class(rules, memory.real[slot, IMPORTANCE])] += 1 - copy


@inlined
def _count_shed(memory: Memory, rules: Rules, arrivals: Arrivals, i: int) -> None:
    stream, copy = arrivals.streams[i], arrivals.copies[i]
    memory.streams[stream, SHED] += 1 - copy
    memory.streams[stream, COPIES_LOST] += copy
    rules.lost[stream, 0, _class(rules, arrivals.importance[i])] += 1 - copy


@inlined
def _fit(memory: Memory, policy: Any, rules: Rules) -> None:
    t = memory.now[TIME_NOW]
    for buffer in range(memory.buffers.shape[0]):
        while memory.buffers[buffer, USED] > memory.buffers[buffer, CAPACITY]:
            victim = _victim(policy, memory, buffer, t, rules.seed)
            _count_evicted(memory, rules, victim)
            _remove(policy, memory, victim, t)


@kernel
def fit_budget(memory: Memory, policy: Any, rules: Rules) -> None:
    """Evict what no longer fits, after a budget has become smaller."""
    _fit(memory, policy, rules)


@inlined
def _follow_rates(policy: Any, memory: Memory, rules: Rules, t: int) -> None:
    """Divide the budget by the streams' rates, or set the chances at which windows just fit."""
    streams = rules.sample.size
    first = rules.recent[streams] == 0.0
    for s in range(streams + 1):
        fresh = float(t - rules.period[s] if s == streams else rules.period[s])
        rules.recent[s] = fresh if first else (rules.recent[s] + fresh) / 2.0
        rules.period[s] = t if s == streams else 0
    if rules.proportional:
        total = rules.recent[:streams].sum()
        for s in range(streams):
            share = int(rules.budget * rules.recent[s] / total)
            memory.buffers[s, CAPACITY] = max(share, rules.budget // (8 * streams), 1)
        over = memory.buffers[:, CAPACITY].sum() - rules.budget
        if over > 0:  # small streams keep an eighth of an equal share, the largest pays for it
            largest = np.argmax(memory.buffers[:, CAPACITY])
            memory.buffers[largest, CAPACITY] -= over
        _fit(memory, policy, rules)
    if rules.unbiased and rules.recent[streams] > 0.0:
        for buffer in range(memory.buffers.shape[0]):
            wanted = 0.0
            for s in range(streams):
                if memory.streams[s, OWN_BUFFER] == buffer:
                    rate = rules.recent[s] / rules.recent[streams]
                    spanned = rate * float(memory.streams[s, SPAN])
                    wanted += min(spanned, float(memory.streams[s, ROWS]))
            stored = max(memory.buffers[buffer, HEAPED], 1)
            size = max(float(memory.buffers[buffer, USED]) / stored, 1.0)
            room = memory.buffers[buffer, CAPACITY] / size
            for s in range(streams):
                if memory.streams[s, OWN_BUFFER] == buffer:
                    rules.sample[s] = max(0.0, 1.0 - room / max(wanted, 1.0))


@kernel
def shed_join(
    arrivals: Arrivals,
    bags: Bags,
    memory: Memory,
    policy: Any,
    rules: Rules,
    out: Output,
    start: int,
    stop: int,
) -> tuple[int, int, int, int]:
    """Process arrivals up to ``stop``; returns (next, results, comparisons, why it stopped)."""
    count = 0
    compared = 0
    joins = memory.joins.shape[0]
    sets = bags.sizes.shape[0] > 0
    at = np.zeros(8, np.int64)
    for i in range(start, stop):
        if sets and not keys_fit(memory, bags, i):
            return i, count, compared, KEYS_FULL
        s = arrivals.streams[i]
        t = arrivals.times[i]
        new_instant = t > memory.now[TIME_NOW]
        memory.now[TIME_NOW] = t
        _expire(policy, memory, t)
        if new_instant:
            hooks.begins(policy, memory, t)
        slot = memory.now[FREE]
        before = count
        for join in range(joins):
            if not arrivals.keyed[join, i]:
                memory.whole[slot, LINKS + 3 * join] = NONE
                continue
            if memory.joins[join, KIND] == EQUAL:
                key = key_number(memory, arrivals.codes[join, i], join)
                memory.whole[slot, LINKS + 3 * join] = key
                count, steps = _search(
                    memory, join, key, s, t, arrivals.rows[i], arrivals.importance[i],
                    rules.combine, out, count, at,
                )  # fmt: skip
            else:
                take_items(memory, bags, join, i, slot)
                first = count
                count, steps = meet_sets(memory, join, slot, s, t, arrivals.rows[i], out, count)
                _worth_of_pairs(memory, arrivals.importance[i], rules.combine, out, first, count)
            if count < 0:
                if sets:
                    forgo_items(memory, slot)
                return i, before, compared, OUTPUT_FULL
            compared += steps
        for result in range(before, count):
            for member in range(memory.joins[out.joins[result], WIDTH]):
                partner = out.slots[member, result]
                if (
                    partner >= 0
                    and hooks.matched(policy, memory, partner, t)
                    and not hooks.drifts(policy)
                ):
                    sift(memory, partner)
        for join in range(joins):
            if memory.joins[join, KIND] != EQUAL:
                learn_items(policy, memory, join, slot, s, arrivals.importance[i], t)
        for join in range(joins):
            key = memory.whole[slot, LINKS + 3 * join]
            if key >= 0 and memory.joins[join, KIND] == EQUAL:
                memory.stats[key, s] += 1.0
                hooks.arrived(policy, memory, key, s, arrivals.importance[i], t)
                if hooks.watches_agreement(policy):
                    _tell_agreement(policy, memory, join, key, s, t)
        if sets and hooks.watches_agreement(policy):
            for join in range(joins):
                if memory.joins[join, KIND] != EQUAL:
                    tell_agreement_of_sets(policy, memory, join, slot, s, t)
        seq = memory.now[SEQ_NEXT]
        memory.now[SEQ_NEXT] = seq + 1
        memory.streams[s, ARRIVED] += 1
        _admit(policy, memory, rules, arrivals, i, slot, seq)
        if sets and memory.whole[slot, STREAM] == NONE:
            forgo_items(memory, slot)
        if rules.proportional or rules.unbiased:
            rules.period[s] += 1
            if (seq + 1) % PERIOD == 0:
                _follow_rates(policy, memory, rules, t)
        hooks.processed(policy, memory, s, t)
    return stop, count, compared, DONE


@inlined
def _worth_of_pairs(
    memory: Memory, importance: float, combine: int, out: Output, start: int, stop: int
) -> None:
    """Write the importance of results of an arrival with one stored partner each."""
    for result in range(start, stop):
        partner = max(out.slots[0, result], out.slots[1, result])
        other = memory.real[partner, IMPORTANCE]
        out.importance[result] = _worth(
            combine, importance + other, importance * other,
            min(importance, other), max(importance, other), 2,
        )  # fmt: skip


@inlined
def _admit(
    policy: Any, memory: Memory, rules: Rules, arrivals: Arrivals, i: int, slot: int, seq: int
) -> None:
    """Store an arrival in the free slot, drop others for it, or drop it."""
    s, t, size = arrivals.streams[i], arrivals.times[i], arrivals.sizes[i]
    about = memory.streams[s]
    buffer = about[OWN_BUFFER]
    sets = memory.posts.shape[0] > 0
    alone = size + items_bytes(memory, slot, s, True) if sets else size
    dropped = alone > memory.buffers[buffer, CAPACITY]
    if rules.sample[s] > 0.0:
        dropped = dropped or draw(rules.seed + 1, seq) < rules.sample[s]
    if dropped:
        _count_shed(memory, rules, arrivals, i)
        return
    whole = memory.whole
    whole[slot, STREAM], whole[slot, TIME], whole[slot, SEQ] = s, t, seq
    whole[slot, ROW], whole[slot, SIZE], whole[slot, BUFFER] = arrivals.rows[i], size, buffer
    whole[slot, NTH], whole[slot, COPY] = about[ARRIVED] - 1, arrivals.copies[i]
    memory.real[slot, IMPORTANCE] = arrivals.importance[i]
    if hooks.competes(policy):
        hooks.enter(policy, memory, slot, t)
    while True:
        wanted = size + items_bytes(memory, slot, s, False) if sets else size
        if memory.buffers[buffer, USED] + wanted <= memory.buffers[buffer, CAPACITY]:
            break
        victim = _victim(policy, memory, buffer, t, rules.seed)
        kept = memory.real[victim, PRIORITY]
        if hooks.bounds(policy):  # what is compared is no bound; in the heap it stays one
            memory.real[victim, PRIORITY] = hooks.current(policy, memory, victim, t)
        if hooks.competes(policy) and goes_before(memory, slot, victim):
            memory.real[victim, PRIORITY] = kept
            _count_shed(memory, rules, arrivals, i)
            whole[slot, STREAM] = NONE
            return
        _count_evicted(memory, rules, victim)
        free = whole[slot, OLDER]  # the list of free slots goes on behind the newcomer's
        memory.now[FREE] = free
        _remove(policy, memory, victim, t)
        whole[slot, OLDER] = memory.now[FREE]
        memory.now[FREE] = slot
    memory.now[FREE] = whole[slot, OLDER]
    if not hooks.competes(policy):
        hooks.enter(policy, memory, slot, t)
    memory.buffers[buffer, USED] += size
    link(memory, slot)
    if hooks.drifts(policy):
        place = memory.buffers[buffer, HEAPED]
        memory.heap[buffer, place] = slot
        whole[slot, PLACE] = place
        memory.buffers[buffer, HEAPED] = place + 1
    else:
        if hooks.bounds(policy):
            hooks.weigh(policy, memory, slot, t)
        push(memory, slot)
    count_company(policy, memory, slot, t, 1)
    if hooks.watches_company(policy):
        if hooks.company(policy, memory, slot, t) and not hooks.drifts(policy):
            sift(memory, slot)
        _tell_company(policy, memory, slot, t, False)
