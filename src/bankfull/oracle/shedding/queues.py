"""Policies of caches, which keep queues and name their victim outright: sieve, s3fifo.

A tuple is used when it is part of a result; a newcomer always comes in. There are queues of its own
for each buffer.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import ClassVar

from bankfull.oracle.shedding.memory import Arrival, Memory
from bankfull.oracle.shedding.policy import Policy, Standing


@dataclass
class _Naming(Policy):
    """Names one stored tuple, each time that somebody has to go."""

    competes: ClassVar[bool] = False

    named: Arrival | None = field(init=False, repr=False, default=None)

    def begin(self) -> None:
        self.named = None

    @abstractmethod
    def choose(self, x: Arrival, memory: Memory) -> Arrival:
        """Return who has to leave the buffer of a newcomer; may take note of having been asked."""

    def pressed(self, x: Arrival, memory: Memory) -> None:
        self.named = self.choose(x, memory) if memory.buffer(x) else None

    def priority(self, u: Arrival, memory: Memory) -> Standing:
        return (0,) if u is self.named else (1,)


def _which(x: Arrival, memory: Memory) -> int:
    """Return the number of a tuple's buffer."""
    return 0 if isinstance(memory.capacity, int) else x.stream


@dataclass
class Sieve(_Naming):
    """A hand goes from the oldest to the newest; who was used is forgiven, who was not goes.

    Reference: Zhang et al., SIEVE, NSDI 2024, Algorithm 1. The hand goes on behind the tuple that
    was dropped; behind the newest it begins with the oldest again. ``hand`` is the seq of the tuple
    it looked at last, which may have left.
    """

    used: set[int] = field(init=False, repr=False, default_factory=set)
    hand: dict[int, int] = field(init=False, repr=False, default_factory=dict)

    def begin(self) -> None:
        super().begin()
        self.used, self.hand = set(), {}

    def matched(self, u: Arrival, memory: Memory) -> None:
        self.used.add(u.seq)

    def choose(self, x: Arrival, memory: Memory) -> Arrival:
        while True:
            hand = self.hand.get(_which(x, memory), -1)
            ahead = [u for u in memory.buffer(x) if u.seq > hand]
            if not ahead:
                self.hand[_which(x, memory)] = -1
                continue
            self.hand[_which(x, memory)] = ahead[0].seq
            if ahead[0].seq not in self.used:
                return ahead[0]
            self.used.remove(ahead[0].seq)


@dataclass
class S3Fifo(_Naming):
    """A small queue on trial, a main queue, and ghosts of those who failed.

    Reference: Yang et al., SOSP 2023, Algorithm 1. While the small queue has more than its share of
    the buffer (or all of it), its head goes if unused, and to the main queue, unused again, if
    used; otherwise the head of the main queue goes if unused, and to its tail with one use less if
    used. At most three uses count. A tuple that leaves from the small queue, evicted or expired,
    leaves a ghost of its stream and key (its first, of several joins) for as many arrivals as the
    memory has places (in bytes: as it is thought to have); a newcomer that has a ghost enters the
    main queue.
    """

    small: float = 0.1
    trial: dict[int, list[Arrival]] = field(init=False, repr=False, default_factory=dict)
    main: dict[int, list[Arrival]] = field(init=False, repr=False, default_factory=dict)
    uses: Counter[int] = field(init=False, repr=False, default_factory=Counter)
    ghosts: dict[object, int] = field(init=False, repr=False, default_factory=dict)

    def begin(self) -> None:
        super().begin()
        self.trial, self.main = defaultdict(list), defaultdict(list)
        self.uses, self.ghosts = Counter(), {}

    def matched(self, u: Arrival, memory: Memory) -> None:
        self.uses[u.seq] = min(self.uses[u.seq] + 1, 3)

    def choose(self, x: Arrival, memory: Memory) -> Arrival:
        trial, main = self.trial[_which(x, memory)], self.main[_which(x, memory)]
        size = len(memory.buffer(x))
        while True:
            on_trial = len(trial) > self.small * size or len(trial) == size
            head = trial[0] if on_trial else main[0]
            if self.uses[head.seq] == 0:
                return head
            (trial if on_trial else main).remove(head)
            main.append(head)
            self.uses[head.seq] = 0 if on_trial else self.uses[head.seq] - 1

    def inserted(self, x: Arrival, memory: Memory) -> None:
        since = self.ghosts.get(self._name(x))
        recent = since is not None and len(memory.history) - since <= memory.places
        (self.main if recent else self.trial)[_which(x, memory)].append(x)

    def left(self, u: Arrival, memory: Memory) -> None:
        trial, main = self.trial[_which(u, memory)], self.main[_which(u, memory)]
        if u in main:
            main.remove(u)
            return
        trial.remove(u)
        if self._name(u) is not None:
            # Who expired left ahead of the present arrival, who was evicted left behind it.
            self.ghosts[self._name(u)] = len(memory.history) - memory.expired(u)

    def _name(self, u: Arrival) -> object:
        """Return stream, join and key, for the first join that has a key; None without one."""
        named = [(u.stream, join, key) for join, key in enumerate(u.keys) if key is not None]
        return named[0] if named else None
