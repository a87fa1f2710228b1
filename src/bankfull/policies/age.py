"""Keep every tuple up to its best age, and nobody longer: AGE."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bankfull.kernels import hooks
from bankfull.kernels.compiler import Float64, inlined, rule
from bankfull.kernels.memory import PRIORITY, SEQ, SPAN, STREAM, TIME, TIME_NOW, Memory
from bankfull.policies.registry import Policy, Shape, register

#: Slices of the window in which results are counted, and tuples between two looks at them.
_AGES, _PERIOD = 32, 256


class AgeState(NamedTuple):
    """``given[seq]`` the best age of a tuple, or none; otherwise a stream's ``learned`` one.

    ``curves[s]``: results by age, tuples that reached that age.
    """

    given: Float64
    curves: Float64
    learned: Float64


@register("age", "gdj, section 3.2")
@dataclass(frozen=True)
class Age(Policy):
    """The age model: a tuple stays until the age at which its mean return was highest.

    Full, a tuple past its best age is replaced, the oldest first; while there is none, newcomers
    are dropped. ``ages`` are best ages known beforehand, by the tuples' canonical order, as the
    paper has them for its comparison; without them one age a stream is learned from results by
    age.

    Reference: GreedyDual-Join, section 3.2. Deviations: learning is ours; a stream begins with its
    whole window as best age.
    Cost: a look at the whole buffer for each arrival that finds it full.
    """

    ages: tuple[float, ...] = ()

    def start(self, shape: Shape) -> AgeState:
        streams = len(shape.spans)
        learned = np.array(shape.spans, np.float64)
        return AgeState(np.array(self.ages, np.float64), np.zeros((streams, 2, _AGES)), learned)


@inlined
def _slice(memory: Memory, slot: int, time: int) -> int:
    span = max(memory.streams[memory.whole[slot, STREAM], SPAN], 1)
    return min(int((time - memory.whole[slot, TIME]) * _AGES / span), _AGES - 1)


@rule(hooks.drifts, AgeState)
def _drifts(policy: AgeState) -> bool:
    return True


@rule(hooks.enter, AgeState)
def _enter(policy: AgeState, memory: Memory, slot: int, time: int) -> None:
    """A newcomer goes after those past their best age, and before the others."""
    memory.real[slot, PRIORITY] = 0.0


@rule(hooks.weigh, AgeState)
def _weigh(policy: AgeState, memory: Memory, slot: int, time: int) -> None:
    seq = memory.whole[slot, SEQ]
    best = policy.learned[memory.whole[slot, STREAM]]
    if policy.given.size > 0:
        best = policy.given[seq] if seq < policy.given.size else 0.0
    age = time - memory.whole[slot, TIME]
    memory.real[slot, PRIORITY] = -1.0 if age > best else 1.0


@rule(hooks.matched, AgeState)
def _matched(policy: AgeState, memory: Memory, slot: int, time: int) -> bool:
    policy.curves[memory.whole[slot, STREAM], 0, _slice(memory, slot, time)] += 1.0
    return False


@rule(hooks.left, AgeState)
def _left(policy: AgeState, memory: Memory, slot: int) -> None:
    for age in range(_slice(memory, slot, memory.now[TIME_NOW]) + 1):
        policy.curves[memory.whole[slot, STREAM], 1, age] += 1.0


@rule(hooks.processed, AgeState)
def _processed(policy: AgeState, memory: Memory, stream: int, time: int) -> None:
    about = policy.curves[stream]
    if policy.given.size > 0 or about[1, 0] < _PERIOD:
        return
    best, at, total = 0.0, _AGES, 0.0
    for age in range(_AGES):
        total += about[0, age] / max(about[1, age], 1.0)
        if total / (age + 1) > best:
            best, at = total / (age + 1), age + 1
    policy.learned[stream] = float(memory.streams[stream, SPAN]) * at / _AGES
    for age in range(_AGES):
        about[0, age] *= 0.5
        about[1, age] *= 0.5
