"""Credit for results, with a credit to begin with: GreedyDual-Join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from bankfull.errors import SpecError
from bankfull.kernels.bounded import hooks
from bankfull.kernels.bounded.memory import (
    Memory,
    first_key,
    goes_before,
    key_at,
    next_key,
)
from bankfull.kernels.compiler import Float64, Int64, Records, inlined, rule
from bankfull.policies.registry import Policy, Shape, check, register

#: Credits further above the smallest than this count as equal when a percentile is taken.
_TREE = 1 << 12
#: How far one regret moves a percentile that tunes itself, and how quickly counts fade.
_STEP, _FADE = 0.004, 1.0 / 1024.0
#: The note of a tuple: results since it came in. Statistics of a key: when a tuple was evicted
#: with it, and of which sort: a newcomer that had no result yet, or a veteran.
_EARNED = 0
#: Room to sort credits in, not of the tuple of that row.
_SORTED = 1
_WHEN, _SORT = 0, 1


class GdjState(NamedTuple):
    """``tree[b]`` counts the tuples of a buffer by credit above ``base[b]``, as a Fenwick tree.

    ``initial[b]`` is the percentile of a newcomer; ``gone`` how many of either sort were evicted
    of late.
    """

    method: int
    tunes: bool
    tree: Int64
    base: Float64
    initial: Float64
    gone: Float64


@register("gdj", "gdj, section 4")
@dataclass(frozen=True)
class Gdj(Policy):
    """GreedyDual-Join: the tuple with the smallest credit goes first.

    A newcomer gets the credit at the percentile ``initial`` of its buffer, and one more for every
    result (``method=1``); by rank, all losing one an instant (2); or one, all losing their share
    of what was given out (3). ``initial="auto"`` tunes itself by regret: a partner that comes
    within the window for a tuple that was evicted before its first result moves the percentile
    up, one for a tuple that had earned credit moves it down, each in proportion to how rare its
    sort is among the evicted. It rests where both sorts are missed equally. In joins on sets a
    tuple with one of its items stands for a partner there.

    Reference: GreedyDual-Join, section 4.1, Algorithm 1, and 5.2 (methods). Deviations: the
    percentile is by nearest rank after the victim has left; the feedback is ours, the paper only
    proposes one. What methods 2 and 3 take from every tuple of a buffer alike changes no order
    and no percentile, so it is not subtracted: method 3 decides as method 1 does.
    Cost: the logarithm of the buffer for each result; method 2 looks at the whole buffer.
    """

    key_stats: ClassVar[int] = 2
    initial: float | str = "auto"
    method: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.initial, str) or self.initial != "auto":
            if isinstance(self.initial, str):
                raise SpecError(f'gdj: initial={self.initial!r} is neither a number nor "auto"')
            check("gdj", "initial", self.initial, 0.0, 1.0)
        if not isinstance(self.method, int) or self.method not in (1, 2, 3):
            raise SpecError(f"gdj: method={self.method!r} is unknown: give 1, 2 or 3")

    def start(self, shape: Shape) -> GdjState:
        tunes = self.initial == "auto"
        return GdjState(
            self.method,
            tunes,
            np.zeros((shape.buffers, _TREE + 1), np.int64),
            np.zeros(shape.buffers),
            np.full(shape.buffers, 0.5 if tunes else float(self.initial)),
            np.ones((shape.buffers, 2)),
        )


@inlined
def _count(policy: GdjState, memory: Memory, buffer: int, credit: float, change: int) -> None:
    """Enter or remove one tuple of this credit in the tree."""
    at = np.int64(min(max(credit - policy.base[buffer], 0.0), _TREE - 1.0)) + 1
    while at <= _TREE:
        policy.tree[buffer, at] += change
        at += at & -at


@inlined
def _rebase(policy: GdjState, memory: Memory, buffer: int) -> None:
    """Let the tree begin at the smallest credit."""
    size = memory.buffers[buffer].heaped
    least = np.inf  # not at the top: who has just been credited may still be there
    for place in range(size):
        least = min(least, memory.slots[memory.heap[buffer, place]].priority)
    policy.base[buffer] = least
    policy.tree[buffer, :] = 0
    for place in range(size):
        _count(policy, memory, buffer, memory.slots[memory.heap[buffer, place]].priority, 1)


@inlined
def _select(slots: Records, size: int, rank: int) -> float:
    """Return the number of this rank among the first that are to be sorted (Hoare's FIND)."""
    first, last = 0, size - 1
    while first < last:
        middle = slots[rank].notes[_SORTED]
        low, high = first, last
        while low <= high:
            while slots[low].notes[_SORTED] < middle:
                low += 1
            while slots[high].notes[_SORTED] > middle:
                high -= 1
            if low <= high:
                swapped = slots[low].notes[_SORTED]
                slots[low].notes[_SORTED] = slots[high].notes[_SORTED]
                slots[high].notes[_SORTED] = swapped
                low += 1
                high -= 1
        if rank <= high:
            last = high
        elif rank >= low:
            first = low
        else:
            break
    return slots[rank].notes[_SORTED]  # type: ignore[no-any-return]


@inlined
def _percentile(policy: GdjState, memory: Memory, buffer: int, share: float) -> float:
    """Return the credit of this rank in a buffer."""
    size = memory.buffers[buffer].heaped
    if size == 0:
        return 0.0
    rank = min(size - 1, np.int64(np.floor(share * size)))
    if policy.method == 2:
        for place in range(size):
            memory.slots[place].notes[_SORTED] = memory.slots[memory.heap[buffer, place]].priority
        return _select(memory.slots, size, rank)
    at = 0
    left = rank + 1
    step = _TREE
    while step > 0:
        if at + step <= _TREE and policy.tree[buffer, at + step] < left:
            at += step
            left -= policy.tree[buffer, at]
        step >>= 1
    return policy.base[buffer] + at  # type: ignore[no-any-return]


@rule(hooks.competes, GdjState)
def _competes(policy: GdjState) -> bool:
    return False


@rule(hooks.enter, GdjState)
def _enter(policy: GdjState, memory: Memory, slot: int, time: int) -> None:
    buffer = memory.slots[slot].buffer
    credit = _percentile(policy, memory, buffer, policy.initial[buffer])
    memory.slots[slot].notes[_EARNED] = 0.0
    memory.slots[slot].priority = credit
    if policy.method != 2:
        _count(policy, memory, buffer, credit, 1)


@rule(hooks.matched, GdjState)
def _matched(policy: GdjState, memory: Memory, slot: int, time: int) -> bool:
    buffer = memory.slots[slot].buffer
    before = memory.slots[slot].priority
    memory.slots[slot].notes[_EARNED] += 1.0
    if policy.method == 2:
        rank = 0
        for place in range(memory.buffers[buffer].heaped):
            other = memory.heap[buffer, place]
            rank += other == slot or goes_before(memory, other, slot)
        memory.slots[slot].priority = before + rank
    else:
        memory.slots[slot].priority = before + 1.0
        _count(policy, memory, buffer, before, -1)
        _count(policy, memory, buffer, before + 1.0, 1)
        if before + 1.0 - policy.base[buffer] >= _TREE - 1 and (
            memory.slots[memory.heap[buffer, 0]].priority > policy.base[buffer]
        ):
            _rebase(policy, memory, buffer)
    return True


@rule(hooks.left, GdjState)
def _left(policy: GdjState, memory: Memory, slot: int) -> None:
    buffer = memory.slots[slot].buffer
    if policy.method != 2:
        _count(policy, memory, buffer, memory.slots[slot].priority, -1)
    stream = memory.slots[slot].stream
    age = memory.now.time_now - memory.slots[slot].time
    if not policy.tunes or age > memory.streams[stream].span:
        return
    sort = 1 if memory.slots[slot].notes[_EARNED] > 0.0 else 0
    for other in range(2):
        policy.gone[buffer, other] *= 1.0 - _FADE
    policy.gone[buffer, sort] += 1.0
    at = memory.streams.shape[0] + 2 * stream
    for join in range(memory.joins.shape[0]):
        place = first_key(memory, slot, join)
        while place >= 0:
            key = key_at(memory, join, place)
            memory.stats[key, at + _WHEN] = float(memory.slots[slot].time)
            memory.stats[key, at + _SORT] = 1.0 + sort
            place = next_key(memory, join, place)


@rule(hooks.arrived, GdjState)
def _arrived(
    policy: GdjState, memory: Memory, key: int, stream: int, importance: float, t: int
) -> None:
    """Regret tuples that were evicted and would have joined this one."""
    if not policy.tunes:
        return
    join = int(memory.codes[key, 1])
    for member in range(memory.joins[join].width):
        other = memory.joins[join].members[member]
        at = memory.streams.shape[0] + 2 * other
        sort = int(memory.stats[key, at + _SORT]) - 1
        if other == stream or sort < 0:
            continue
        if t - memory.stats[key, at + _WHEN] > memory.streams[other].span:
            memory.stats[key, at + _SORT] = 0.0
            continue
        buffer = memory.streams[other].own_buffer
        gone = policy.gone[buffer]
        step = _STEP * (gone[0] + gone[1]) / (2.0 * max(gone[sort], 1.0))
        step = min(step, 16.0 * _STEP)
        moved = policy.initial[buffer] + (step if sort == 0 else -step)
        policy.initial[buffer] = min(max(moved, 0.0), 1.0)
