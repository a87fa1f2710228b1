"""What leaves the memory of a shedding join so that its budget holds, and what is counted of it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from bankfull.kernels.bounded import hooks, withsets
from bankfull.kernels.bounded.bounds import least as least_bound
from bankfull.kernels.bounded.matches import Arrivals
from bankfull.kernels.bounded.memory import (
    Memory,
    goes_before,
    listed,
    on_keys,
    pull,
    sift,
    unlink,
)
from bankfull.kernels.compiler import Float64, Int64, Records, inlined, inner, kernel, only_where
from bankfull.kernels.hashing import draw
from bankfull.kernels.passing import by_address

#: Tuples after which shares and chances follow the streams' rates anew.
PERIOD = 1024
#: By how many standard deviations a sample's mean stays below what fits: the policy decides little.
_DEVIATIONS = 2.0


@by_address
class Rules(NamedTuple):
    """What holds for every tuple, and what follows from the streams' rates.

    ``room`` is what the budget leaves for stored tuples. ``equal_part`` and
    ``sample_share`` are those of a ``Share``.

    ``sample[s]`` is the chance of a tuple to be dropped ahead of the policy. Every PERIOD tuples
    ``recent`` (tuples of each stream in a period, then its length in time, both smoothed) gives
    new shares of the budget and new chances, where they are to follow; ``period`` is what they
    are made from: tuples of each stream, then when the period began. ``lost[s, 0]`` and
    ``lost[s, 1]`` count the tuples shed and evicted by class of importance, a power of ten each.
    """

    seed: int
    combine: int
    budget: int
    room: int
    proportional: bool
    unbiased: bool
    equal_part: float
    sample_share: float
    sample: Float64
    recent: Float64
    period: Int64
    lost: Int64


@inner
def remove(policy: Any, memory: Memory, slot: int, t: int) -> None:
    """Take a stored tuple out of everything."""
    hooks.left(policy, memory, slot)
    if not hooks.heap_is_unordered(policy):
        pull(memory, slot)
    else:
        _swap_out(policy, memory, slot)
    withsets.count_partners(memory.sets, policy, memory, slot, t, -1)
    stream = memory.slots[slot].stream
    unlink(memory, slot)
    if hooks.wants_partner_changes(policy):
        tell_partners_changed(policy, memory, slot, stream, t)


@only_where(hooks.heap_is_unordered)
def _swap_out(policy: Any, memory: Memory, slot: int) -> None:
    """Take a tuple out of a heap that is used as a plain list."""
    buffer = memory.slots[slot].buffer
    place = memory.slots[slot].place
    last = memory.buffers[buffer].heaped - 1
    memory.buffers[buffer].heaped = last
    moved = memory.heap[buffer, last]
    memory.heap[buffer, place] = moved
    memory.slots[moved].place = place


@only_where(hooks.wants_partner_changes)
def tell_partners_changed(policy: Any, memory: Memory, slot: int, own: int, t: int) -> None:
    """Tell all stored tuples that have a key in common with one that it has come or just gone."""
    for join in range(memory.joins.shape[0]):
        key = memory.links[slot, join].first
        if key >= 0 and on_keys(memory, join):
            for member in range(memory.joins[join].width):
                stream = memory.joins[join].members[member]
                if stream != own:
                    other = listed(memory, key, stream)
                    while other >= 0:
                        if hooks.partners_changed(
                            policy, memory, other, t
                        ) and not hooks.heap_is_unordered(policy):
                            sift(memory, other)
                        other = memory.links[other, join].older


@inlined
def victim(policy: Any, memory: Memory, buffer: int, t: int, seed: int) -> Any:
    """Return the stored tuple that would be dropped first."""
    named = hooks.choose(policy, memory, buffer, t)
    if named >= 0:
        return named
    if hooks.bounds(policy):
        return least_bound(policy, memory, buffer, t)
    if not hooks.heap_is_unordered(policy):
        return memory.heap[buffer, 0]
    return _weigh_all(policy, memory, buffer, t, seed)


@only_where(hooks.heap_is_unordered)
def _weigh_all(policy: Any, memory: Memory, buffer: int, t: int, seed: int) -> Any:
    """Weigh the tuples of a buffer that is in no order, or some of them."""
    heap = memory.heap[buffer]
    size = memory.buffers[buffer].heaped
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
            memory.now.draws += 1
            place = int(draw(seed + 2, memory.now.draws) * size)
            hooks.weigh(policy, memory, heap[place], t)
            if goes_before(memory, heap[place], chosen):
                chosen = heap[place]
    return chosen


@only_where(hooks.notes_keys)
def settle(policy: Any, memory: Memory, rules: Rules, t: int) -> None:
    """Evict what no longer fits, after an arrival gave its key notes that holders pay for."""
    for buffer in range(memory.buffers.shape[0]):
        about = memory.buffers[buffer]
        while about.used > about.capacity and about.heaped > 0:
            least = victim(policy, memory, buffer, t, rules.seed)
            count_evicted(memory, rules, least)
            remove(policy, memory, least, t)


@inlined
def _class(rules: Rules, importance: float) -> int:
    """Return the class of an importance: the first below 1, the second below 10, and so on."""
    found = 0
    while importance >= 1.0 and found < rules.lost.shape[2] - 1:
        importance /= 10.0
        found += 1
    return found


@inlined
def count_evicted(memory: Memory, rules: Rules, slot: int) -> None:
    """Write a stored tuple off."""
    stream, copy = memory.slots[slot].stream, memory.slots[slot].is_copy
    memory.streams[stream].evicted += 1 - copy
    memory.streams[stream].copies_lost += copy
    rules.lost[stream, 1, _class(rules, memory.slots[slot].importance)] += 1 - copy


@inlined
def count_shed(memory: Memory, rules: Rules, arrivals: Arrivals, i: int) -> None:
    """Write an arrival off that is not stored."""
    stream, copy = arrivals.streams[i], arrivals.copies[i]
    memory.streams[stream].shed += 1 - copy
    memory.streams[stream].copies_lost += copy
    rules.lost[stream, 0, _class(rules, arrivals.importance[i])] += 1 - copy


@inlined
def _quota(whole: int, weights: Float64, total: float, i: int) -> float:
    return whole * (weights[i] / total)  # type: ignore[no-any-return]


@inner
def share_out(whole: int, weights: Float64, least: int, buffers: Records) -> None:
    """Divide ``whole`` among the buffers by weight, all of it, at least ``least`` to each.

    A buffer whose part would be smaller gets the least, and the others divide what is left. Parts
    are rounded down, and what that leaves goes to the largest remainders (Hamilton's method), so
    that capacities add up to ``whole``: there are only so many slots. Called from Python it runs as
    Python: a handful of buffers, before the first tuple, is not worth compiling for.
    """
    count = buffers.shape[0]
    heaviest = 0
    for i in range(count):
        buffers[i].capacity = 0  # not settled yet
        if weights[i] > weights[heaviest]:
            heaviest = i
    total = 0.0
    changed = True
    while changed:
        changed = False
        total = 0.0
        for i in range(count):
            if buffers[i].capacity == 0:
                total += weights[i]
        for i in range(count):
            open_ = buffers[i].capacity == 0 and i != heaviest
            if open_ and not changed and _quota(whole, weights, total, i) < least:
                buffers[i].capacity = least
                whole -= least
                changed = True
    left = whole
    for i in range(count):
        if buffers[i].capacity == 0:
            buffers[i].capacity = max(int(_quota(whole, weights, total, i)), least)
            left -= buffers[i].capacity
    while left > 0:
        best = 0
        most = -math.inf
        for i in range(count):
            remainder = _quota(whole, weights, total, i) - buffers[i].capacity
            if remainder > most:
                best, most = i, remainder
        buffers[best].capacity += 1
        left -= 1
    buffers[heaviest].capacity += left  # below zero if a large quotient was rounded up


@kernel
def fit_budget(memory: Memory, policy: Any, rules: Rules) -> None:
    """Evict what no longer fits, after a budget or a share of it has become smaller."""
    t = memory.now.time_now
    for buffer in range(memory.buffers.shape[0]):
        while (
            memory.buffers[buffer].heaped > 0
            and memory.buffers[buffer].used > memory.buffers[buffer].capacity
        ):
            dropped = victim(policy, memory, buffer, t, rules.seed)
            count_evicted(memory, rules, dropped)
            remove(policy, memory, dropped, t)


@kernel
def follow_rates(policy: Any, memory: Memory, rules: Rules, t: int) -> None:
    """Divide the budget by the streams' rates, or set the chances at which windows just fit.

    Called after every PERIOD tuples, where one of the two is asked for.
    """
    streams = rules.sample.size
    first = rules.recent[streams] == 0.0
    for s in range(streams + 1):
        fresh = float(t - rules.period[s] if s == streams else rules.period[s])
        rules.recent[s] = fresh if first else (rules.recent[s] + fresh) / 2.0
        rules.period[s] = t if s == streams else 0
    if rules.proportional:
        # Small streams keep an eighth of an equal share.
        least = max(rules.room // (8 * streams), 1)
        share_out(rules.room, rules.recent, least, memory.buffers)
        fit_budget(memory, policy, rules)
    if rules.unbiased and rules.recent[streams] > 0.0:
        for buffer in range(memory.buffers.shape[0]):
            wanted = 0.0
            for s in range(streams):
                if memory.streams[s].own_buffer == buffer:
                    rate = rules.recent[s] / rules.recent[streams]
                    spanned = rate * float(memory.streams[s].span)
                    wanted += min(spanned, float(memory.streams[s].rows))
            stored = max(memory.buffers[buffer].heaped, 1)
            size = max(float(memory.buffers[buffer].used) / stored, 1.0)
            room = memory.buffers[buffer].capacity / size
            # What is in a window varies by the square root of its mean: few are above this.
            spare = _DEVIATIONS / math.sqrt(max(room * rules.equal_part, 1.0))
            room *= rules.sample_share * max(1.0 - spare, 0.5)
            for s in range(streams):
                if memory.streams[s].own_buffer == buffer:
                    rules.sample[s] = max(0.0, 1.0 - room / max(wanted, 1.0))
