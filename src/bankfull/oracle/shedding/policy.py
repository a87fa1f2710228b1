"""What the loop asks of a policy."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import ClassVar, Protocol

from bankfull.oracle.shedding.memory import Arrival, Memory

#: A priority and the ties below it, compared from left to right.
Standing = tuple[float | Fraction, ...]


class Policy(Protocol):
    """Says which tuple goes first. The loop calls, for each tuple x, in this order:

    ``left(u)`` for each stored tuple that expires; ``arrived(x)`` once, after expiry and before the
    search; ``matched(u)`` for each stored member of each result; ``offered(x)`` when x asks for a
    place; while there is none, ``pressed(x)``, ``priority(u)`` for each candidate, and ``left(u)``
    for a stored victim; ``inserted(x)`` if x is to be stored, when all victims have left and x is
    not in yet; ``settled(x)`` at the end.
    A twin subclasses this and overrides what it needs: all but ``priority`` do nothing by default.
    """

    #: Whether a newcomer to a full buffer can be the victim itself.
    competes: ClassVar[bool] = True

    def begin(self) -> None:
        """Forget every earlier simulation."""
        return

    def arrived(self, x: Arrival, memory: Memory) -> None:
        """Take note of a new tuple, before its search."""
        return

    def matched(self, u: Arrival, memory: Memory) -> None:
        """Take note of one result that a stored tuple is a member of."""
        return

    def left(self, u: Arrival, memory: Memory) -> None:
        """Take note that a stored tuple has left, expired or evicted."""
        return

    def offered(self, x: Arrival, memory: Memory) -> None:
        """Take note that a tuple asks for a place, of which there may be none."""
        return

    def pressed(self, x: Arrival, memory: Memory) -> None:
        """Take note that somebody has to go for a tuple, once for each who does."""
        return

    @abstractmethod
    def priority(self, u: Arrival, memory: Memory) -> Standing:
        """Return where a candidate stands: the smallest goes first, of equals the oldest."""

    def inserted(self, x: Arrival, memory: Memory) -> None:
        """Take note that a tuple will be stored next."""
        return

    def settled(self, x: Arrival, memory: Memory) -> None:
        """Take note that the turn of a tuple is over, stored or not."""
        return
