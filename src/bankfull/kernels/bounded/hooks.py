"""What a policy may decide: the moments in a stored tuple's life at which it is asked.

A policy is a named tuple of its parameters (and arrays, if it keeps statistics); ``rule`` says
what it does at a hook. Tuples are slots of the memory (``memory.py``); rules write PRIORITY, TIE
and LAST_TIE of ``memory.real`` and may use its notes. The tuple with the smallest goes first.
"""

from __future__ import annotations

from typing import Any

from bankfull.kernels.bounded.memory import (
    Memory,
)
from bankfull.kernels.compiler import hook


@hook
def competes(policy: Any) -> bool:
    """Tell whether a newcomer may itself be the one that is dropped."""
    return True


@hook
def wants_agreement(policy: Any) -> bool:
    """Tell whether the policy wants :func:`agreed`."""
    return False


@hook
def notes_keys(policy: Any) -> bool:
    """Tell whether the policy gives keys rows of notes (``keys.take_notes``)."""
    return False


@hook
def wants_partner_changes(policy: Any) -> bool:
    """Tell whether the policy wants :func:`partners_changed`."""
    return False


@hook
def heap_is_unordered(policy: Any) -> bool:
    """Tell whether the heap is in no order: :func:`choose` or :func:`weigh` is asked instead."""
    return False


@hook
def bounds(policy: Any) -> bool:
    """Tell whether the heap holds lower bounds of priorities (``bounds.py``).

    Then :func:`weigh` writes a bound, which may rise with time and not fall, and :func:`current`
    tells the priority itself. Ties are not used.
    """
    return False


@hook
def current(policy: Any, memory: Memory, slot: int, time: int) -> float:
    """Return the priority that a stored tuple has now; only for policies with bounds."""
    return 0.0


@hook
def candidates(policy: Any) -> int:
    """Return how many tuples are weighed for an eviction; 0: all of the buffer."""
    return 0


@hook
def enter(policy: Any, memory: Memory, slot: int, time: int) -> None:
    """Give a newcomer its first priority."""


@hook
def arrived(policy: Any, memory: Memory, key: int, stream: int, importance: float, t: int) -> None:
    """Learn that a tuple with this key has arrived on a stream, before it is stored or not.

    In a join on sets it is called for every item of the tuple.
    """


@hook
def found(policy: Any, memory: Memory, many: int) -> None:
    """A set has arrived that agrees with so many stored tuples, in one join."""


@hook
def agreed(policy: Any, memory: Memory, slot: int, time: int) -> bool:
    """A tuple that agrees with a stored one has arrived. Returns whether priorities changed."""
    return False


@hook
def matched(policy: Any, memory: Memory, slot: int, time: int) -> bool:
    """A stored tuple is part of a result just made. Returns whether priorities changed."""
    return False


@hook
def partners_changed(policy: Any, memory: Memory, slot: int, time: int) -> bool:
    """A tuple that agrees with a stored one was stored or has left. Returns whether ..."""
    return False


@hook
def left(policy: Any, memory: Memory, slot: int) -> None:
    """A stored tuple is about to leave, for whatever reason."""


@hook
def weigh(policy: Any, memory: Memory, slot: int, time: int) -> None:
    """Write the priority that a stored tuple has now; for policies with bounds, its bound."""


@hook
def choose(policy: Any, memory: Memory, buffer: int, time: int) -> int:
    """Return the stored tuple to drop first, or -1 to have priorities decide."""
    return -1


@hook
def processed(policy: Any, memory: Memory, stream: int, time: int) -> None:
    """A tuple has been processed, whole."""


@hook
def begins(policy: Any, memory: Memory, time: int) -> None:
    """Time has moved on to a new instant."""
