"""What a policy is told in joins on sets: of items that arrive, of tuples that agree.

A tuple is told of another one where the predicate holds between them, once a join, newest first;
statistics go by item (``slotsets.py``).
"""

from __future__ import annotations

from typing import Any

from bankfull.kernels import hooks
from bankfull.kernels.compiler import inlined, kernel
from bankfull.kernels.memory import (
    COUNTED,
    HELD,
    HELD_LEAST,
    KEYS_MOST,
    KEYS_USED,
    LINKS,
    STREAM,
    Memory,
    first_key,
    key_at,
    next_key,
    sift,
)
from bankfull.kernels.slotsets import FOUND, Bags, agreeing


@kernel
def count_company(policy: Any, memory: Memory, slot: int, t: int, change: int) -> None:
    """Count and tell, in joins on sets, those that agree with a tuple that has come or goes."""
    for join in range(memory.joins.shape[0]):
        if memory.joins[join, COUNTED] == 0 or first_key(memory, slot, join) < 0:
            continue
        counted = LINKS + 3 * join + 2
        found, _ = agreeing(memory, join, slot, memory.whole[slot, STREAM])
        for k in range(found):
            other = memory.marks[k, FOUND]
            memory.whole[other, counted] += change
            if (
                hooks.watches_company(policy)
                and hooks.company(policy, memory, other, t)
                and not hooks.drifts(policy)
            ):
                sift(memory, other)
        memory.whole[slot, counted] = found


@kernel
def tell_agreement_of_sets(
    policy: Any, memory: Memory, join: int, slot: int, own: int, t: int
) -> None:
    """Tell the stored tuples that agree with an arrival of it."""
    if first_key(memory, slot, join) < 0:
        return
    found, _ = agreeing(memory, join, slot, own)
    for k in range(found):
        other = memory.marks[k, FOUND]
        if hooks.agreed(policy, memory, other, t) and not hooks.drifts(policy):
            sift(memory, other)


@kernel
def learn_items(
    policy: Any, memory: Memory, join: int, slot: int, s: int, importance: float, t: int
) -> None:
    """Count an arrival once for every item it holds."""
    place = first_key(memory, slot, join)
    while place >= 0:
        item = key_at(memory, join, place)
        memory.stats[item, s] += 1.0
        hooks.arrived(policy, memory, item, s, importance, t)
        place = next_key(memory, join, place)


@inlined
def keys_fit(memory: Memory, bags: Bags, i: int) -> bool:
    """Tell whether an arrival's keys may all be new, and not too many numbers lie idle."""
    wanted = memory.joins.shape[0]
    for join in range(bags.sizes.shape[0]):
        wanted += bags.sizes[join, i]
    now = memory.now
    fits = now[KEYS_USED] + wanted <= now[KEYS_MOST]
    return fits and now[HELD] >= now[HELD_LEAST]  # type: ignore[no-any-return]
