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

from bankfull.kernels.bounded import (
    hooks,
    selectedmany,  # noqa: F401  and these
    selectedsets,  # noqa: F401  their rules are compiled into this kernel
    selecting,
    sethooks,  # noqa: F401
    withsets,
)
from bankfull.kernels.bounded.budget import (
    Rules,
    count_evicted,
    count_shed,
    remove,
    settle,
    tell_partners_changed,
    victim,
)
from bankfull.kernels.bounded.keys import count_key, extra_bytes, key_number, keys_fit
from bankfull.kernels.bounded.matches import Arrivals, Output, search
from bankfull.kernels.bounded.memory import (
    NONE,
    Memory,
    goes_before,
    has_left,
    link,
    listed,
    on_keys,
    push,
    sift,
)
from bankfull.kernels.bounded.slotsets import (
    Bags,
)
from bankfull.kernels.compiler import inlined, kernel, only_where
from bankfull.kernels.hashing import draw

#: Why the kernel returned.
DONE, OUTPUT_FULL, KEYS_FULL, SLOTS_FULL = 0, 1, 2, 3


@inlined
def _expire(policy: Any, memory: Memory, t: int) -> None:
    for stream in range(memory.streams.shape[0]):
        about = memory.streams[stream]
        while about.oldest >= 0:
            oldest = about.oldest
            after = about.arrived - memory.slots[oldest].nth - 1
            if not has_left(about, t - memory.slots[oldest].time, after):
                break
            about.expired += 1 - memory.slots[oldest].is_copy
            remove(policy, memory, oldest, t)


@only_where(hooks.wants_agreement)
def _tell_agreement(policy: Any, memory: Memory, join: int, key: int, own: int, t: int) -> None:
    for member in range(memory.joins[join].width):
        stream = memory.joins[join].members[member]
        if stream != own:
            other = listed(memory, key, stream)
            while other >= 0:
                if hooks.agreed(policy, memory, other, t) and not hooks.heap_is_unordered(policy):
                    sift(memory, other)
                other = memory.links[other, join].older


@kernel
def shed_join(
    arrivals: Arrivals,
    bags: Bags,
    memory: Memory,
    policy: Any,
    rules: Rules,
    selections: Any,
    out: Output,
    start: int,
    stop: int,
) -> tuple[int, int, int]:
    """Process arrivals up to ``stop``; returns (next, results, why it stopped).

    ``selections`` says what they are compared with (``selecting.py``); None: with everything.
    """
    count: Any = np.int64(0)  # a literal would have every callee compiled twice
    joins = memory.joins.shape[0]
    for i in range(start, stop):
        if not keys_fit(memory, bags, i):
            return i, count, KEYS_FULL
        if memory.now.free < 0:  # every arrival is written into a free slot before it is judged
            return i, count, SLOTS_FULL
        s = arrivals.streams[i]
        t = arrivals.times[i]
        new_instant = t > memory.now.time_now
        memory.now.time_now = t
        _expire(policy, memory, t)
        if new_instant:
            hooks.begins(policy, memory, t)
        if selections is not None:
            if selecting.is_dropped(selections, s, memory.streams[s].arrived):
                _pass_over(policy, memory, rules, arrivals, i)
                continue
        slot = memory.now.free
        before = count
        for join in range(joins):
            if not arrivals.keyed[join, i]:
                memory.links[slot, join].first = NONE
                out.compared[1, join] = 0
                continue
            if on_keys(memory, join):
                key = key_number(memory, arrivals.codes[join, i], join)
                memory.links[slot, join].first = key
                if selections is None:
                    count, steps = search(
                        memory, join, key, s, t, arrivals.rows[i], arrivals.importance[i],
                        rules.combine, out, count,
                    )  # fmt: skip
                else:
                    count, steps = selecting.find(
                        selections, memory, join, key, i, s, t, arrivals.rows[i],
                        arrivals.importance[i], rules.combine, out, count,
                    )  # fmt: skip
            else:
                count, steps = withsets.meet(
                    memory.sets, memory, bags, join, i, slot, s, t, arrivals.rows[i],
                    arrivals.importance[i], rules.combine, out, count, selections,
                )  # fmt: skip
            if count < 0:
                withsets.forgo(memory.sets, memory, slot)
                return i, before, OUTPUT_FULL
            out.compared[1, join] = steps
        for join in range(joins):
            out.compared[0, join] += out.compared[1, join]
        if selections is not None:
            selecting.settle(selections, memory, arrivals, i)
        for result in range(before, count):
            for member in range(memory.joins[out.joins[result]].width):
                partner = out.slots[member, result]
                if (
                    partner >= 0
                    and hooks.matched(policy, memory, partner, t)
                    and not hooks.heap_is_unordered(policy)
                ):
                    sift(memory, partner)
        for join in range(joins):
            if not on_keys(memory, join):
                worth = arrivals.importance[i]
                withsets.learn(memory.sets, policy, memory, join, slot, s, worth, t)
        for join in range(joins):
            key = memory.links[slot, join].first
            if key >= 0 and on_keys(memory, join):
                count_key(memory, key, s)
                hooks.arrived(policy, memory, key, s, arrivals.importance[i], t)
                if hooks.wants_agreement(policy):
                    _tell_agreement(policy, memory, join, key, s, t)
        if hooks.wants_agreement(policy):
            for join in range(joins):
                if not on_keys(memory, join):
                    withsets.tell_agreement(memory.sets, policy, memory, join, slot, s, t)
        seq = memory.now.seq_next
        memory.now.seq_next = seq + 1
        memory.streams[s].arrived += 1
        _admit(policy, memory, rules, arrivals, i, slot, seq)
        if hooks.notes_keys(policy):
            settle(policy, memory, rules, t)
        if memory.slots[slot].stream == NONE:
            withsets.forgo(memory.sets, memory, slot)
        if rules.proportional or rules.unbiased:
            rules.period[s] += 1
            if seq == 0:
                rules.period[rules.sample.size] = t
        hooks.processed(policy, memory, s, t)
    return stop, count, DONE


