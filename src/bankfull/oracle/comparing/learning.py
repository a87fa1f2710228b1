"""What a join has learned: how many tuples come, and what comparing them returned.

All of it is taken over when a plan is made. Sums fade by a factor for every basic window of time
since the plan before, or by new results where these are few; the rate of arrivals is mostly that of
the basic window before.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bankfull.oracle.comparing.tuples import Rules
from bankfull.oracle.comparing.work import Cells, Seen, Tried

#: What the arrivals of the basic window before count against those of all earlier ones.
LAST = 0.7
#: A longer silence, in basic windows, counts as one of this length.
LONG = 64


@dataclass
class Tally:
    """What was counted since the plan before; ``arrived`` and ``sampled`` by side and class."""

    arrived: dict[tuple[int, int], int] = field(default_factory=dict)
    sampled: dict[tuple[int, int], int] = field(default_factory=dict)
    seen: Seen = field(default_factory=Seen)
    tried_found: Cells = field(default_factory=dict)
    tried_worth: Cells = field(default_factory=dict)


class Learned:
    """The fading sums of one join."""

    def __init__(self, kinds: int, rules: Rules, directions: list[tuple[int, int]]) -> None:
        self.rules = rules
        self.directions = directions
        self.arrivals = [[0.0] * kinds for _ in directions]
        self.seen, self.tried = Seen(), Tried()
        self.tally = Tally()

    def half_full(self, j: int) -> float:
        """Return how many tuples the current basic window has on average that is searched.

        These tuples come to be compared with the side that searches, among others.
        """
        arriving, searched = self.directions[j]
        return sum(self.arrivals[self.directions.index((searched, arriving))]) / 2.0

    def learn(
        self,
        elapsed: int,
        meant: Cells,
        newest: dict[tuple[int, int], float],
        kept: float,
        least: float,
    ) -> None:
        """Take over what was counted since the plan before, so many basic windows ago.

        A share ``kept`` of the tuples was not dropped: without that more would have come, and of
        the pairs looked at only so many were with tuples that are there.

        ``meant`` are the tuples that others than the sampled were to be compared with, in every
        basic window but the current one; ``newest`` is the share of that, which had yet to fill.

        Unless ``least`` is 0, time alone makes nothing fade: so many new results replace all.
        """
        tally, passed = self.tally, min(elapsed, LONG)
        self.tally = Tally()
        last = LAST if any(own > 0.0 for side in self.arrivals for own in side) else 1.0
        quiet = (1.0 - LAST) ** (passed - 1)
        for j, side in enumerate(self.arrivals):
            for z, before in enumerate(side):
                arrived = tally.arrived.get((j, z), 0)
                side[z] = ((1.0 - last) * before + last * arrived / kept) * quiet
        pairs: Cells = {}
        others = {
            who: arrived - tally.sampled.get(who, 0) for who, arrived in tally.arrived.items()
        }
        for (j, z), number in others.items():
            pairs[j, z, 0] = number * (newest[j, z] * self.half_full(j))
        for (j, z, a), tuples in meant.items():
            if (j, z) in others:
                pairs[j, z, a] = others[j, z] * tuples
        fade, quiet = self.rules.fade, self.rules.fade ** (passed - 1)
        if least > 0.0:
            results = sum(tally.seen.found.values()) + sum(tally.tried_found.values())
            fade = 1.0 - results / least if results / least < 1.0 - fade else fade
            quiet = 1.0
        there = {cell: looked_at * kept for cell, looked_at in tally.seen.pairs.items()}
        for into, fresh in (
            (self.seen.pairs, there),
            (self.seen.steps, tally.seen.steps),
            (self.seen.found, tally.seen.found),
            (self.seen.worth, tally.seen.worth),
            (self.tried.pairs, pairs),
            (self.tried.found, tally.tried_found),
            (self.tried.worth, tally.tried_worth),
        ):
            for cell in {*into, *fresh}:
                into[cell] = (into.get(cell, 0.0) * fade + fresh.get(cell, 0.0)) * quiet
