"""Keep every tuple up to its best age, and nobody longer: AGE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from bankfull.kernels.bounded import hooks
from bankfull.kernels.bounded.bounds import bound_again, horizon
from bankfull.kernels.bounded.memory import (
    Memory,
)
from bankfull.kernels.compiler import Float64, Int64, inlined, rule
from bankfull.policies.registry import Policy, Shape, check, register

#: Slices of the window in which results are counted.
_AGES = 32
#: Who is past its best age goes first, then the newcomer, then the others.
_OVERDUE, _NEW, _YOUNG = -1.0, 0.0, 1.0


class AgeState(NamedTuple):
    """``given[seq]`` the best age of a tuple, or none; otherwise a stream's ``learned`` one.

    ``curves[s]``: results by age, tuples that reached that age; ``until[b]``: the time for which
    the priorities in a buffer's heap are computed, where ages are given.
    """

    given: Float64
    period: int
    curves: Float64
    learned: Float64
    until: Int64


@register("age", "gdj, section 3.2")
@dataclass(frozen=True)
class Age(Policy):
    """The age model: a tuple stays until the age at which its mean return was highest.

    Full, a tuple past its best age is replaced, the oldest first; while there is none, newcomers
    are dropped. ``ages`` are best ages known beforehand, by the tuples' canonical order, as the
    paper has them for its comparison. Without them one age a stream is learned: results are
    counted by the age of the stored tuple, in 32 slices of the window, and so are the tuples that
    reached each slice before they left. When ``period`` tuples have been counted, the best age is
    the end of the slice up to which the mean return of a slice is the highest, and counts are
    halved.

    Reference: GreedyDual-Join, section 3.2. Deviations: learning is ours; a stream begins with its
    whole window as best age.
    Cost: constant with a learned age, since the oldest tuple of a stream is past it first; with
    given ones the square root of the buffer for each arrival that finds it full.
    """

    counts_keys: ClassVar[bool] = False
    ages: tuple[float, ...] = ()
    period: int = 256

    def __post_init__(self) -> None:
        check("age", "period", self.period, 1, 2**31)

    def start(self, shape: Shape) -> AgeState:
        return AgeState(
            np.array(self.ages, np.float64),
            int(self.period),
            np.zeros((len(shape.spans), 2, _AGES)),
            np.array(shape.spans, np.float64),
            np.zeros(shape.buffers, np.int64),
        )


@inlined
def _slice(memory: Memory, slot: int, time: int) -> int:
    span = max(memory.streams[memory.slots[slot].stream].span, 1)
    return min(int((time - memory.slots[slot].time) * _AGES / span), _AGES - 1)


@inlined
def _standing(policy: AgeState, memory: Memory, slot: int, time: int) -> float:
    """Return whether a stored tuple is past its best age at a time."""
    seq = memory.slots[slot].seq
    best = policy.learned[memory.slots[slot].stream]
    if policy.given.size > 0:
        best = policy.given[seq] if seq < policy.given.size else 0.0
    return _OVERDUE if time - memory.slots[slot].time > best else _YOUNG


@rule(hooks.bounds, AgeState)
def _bounds(policy: AgeState) -> bool:
    return True


@rule(hooks.enter, AgeState)
def _enter(policy: AgeState, memory: Memory, slot: int, time: int) -> None:
    memory.slots[slot].priority = _NEW


@rule(hooks.weigh, AgeState)
def _weigh(policy: AgeState, memory: Memory, slot: int, time: int) -> None:
    """Say how a tuple will stand a little later; a learned age needs no heap."""
    bound = _YOUNG
    if policy.given.size > 0:
        bound = _standing(policy, memory, slot, policy.until[memory.slots[slot].buffer])
    memory.slots[slot].priority = bound


@rule(hooks.current, AgeState)
def _current(policy: AgeState, memory: Memory, slot: int, time: int) -> float:
    return _standing(policy, memory, slot, time)


@rule(hooks.choose, AgeState)
def _choose(policy: AgeState, memory: Memory, buffer: int, time: int) -> int:
    """Find the oldest tuple past its best age, otherwise the oldest."""
    if policy.given.size > 0:
        if time > policy.until[buffer]:
            policy.until[buffer] = horizon(memory, buffer, time)
            bound_again(policy, memory, buffer, time)
        return -1
    chosen, standing = -1, _YOUNG
    for stream in range(memory.streams.shape[0]):
        slot = memory.streams[stream].oldest
        if memory.streams[stream].own_buffer == buffer and slot >= 0:
            now = _standing(policy, memory, slot, time)
            older = chosen < 0 or memory.slots[slot].seq < memory.slots[chosen].seq
            if now < standing or (now == standing and older):
                chosen, standing = slot, now
    return chosen


@rule(hooks.matched, AgeState)
def _matched(policy: AgeState, memory: Memory, slot: int, time: int) -> bool:
    policy.curves[memory.slots[slot].stream, 0, _slice(memory, slot, time)] += 1.0
    return False


@rule(hooks.left, AgeState)
def _left(policy: AgeState, memory: Memory, slot: int) -> None:
    for age in range(_slice(memory, slot, memory.now.time_now) + 1):
        policy.curves[memory.slots[slot].stream, 1, age] += 1.0


@rule(hooks.processed, AgeState)
def _processed(policy: AgeState, memory: Memory, stream: int, time: int) -> None:
    about = policy.curves[stream]
    if policy.given.size > 0 or about[1, 0] < policy.period:
        return
    best, at, total = 0.0, _AGES, 0.0
    for age in range(_AGES):
        total += about[0, age] / max(about[1, age], 1.0)
        if total / (age + 1) > best:
            best, at = total / (age + 1), age + 1
    policy.learned[stream] = float(memory.streams[stream].span) * at / _AGES
    for age in range(_AGES):
        about[0, age] *= 0.5
        about[1, age] *= 0.5