@inlined
def _pass_over(policy: Any, memory: Memory, rules: Rules, arrivals: Arrivals, i: int) -> None:
    """Drop an arrival that there is no time for: it is counted, and nothing more."""
    s, t = arrivals.streams[i], arrivals.times[i]
    count_shed(memory, rules, arrivals, i)
    if memory.now.seq_next == 0:
        rules.period[rules.sample.size] = t
    memory.now.seq_next += 1
    memory.streams[s].arrived += 1
    hooks.processed(policy, memory, s, t)


@inlined
def _admit(
    policy: Any, memory: Memory, rules: Rules, arrivals: Arrivals, i: int, slot: int, seq: int
) -> None:
    """Store an arrival in the free slot, drop others for it, or drop it."""
    s, t, size = arrivals.streams[i], arrivals.times[i], arrivals.sizes[i]
    about = memory.streams[s]
    buffer = about.own_buffer
    alone = size + extra_bytes(memory, slot, s, True)
    dropped = alone > memory.buffers[buffer].capacity
    if rules.sample[s] > 0.0:
        dropped = dropped or draw(rules.seed + 1, seq) < rules.sample[s]
    if dropped:
        count_shed(memory, rules, arrivals, i)
        return
    slots = memory.slots
    slots[slot].stream, slots[slot].time, slots[slot].seq = s, t, seq
    slots[slot].row, slots[slot].cost, slots[slot].buffer = arrivals.rows[i], size, buffer
    slots[slot].nth, slots[slot].is_copy = about.arrived - 1, arrivals.copies[i]
    memory.slots[slot].importance = arrivals.importance[i]
    if hooks.competes(policy):
        hooks.enter(policy, memory, slot, t)
    while True:
        wanted = size + extra_bytes(memory, slot, s, False)
        if memory.buffers[buffer].used + wanted <= memory.buffers[buffer].capacity:
            break
        least = victim(policy, memory, buffer, t, rules.seed)
        kept = memory.slots[least].priority
        if hooks.bounds(policy):  # what is compared is no bound; in the heap it stays one
            memory.slots[least].priority = hooks.current(policy, memory, least, t)
        if hooks.competes(policy) and goes_before(memory, slot, least):
            memory.slots[least].priority = kept
            count_shed(memory, rules, arrivals, i)
            slots[slot].stream = NONE
            return
        count_evicted(memory, rules, least)
        free = slots[slot].older  # the list of free slots goes on behind the newcomer's
        memory.now.free = free
        remove(policy, memory, least, t)
        slots[slot].older = memory.now.free
        memory.now.free = slot
    memory.now.free = slots[slot].older
    if not hooks.competes(policy):
        hooks.enter(policy, memory, slot, t)
    memory.buffers[buffer].used += size
    about.inserted += 1 - slots[slot].is_copy
    link(memory, slot)
    if hooks.heap_is_unordered(policy):
        place = memory.buffers[buffer].heaped
        memory.heap[buffer, place] = slot
        slots[slot].place = place
        memory.buffers[buffer].heaped = place + 1
    else:
        if hooks.bounds(policy):
            hooks.weigh(policy, memory, slot, t)
        push(memory, slot)
    withsets.count_partners(memory.sets, policy, memory, slot, t, 1)
    if hooks.wants_partner_changes(policy):
        if hooks.partners_changed(policy, memory, slot, t) and not hooks.heap_is_unordered(policy):
            sift(memory, slot)
        tell_partners_changed(policy, memory, slot, s, t)
