"""The general priority formulas over importance, partners and time, with their exponents.

The third of them, a rolling mean of the first, is in ``cumulative.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from bankfull.kernels.bounded import hooks
from bankfull.kernels.bounded.memory import (
    Memory,
    partners_stored,
)
from bankfull.kernels.compiler import inlined, rule
from bankfull.policies.registry import Policy, Shape, check, register


class AdditiveState(NamedTuple):
    """What the kernel runs."""

    alpha: float
    beta: float
    delta: float


class MultiplicativeState(NamedTuple):
    """What the kernel runs."""

    alpha: float
    beta: float
    delta: float


@dataclass(frozen=True)
class Formula(Policy):
    """The weights or exponents of importance, partners and time."""

    counts_partners: ClassVar[bool] = True
    alpha: float = 1.0
    beta: float = 1.0
    delta: float = 0.0

    def __post_init__(self) -> None:
        for what in ("alpha", "beta", "delta"):
            check(self.name, what, getattr(self, what), 0.0, 1e12)


@register("additive", "importance, section 3.2, formula 1")
@dataclass(frozen=True)
class Additive(Formula):
    """alpha x importance + beta x partners stored now + delta x time of arrival.

    Reference: Ojewole, Zhu, Hou, section 3.2, formula 1; ties drop the oldest.
    Cost: partners times the logarithm of the buffer.
    """

    def start(self, shape: Shape) -> AdditiveState:
        return AdditiveState(float(self.alpha), float(self.beta), float(self.delta))


@register("multiplicative", "importance, section 3.2, formula 2")
@dataclass(frozen=True)
class Multiplicative(Formula):
    """importance^alpha x partners^beta x (1 + time of arrival)^delta.

    Reference: Ojewole, Zhu, Hou, section 3.2, formula 2. Deviations: one is added to the time,
    which may begin at 0, and what is then below 0 counts as 0; ties drop the oldest.
    Cost: partners times the logarithm of the buffer.
    """

    def start(self, shape: Shape) -> MultiplicativeState:
        return MultiplicativeState(float(self.alpha), float(self.beta), float(self.delta))


@inlined
def weighted_sum(policy: Any, memory: Memory, slot: int) -> float:
    """Return the additive formula's value of a tuple now."""
    partners = float(partners_stored(memory, slot))
    return (  # type: ignore[no-any-return]
        policy.alpha * memory.slots[slot].importance
        + policy.beta * partners
        + policy.delta * float(memory.slots[slot].time)
    )


@inlined
def _product(policy: MultiplicativeState, memory: Memory, slot: int) -> float:
    partners = float(partners_stored(memory, slot))
    return (  # type: ignore[no-any-return]
        memory.slots[slot].importance ** policy.alpha
        * partners**policy.beta
        * max(1.0 + float(memory.slots[slot].time), 0.0) ** policy.delta
    )


@rule(hooks.enter, AdditiveState)
def _enter_sum(policy: AdditiveState, memory: Memory, slot: int, time: int) -> None:
    memory.slots[slot].priority = weighted_sum(policy, memory, slot)


@rule(hooks.wants_partner_changes, AdditiveState)
def _watches_sum(policy: AdditiveState) -> bool:
    return True


@rule(hooks.partners_changed, AdditiveState)
def _changed_sum(policy: AdditiveState, memory: Memory, slot: int, time: int) -> bool:
    memory.slots[slot].priority = weighted_sum(policy, memory, slot)
    return True


@rule(hooks.enter, MultiplicativeState)
def _enter_product(policy: MultiplicativeState, memory: Memory, slot: int, time: int) -> None:
    memory.slots[slot].priority = _product(policy, memory, slot)


@rule(hooks.wants_partner_changes, MultiplicativeState)
def _watches_product(policy: MultiplicativeState) -> bool:
    return True


@rule(hooks.partners_changed, MultiplicativeState)
def _changed_product(policy: MultiplicativeState, memory: Memory, slot: int, time: int) -> bool:
    memory.slots[slot].priority = _product(policy, memory, slot)
    return True
