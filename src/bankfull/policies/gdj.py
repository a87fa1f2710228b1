"""Credit for results, with a credit to begin with: GreedyDual-Join."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bankfull.errors import SpecError
from bankfull.kernels import hooks
from bankfull.kernels.compiler import Float64, Int64, inlined, rule
from bankfull.kernels.memory import (
    BUFFER,
    HEAPED,
    NOTE,
    PRIORITY,
    SEQ,
    TIME,
    TIME_NOW,
    Memory,
    draw,
    goes_before,
)
from bankfull.policies.registry import Policy, Shape, check, register

#: Credits further above the smallest than this count as equal when a percentile is taken.
_TREE = 1 << 12
#: Percentiles that a self-tuning policy tries.
_ARMS = (0.0, 0.5, 0.75, 0.9, 0.95, 0.98, 0.995, 1.0)
#: How quickly profits of the past fade, and how often an arm is tried for the sake of trying.
_FADE, _TRY = 1.0 / 2048.0, 0.08
#: Notes of a tuple: the arm that gave its first credit, what it has earned.
_ARM, _EARNED = NOTE, NOTE + 1


class GdjState(NamedTuple):
    """``tree[b]`` counts the tuples of a buffer by credit above ``base[b]``, as a Fenwick tree.

    ``arms``: a row a percentile: profit, tries. ``rate``: results, time occupied, of all buffers.
    """

    initial: float
    method: int
    tunes: bool
    seed: int
    tree: Int64
    base: Float64
    arms: Float64
    rate: Float64


@register("gdj", "gdj, section 4")
@dataclass(frozen=True)
class Gdj(Policy):
    """GreedyDual-Join: the tuple with the smallest credit goes first.

    A newcomer gets the credit at the percentile ``initial`` of its buffer, and one more for every
    result (``method=1``); by rank, all losing one an instant (2); or one, all losing their share
    of what was given out (3). ``initial="auto"`` tunes itself: newcomers get one of eight
    percentiles, each is judged by what its tuples earned less what their room earns on average,
    and the best is used; now and then another is tried.

    Reference: GreedyDual-Join, section 4.1, Algorithm 1, and 5.2 (methods). Deviations: the
    percentile is by nearest rank after the victim has left; the feedback is ours, the paper only
    proposes one. What methods 2 and 3 take from every tuple of a buffer alike changes no order
    and no percentile, so it is not subtracted: method 3 decides as method 1 does.
    Cost: the logarithm of the buffer for each result; method 2 looks at the whole buffer.
    """

    initial: float | str = "auto"
    method: int = 1

    def __post_init__(self) -> None:
        if self.initial != "auto":
            if isinstance(self.initial, str):
                raise SpecError(f'gdj: initial={self.initial!r} is neither a number nor "auto"')
            check("gdj", "initial", self.initial, 0.0, 1.0)
        if self.method not in (1, 2, 3):
            raise SpecError(f"gdj: method={self.method!r} is unknown: give 1, 2 or 3")

    def start(self, shape: Shape) -> GdjState:
        tunes = self.initial == "auto"
        arms = np.zeros((len(_ARMS), 3))
        arms[:, 2] = _ARMS
        return GdjState(
            0.0 if tunes else float(self.initial),
            self.method,
            tunes,
            shape.seed,
            np.zeros((shape.buffers, _TREE + 1), np.int64),
            np.zeros(shape.buffers),
            arms,
            np.zeros(2),
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
    size = memory.buffers[buffer, HEAPED]
    policy.base[buffer] = memory.real[memory.heap[buffer, 0], PRIORITY]
    policy.tree[buffer, :] = 0
    for place in range(size):
        _count(policy, memory, buffer, memory.real[memory.heap[buffer, place], PRIORITY], 1)


@inlined
def _percentile(policy: GdjState, memory: Memory, buffer: int, share: float) -> float:
    """Return the credit of this rank in a buffer."""
    size = memory.buffers[buffer, HEAPED]
    if size == 0:
        return 0.0
    rank = min(size - 1, np.int64(np.floor(share * size)))
    if policy.method == 2:
        credits = np.empty(size)
        for place in range(size):
            credits[place] = memory.real[memory.heap[buffer, place], PRIORITY]
        credits.sort()
        return credits[rank]  # type: ignore[no-any-return]
    at = 0
    left = rank + 1
    step = _TREE
    while step > 0:
        if at + step <= _TREE and policy.tree[buffer, at + step] < left:
            at += step
            left -= policy.tree[buffer, at]
        step >>= 1
    return policy.base[buffer] + at  # type: ignore[no-any-return]


@inlined
def _arm(policy: GdjState, seq: int) -> int:
    """Return which percentile a newcomer gets: mostly the most profitable."""
    if draw(policy.seed + 3, seq) < _TRY:
        return int(draw(policy.seed + 4, seq) * policy.arms.shape[0])
    best = 0
    for arm in range(1, policy.arms.shape[0]):
        mean = policy.arms[arm, 0] / (policy.arms[arm, 1] + 1.0)
        if mean > policy.arms[best, 0] / (policy.arms[best, 1] + 1.0):
            best = arm
    return best


@rule(hooks.competes, GdjState)
def _competes(policy: GdjState) -> bool:
    return False


@rule(hooks.enter, GdjState)
def _enter(policy: GdjState, memory: Memory, slot: int, time: int) -> None:
    buffer = memory.whole[slot, BUFFER]
    share = policy.initial
    if policy.tunes:
        arm = _arm(policy, memory.whole[slot, SEQ])
        share = policy.arms[arm, 2]
        memory.real[slot, _ARM] = arm
        memory.real[slot, _EARNED] = 0.0
    credit = _percentile(policy, memory, buffer, share)
    memory.real[slot, PRIORITY] = credit
    if policy.method != 2:
        _count(policy, memory, buffer, credit, 1)


@rule(hooks.matched, GdjState)
def _matched(policy: GdjState, memory: Memory, slot: int, time: int) -> bool:
    buffer = memory.whole[slot, BUFFER]
    before = memory.real[slot, PRIORITY]
    memory.real[slot, _EARNED] += 1.0
    if policy.method == 2:
        rank = 0
        for place in range(memory.buffers[buffer, HEAPED]):
            other = memory.heap[buffer, place]
            rank += other == slot or goes_before(memory, other, slot)
        memory.real[slot, PRIORITY] = before + rank
    else:
        memory.real[slot, PRIORITY] = before + 1.0
        _count(policy, memory, buffer, before, -1)
        _count(policy, memory, buffer, before + 1.0, 1)
        if before + 1.0 - policy.base[buffer] >= _TREE - 1 and (
            memory.real[memory.heap[buffer, 0], PRIORITY] > policy.base[buffer]
        ):
            _rebase(policy, memory, buffer)
    return True


@rule(hooks.left, GdjState)
def _left(policy: GdjState, memory: Memory, slot: int) -> None:
    buffer = memory.whole[slot, BUFFER]
    if policy.method != 2:
        _count(policy, memory, buffer, memory.real[slot, PRIORITY], -1)
    if policy.tunes:
        stay = float(memory.now[TIME_NOW] - memory.whole[slot, TIME])
        earned = memory.real[slot, _EARNED]
        policy.rate[0] += earned
        policy.rate[1] += stay
        usual = policy.rate[0] / policy.rate[1] if policy.rate[1] > 0 else 0.0
        arm = np.int64(memory.real[slot, _ARM])
        policy.arms[arm, 0] += earned - usual * stay - _FADE * policy.arms[arm, 0]
        policy.arms[arm, 1] += 1.0 - _FADE * policy.arms[arm, 1]
        policy.rate[0] *= 1.0 - _FADE
        policy.rate[1] *= 1.0 - _FADE
