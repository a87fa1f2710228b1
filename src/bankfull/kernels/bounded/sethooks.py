"""What a policy is told in joins on sets: of items that arrive, of tuples that agree.

A tuple is told of another one where the predicate holds between them, once a join, newest first;
statistics go by item (``slotsets.py``).
"""

from __future__ import annotations

from typing import Any

from bankfull.kernels.bounded import hooks, withsets
from bankfull.kernels.bounded.memory import (
    Memory,
    SlotSets,
    first_key,
    key_at,
    next_key,
    sift,
)
from bankfull.kernels.bounded.slotsets import (
    agreeing,
)
from bankfull.kernels.compiler import inner, rule


@rule(withsets.count_partners, SlotSets)
def _count_partners(
    sets: SlotSets, policy: Any, memory: Memory, slot: int, t: int, change: int
) -> None:
    _tell_partners_changed(sets, policy, memory, slot, t, change)


@inner
def _tell_partners_changed(
    sets: SlotSets, policy: Any, memory: Memory, slot: int, t: int, change: int
) -> None:
    """Count and tell those that agree with a tuple, where that is asked for."""
    for join in range(memory.joins.shape[0]):
        if memory.joins[join].counted == 0 or first_key(memory, slot, join) < 0:
            continue
        found, _ = agreeing(sets, memory, join, slot, memory.slots[slot].stream)
        for k in range(found):
            other = sets.found[k]
            sets.held[other, join].agreeing += change
            if (
                hooks.wants_partner_changes(policy)
                and hooks.partners_changed(policy, memory, other, t)
                and not hooks.heap_is_unordered(policy)
            ):
                sift(memory, other)
        sets.held[slot, join].agreeing = found


@rule(withsets.tell_agreement, SlotSets)
def _tell_agreement(
    sets: SlotSets, policy: Any, memory: Memory, join: int, slot: int, own: int, t: int
) -> None:
    if first_key(memory, slot, join) < 0:
        return
    found, _ = agreeing(sets, memory, join, slot, own)
    for k in range(found):
        other = sets.found[k]
        if hooks.agreed(policy, memory, other, t) and not hooks.heap_is_unordered(policy):
            sift(memory, other)


@rule(withsets.learn, SlotSets)
def _learn(
    sets: SlotSets,
    policy: Any,
    memory: Memory,
    join: int,
    slot: int,
    s: int,
    importance: float,
    t: int,
) -> None:
    place = first_key(memory, slot, join)
    while place >= 0:
        item = key_at(memory, join, place)
        memory.stats[item, s] += 1.0
        hooks.arrived(policy, memory, item, s, importance, t)
        place = next_key(memory, join, place)
    if first_key(memory, slot, join) >= 0:
        hooks.found(policy, memory, sets.held[slot, join].agreeing)
