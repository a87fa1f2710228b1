"""The order of events under a budget of comparisons, one tuple after the other.

The turn of tuple x of stream s at time t:

1. *Plan*, if x is the first tuple of its basic window: every join takes over what it has seen, the
   budget of the period (or what the plan before left of it) is divided by what is expected to be
   needed, and an algorithm chooses what is compared.
2. *Drop*: where tuples are dropped, x is if its draw with seed + 7 + s is not below the share kept.
   It is stored, as the place of all others depends on it, but never found.
3. *Compare*, for every join of s, in query order: with the whole window if its draw with the seed
   and its side is below the share that is sampled, or else with what is chosen for its class.
4. *Store* x.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bankfull.oracle.comparing.choices import Algorithm
from bankfull.oracle.comparing.choices.auto import Auto
from bankfull.oracle.comparing.classes import Classes
from bankfull.oracle.comparing.selecting import Selected
from bankfull.oracle.comparing.several import SelectedOfSeveral
from bankfull.oracle.comparing.tuples import Arrival, JoinSpec, Rules
from bankfull.oracle.comparing.work import Choice, Work
from bankfull.oracle.shedding.draws import uniform

#: No smaller share of all pairs than this is aimed at by dropping.
LEAST = 1e-6
#: Of the price of comparisons so much is left after a basic window.
LASTING = 0.8


@dataclass
class Plan:
    """A plan: for which basic window, what may be compared, and what is, by join.

    ``whole`` is the share of tuples that are compared with everything, ``kept`` the share that is
    not dropped, ``left`` what each join may still compare in the period.
    """

    window: int
    whole: float
    kept: float
    left: list[int]
    choices: list[Choice]


@dataclass
class Trace:
    """All that happened. ``results[k]`` are the numbers of all members, in the join's order.

    ``skipped[k][i]`` are pairs of the window of its i-th stream that were not looked at.
    """

    results: list[list[tuple[int, ...]]]
    compared: list[int]
    skipped: list[list[int]]
    dropped: list[int]
    plans: list[Plan] = field(default_factory=list)


def simulate(
    arrivals: Sequence[Arrival], joins: Sequence[JoinSpec], rules: Rules, algorithm: Algorithm
) -> Trace:
    """Join within a budget of comparisons. Arrivals come in canonical order."""
    places = [(x.time, x.stream, x.number) for x in arrivals]
    assert places == sorted(places), "arrivals must come in canonical order"
    operator = Operator(joins, rules, algorithm)
    for x in arrivals:
        operator.turn(x)
    selected = operator.selected
    return Trace(
        [sorted(one.results) for one in selected],
        [one.compared for one in selected],
        [one.skipped for one in selected],
        [sum(stream == k for stream, _ in operator.dropped) for k in range(len(rules.weighed))],
        operator.plans,
    )


class Operator:
    """The joins of a query, their budget of comparisons, and the plans made so far."""

    def __init__(self, joins: Sequence[JoinSpec], rules: Rules, algorithm: Algorithm) -> None:
        self.rules, self.algorithm = rules, algorithm
        self.stored: list[list[Arrival]] = [[] for _ in rules.weighed]
        self.dropped: set[tuple[int, int]] = set()
        self.classes = Classes(joins, rules, algorithm.by_size, algorithm.by_importance)
        self.selected = [self.select(k, join) for k, join in enumerate(joins)]
        self.kept = 1.0
        #: Comparisons of the period that are kept for later basic windows.
        self.reserve, self.fair = 0, 0.0
        #: What the best of what was left out returned a comparison, a fading mean over plans.
        self.price = 0.0
        self.period: int | None = None
        self.plans: list[Plan] = []

    def select(self, number: int, join: JoinSpec) -> Selected:
        """Return what a join compares, before the first tuple."""
        kind = Selected if len(join.streams) == 2 else SelectedOfSeveral
        return kind(number, join, self.rules, self.classes.count, self.stored, self.dropped)

    def begin(self, x: Arrival) -> int:
        """Plan, if it is time to; returns the class of a tuple."""
        window = x.time // self.rules.basic
        if not self.plans or self.plans[-1].window != window:
            self._plan(x.time, window)
        return self.classes.of(x)

    def is_dropped(self, x: Arrival) -> bool:
        """Say whether a tuple is dropped on arrival."""
        draw = uniform(self.rules.seed + 7 + x.stream, x.number)
        return self.kept < 1.0 and draw >= self.kept

    def turn(self, x: Arrival) -> None:
        """Compare a tuple and store it."""
        z = self.begin(x)
        if self.is_dropped(x):
            self.dropped.add((x.stream, x.number))
        else:
            for one in self.selected:
                if x.stream in one.join.streams:
                    one.compare(x, z)
        assert len(self.stored[x.stream]) == x.number
        self.stored[x.stream].append(x)

    def _plan(self, time: int, window: int) -> None:
        """Plan for a basic window; ``time`` is that of its first tuple."""
        rules = self.rules
        total = sum(one.left + one.aside for one in self.selected) + self.reserve
        if self.period != time // rules.period:
            self.period, total = time // rules.period, int(rules.per_unit * rules.period)
            self.fair = float(total) * rules.basic / rules.period
        elapsed = window - self.plans[-1].window if self.plans else 1
        for one in self.selected:
            one.learn(elapsed, self.kept, self.algorithm.remembers)
        works = [one.work(time) for one in self.selected]
        demand = sum(work.demand() for work in works)
        # As much as the basic windows that are left of the period have each.
        windows_left = (rules.period - window * rules.basic % rules.period) // rules.basic
        budget = total / windows_left
        part = min(1.0, budget / demand) if demand > 0.0 else 1.0
        whole = 1.0
        if self.algorithm.drops:
            # A share k of both streams has k times k of the pairs.
            self.kept = math.sqrt(max(part, LEAST))
            choices = self.algorithm.choose(works, budget)
        else:
            whole = rules.sample * (min(1.0, self.fair / demand) if demand > 0.0 else 1.0)
            others = [_others(work, whole) for work in works]
            choices = [work.everything() for work in works]
            self.price *= LASTING**elapsed
            if part < 1.0 or (self.price > 0.0 and demand > 0.0):
                choices = self._choose(others, max(0.0, budget - whole * demand))
        for one, choice in zip(self.selected, choices, strict=True):
            one.whole = whole
            one.choose(choice)
        # Half as much again, and no more, may be made in this one, and something is set aside for
        # tuples of the sample.
        needed = 0
        if not self.algorithm.drops:
            needed = sum(_for_sample(work, whole) for work in works)
        now = min(total - min(total // 2, needed), math.ceil(1.5 * total / windows_left))
        aside = min(total - now, 3 * needed)
        self.reserve = total - now - aside
        left = self._divide(now, works)
        for one, share in zip(self.selected, left, strict=True):
            one.left = share
        for one, share in zip(self.selected, self._divide(aside, works), strict=True):
            one.aside = share
        self.plans.append(Plan(window, whole, self.kept, left, choices))

    def _choose(self, works: list[Work], budget: float) -> list[Choice]:
        """Choose; of ours what returns less than half of the mean price is left out."""
        if not isinstance(self.algorithm, Auto):
            return self.algorithm.choose(works, budget)
        choices, price = self.algorithm.choose_above(works, budget, self.price / 2.0)
        shares = [share for one in choices for side in one for row in side for share in row]
        everything = all(share == 1.0 for share in shares)
        self.price = 0.0 if everything else self.price + (1.0 - LASTING) * price
        return choices

    def _divide(self, total: int, works: list[Work]) -> list[int]:
        """Divide the comparisons over the joins by what they are expected to need."""
        needed = [one.planned(work) + 1.0 for one, work in zip(self.selected, works, strict=True)]
        shares = [math.floor(total * own / sum(needed)) for own in needed]
        shares[0] += total - sum(shares)
        return shares


def _for_sample(work: Work, whole: float) -> int:
    arrivals = sum(sum(side) for side in work.arrivals) / (work.sides - 1)
    return math.ceil(whole * work.demand() + work.demand() / max(1.0, arrivals))


def _others(work: Work, whole: float) -> Work:
    """Return the work of all tuples that are not compared with everything."""
    arrivals = [[own * (1.0 - whole) for own in side] for side in work.arrivals]
    return replace(work, arrivals=arrivals)
