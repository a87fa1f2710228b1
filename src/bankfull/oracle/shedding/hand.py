"""The hand that goes round the stored tuples, to note their priorities again."""

from __future__ import annotations

from bankfull.oracle.shedding.memory import Arrival, Memory

#: How many tuples are noted at a time.
LOOKS = 8
#: What a priority falls below to have fallen; of how many looks that is many, and few.
FALLEN, MANY, FEW = 2**-0.5, 0.03, 0.015


class Hand:
    """Points at a stored tuple, and goes stream by stream, from old to new.

    A note has fallen if it is less than the root of a half of the one before. When looks are
    settled and more than 3 % of the notes had fallen, twice as many are made from then on, eight
    a turn at most; if less than 1.5 %, half as many, one at least. Of what was counted half counts
    the next time. With a sample they are made eight at a time, every so many turns.
    """

    def __init__(self, streams: int, together: bool) -> None:
        self.together = together
        self.streams, self.stream = streams, 0
        self.at: int | None = None
        self.looks, self.fallen, self.noted = LOOKS, 0.0, 0.0

    def move_on(self, memory: Memory) -> None:
        """Point at the next newer tuple of the stream, or at nothing, if the tuple has left."""
        at = self.at
        if at is not None:
            after = [u.seq for u in memory.stored if u.stream == self.stream and u.seq >= at]
            self.at = min(after, default=None)

    def next(self, memory: Memory) -> Arrival:
        """Return the tuple that the hand points at, and point at the one behind it."""
        while self.at is None:
            self.stream = (self.stream + 1) % self.streams
            self.at = min((u.seq for u in memory.stored if u.stream == self.stream), default=None)
        at = self.at
        after = [u.seq for u in memory.stored if u.stream == self.stream and u.seq > at]
        self.at = min(after, default=None)
        return next(u for u in memory.stored if u.seq == at)

    def due(self, turns: int) -> int:
        """Return how many tuples are noted, once so many turns are over."""
        if self.together:
            return LOOKS if turns % (LOOKS // self.looks) == 0 else 0
        return self.looks

    def saw(self, before: float, after: float) -> None:
        """Count a note."""
        self.noted += 1
        self.fallen += after < FALLEN * before

    def settle(self) -> None:
        """Settle how many notes are made each turn."""
        if self.fallen > MANY * self.noted:
            self.looks = min(2 * self.looks, LOOKS)
        elif self.fallen < FEW * self.noted:
            self.looks = max(self.looks // 2, 1)
        self.fallen, self.noted = self.fallen / 2, self.noted / 2
