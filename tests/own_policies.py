"""Policies as a user writes them: a class with rules, and a single function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from bankfull.kernels.bounded import hooks
from bankfull.kernels.bounded.memory import partners_stored
from bankfull.kernels.compiler import rule
from bankfull.policies import Policy


class YoungestState(NamedTuple):
    """No parameters."""

    seed: int


@dataclass(frozen=True)
class Youngest(Policy):
    """The youngest tuple goes first."""

    def start(self, shape: Any) -> YoungestState:
        return YoungestState(shape.seed)


@rule(hooks.enter, YoungestState)
def _enter(policy: YoungestState, memory: Any, slot: int, time: int) -> None:
    memory.slots[slot].priority = -float(time)


def sociable(memory: Any, slot: int, time: int) -> float:
    """A tuple is worth as much as it has partners, and more the younger it is."""
    return partners_stored(memory, slot) + 1.0 / (1.0 + time - memory.slots[slot].time)
