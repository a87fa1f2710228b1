"""The third general priority formula: a rolling mean of the additive one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bankfull.kernels.bounded import hooks
from bankfull.kernels.bounded.memory import (
    Memory,
)
from bankfull.kernels.compiler import Int64, inlined, rule
from bankfull.policies.formula import Formula, weighted_sum
from bankfull.policies.registry import Shape, check, register

#: Notes of a tuple: its mean, at which instant it had it, and the value it moves to since then.
_MEAN, _SINCE, _VALUE = range(3)
#: Rounding leaves a mean within so much of its value, for each part of a step taken at a time.
_ROUNDING = 1e-15


class CumulativeState(NamedTuple):
    """``instants[0]``: instants so far at which something arrived."""

    alpha: float
    beta: float
    delta: float
    keep: float
    instants: Int64


@register("cumulative", "importance, section 3.2, formula 3")
@dataclass(frozen=True)
class Cumulative(Formula):
    """A rolling mean of the additive formula: ``keep`` of the old priority, the rest anew.

    The mean takes a step at every instant at which something arrives. Between two changes of a
    tuple's partners it only moves towards one value, so it never falls below the smaller of the
    two, which is the bound that its heap holds; steps are taken when a tuple is looked at.

    Reference: Ojewole, Zhu, Hou, section 3.2, formula 3, recomputed at every instant.
    Cost: partners times the logarithm of the buffer, and the steps of those looked at, each at most
    until its mean has come to rest.
    """

    keep_share: float = 0.9

    def __post_init__(self) -> None:
        super().__post_init__()
        check("cumulative", "keep_share", self.keep_share, 0.0, 1.0)

    def start(self, shape: Shape) -> CumulativeState:
        weights = float(self.alpha), float(self.beta), float(self.delta)
        return CumulativeState(*weights, float(self.keep_share), np.zeros(1, np.int64))


@inlined
def _catch_up(policy: CumulativeState, memory: Memory, slot: int) -> float:
    """Take the steps that a tuple's mean has not taken yet, one by one, and return it.

    One by one because rounding is part of the definition; a step that changes nothing is the last.
    """
    about = memory.slots[slot].notes
    fresh = (1.0 - policy.keep) * about[_VALUE]
    for _ in range(policy.instants[0] - np.int64(about[_SINCE])):
        mean = policy.keep * about[_MEAN] + fresh
        if mean == about[_MEAN]:
            break
        about[_MEAN] = mean
    about[_SINCE] = float(policy.instants[0])
    return about[_MEAN]  # type: ignore[no-any-return]


@inlined
def _bound(policy: CumulativeState, memory: Memory, slot: int) -> float:
    mean, value = memory.slots[slot].notes[_MEAN], memory.slots[slot].notes[_VALUE]
    if policy.keep == 1.0:
        return mean  # type: ignore[no-any-return]
    rounding = _ROUNDING * (abs(mean) + abs(value)) / (1.0 - policy.keep)
    return min(mean, value - rounding)  # type: ignore[no-any-return]


@rule(hooks.bounds, CumulativeState)
def _bounds(policy: CumulativeState) -> bool:
    return True


@rule(hooks.begins, CumulativeState)
def _begins(policy: CumulativeState, memory: Memory, time: int) -> None:
    policy.instants[0] += 1


@rule(hooks.enter, CumulativeState)
def _enter(policy: CumulativeState, memory: Memory, slot: int, time: int) -> None:
    value = weighted_sum(policy, memory, slot)
    memory.slots[slot].priority = value
    memory.slots[slot].notes[_MEAN] = value
    memory.slots[slot].notes[_VALUE] = value
    memory.slots[slot].notes[_SINCE] = float(policy.instants[0])


@rule(hooks.wants_partner_changes, CumulativeState)
def _watches(policy: CumulativeState) -> bool:
    return True


@rule(hooks.partners_changed, CumulativeState)
def _partners_changed(policy: CumulativeState, memory: Memory, slot: int, time: int) -> bool:
    """Go to where the old value led, then on to the new one."""
    _catch_up(policy, memory, slot)
    memory.slots[slot].notes[_VALUE] = weighted_sum(policy, memory, slot)
    memory.slots[slot].priority = _bound(policy, memory, slot)
    return True


@rule(hooks.weigh, CumulativeState)
def _weigh(policy: CumulativeState, memory: Memory, slot: int, time: int) -> None:
    _catch_up(policy, memory, slot)
    memory.slots[slot].priority = _bound(policy, memory, slot)


@rule(hooks.current, CumulativeState)
def _current(policy: CumulativeState, memory: Memory, slot: int, time: int) -> float:
    return _catch_up(policy, memory, slot)
