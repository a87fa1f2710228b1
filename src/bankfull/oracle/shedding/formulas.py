"""The general priority formulas of importance, matches and time.

Reference: paper `importance`, 3.2. Exponents and weights are not negative; the newcomer competes
and the oldest loses a tie, as with simp, which is a special case. Matches are those stored at the
moment of the decision. float64, evaluated from left to right as written below.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bankfull.oracle.shedding.memory import Arrival, Memory
from bankfull.oracle.shedding.policy import Policy, Standing


@dataclass
class Additive(Policy):
    """alpha × importance + beta × matches + delta × time of arrival."""

    alpha: float
    beta: float
    delta: float

    def __post_init__(self) -> None:
        assert min(self.alpha, self.beta, self.delta) >= 0, self

    def value(self, u: Arrival, memory: Memory) -> float:
        """Return what a tuple is worth by the formula now."""
        return self.alpha * u.importance + self.beta * memory.matches(u) + self.delta * u.time

    def priority(self, u: Arrival, memory: Memory) -> Standing:
        return (self.value(u, memory),)


@dataclass
class Multiplicative(Policy):
    """importance ** alpha × matches ** beta × (1 + time of arrival) ** delta; 0 ** 0 is 1.

    Importance and time must not be negative here. Deviations: 1 + time, as the first instant is 0.
    """

    alpha: float
    beta: float
    delta: float

    def __post_init__(self) -> None:
        assert min(self.alpha, self.beta, self.delta) >= 0, self

    def priority(self, u: Arrival, memory: Memory) -> Standing:
        assert u.importance >= 0, u
        assert u.time >= 0, u
        importance, m, time = float(u.importance), float(memory.matches(u)), float(1 + u.time)
        value: float = importance**self.alpha * m**self.beta * time**self.delta
        return (value,)


@dataclass
class Cumulative(Additive):
    """A rolling average of the additive value: keep × previous + (1 - keep) × value now.

    A newcomer starts with its value on arrival. All stored tuples, of every buffer, are averaged
    when the first tuple of a new instant comes, after expiry and before its search; instants at
    which nothing arrives do not count.
    """

    keep: float
    average: dict[int, float] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        assert 0 <= self.keep <= 1, self

    def begin(self) -> None:
        self.average = {}

    def arrived(self, x: Arrival, memory: Memory) -> None:
        if memory.new_instant:
            for u in memory.stored:
                previous, value = self.average[u.seq], self.value(u, memory)
                self.average[u.seq] = self.keep * previous + (1.0 - self.keep) * value
        self.average[x.seq] = self.value(x, memory)

    def priority(self, u: Arrival, memory: Memory) -> Standing:
        return (self.average[u.seq],)
