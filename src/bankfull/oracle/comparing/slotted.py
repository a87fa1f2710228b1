"""A budget of comparisons beside one of memory, as the definition reads.

The plans, and what is learned, are those of ``simulate.py``; the order of events is that of
``oracle/shedding``. A tuple is compared with what is stored, newest first: with its whole window if
it is sampled, or else with what is chosen for its class: on sets with that alone, on keys down to
the oldest such tuple, whatever lies between. A comparison is a tuple of the same key, or an item in
common with a tuple. Sets are compared as far as is chosen or not at all; keys as far as comparisons
are left.

How many pairs there are is counted by what was stored when the plan was made and what came since;
plans learn from what of it is in the window on average.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bankfull.oracle.comparing.choices import Algorithm
from bankfull.oracle.comparing.selecting import Selected, add
from bankfull.oracle.comparing.simulate import Operator
from bankfull.oracle.comparing.tuples import Arrival, JoinSpec, Rules
from bankfull.oracle.comparing.work import Choice, Tried, Work
from bankfull.oracle.shedding import Arrival as Tuple
from bankfull.oracle.shedding import Memory
from bankfull.oracle.shedding.draws import uniform


class SlotSelected(Selected):
    """What one join compares of all that is stored; ``came`` counts the tuples of each stream."""

    def __init__(
        self, number: int, join: JoinSpec, rules: Rules, kinds: int, came: list[int]
    ) -> None:
        super().__init__(number, join, rules, kinds, [[] for _ in came], set())
        self.came = came
        self.first = [0] * len(self.directions)

    def see(self, stored: list[list[Arrival]]) -> None:
        """Be told what is stored, by stream, before a plan is made."""
        self.stored = [list(stored[stream]) for stream in self.join.streams]
        self.first = [self.came[self.join.streams[side]] for _, side in self.directions]

    def work(self, time: int) -> Work:
        work = super().work(time)
        several = len(self.join.streams) > 2
        tried = Tried() if several else work.tried
        return replace(work, tried=tried, in_chains=not self.join.on_sets, scanned=False)

    def choose(self, choice: Choice) -> None:
        super().choose(choice)
        ready = [
            self.edges[j][0] == len(self.stored[k]) for j, (_, k) in enumerate(self.directions)
        ]
        assert all(ready), "a plan came late"

    def _begin_of(self, side: int, a: int, since: float) -> int:
        """Return how many stored tuples come before a basic window; rows count as they came."""
        older = sum(1 for u in self.stored[side] if u.time < since)
        gone = self.came[self.join.streams[side]] - self.join.most(side)
        left = sum(1 for u in self.stored[side] if u.number < gone)
        whole = math.isfinite(self.join.most(side)) and a == self.windows - 1
        return left if whole else max(left, older)

    def _lengths(self, j: int) -> list[int]:
        """Return how many pairs every basic window has."""
        newest = self._came(j) - self.first[j]
        edges = self.edges[j]
        return [newest, *(edges[a - 1] - edges[a] for a in range(1, self.windows))]

    def there(self, j: int, a: int) -> float:
        return super().there(j, a) if a > 0 else float(self._came(j) - self.first[j])

    def _came(self, j: int) -> int:
        """Return how many tuples came so far of the stream whose window a direction searches."""
        return self.came[self.join.streams[self.directions[j][1]]]

    def _within(self, x: Arrival, side: int, u: Arrival) -> bool:
        """Say whether a tuple of a side is in its window at the turn of another."""
        after = self.came[u.stream] - u.number - 1
        return u.time >= x.time - self.join.spans[side] and after < self.join.most(side)

    def _reach(self, j: int, z: int) -> tuple[int, int]:
        """Return the oldest tuple that one of class z is compared with on keys, how many pairs."""
        lengths, share = self._lengths(j), self.choice[j][z][0]
        chosen = [a for a in range(1, self.windows) if self.taken.get((j, z, a), 0)]
        if chosen:
            deeper = sum(lengths[1 : chosen[-1]]) + self.taken[j, z, chosen[-1]]
            stored = self.stored[self.directions[j][1]]
            return stored[self.edges[j][0] - deeper].number, lengths[0] + deeper
        if share >= 1.0:
            return self.first[j], lengths[0]
        taken = int(share * lengths[0])
        return self._came(j) - taken, taken

    def _is_chosen(self, x: Arrival, z: int, j: int, u: Arrival) -> bool:
        """Say whether a tuple of class z is compared with another, on sets."""
        a, share = self._window(x, u), self.choice[j][z][0]
        if a > 0:
            taken = self.taken.get((j, z, a), 0)
            return taken > 0 and u.number >= self.stored[j][self.edges[j][a - 1] - taken].number
        return u.number >= self._came(j) - self._newest(j, share)

    def _newest(self, j: int, share: float) -> int:
        """Return how many tuples of the current basic window are compared."""
        newest = self._came(j) - self.first[j]
        return newest if share >= 1.0 else int(share * newest)

    def meet(self, x: Arrival, z: int, stored: list[Arrival]) -> list[Arrival]:
        """Compare a tuple with what is stored of the other stream, newest first."""
        side = self.join.streams.index(x.stream)
        j, own = 1 - side, x.keys[self.number]
        whole = uniform(self.rules.seed + side, x.number) < self.whole
        oldest, looked = self._reach(j, z)
        lengths = self._lengths(j)
        if self.join.on_sets:
            oldest = 0
            deeper = sum(self.taken.get((j, z, a), 0) for a in range(1, self.windows))
            looked = self._newest(j, self.choice[j][z][0]) + deeper
        if whole:
            oldest, looked = 0, sum(lengths)
        within = [
            u
            for u in stored
            if u.number >= oldest and self._within(x, j, u)
            and u.keys[self.number] is not None
            and (whole or not self.join.on_sets or self._is_chosen(x, z, j, u))
        ]  # fmt: skip
        if self.join.on_sets:
            steps = {u.number: self.join.entries(side, own, u.keys[self.number]) for u in within}
        else:
            steps = {u.number: int(self.join.agree(side, own, u.keys[self.number])) for u in within}
        tally = self.learned.tally
        add(tally.arrived, (j, z), 1)
        most = self.left + (self.aside if self._is_of_sample(whole) else 0)
        exhausted = sum(steps.values()) > most
        if exhausted:
            within, looked = self._afforded(x, within, steps, lengths, most)
        self._pay(whole, exhausted, sum(steps[u.number] for u in within))
        self.skipped[j] += sum(lengths) - looked
        found = [u for u in within if self.join.agree(side, own, u.keys[self.number])]
        if whole and not exhausted:
            add(tally.sampled, (j, z), 1)
            for a in range(self.windows):
                add(tally.seen.pairs, (j, z, a), self.there(j, a))
            for u in within:
                add(tally.seen.steps, (j, z, self._window(x, u)), steps[u.number])
            for u in found:
                add(tally.seen.found, (j, z, self._window(x, u)), 1)
                add(tally.seen.worth, (j, z, self._window(x, u)), self.rules.worth(x, u))
        elif self.join.on_sets and not exhausted:
            for u in found:
                add(tally.tried_found, (j, z, self._window(x, u)), 1)
                add(tally.tried_worth, (j, z, self._window(x, u)), self.rules.worth(x, u))
        return found

    def _window(self, x: Arrival, u: Arrival) -> int:
        return self.window_of(x, u)

    def _afforded(
        self,
        x: Arrival,
        within: list[Arrival],
        steps: dict[int, int],
        lengths: list[int],
        most: int,
    ) -> tuple[list[Arrival], int]:
        """Return what there are comparisons for, and the pairs of the basic windows seen whole."""
        if self.join.on_sets:
            return [], 0
        same = [u for u in within if steps[u.number]]
        return same[:most], sum(lengths[: self._window(x, same[most])])


class SlotSelectedOfSeveral(SlotSelected):
    """What one join on keys of three and more streams compares of all that is stored.

    The other streams are searched in their order, until one of them has no partner.
    """

    def meet(self, x: Arrival, z: int, stored: list[Arrival]) -> list[Arrival]:
        """Compare a tuple with what is stored of the other streams; returns all its partners."""
        side, own = self.join.streams.index(x.stream), x.keys[self.number]
        whole = uniform(self.rules.seed + side, x.number) < self.whole
        left = self.left + (self.aside if self._is_of_sample(whole) else 0)
        found: dict[int, list[Arrival]] = {}
        looked: dict[int, int] = {}
        exhausted = False
        for j, stream in enumerate(self.join.streams):
            if j == side or exhausted or any(not partners for partners in found.values()):
                continue
            d = self.directions.index((side, j))
            lengths = self._lengths(d)
            oldest, looked[d] = (0, sum(lengths)) if whole else self._reach(d, z)
            found[j] = [
                u
                for u in stored
                if u.stream == stream and u.number >= oldest and self._within(x, j, u)
                and u.keys[self.number] is not None
                and self.join.agree(side, own, u.keys[self.number])
            ]  # fmt: skip
            if len(found[j]) > left:
                exhausted = True
                looked[d] = sum(lengths[: self._window(x, found[j][left])])
                found[j] = found[j][:left]
            left -= len(found[j])
        self._pay(whole, exhausted, sum(map(len, found.values())))
        self._note(x, z, side, whole, exhausted, found, looked)
        everywhere = len(found) == len(self.join.streams) - 1
        return [u for partners in found.values() for u in partners] if everywhere else []

    def _note(
        self,
        x: Arrival,
        z: int,
        side: int,
        whole: bool,
        exhausted: bool,
        found: dict[int, list[Arrival]],
        looked: dict[int, int],
    ) -> None:
        """Count what was skipped, and what a tuple of the sample saw."""
        tally, sides = self.learned.tally, range(len(self.join.streams))
        ways = {j: self.directions.index((side, j)) for j in sides if j != side}
        for j, d in ways.items():
            add(tally.arrived, (d, z), 1)
            if d in looked or exhausted:
                self.skipped[j] += sum(self._lengths(d)) - looked.get(d, 0)
            if not whole or exhausted:
                continue
            add(tally.sampled, (d, z), 1)
            for a in range(self.windows):
                add(tally.seen.pairs, (d, z, a), self.there(d, a))
            for u in found.get(j, []):
                add(tally.seen.steps, (d, z, self._window(x, u)), 1)
        if not whole or exhausted:
            return
        for members in itertools.product(*(found.get(j, []) if j != side else [x] for j in sides)):
            worth = self.rules.worth(*members)
            for j, d in ways.items():
                add(tally.seen.found, (d, z, self._window(x, members[j])), 1)
                add(tally.seen.worth, (d, z, self._window(x, members[j])), worth)


class Slotted(Operator):
    """The comparisons of a query under a memory budget, for ``oracle.shedding.simulate``."""

    def __init__(self, joins: Sequence[JoinSpec], rules: Rules, algorithm: Algorithm) -> None:
        self.came = [0] * len(rules.weighed)
        self.known: dict[int, Arrival] = {}
        self.now: tuple[Arrival, int] | None = None
        super().__init__(joins, rules, algorithm)

    def select(self, number: int, join: JoinSpec) -> SlotSelected:
        kind = SlotSelected if len(join.streams) == 2 else SlotSelectedOfSeveral
        return kind(number, join, self.rules, self.classes.count, self.came)

    def drops(self, x: Tuple, memory: Memory) -> bool:
        """Begin with a tuple; says whether it is dropped."""
        if self.now is not None:  # the turn of the tuple before is over
            self.came[self.now[0].stream] += 1
        mine = Arrival(x.stream, x.time, self.came[x.stream], x.keys, x.importance)
        self.known[x.seq] = mine
        stored: list[list[Arrival]] = [[] for _ in self.came]
        for u in memory.stored:
            stored[u.stream].append(self.known[u.seq])
        for one in self.selected:
            if not self.plans or self.plans[-1].window != x.time // self.rules.basic:
                one.see(stored)  # type: ignore[attr-defined]
        self.now = mine, self.begin(mine)
        return self.is_dropped(mine)

    def partners(self, number: int, x: Tuple, memory: Memory) -> list[Tuple]:
        """Return the stored tuples that x is compared with and agrees with, newest first."""
        one: Any = self.selected[number]
        if not memory.joins[number].keys_of(x, number):
            return []
        assert self.now is not None
        others = [u for u in reversed(memory.stored) if u.stream != x.stream]
        theirs = {
            (u.stream, self.known[u.seq].number): u for u in others if u.stream in one.join.streams
        }
        stored = [self.known[u.seq] for u in theirs.values()]
        return [theirs[u.stream, u.number] for u in one.meet(*self.now, stored)]
