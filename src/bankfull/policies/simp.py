"""Importance, alone or times the partners at hand: SIMP, SIMPPROB, DIMPPROB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from bankfull.kernels.bounded import hooks
from bankfull.kernels.bounded.memory import (
    Memory,
    partners_stored,
)
from bankfull.kernels.compiler import rule
from bankfull.policies.registry import Policy, Shape, register


class SimpState(NamedTuple):
    """What the kernel runs."""

    seed: int


class SimpprobState(NamedTuple):
    """What the kernel runs."""

    seed: int


class DimpprobState(NamedTuple):
    """What the kernel runs."""

    seed: int


@register("simp", "importance, section 4.3.1")
@dataclass(frozen=True)
class Simp(Policy):
    """Static importance: the least important goes first, among equals the oldest.

    Reference: Ojewole, Zhu, Hou, section 4.3.1. Cost: the logarithm of the buffer.
    """

    counts_keys: ClassVar[bool] = False

    def start(self, shape: Shape) -> SimpState:
        return SimpState(shape.seed)


@register("simpprob", "importance, section 4.3.2")
@dataclass(frozen=True)
class Simpprob(Policy):
    """Static importance times probability: the partners stored when the tuple arrives.

    Reference: Ojewole, Zhu, Hou, section 4.3.2; ties: least important, fewest partners, oldest.
    Cost: the logarithm of the buffer.
    """

    counts_keys: ClassVar[bool] = False

    def start(self, shape: Shape) -> SimpprobState:
        return SimpprobState(shape.seed)


@register("dimpprob", "importance, section 4.3.3")
@dataclass(frozen=True)
class Dimpprob(Policy):
    """Dynamic importance times probability: the partners stored now.

    Reference: Ojewole, Zhu, Hou, section 4.3.3; ties as in SIMPPROB.
    Cost: partners times the logarithm of the buffer.
    """

    counts_keys: ClassVar[bool] = False
    counts_partners: ClassVar[bool] = True

    def start(self, shape: Shape) -> DimpprobState:
        return DimpprobState(shape.seed)


@rule(hooks.enter, SimpState)
def _enter_simp(policy: SimpState, memory: Memory, slot: int, time: int) -> None:
    memory.slots[slot].priority = memory.slots[slot].importance


@rule(hooks.enter, SimpprobState)
def _enter_simpprob(policy: SimpprobState, memory: Memory, slot: int, time: int) -> None:
    partners = float(partners_stored(memory, slot))
    memory.slots[slot].priority = memory.slots[slot].importance * partners
    memory.slots[slot].tie = memory.slots[slot].importance
    memory.slots[slot].last_tie = partners


@rule(hooks.enter, DimpprobState)
def _enter_dimpprob(policy: DimpprobState, memory: Memory, slot: int, time: int) -> None:
    partners = float(partners_stored(memory, slot))
    memory.slots[slot].priority = memory.slots[slot].importance * partners
    memory.slots[slot].tie = memory.slots[slot].importance
    memory.slots[slot].last_tie = partners


@rule(hooks.wants_partner_changes, DimpprobState)
def _watches(policy: DimpprobState) -> bool:
    return True


@rule(hooks.partners_changed, DimpprobState)
def _partners_changed(policy: DimpprobState, memory: Memory, slot: int, time: int) -> bool:
    partners = float(partners_stored(memory, slot))
    memory.slots[slot].priority = memory.slots[slot].importance * partners
    memory.slots[slot].last_tie = partners
    return True
