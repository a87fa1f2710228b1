"""The selection of a join of three and more streams, as the definition reads.

A tuple searches the other streams in their order, each as far as is chosen for whoever comes from
its stream, and stops where it finds nothing. Results are all combinations of what it found. A
tuple of the sample counts the pairs of all windows, whether it searched them or not, and a result
in the basic window of each of its members.
"""

from __future__ import annotations

import itertools

from bankfull.oracle.comparing.searching import Search, search
from bankfull.oracle.comparing.selecting import Selected, add
from bankfull.oracle.comparing.tuples import Arrival, JoinSpec, Rules
from bankfull.oracle.comparing.work import Seen, Tried, Work
from bankfull.oracle.shedding.draws import uniform


class SelectedOfSeveral(Selected):
    """What one join on keys compares, of three and more streams.

    That a scan takes a comparison for each pair is what it begins with, as if it had been seen of
    one pair of each kind.
    """

    def __init__(
        self,
        number: int,
        join: JoinSpec,
        rules: Rules,
        kinds: int,
        stored: list[list[Arrival]],
        dropped: set[tuple[int, int]],
    ) -> None:
        super().__init__(number, join, rules, kinds, stored, dropped)
        if join.search == "scan":
            ways, windows = range(len(self.directions)), range(self.windows)
            for cell in itertools.product(ways, range(kinds), windows):
                self.learned.seen.pairs[cell] = self.learned.seen.steps[cell] = 1.0

    def work(self, time: int) -> Work:
        """Cut the windows as for two streams; only the sample knows what they return."""
        work = super().work(time)
        return Work(
            work.tuples, work.arrivals, work.seen, Tried(), work.in_chains, False, work.arriving
        )

    def compare(self, x: Arrival, z: int) -> None:
        """Compare a tuple of class z with the other streams, and count what came of it."""
        side = self.join.streams.index(x.stream)
        sides = [j for j in range(len(self.join.streams)) if j != side]
        whole = uniform(self.rules.seed + side, x.number) < self.whole
        left = self.left + (self.aside if self._is_of_sample(whole) else 0)
        low = {j: self.left_behind(j, x.time) for j in sides}
        searched: dict[int, list[Search]] = {}
        exhausted = False
        for j in sides:
            searched[j] = self._search(x, z, side, j, whole, low[j], left)
            left -= sum(came.compared for came in searched[j])
            exhausted = any(came.exhausted for came in searched[j])
            if exhausted or not any(came.found for came in searched[j]):
                break
        compared = sum(came.compared for parts in searched.values() for came in parts)
        self._pay(whole, exhausted, compared)
        tally = self.learned.tally
        for j in sides:
            pairs = len(self.stored[j]) - low[j]
            looked = sum(came.looked_at for came in searched.get(j, []))
            if j in searched or exhausted:
                self.skipped[j] += pairs - looked
            add(tally.arrived, (self._way(side, j), z), 1)
        found = [
            [u for came in searched.get(j, []) for u in came.found] if j != side else [x]
            for j in range(len(self.join.streams))
        ]
        combinations = list(itertools.product(*found))
        self.results += [tuple(u.number for u in members) for members in combinations]
        if whole and not exhausted:
            self._learn(x, z, side, searched, low, combinations)

    def _way(self, side: int, j: int) -> int:
        return self.directions.index((side, j))

    def _search(
        self, x: Arrival, z: int, side: int, j: int, whole: bool, low: int, left: int
    ) -> list[Search]:
        """Search one window, newest tuples first."""
        d = self._way(side, j)
        here = len(self.stored[j])
        ranges = self._chosen(d, z)
        if whole:
            ends = [here, *self.edges[d]]
            ranges = [(self.edges[d][a], ends[a]) for a in range(self.windows)]
        searches: list[Search] = []
        for first, last in ranges:
            part = [self._keyed(u) for u in reversed(self.stored[j][max(first, low) : last])]
            if any(before.exhausted for before in searches):
                searches.append(Search(exhausted=True))
                continue
            came = search(self.join, side, x.keys[self.number], part, left)
            searches.append(came)
            left -= came.compared
        return searches

    def _learn(
        self,
        x: Arrival,
        z: int,
        side: int,
        searched: dict[int, list[Search]],
        low: dict[int, int],
        combinations: list[tuple[Arrival, ...]],
    ) -> None:
        """Count what a tuple of the sample saw."""
        tally = self.learned.tally
        seen: Seen = tally.seen
        for j, first in low.items():
            d = self._way(side, j)
            add(tally.sampled, (d, z), 1)
            ends = [len(self.stored[j]), *self.edges[d]]
            for a in range(self.windows):
                add(seen.pairs, (d, z, a), max(0, ends[a] - max(first, self.edges[d][a])))
            for a, came in enumerate(searched.get(j, [])):
                add(seen.steps, (d, z, a), came.compared)
        for members in combinations:
            worth = self.rules.worth(*members)
            for j, u in enumerate(members):
                if j != side:
                    a = self.window_of(x, u)
                    add(seen.found, (self._way(side, j), z, a), 1)
                    add(seen.worth, (self._way(side, j), z, a), worth)
