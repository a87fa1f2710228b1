"""A policy from a single function of the user's."""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bankfull.kernels.bounded import hooks
from bankfull.kernels.bounded.memory import (
    Memory,
)
from bankfull.kernels.compiler import plain, rule
from bankfull.policies.registry import Policy, Shape
from bankfull.spec import Keep

#: Returns what a stored tuple is worth now: ``(memory, slot, time)``.
Worth = Callable[[Any, int, int], float]


def as_policy(given: Policy | Worth) -> Policy:
    """Return a policy as it is, and of a function the policy it stands for."""
    return given if isinstance(given, Policy) else policy_of(given)()


@functools.cache
def policy_of(function: Worth) -> type[Policy]:
    """Return the policy that drops the tuple for which a function returns least.

    The function is compiled. It is asked anew of every stored tuple for each eviction: the cost of
    a policy that keeps no order. ``kernels/bounded/memory.py`` has what it may ask of a tuple.
    """
    path = f"{function.__module__}:{function.__qualname__}"
    name = "Own" + "".join(c if c.isalnum() else "_" for c in path)
    made: Any = namedtuple  # whose name is not known before
    state = made(name, ["seed"])
    state.__module__, state.__qualname__ = __name__, name
    globals()[name] = state  # compiled code names it when it is read back
    worth: Any = plain(function)

    def weigh(policy: Any, memory: Memory, slot: int, time: int) -> None:
        memory.slots[slot].priority = worth(memory, slot, time)

    def heap_is_unordered(policy: Any) -> bool:
        return True

    rule(hooks.enter, state)(weigh)
    rule(hooks.weigh, state)(weigh)
    rule(hooks.heap_is_unordered, state)(heap_is_unordered)

    @dataclass(frozen=True)
    class Own(Policy):
        """The tuple for which the user's function returns least goes first."""

        def start(self, shape: Shape) -> Any:
            return state(shape.seed)

        def keep(self) -> Keep:
            return Keep(path)

    Own.name, Own.__doc__ = path, function.__doc__
    return Own
