"""What a policy is told in joins on sets: of items that arrive, of tuples that agree.

A tuple is told of another one where the predicate holds between them, once a join, newest first;
statistics go by item (``slotsets.py``).
"""

from __future__ import annotations

from typing import Any

from bankfull.kernels import hooks, withsets
from bankfull.kernels.compiler import kernel, rule
from bankfull.kernels.memory import (
    COUNTED,
    LINKS,
    STREAM,
    Memory,
    Sets,
    first_key,
    key_at,
    next_key,
    sift,
)
from bankfull.kernels.slotsets import FOUND, agreeing


@rule(withsets.count_company, Sets)
def _count_company(sets: Sets, policy: Any, memory: Memory, slot: int, t: int, change: int) -> None:
    _tell_company(sets, policy, memory, slot, t, change)


@kernel
def _tell_company(sets: Sets, policy: Any, memory: Memory, slot: int, t: int, change: int) -> None:
    """Count and tell those that agree with a tuple, where that is asked for."""
    for join in range(memory.joins.shape[0]):
        if memory.joins[join, COUNTED] == 0 or first_key(memory, slot, join) < 0:
            continue
        counted = LINKS + 3 * join + 2
        found, _ = agreeing(sets, memory, join, slot, memory.whole[slot, STREAM])
        for k in range(found):
            other = sets.marks[k, FOUND]
            memory.whole[other, counted] += change
            if (
                hooks.watches_company(policy)
                and hooks.company(policy, memory, other, t)
                and not hooks.drifts(policy)
            ):
                sift(memory, other)
        memory.whole[slot, counted] = found


@rule(withsets.tell_agreement, Sets)
def _tell_agreement(
    sets: Sets, policy: Any, memory: Memory, join: int, slot: int, own: int, t: int
) -> None:
    if first_key(memory, slot, join) < 0:
        return
    found, _ = agreeing(sets, memory, join, slot, own)
    for k in range(found):
        other = sets.marks[k, FOUND]
        if hooks.agreed(policy, memory, other, t) and not hooks.drifts(policy):
            sift(memory, other)


@rule(withsets.learn, Sets)
def _learn(
    sets: Sets, policy: Any, memory: Memory, join: int, slot: int, s: int, importance: float, t: int
) -> None:
    place = first_key(memory, slot, join)
    while place >= 0:
        item = key_at(memory, join, place)
        memory.stats[item, s] += 1.0
        hooks.arrived(policy, memory, item, s, importance, t)
        place = next_key(memory, join, place)
