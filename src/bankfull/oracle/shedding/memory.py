"""What has arrived, what is stored, and what can be counted there."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True)
class Arrival:
    """One accepted tuple; ``seq`` is its place in canonical order (time, stream, order within).

    ``keys`` holds one key a join of the query; None is a null key, or a join that the tuple's
    stream does not take part in; a join on sets has a set there, or items with their weights.
    ``importance`` is finite. ``weighed`` is False where the stream has no importance: the tuple is
    worth 1 to a policy, and does not count in the importance of a result. ``size`` is what storing
    it takes of the budget, beside its keys: 1 in tuples; in bytes see ``sizes.py``.
    """

    stream: int
    time: int
    keys: tuple[Any, ...]
    importance: float
    seq: int
    weighed: bool = True
    size: int = 1


@dataclass(frozen=True)
class JoinSpec:
    """An equality join: ``spans[i]`` is how long a tuple of ``streams[i]`` stays joinable in it.

    A window of n rows has an infinite span and n in ``rows``, which is infinite for windows of
    time (and need not be given where all are). Join number k of a query compares the tuples' key
    number k.
    """

    #: Whether a tuple has one key in it, not a set of them.
    single: ClassVar[bool] = True

    streams: tuple[int, ...]
    spans: tuple[float, ...]
    rows: tuple[float, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        assert len(self.streams) == len(self.spans) >= 2, self
        assert len(set(self.streams)) == len(self.streams), f"a stream joined with itself: {self}"
        assert len(self.rows) in (0, len(self.streams)), self

    def span(self, stream: int) -> float:
        """Return the window of one of the streams, infinite if it is one of rows."""
        return self.spans[self.streams.index(stream)]

    def most(self, stream: int) -> float:
        """Return the window of one of the streams in rows, infinite if it is one of time."""
        return self.rows[self.streams.index(stream)] if self.rows else math.inf

    def keys_of(self, x: Arrival, number: int) -> list[Any]:
        """Return what a tuple is found by in this join, as number ``number``: one key, or none."""
        joined = x.stream in self.streams and x.keys[number] is not None
        return [x.keys[number]] if joined else []

    def alike(self, x: Arrival, u: Arrival, number: int) -> bool:
        """Say whether two keys that are not None agree."""
        return bool(x.keys[number] == u.keys[number])

    def promise(self, stream: int, chances: list[float], many: float) -> float:
        """Return the chance that the next key is a partner's, of the chances of a tuple's keys."""
        return chances[0]

    def frequency(self, x: Arrival, history: list[Arrival], number: int) -> int:
        """Return how many of the tuples that have arrived agree with x."""
        return sum(agree(number, self, x, u) for u in history)


@dataclass
class Memory:
    """All that a policy may see; the loop alone changes it.

    ``history`` is every tuple processed so far, dropped ones among them, the present one last.
    ``stored`` is in order of arrival. The present tuple is in ``history`` from the start of its
    turn and in ``stored`` only from the end of it: until then no stored tuple counts it as a match.

    ``capacity`` is in the unit of the tuples' sizes. ``key_sizes``: what a key of each join takes,
    0 where the budget is one of tuples; ``note_sizes``: what it takes more once it came again.
    ``came``: how often each key of each join came. ``places``: how many tuples fit at most.
    ``aside``: how many are kept aside for recall (``aside.py``).
    """

    joins: Sequence[JoinSpec]
    capacity: Sequence[int] | int
    seed: int
    key_sizes: Sequence[int]
    note_sizes: Sequence[int]
    places: int
    aside: int
    history: list[Arrival] = field(default_factory=list)
    stored: list[Arrival] = field(default_factory=list)
    came: Counter[tuple[int, Any]] = field(default_factory=Counter)

    # ----------------------------------------------------------------------------------- time

    @property
    def now(self) -> int:
        """The time of the tuple being processed."""
        return self.history[-1].time

    @property
    def new_instant(self) -> bool:
        """Whether the tuple being processed is the first one of its time."""
        return [u.time for u in self.history].count(self.now) == 1

    def age(self, x: Arrival) -> int:
        """Return how long ago a tuple arrived."""
        return self.now - x.time

    def after(self, x: Arrival, settled: bool = False) -> int:
        """Return how many tuples of its stream came after a tuple and before the present one.

        If that is ``settled``, it counts too.
        """
        history = self.history if settled else self.history[:-1]
        return sum(u.stream == x.stream and u.seq > x.seq for u in history)

    def older(self, x: Arrival) -> list[list[Arrival]]:
        """Return, for each join, older tuples of the same stream and key, if any, newest first."""
        found = [
            [u for u in reversed(self.stored) if u.stream == x.stream and u.keys[number] == key]
            for number, key in enumerate(x.keys)
            if key is not None and self.joins[number].single
        ]
        older = [[u for u in same if u.seq < x.seq] for same in found]
        return [some for some in older if some]

    @property
    def longest_life(self) -> float | None:
        """The longest life that a stream's tuples have, or None if all are without end."""
        streams = {s for join in self.joins for s in join.streams}
        lives = [max(join.span(s) for join in self.joins if s in join.streams) for s in streams]
        ending = [life for life in lives if math.isfinite(life)]
        return max(1.0, *ending) if ending else None

    def span(self, x: Arrival) -> float:
        """Return how long a tuple lives: the largest window of its stream in any join.

        Infinite if a window of the stream is one of rows, which has no length in time.
        """
        return max(join.span(x.stream) for join in self.joins if x.stream in join.streams)

    def in_window(self, x: Arrival, join: JoinSpec, settled: bool = False) -> bool:
        """Say whether a tuple is still in its window of a join."""
        most = join.most(x.stream)
        stayed = math.isinf(most) or self.after(x, settled) < most  # to count takes long
        return stayed and self.age(x) <= join.span(x.stream)

    def expired(self, x: Arrival, settled: bool = False) -> bool:
        """Say whether a tuple has left its window of every join."""
        return not any(
            self.in_window(x, join, settled) for join in self.joins if x.stream in join.streams
        )

    # -------------------------------------------------------------------------------- buffers

    def together(self, x: Arrival, y: Arrival) -> bool:
        """Say whether two tuples compete for the same memory."""
        return isinstance(self.capacity, int) or x.stream == y.stream

    def buffer(self, x: Arrival) -> list[Arrival]:
        """Return what is stored in the buffer that a tuple belongs to."""
        return [u for u in self.stored if self.together(u, x)]

    def size(self, x: Arrival) -> int:
        """Return the capacity of the buffer that a tuple belongs to."""
        return self.capacity if isinstance(self.capacity, int) else self.capacity[x.stream]

    def taken(self, tuples: Sequence[Arrival]) -> int:
        """Return what tuples take together: a key is paid for once in each stream that holds it."""
        held = {
            (number, u.stream, key)
            for u in tuples
            for number, join in enumerate(self.joins)
            for key in join.keys_of(u, number)
        }
        return sum(u.size for u in tuples) + sum(self.cost(number, key) for number, _, key in held)

    def cost(self, number: int, key: Any) -> int:
        """Return what a key of a join takes for a stream that holds it."""
        again = self.came[number, key] > 1
        return self.key_sizes[number] + (self.note_sizes[number] if again else 0)

    def count(self, x: Arrival) -> None:
        """Count a tuple's keys."""
        for number, join in enumerate(self.joins):
            self.came.update((number, key) for key in join.keys_of(x, number))

    def fits(self, x: Arrival) -> bool:
        """Say whether a newcomer fits beside what is stored in its buffer."""
        return self.taken([*self.buffer(x), x]) <= self.size(x)

    def share(self, x: Arrival) -> float:
        """Return what a tuple takes, if those of its stream who hold a key each pay their part."""
        total = float(x.size)
        for number, join in enumerate(self.joins):
            for key in join.keys_of(x, number):
                holders = [u for u in self.stored if u.stream == x.stream]
                count = sum(key in join.keys_of(u, number) for u in holders)
                total += self.cost(number, key) / max(count, 1)
        return total

    # --------------------------------------------------------------------------------- counts

    def matches(self, x: Arrival) -> int:
        """Return m, the stored tuples of other streams that agree, once for every join.

        Windows do not matter: a tuple counts for as long as it is stored.
        """
        return sum(
            agree(number, join, x, u) for number, join in enumerate(self.joins) for u in self.stored
        )

    def frequency(self, x: Arrival) -> int:
        """Count likewise whatever has *arrived* on other streams, present tuple included."""
        return sum(
            join.frequency(x, self.history, number) for number, join in enumerate(self.joins)
        )

    def agree(self, x: Arrival, u: Arrival) -> bool:
        """Say whether two tuples agree in some join."""
        return any(agree(number, join, x, u) for number, join in enumerate(self.joins))


def agree(number: int, join: JoinSpec, x: Arrival, u: Arrival) -> bool:
    """Say whether two tuples of different streams of a join agree; None has no equal.

    >>> pair = JoinSpec((0, 1), (5, 5))
    >>> left, right = Arrival(0, 1, (3,), 1.0, 0), Arrival(1, 1, (3,), 1.0, 1)
    >>> agree(0, pair, left, right), agree(0, pair, left, left)
    (True, False)
    """
    return (
        x.stream != u.stream
        and x.stream in join.streams
        and u.stream in join.streams
        and x.keys[number] is not None
        and u.keys[number] is not None
        and join.alike(x, u, number)
    )
