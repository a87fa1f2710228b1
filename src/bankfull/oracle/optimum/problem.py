"""What an offline optimum is asked and what it answers: plain data, one canonical order of turns.

Streams share a memory of a few tuples. Somebody who knows all that is to come decides, turn by
turn, which tuples stay; what is dropped never comes back. Whatever arrives meets everything that
the other streams have in memory, in every join that it takes part in. The switches say what a
turn is:

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

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import isfinite, prod
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from bankfull.errors import SpecError, closest

#: One stream: times (never decreasing), keys, importances; arrays or anything that becomes one.
#: The keys are one a tuple, or a row of them, one for each attribute.
Columns = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]

#: What is maximised first; the other one decides between equals.
Goal = Literal["importance", "results"]
#: What ``odja`` and ``exhaustive`` can look for besides: the output of smallest importance.
Aim = Literal["importance", "results", "least importance"]

#: The importance of a result, from that of its members (section 3.2).
RULES: dict[str, Callable[[Sequence[float]], float]] = {
    "min": min,
    "max": max,
    "sum": sum,
    "product": prod,
    "average": lambda members: sum(members) / len(members),
}


class On(NamedTuple):
    """One join: which streams, how far apart at most, and on which of their attributes."""

    streams: tuple[int, ...]
    span: int
    attribute: int = 0


class Arrival(NamedTuple):
    """One tuple in its turn."""

    turn: int
    stream: int
    row: int
    time: int
    keys: tuple[int, ...]
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


class Meeting(NamedTuple):
    """Who completes results in a join, and whom it would find if nobody had been dropped.

    ``partners`` are those of each other stream, the newest first; all by their place in
    ``Problem.arrivals``. Every choice of one from each stream is a result.
    """

    join: On
    last: int
    partners: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Optimum:
    """The best output there is, and one way to get it.

    Tuples that earn nothing are not in ``kept``. No schedule reaches more of the goal than this
    one and ``slack``, which is 0 where the optimum was found and the arithmetic was exact.
    """

    results: int
    importance: float
    kept: tuple[Stay, ...]
    slack: float = 0.0


@dataclass(frozen=True, eq=False)
class Problem:
    """Streams, joins between them, and too little memory.

    A tuple can be met in a join while it is at most its ``span`` old. (The paper's window of w is
    a span of w - 1.) ``memory`` is one number for a buffer that all streams share, or one for
    each. A tuple is stored once, however many joins it is of use to. Only results of time
    ``since`` or later count.

    ``signed`` allows negative importances, of results that are not wanted (section 4.2.1). Then,
    and where the smallest importance is looked for, keeping less could be better; the decisions
    are nevertheless those of an operator and of the paper's graph, which drops nobody while there
    is room. Only ``odja`` and ``exhaustive`` go through such decisions.

    >>> streams = ([3, 5], [1, 2], [1, 9]), ([4, 5], [1, 2], [4, 4])
    >>> problem = Problem(streams, (On((0, 1), span=2),), memory=1)
    >>> [(arrival.turn, arrival.stream, arrival.time) for arrival in problem.arrivals]
    [(0, 0, 3), (1, 1, 4), (2, 0, 5), (3, 1, 5)]
    """

    streams: tuple[Columns, ...]
    joins: tuple[On, ...]
    memory: int | tuple[int, ...]
    rule: str = "min"
    since: int | None = None
    evict_first: bool = False
    together: bool = False
    signed: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.memory, tuple) and len(self.memory) != len(self.streams):
            raise SpecError(f"memory {self.memory} for {len(self.streams)} streams: one for each")
        if any(buffer.room < 0 for buffer in self.buffers):
            raise SpecError(f"memory {self.memory} is negative: give a number of tuples, 0 or more")
        if self.rule not in RULES:
            raise SpecError(f"no importance rule {self.rule!r}: {closest(self.rule, RULES)}")
        attributes = [
            _check(number, self.signed, *(np.asarray(column) for column in columns))
            for number, columns in enumerate(self.streams)
        ]
        for join in self.joins:
            _check_join(join, attributes)
            largest = [
                float(np.max(np.abs(self.streams[one][2]), initial=0.0)) for one in join.streams
            ]
            if not isfinite(RULES[self.rule](largest)):
                raise SpecError(
                    f"the {self.rule} of importances {largest} is not finite: lower them"
                )

    @cached_property
    def buffers(self) -> tuple[Buffer, ...]:
        """The shared buffer, or one for each stream."""
        if isinstance(self.memory, tuple):
            return tuple(Buffer((stream,), room) for stream, room in enumerate(self.memory))
        return (Buffer(tuple(range(len(self.streams))), self.memory),)

    @cached_property
    def arrivals(self) -> tuple[Arrival, ...]:
        """All tuples in canonical order (time, stream, row), numbered by turn."""
        ordered = sorted(
            (time, stream, row, tuple(keys), importance)
            for stream, columns in enumerate(self.streams)
            for row, (time, keys, importance) in enumerate(
                zip(
                    np.asarray(columns[0]).tolist(),
                    _rows(np.asarray(columns[1])),
                    np.asarray(columns[2]).tolist(),
                    strict=True,
                )
            )
        )
        by_instant = self.together or self.evict_first
        turns = sorted({row[0] for row in ordered}) if by_instant else range(len(ordered))
        turn_of = {instant: turn for turn, instant in enumerate(turns)}
        return tuple(
            Arrival(turn_of[time if by_instant else place], stream, row, time, keys, importance)
            for place, (time, stream, row, keys, importance) in enumerate(ordered)
        )

    @cached_property
    def in_pairs(self) -> bool:
        """Whether all joins are of two streams: then what a tuple earns is its own affair."""
        return all(len(join.streams) == 2 for join in self.joins)

    @cached_property
    def lasting(self) -> tuple[int, ...]:
        """How old a tuple of each stream can be and still be met; -1 if nobody ever meets it."""
        return tuple(
            max((join.span for join in self.joins if stream in join.streams), default=-1)
            for stream in range(len(self.streams))
        )

    def meetings(self) -> Iterator[Meeting]:
        """Yield the exact join, those results together that one arrival completes in one join."""
        seen: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        for place, last in enumerate(self.arrivals):
            for number, join in enumerate(self.joins):
                if last.stream not in join.streams:
                    continue
                key = last.keys[join.attribute]
                if self.counts(last):
                    oldest = last.time - join.span
                    partners = tuple(
                        tuple(self._newest(seen[number, other, key], oldest))
                        for other in join.streams
                        if other != last.stream
                    )
                    if all(partners):
                        yield Meeting(join, place, partners)
                seen[number, last.stream, key].append(place)

    def _newest(self, places: list[int], oldest: int) -> Iterator[int]:
        for place in reversed(places):
            if self.arrivals[place].time < oldest:
                return  # and so are all before it
            yield place

    def completed(self, there: Iterable[Arrival], last: Arrival) -> Iterator[tuple[Arrival, ...]]:
        """Yield the results that an arrival completes with what is there: once for each join."""
        there = tuple(there)
        for join in self.joins:
            if last.stream in join.streams and self.counts(last):
                yield from product(
                    *(
                        [one for one in there if one.stream == other and _agree(join, one, last)]
                        for other in join.streams
                        if other != last.stream
                    ),
                    (last,),
                )

    def counts(self, last: Arrival) -> bool:
        """Say whether results that are completed by this tuple count."""
        return self.since is None or last.time >= self.since

    def worth(self, members: Iterable[Arrival]) -> float:
        """Return the importance of a result."""
        return float(RULES[self.rule]([member.importance for member in members]))


def two(
    left: Columns, right: Columns, span: int, memory: int | tuple[int, int], **switches: Any
) -> Problem:
    """Return the problem of both papers: one join of two streams.

    >>> two(([3], [1], [1]), ([4], [1], [4]), span=2, memory=(1, 1)).joins
    (On(streams=(0, 1), span=2, attribute=0),)
    """
    return Problem((left, right), (On((0, 1), span),), memory, **switches)


def _agree(join: On, earlier: Arrival, later: Arrival) -> bool:
    return (
        earlier.keys[join.attribute] == later.keys[join.attribute]
        and later.time - earlier.time <= join.span
    )


def _rows(keys: npt.NDArray[Any]) -> list[list[int]]:
    found: list[list[int]] = keys.reshape(len(keys), -1 if len(keys) else 1).tolist()
    return found


def _check_join(join: On, attributes: list[int]) -> None:
    if join.span < 0:
        raise SpecError(f"span {join.span} is negative: 0 joins what comes at the same time")
    if len(set(join.streams)) < max(2, len(join.streams)):
        raise SpecError(f"a join of streams {join.streams}: name two or more, none of them twice")
    for stream in join.streams:
        if not 0 <= stream < len(attributes):
            raise SpecError(f"no stream {stream}: there are {len(attributes)}")
        if not 0 <= join.attribute < attributes[stream]:
            raise SpecError(f"stream {stream} has no attribute {join.attribute}")


def _check(number: int, signed: bool, times: Any, keys: Any, importances: Any) -> int:
    """Refuse columns that are no stream; return how many attributes there are."""
    if not len(times) == len(keys) == len(importances):
        raise SpecError(
            f"stream {number} has {len(times)} times, {len(keys)} keys and {len(importances)} "
            "importances: give one of each for every tuple"
        )
    if np.any(np.diff(times) < 0):
        raise SpecError(f"times of stream {number} decrease: sort its tuples by time")
    if not np.all(np.isfinite(importances)) or (not signed and np.any(np.asarray(importances) < 0)):
        # Keeping more would no longer be at least as good, which the flow and the bound rely on.
        raise SpecError(
            f"stream {number} has an importance that is not finite or is negative: negative ones "
            "are for odja and exhaustive alone, with signed=True"
        )
    return keys.shape[1] if keys.ndim > 1 else 1
