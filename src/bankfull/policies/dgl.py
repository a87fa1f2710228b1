"""Priorities that grow with what a tuple produces and fade while it produces nothing: DGL."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import ClassVar, NamedTuple

import numpy as np

from bankfull.kernels.bounded import hooks
from bankfull.kernels.bounded.memory import (
    Memory,
    partners_stored,
)
from bankfull.kernels.compiler import Float64, rule
from bankfull.policies.registry import Policy, Shape, check, register

#: Notes of a tuple: its worth when it was last written down, when that was, the last credit.
_WORTH, _SINCE, _CREDITED = range(3)


class DglState(NamedTuple):
    """What the kernel runs; ``longest`` is the longest window, in which priorities fade."""

    gain: float
    fading: float
    longest: float
    spans: Float64


@register("dgl", "importance, section 4.3.4")
@dataclass(frozen=True)
class Dgl(Policy):
    """Dynamic gain and loss.

    Reference: Ojewole, Zhu, Hou, section 4.3.4. Deviations: the paper prints neither constant.
    ``gain`` is the factor of the gain (importance x partners x share of life left); ``decay`` is
    what is left of a priority after a whole window without output, the longest one where windows
    differ. Priorities fade lazily: the logarithm of the worth, moved by the time of its last
    change, keeps their order without a pass over the buffer, as long as all fade alike.
    Cost: partners times the logarithm of the buffer.
    """

    counts_partners: ClassVar[bool] = True
    gain: float = 1.0
    decay: float = 0.01

    def __post_init__(self) -> None:
        check("dgl", "gain", self.gain, 0.0, 1e12)
        check("dgl", "decay", self.decay, 1e-12, 1.0 - 1e-12)

    def start(self, shape: Shape) -> DglState:
        spans = np.array(shape.spans, np.float64)
        longest = shape.scale if shape.scale > 0.0 else float(spans.max())  # of rows: no end
        return DglState(float(self.gain), log(self.decay), longest, spans)


@rule(hooks.enter, DglState)
def _enter(policy: DglState, memory: Memory, slot: int, time: int) -> None:
    slots = memory.slots
    windows = time / policy.longest
    slots[slot].notes[_WORTH] = slots[slot].importance
    slots[slot].notes[_SINCE] = windows
    slots[slot].notes[_CREDITED] = -1.0
    slots[slot].priority = np.log(slots[slot].notes[_WORTH]) - windows * policy.fading


@rule(hooks.matched, DglState)
def _matched(policy: DglState, memory: Memory, slot: int, time: int) -> bool:
    slots = memory.slots
    current = float(memory.now.seq_next)
    if slots[slot].notes[_CREDITED] == current:
        return False
    slots[slot].notes[_CREDITED] = current
    windows = time / policy.longest
    left = 1.0 - (time - memory.slots[slot].time) / policy.spans[memory.slots[slot].stream]
    gain = policy.gain * slots[slot].importance * float(partners_stored(memory, slot)) * left
    if gain == 0.0:
        return False
    worth = (
        slots[slot].notes[_WORTH] * np.exp((windows - slots[slot].notes[_SINCE]) * policy.fading)
        + gain
    )
    slots[slot].notes[_WORTH] = worth
    slots[slot].notes[_SINCE] = windows
    slots[slot].priority = np.log(worth) - windows * policy.fading
    return True
