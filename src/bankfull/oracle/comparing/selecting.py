"""The selection of one join: how a plan becomes ranges of tuples, and how they are compared."""

from __future__ import annotations

import math

from bankfull.oracle.comparing import lasting
from bankfull.oracle.comparing.learning import Learned
from bankfull.oracle.comparing.searching import Search, search
from bankfull.oracle.comparing.tuples import Arrival, JoinSpec, Rules
from bankfull.oracle.comparing.work import Cells, Choice, Work
from bankfull.oracle.shedding.draws import uniform

#: A window of rows has so many basic windows behind the current one.
ROWS = 20
#: Tuples from one number to before another, newest last.
Range = tuple[int, int]


class Selected:
    """What one join compares; ``stored`` has the tuples of all streams that came so far.

    Basic window 0 is that of the present time, and they are cut by the tuples' own times. The
    choice says how much of each is compared, its newest tuples; of the current one, which fills up
    while the plan holds, the newest of those that are there when a tuple comes.
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
        self.number, self.join, self.rules, self.kinds = number, join, rules, kinds
        self.stored = [stored[stream] for stream in join.streams]
        self.dropped = dropped
        self.windows = 1 + max(
            ROWS if math.isinf(span) else math.ceil(span / rules.basic) for span in join.spans
        )
        self.directions = join.directions
        self.learned = Learned(kinds, rules, self.directions)
        self.choice: Choice = [[[1.0] * self.windows] * kinds for _ in self.directions]
        self.whole = 1.0
        #: Comparisons that may still be made in this basic window, and those that only tuples of
        #: the sample may make.
        self.left, self.aside = 0, 0
        self.edges: list[list[int]] = [[0] * self.windows for _ in self.directions]
        #: The tuples that are chosen of every basic window; how many are there on average.
        self.taken: dict[tuple[int, int, int], int] = {}
        self.meant: Cells = {}
        self.compared = 0
        self.skipped = [0] * len(join.streams)
        self.results: list[tuple[int, ...]] = []

    def learn(self, elapsed: int, kept: float, remembers: float) -> None:
        """Take over what was seen since the plan before, when a share of the tuples was kept."""
        ways, kinds = range(len(self.directions)), range(self.kinds)
        newest = {(j, z): self.choice[j][z][0] for j in ways for z in kinds}
        least = remembers * len(self.directions) * self.windows
        self.learned.learn(elapsed, self.meant, newest, kept, least)

    def work(self, time: int) -> Work:
        """Cut the windows as they are at ``time``, that of the next tuple."""
        tuples = []
        for j, (_, side) in enumerate(self.directions):
            begin = time // self.rules.basic * self.rules.basic
            for a in range(self.windows):
                since = max(begin - a * self.rules.basic, time - self.join.spans[side])
                self.edges[j][a] = self._begin_of(side, a, since)
            there = [self.there(j, a) for a in range(1, self.windows)]
            tuples.append([self.learned.half_full(j), *there])
        return Work(
            tuples,
            [list(side) for side in self.learned.arrivals],
            self.learned.seen,
            self.learned.tried,
            in_chains=self.join.search == "hash",
            scanned=self.join.search == "scan",
            arriving=[arriving for arriving, _ in self.directions],
        )

    def there(self, j: int, a: int) -> float:
        """Return how many tuples of a basic window are there on average while the plan holds."""
        length = self.edges[j][a - 1] - self.edges[j][a]
        return length * lasting.there(1.0, a, self._span(j), self.rules.basic)

    def _span(self, j: int) -> float:
        return self.join.spans[self.directions[j][1]]

    def _begin_of(self, side: int, a: int, since: float) -> int:
        """Return how many tuples of a side come before basic window a, which is since a time.

        Of a window of rows the oldest has all that the window has beside the others.
        """
        older = sum(1 for u in self.stored[side] if u.time < since)
        most = self.join.most(side)
        if math.isinf(most):
            return older
        left = max(0, len(self.stored[side]) - int(most))
        return left if a == self.windows - 1 else max(left, older)

    def left_behind(self, side: int, time: int) -> int:
        """Return how many tuples of a side have left their window."""
        older = sum(1 for u in self.stored[side] if u.time < time - self.join.spans[side])
        return int(max(older, len(self.stored[side]) - self.join.most(side)))

    def window_of(self, x: Arrival, u: Arrival) -> int:
        """Return in which basic window a tuple lies at the turn of another."""
        return min(x.time // self.rules.basic - u.time // self.rules.basic, self.windows - 1)

    def choose(self, choice: Choice) -> None:
        """Compare so much of every basic window from now on."""
        self.choice, self.taken, self.meant = choice, {}, {}
        for j in range(len(self.directions)):
            for a in range(1, self.windows):
                length = self.edges[j][a - 1] - self.edges[j][a]
                for z in range(self.kinds):
                    if length:
                        about = a, self._span(j), self.rules.basic
                        taken = math.floor(lasting.newest(choice[j][z][a], *about) * length + 0.5)
                        self.taken[j, z, a] = taken
                        self.meant[j, z, a] = lasting.there(taken / length, *about) * length

    def planned(self, work: Work) -> float:
        """Return the comparisons that are expected until the next plan."""
        total = 0.0
        for j in range(len(self.directions)):
            cost = work.cost(j)
            for z in range(self.kinds):
                if work.arrivals[j][z] > 0.0:
                    for a in range(self.windows):
                        each = work.arrivals[j][z] * (work.tuples[j][a] * cost[a])
                        share = self.whole + (1.0 - self.whole) * self.choice[j][z][a]
                        total += each * share
        return total

    # ------------------------------------------------------------------------------ one tuple

    def compare(self, x: Arrival, z: int) -> None:
        """Compare a tuple of class z with the other stream, and count what came of it."""
        side = self.join.streams.index(x.stream)
        j = 1 - side
        low = self.left_behind(j, x.time)
        whole = uniform(self.rules.seed + side, x.number) < self.whole
        ranges = self._basic_windows(j) if whole else self._chosen(j, z)
        searches: list[Search] = []
        left = self.left + (self.aside if self._is_of_sample(whole) else 0)
        for first, last in ranges:
            part = [self._keyed(u) for u in reversed(self.stored[j][max(first, low) : last])]
            came = search(self.join, side, x.keys[self.number], part, left)
            if self.join.search == "hash" and any(before.exhausted for before in searches):
                # A chain is followed from new to old, so it ends where it ended.
                came = Search(exhausted=bool(part))
            searches.append(came)
            left -= came.compared
        self._count(x, z, j, whole, searches, len(self.stored[j]) - low)

    def _is_of_sample(self, whole: bool) -> bool:
        """Tell whether a tuple that is compared with everything is so unlike others."""
        return whole and self.whole < 1.0

    def _pay(self, whole: bool, exhausted: bool, compared: int) -> None:
        """Take comparisons from what is left: those of the sample from what is set aside, first."""
        aside = min(compared, self.aside) if self._is_of_sample(whole) else 0
        self.aside -= aside
        self.left -= compared - aside
        self.compared += compared
        if not whole and exhausted:
            # Who comes now and is not of the sample is not compared any more.
            self.left, self.aside = 0, self.aside + self.left

    def _keyed(self, u: Arrival) -> tuple[Arrival, object]:
        return u, None if (u.stream, u.number) in self.dropped else u.keys[self.number]

    def _basic_windows(self, j: int) -> list[Range]:
        """Return all basic windows of a side, newest first."""
        ends = [len(self.stored[j]), *self.edges[j]]
        return [(self.edges[j][a], ends[a]) for a in range(self.windows)]

    def _chosen(self, j: int, z: int) -> list[Range]:
        """Return the parts that a tuple of class z is compared with, newest first.

        Parts that touch are one. A chain must be followed from its newest tuple.
        """
        here, share = len(self.stored[self.directions[j][1]]), self.choice[j][z][0]
        newest = self.edges[j][0] if share >= 1.0 else here - int(share * (here - self.edges[j][0]))
        ranges = [(newest, here)]
        for a in range(1, self.windows):
            last = self.edges[j][a - 1]
            first = last - self.taken.get((j, z, a), 0)
            if first == last:
                continue
            if ranges[-1][0] == last and (len(ranges) > 1 or share >= 1.0):
                ranges[-1] = (first, ranges[-1][1])
            else:
                ranges.append((first, last))
        return [(ranges[-1][0], here)] if self.join.search == "hash" else ranges

    def _count(
        self, x: Arrival, z: int, j: int, whole: bool, searches: list[Search], window: int
    ) -> None:
        compared = sum(came.compared for came in searches)
        self._pay(whole, any(came.exhausted for came in searches), compared)
        self.skipped[j] += window - sum(came.looked_at for came in searches)
        found = [u for came in searches for u in came.found]
        for u in found:
            pair = (x.number, u.number) if j == 1 else (u.number, x.number)
            self.results.append(pair)
        tally = self.learned.tally
        add(tally.arrived, (j, z), 1)
        if any(came.exhausted for came in searches):
            return  # what it would have found is not known
        if whole:
            add(tally.sampled, (j, z), 1)
            for a, came in enumerate(searches):
                add(tally.seen.pairs, (j, z, a), came.looked_at)
                add(tally.seen.steps, (j, z, a), came.compared)
        elif self.join.search == "hash":
            return
        for u in found:
            cell = j, z, self.window_of(x, u)
            worth = self.rules.worth(x, u)
            add(tally.seen.found if whole else tally.tried_found, cell, 1)
            add(tally.seen.worth if whole else tally.tried_worth, cell, worth)


def add(counts: dict, key: tuple[int, ...], amount: float) -> None:  # type: ignore[type-arg]
    """Add to a count that may not be there yet."""
    counts[key] = counts.get(key, 0) + amount
