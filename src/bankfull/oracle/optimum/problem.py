"""What an offline optimum is asked and what it answers: plain data, one canonical order of turns.

Two streams share a memory of a few tuples. Somebody who knows all that is to come decides, turn
by turn, which tuples stay; what is dropped never comes back. Whatever arrives meets everything
that the other stream has in memory. The switches say what a turn is:

    ======================  ======================  ==========================================
    convention              a turn is               in a turn
    ======================  ======================  ==========================================
    (neither), ours         one arrival, in the     it meets what is stored, then somebody may
                            order (time, stream,    leave for it, or it is refused
                            row)
    ``together``            one instant, with all   they meet what is stored and one another,
                            that arrives in it      then it is decided who stays
    ``evict_first``,        one instant, with all   it is decided who stays, then those that
    the paper's example     that arrives in it      stayed and the arrivals meet
    ======================  ======================  ==========================================
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bankfull.errors import SpecError, closest

#: One stream: times (never decreasing), keys, importances; arrays or anything that becomes one.
Columns = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]

#: What is maximised first; the other one decides between equals.
Goal = Literal["importance", "results"]

#: The importance of a result, from that of its two members (section 3.2).
RULES: dict[str, Callable[[float, float], float]] = {
    "min": min,
    "max": max,
    "sum": lambda one, other: one + other,
    "product": lambda one, other: one * other,
    "average": lambda one, other: (one + other) / 2,
}


class Arrival(NamedTuple):
    """One tuple in its turn."""

    turn: int
    stream: int
    row: int
    time: int
    key: int
    importance: float


class Buffer(NamedTuple):
    """Room for some tuples of some streams."""

    streams: tuple[int, ...]
    room: int


class Stay(NamedTuple):
    """A tuple that is kept, and the last turn whose arrivals still meet it."""

    stream: int
    row: int
    until: int


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best output there is, and one way to get it.

    Tuples that earn nothing are not in ``kept``. No schedule reaches more than ``importance +
    slack``; ``slack`` is 0 where the arithmetic was exact.
    """

    results: int
    importance: float
    kept: tuple[Stay, ...]
    slack: float = 0.0


@dataclass(frozen=True, eq=False)
class Problem:
    """Two streams, one window, and too little memory.

    A tuple can be met while it is at most ``span`` old. (The paper's window of w is a span of
    w - 1.) ``memory`` is one number for a buffer that both streams share, or one for each.
    Only results of time ``since`` or later count.

    >>> problem = Problem(([3, 5], [1, 2], [1, 9]), ([4, 5], [1, 2], [4, 4]), span=2, memory=1)
    >>> [(arrival.turn, arrival.stream, arrival.time) for arrival in problem.arrivals]
    [(0, 0, 3), (1, 1, 4), (2, 0, 5), (3, 1, 5)]
    """

    left: Columns
    right: Columns
    span: int
    memory: int | tuple[int, int]
    rule: str = "min"
    since: int | None = None
    evict_first: bool = False
    together: bool = False

    def __post_init__(self) -> None:
        if self.span < 0:
            raise SpecError(f"span {self.span} is negative: 0 joins what comes at the same time")
        if any(buffer.room < 0 for buffer in self.buffers):
            raise SpecError(f"memory {self.memory} is negative: give a number of tuples, 0 or more")
        if self.rule not in RULES:
            raise SpecError(f"no importance rule {self.rule!r}: {closest(self.rule, RULES)}")
        for name, columns in (("left", self.left), ("right", self.right)):
            _check(name, *(np.asarray(column) for column in columns))
        largest = [float(np.max(columns[2], initial=0.0)) for columns in (self.left, self.right)]
        if not isfinite(RULES[self.rule](*largest)):
            raise SpecError(f"the {self.rule} of importances {largest} is not finite: lower them")

    @cached_property
    def buffers(self) -> tuple[Buffer, ...]:
        """The shared buffer, or one for each stream."""
        if isinstance(self.memory, tuple):
            return tuple(Buffer((stream,), room) for stream, room in enumerate(self.memory))
        return (Buffer((0, 1), self.memory),)

    @cached_property
    def arrivals(self) -> tuple[Arrival, ...]:
        """All tuples in canonical order (time, stream, row), numbered by turn."""
        ordered = sorted(
            (time, stream, row, key, importance)
            for stream, columns in enumerate((self.left, self.right))
            for row, (time, key, importance) in enumerate(
                zip(*(np.asarray(column).tolist() for column in columns), strict=True)
            )
        )
        by_instant = self.together or self.evict_first
        turns = sorted({row[0] for row in ordered}) if by_instant else range(len(ordered))
        turn_of = {instant: turn for turn, instant in enumerate(turns)}
        return tuple(
            Arrival(turn_of[time if by_instant else place], stream, row, time, key, importance)
            for place, (time, stream, row, key, importance) in enumerate(ordered)
        )

    def joins(self, earlier: Arrival, later: Arrival) -> bool:
        """Say whether two tuples agree and the later one comes within the earlier one's window."""
        return (
            earlier.stream != later.stream
            and earlier.key == later.key
            and later.time - earlier.time <= self.span
        )

    def counts(self, later: Arrival) -> bool:
        """Say whether results that are completed by this tuple count."""
        return self.since is None or later.time >= self.since

    def worth(self, one: Arrival, other: Arrival) -> float:
        """Return the importance of a result."""
        return float(RULES[self.rule](one.importance, other.importance))


def _check(name: str, times: Any, keys: Any, importances: Any) -> None:
    if not len(times) == len(keys) == len(importances):
        raise SpecError(
            f"{name} has {len(times)} times, {len(keys)} keys and {len(importances)} importances: "
            "give one of each for every tuple"
        )
    if np.any(np.diff(times) < 0):
        raise SpecError(f"times of {name} decrease: sort its tuples by time")
    if not np.all(np.isfinite(importances)) or np.any(np.asarray(importances) < 0):
        # Keeping more would no longer be at least as good, which all the searches rely on.
        raise SpecError(f"{name} has an importance that is not finite or is negative")
