"""What sets earn that their items do not promise."""

from __future__ import annotations

from collections import defaultdict

from bankfull.oracle.shedding.returns import CLASSES, Returns


class Unexplained:
    """A chance that the next key is that of a partner, the same for all sets of a stream.

    Items promise meetings as if they came independently. *Scale* is how many meetings tuples of
    the sample that have had more than one partner had for each that was promised them; one more is
    believed to be as promised, of as many as there are keys to a tuple. What those without a
    partner have met, divided by the scale, beyond twice of what was promised them, is unexplained:
    it is divided among the keys that came while they were looked at, once for each set of a tuple.
    """

    def __init__(self) -> None:
        self.chance: dict[int, float] = defaultdict(float)
        self.seen: dict[int, float] = defaultdict(float)
        self.promised: dict[tuple[int, bool], float] = defaultdict(float)

    def look(self, stream: int, had: int, promised: float, sets: float) -> None:
        """Count what a tuple of the sample was promised, and keys that its sets might have met."""
        if had == 0:
            self.seen[stream] += sets
        if had == 0 or had >= CLASSES - 1:
            self.promised[stream, had > 0] += promised

    def settle(self, returns: dict[int, Returns], keys: float, kept: float) -> None:
        """Settle the chances; ``keys`` come with a tuple, and so much is kept of what was seen."""
        many = sum(_found(one, CLASSES - 1) for one in returns.values())
        promised = sum(self.promised[stream, True] for stream in returns)
        scale = (many + 1) / (promised + 1 / keys)
        for stream, one in returns.items():
            beyond = _found(one, 0) / scale - 2 * self.promised[stream, False]
            if self.seen[stream] > 0:
                self.chance[stream] = max(beyond, 0.0) / self.seen[stream]
            self.seen[stream] *= kept
            for had in (False, True):
                self.promised[stream, had] *= kept


def _found(one: Returns, had: int) -> float:
    return sum(found for (_, partners), found in one.found.items() if partners == had)
