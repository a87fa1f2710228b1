"""The join under a memory budget: tuple at a time, each step as one arrival after the other.

For every arrival, in canonical order: expire, search, credit the partners, then store it, drop
another for it, or drop it. The budget holds after every tuple.

Reference: Ojewole, Zhu, Hou, section 4.3, and GreedyDual-Join, Algorithm 1. Deviations: tuples of
one instant are processed one after the other (time, stream, order), not all streams at once; an
arrival searches before anything is dropped for it.
Cost: partners, plus the logarithm of the buffer for each change of a priority.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bankfull.kernels import (
    hooks,
    sethooks,  # noqa: F401  its rules are compiled into this kernel
    withsets,
)
from bankfull.kernels.budget import (
    PERIOD,
    Rules,
    count_evicted,
    count_shed,
    follow_rates,
    remove,
    tell_company,
    victim,
)
from bankfull.kernels.compiler import inlined, kernel, only_where
from bankfull.kernels.keys import count_key, extra_bytes, key_number, keys_fit
from bankfull.kernels.matches import Arrivals, Output, search, weigh_pairs
from bankfull.kernels.memory import (
    ARRIVED,
    BUFFER,
    CAPACITY,
    COPY,
    EXPIRED,
    FREE,
    HEAPED,
    IMPORTANCE,
    LINKS,
    MEMBER,
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
    link,
    listed,
    on_keys,
    push,
    sift,
)
from bankfull.kernels.slotsets import Bags

#: Why the kernel returned.
DONE, OUTPUT_FULL, KEYS_FULL, SLOTS_FULL = 0, 1, 2, 3


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
            remove(policy, memory, oldest, t)


@only_where(hooks.watches_agreement)
def _tell_agreement(policy: Any, memory: Memory, join: int, key: int, own: int, t: int) -> None:
    for member in range(memory.joins[join, WIDTH]):
        stream = memory.joins[join, MEMBER + member]
        if stream != own:
            other = listed(memory, key, stream)
            while other >= 0:
                if hooks.agreed(policy, memory, other, t) and not hooks.drifts(policy):
                    sift(memory, other)
                other = memory.whole[other, LINKS + 3 * join + 1]


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
    count: Any = np.int64(0)  # a literal would have every callee compiled twice
    compared = 0
    joins = memory.joins.shape[0]
    for i in range(start, stop):
        if not keys_fit(memory, bags, i):
            return i, count, compared, KEYS_FULL
        if memory.now[FREE] < 0:  # every arrival is written into a free slot before it is judged
            return i, count, compared, SLOTS_FULL
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
            if on_keys(memory, join):
                key = key_number(memory, arrivals.codes[join, i], join)
                memory.whole[slot, LINKS + 3 * join] = key
                count, steps = search(
                    memory, join, key, s, t, arrivals.rows[i], arrivals.importance[i],
                    rules.combine, out, count,
                )  # fmt: skip
            else:
                first = count
                count, steps = withsets.meet(
                    memory.sets, memory, bags, join, i, slot, s, t, arrivals.rows[i], out, count
                )
                weigh_pairs(memory, arrivals.importance[i], s, rules.combine, out, first, count)
            if count < 0:
                withsets.forgo(memory.sets, memory, slot)
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
            if not on_keys(memory, join):
                worth = arrivals.importance[i]
                withsets.learn(memory.sets, policy, memory, join, slot, s, worth, t)
        for join in range(joins):
            key = memory.whole[slot, LINKS + 3 * join]
            if key >= 0 and on_keys(memory, join):
                count_key(memory, key, s)
                hooks.arrived(policy, memory, key, s, arrivals.importance[i], t)
                if hooks.watches_agreement(policy):
                    _tell_agreement(policy, memory, join, key, s, t)
        if hooks.watches_agreement(policy):
            for join in range(joins):
                if not on_keys(memory, join):
                    withsets.tell_agreement(memory.sets, policy, memory, join, slot, s, t)
        seq = memory.now[SEQ_NEXT]
        memory.now[SEQ_NEXT] = seq + 1
        memory.streams[s, ARRIVED] += 1
        _admit(policy, memory, rules, arrivals, i, slot, seq)
        if memory.whole[slot, STREAM] == NONE:
            withsets.forgo(memory.sets, memory, slot)
        if rules.proportional or rules.unbiased:
            rules.period[s] += 1
            if seq == 0:
                rules.period[rules.sample.size] = t
            if (seq + 1) % PERIOD == 0:
                follow_rates(policy, memory, rules, t)
        hooks.processed(policy, memory, s, t)
    return stop, count, compared, DONE


@inlined
def _admit(
    policy: Any, memory: Memory, rules: Rules, arrivals: Arrivals, i: int, slot: int, seq: int
) -> None:
    """Store an arrival in the free slot, drop others for it, or drop it."""
    s, t, size = arrivals.streams[i], arrivals.times[i], arrivals.sizes[i]
    about = memory.streams[s]
    buffer = about[OWN_BUFFER]
    alone = size + extra_bytes(memory, slot, s, True)
    dropped = alone > memory.buffers[buffer, CAPACITY]
    if rules.sample[s] > 0.0:
        dropped = dropped or draw(rules.seed + 1, seq) < rules.sample[s]
    if dropped:
        count_shed(memory, rules, arrivals, i)
        return
    whole = memory.whole
    whole[slot, STREAM], whole[slot, TIME], whole[slot, SEQ] = s, t, seq
    whole[slot, ROW], whole[slot, SIZE], whole[slot, BUFFER] = arrivals.rows[i], size, buffer
    whole[slot, NTH], whole[slot, COPY] = about[ARRIVED] - 1, arrivals.copies[i]
    memory.real[slot, IMPORTANCE] = arrivals.importance[i]
    if hooks.competes(policy):
        hooks.enter(policy, memory, slot, t)
    while True:
        wanted = size + extra_bytes(memory, slot, s, False)
        if memory.buffers[buffer, USED] + wanted <= memory.buffers[buffer, CAPACITY]:
            break
        least = victim(policy, memory, buffer, t, rules.seed)
        kept = memory.real[least, PRIORITY]
        if hooks.bounds(policy):  # what is compared is no bound; in the heap it stays one
            memory.real[least, PRIORITY] = hooks.current(policy, memory, least, t)
        if hooks.competes(policy) and goes_before(memory, slot, least):
            memory.real[least, PRIORITY] = kept
            count_shed(memory, rules, arrivals, i)
            whole[slot, STREAM] = NONE
            return
        count_evicted(memory, rules, least)
        free = whole[slot, OLDER]  # the list of free slots goes on behind the newcomer's
        memory.now[FREE] = free
        remove(policy, memory, least, t)
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
    withsets.count_company(memory.sets, policy, memory, slot, t, 1)
    if hooks.watches_company(policy):
        if hooks.company(policy, memory, slot, t) and not hooks.drifts(policy):
            sift(memory, slot)
        tell_company(policy, memory, slot, s, t)
