"""How much a query compares, and when it plans anew.

Time is divided into basic windows. When the first tuple of a new one comes, every join has been
searched up to it, and a plan is made for all joins together: what each class of tuples is compared
with in every basic window. Within a *period* (a few basic windows) the joins make no more
comparisons than its budget; what a plan leaves over goes to the next one of the same period.

Where the runtime's clock decides, the runtime says now and then how well the operator kept up, and
that acts from the next tuple on. The paper's algorithms make the budget a share r of all there is
to compare (its Algorithm 1). Ours makes it a number of comparisons (``capacity.py``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.bounded.arrays import importance_of
from bankfull.core.bounded.share import Shares, least_part, share_period
from bankfull.core.comparing.capacity import Capacity
from bankfull.core.comparing.classes import VALUES, Values, by_size, class_count, is_weighed
from bankfull.core.comparing.counts import count_skipped, watched
from bankfull.core.comparing.price import Price
from bankfull.core.comparing.selector import Selector
from bankfull.core.comparing.work import Float64, Work, nothing_left_out
from bankfull.core.kept import Arrays
from bankfull.core.ledger import Ledger
from bankfull.core.plan import NEVER, JoinPlan, Plan
from bankfull.core.store.lanes import Lane
from bankfull.core.store.log import Log
from bankfull.kernels.exact.merge import Clock
from bankfull.kernels.probes.selection import (
    DROPPED,
    LARGEST,
    OTHERS,
    SAMPLE,
)

#: More comparisons than can be made.
_ENOUGH = 2**55
#: Entries of ``Comparing.clock``: the basic window that the plan is for, the period.
_WINDOW, _PERIOD = range(2)
#: Arrays that are kept by their own names.
_ARRAYS = (
    "left", "given", "reserve", "fair", "kept", "part", "emitted", "clock", "dropped", "gone",
    "known", "price",
)  # fmt: skip
#: So many times what is planned for a basic window may be compared in it.
BURST = 1.5
#: The smallest part that is compared where the clock decides.
LEAST_PART = 1e-3


class Comparing:
    """The budget of comparisons of a query, and the selections of its joins."""

    def __init__(self, plan: Plan, logs: list[Log]) -> None:
        assert plan.compare is not None
        self.plan, self.rules, self.logs = plan, plan.compare, logs
        self.kinds = class_count(plan)
        #: Of every row of the logs; a store that keeps no rows in order has none.
        alike = self.kinds == 1 and not self.rules.algorithm.drops
        self.classes: list[Lane[np.int64]] = [
            log.lanes.add(np.dtype(np.int64), blank=alike) for log in logs
        ]
        self.worth: list[Lane[np.float64]] = [
            log.lanes.add(np.dtype(np.float64), blank=self.rules.importance[k] < 0)
            for k, log in enumerate(logs)
        ]
        self.values = [Values() for _ in plan.streams]
        #: Comparisons that every join may still make in this basic window: any tuple, the sample.
        self.left = np.full((len(plan.joins), 2), _ENOUGH)
        self.kept = np.ones(1)
        #: Comparisons of this period that are kept for its later basic windows.
        self.reserve = np.zeros(1, np.int64)
        #: What each of its basic windows would have if all had the same.
        self.fair = np.zeros(1)
        #: The part of all comparisons that the clock leaves time for, and that of the present plan.
        self.part = np.ones(2)
        #: Results of the joins and their worth.
        self.emitted = np.zeros(2)
        self.clock = np.array([-NEVER, -NEVER])
        #: Tuples of every stream that were dropped on arrival.
        self.dropped = np.zeros(len(plan.streams), np.int64)
        #: Those of them that the ledger counts, as far as they have left their windows since.
        self.gone = np.zeros(len(plan.streams), np.int64)
        #: Comparisons that the joins were given for this basic window.
        self.given = self.left.copy()
        self.capacity = Capacity()
        self.known = self.capacity.known
        self._price = Price(self.rules.algorithm)
        self.price = self._price.mean
        #: Entered around every plan; what it is, and what it tells, is the runtime's affair.
        self.stopwatch: AbstractContextManager[object] = nullcontext()
        #: Where other operators share the budget: the part of it that this one has.
        self.shares: Shares | None = None
        if plan.shares_budget and plan.operators > 1:
            self.shares = Shares(share_period(plan), plan.operators, least_part(False))
        self.selectors = [self._selector(k, join) for k, join in enumerate(plan.joins)]

    def _selector(self, number: int, join: JoinPlan) -> Selector:
        logs = [self.logs[k] for k in join.streams]
        return Selector(
            self.rules, join, logs, self.classes, self.worth, self.left[number], self.kept,
            self.dropped,
            self.kinds,
        )  # fmt: skip

    # ------------------------------------------------------------------------------------- tuples

    def append(self, position: int, rows: pa.RecordBatch, sizes: NDArray[np.int64] | None) -> None:
        """Give rows that were just stored a class and a worth; ``sizes`` are of their sets."""
        count, own, classes = rows.num_rows, self.worth[position], self.classes[position]
        if own.blank and classes.blank:
            return
        by_type = self.plan.streams[position].worth
        worth = importance_of(rows, self.rules.importance[position], by_type)
        if not own.blank:
            own.tail(count)[:] = worth
        if not classes.blank:
            classes.tail(count)[:] = self.classes_of(position, worth, sizes)

    def classes_of(
        self, position: int, worth: NDArray[np.float64], sizes: NDArray[np.int64] | None
    ) -> NDArray[np.int64]:
        """Return the classes of tuples of a stream, of this worth and size of their sets."""
        classes = np.zeros(len(worth), np.int64)
        algorithm = self.rules.algorithm
        if algorithm.by_size and sizes is not None:
            classes = by_size(np.maximum(sizes, 0))
        if algorithm.by_importance and is_weighed(self.rules):
            own = self.rules.importance[position] >= 0
            values = self.values[position].classes(worth) if own else 0
            classes = classes * VALUES + values
        return classes

    def dropped_of(self, position: int, start: int, stop: int) -> NDArray[np.int64]:
        """Return which of the tuples ``start`` to ``stop`` were dropped on arrival."""
        lanes = self.logs[position].lanes
        if not self.dropped[position]:
            return np.zeros(0, np.int64)
        classes = self.classes[position].data[start - lanes.base : stop - lanes.base]
        return start + np.flatnonzero(classes == DROPPED).astype(np.int64)

    def counted_as_dropped(self, position: int) -> int:
        """Return how many of the tuples that were dropped on arrival the ledger counts.

        Where several operators have copies of a tuple, each drops its own or not.
        """
        log = self.logs[position]
        if not log.plan.masked:
            return int(self.dropped[position])
        stored = self.dropped_of(position, log.lanes.start, log.lanes.end)
        return int(self.gone[position]) + log.counted_of(stored)

    def importance(self, join: JoinPlan, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the importance of results."""
        weighed = [
            (self.worth[k], self.logs[k].lanes.base, numbers[side])
            for side, k in enumerate(join.streams)
            if self.rules.importance[k] >= 0
        ]
        if not weighed:
            return np.ones(numbers.shape[1])
        members = np.stack([lane.data[rows - base] for lane, base, rows in weighed])
        combined = (np.min, np.max, np.sum, np.prod, np.mean)[self.rules.combine]
        worth: NDArray[np.float64] = combined(members, axis=0)
        return worth

    # -------------------------------------------------------------------------------------- plans

    def until(self) -> int:
        """Return the time from which on another plan holds; none is after all times."""
        end = (int(self.clock[_WINDOW]) + 1) * self.rules.basic
        return min(end, NEVER) if self.is_planned else -NEVER

    @property
    def is_planned(self) -> bool:
        """Whether a first plan was made."""
        return int(self.clock[_WINDOW]) > -NEVER

    def look(self, time: int, clocks: Sequence[Clock]) -> None:
        """Make a plan for the basic window of ``time``, that of the next tuple, if there is none.

        All joins have been searched up to that time.
        """
        if self.rules.algorithm.foresees and not self.rules.per_unit:
            self.capacity.add(int((self.given - self.left).sum()), time)
            self.given[:] = self.left
        if self.is_planned and time < self.until():
            if self.part[0] != self.part[1] and not self.rules.per_unit:
                with self.stopwatch:
                    for selector in self.selectors:
                        selector.end_plan()
                    self._plan(self._works(time, clocks), 0, time)
                    self.place()
            return
        with self.stopwatch:
            self._begin(time, clocks)

    def _begin(self, time: int, clocks: Sequence[Clock]) -> None:
        """Make the plan of a new basic window."""
        rules = self.rules
        window, period = time // rules.basic, time // rules.period
        elapsed = window - int(self.clock[_WINDOW]) if self.is_planned else 1
        total = int(self.left.sum() + self.reserve[0])
        if period != int(self.clock[_PERIOD]):
            share = 1.0 if self.shares is None else self.shares.at(time).memory
            total = int(rules.per_unit * rules.period * share)
            self.fair[0] = float(total) * rules.basic / rules.period
        self.clock[:] = window, period
        self._price.fade(elapsed)
        for selector in self.selectors:
            selector.learn(elapsed)
        self.decide(time, clocks, total)

    def decide(self, time: int, clocks: Sequence[Clock], total: int) -> None:
        """Make the plan of a basic window from what was learned, for so many comparisons."""
        rules = self.rules
        foresees = rules.algorithm.foresees and not rules.per_unit
        works = self._works(time, clocks)
        self._plan(works, total, time)
        if rules.per_unit:
            self._share_out(works, total, time)
        elif foresees and self.capacity.per_unit:
            # The plan's part of all there is has a floor, which must be afforded too.
            planned = float(self.part[0]) * sum(work.demand() for work in works)
            possible = self.capacity.per_unit * rules.basic
            self._give(works, math.ceil(BURST * max(possible, planned)))
            self.left[:, SAMPLE] = _ENOUGH
            self.given[:] = self.left
        self.place()

    def _works(self, time: int, clocks: Sequence[Clock]) -> list[Work]:
        return [one.work(time, clock) for one, clock in zip(self.selectors, clocks, strict=True)]

    def _windows_left(self, time: int) -> int:
        """Return the basic windows that the period of ``time`` still has, its own counted."""
        rules = self.rules
        return (rules.period - time // rules.basic * rules.basic % rules.period) // rules.basic

    def _share_out(self, works: list[Work], total: int, time: int) -> None:
        """Give every join its part of the comparisons of this basic window, by what is planned.

        Half as much again as is planned may be made: a burst that nobody foresaw must not use up
        what is there for the basic windows after it, when it is known. Something is set aside for
        the sample: what tuples miss that cannot be compared any more is known by those of the
        sample that can.

        Joins are searched one after the other, a piece of the input at a time: if they drew on one
        account, who gets the last comparisons would depend on how the input was cut.
        """
        needed = sum(map(self._for_sample, works, self.selectors))
        least = min(total // 2, needed)
        now = min(total - least, math.ceil(BURST * total / self._windows_left(time)))
        aside = min(total - now, 3 * needed)
        self.reserve[0] = total - now - aside
        planned = self._give(works, now)
        self._divide(SAMPLE, aside, planned)
        self.given[:] = self.left

    def _for_sample(self, work: Work, selector: Selector) -> int:
        """Return what a join's sample is expected to take, and one more of its tuples."""
        if self.rules.algorithm.drops:
            return 0
        demand = work.demand()
        return math.ceil(float(selector.whole[0, 0]) * demand + demand / max(1.0, work.coming()))

    def _give(self, works: list[Work], now: int) -> Float64:
        """Let the joins make so many comparisons now by what is planned for each; returns that."""
        planned = np.ones(len(works))
        if len(works) > 1:  # one join has all of it, whatever is planned
            planned += [one.planned(work) for one, work in zip(self.selectors, works, strict=True)]
        self._divide(OTHERS, now, planned)
        self.given[:] = self.left
        return planned

    def _divide(self, account: int, total: int, planned: Float64) -> None:
        """Divide comparisons over the joins, by what is planned for each."""
        self.left[:, account] = np.floor(total * planned / planned.sum())
        self.left[0, account] += total - int(self.left[:, account].sum())

    def _plan(self, works: list[Work], total: int, time: int) -> None:
        rules, algorithm = self.rules, self.rules.algorithm
        demand = sum(work.demand() for work in works)
        if rules.per_unit:
            budget = float(total) / self._windows_left(time)
        else:
            if algorithm.foresees and self.capacity.per_unit and demand > 0.0:
                part = self.capacity.per_unit * rules.basic / demand
                self.part[0] = min(1.0, max(LEAST_PART, part))
            self.part[1] = self.part[0]
            budget = float(self.part[0]) * demand
        # Until the first basic window is over nobody knows how much there is to compare.
        unknown = 1.0 if rules.per_unit else float(self.part[0])
        part = min(1.0, budget / demand) if demand > 0.0 else unknown
        if algorithm.drops:
            # Of a share k of both streams' tuples there are k times k as many pairs.
            self.kept[0] = max(part, LEAST_PART**2) ** 0.5
            return
        whole = rules.sample * part
        if rules.per_unit:
            # By what is there on average: a tuple of the sample stands for about as many others
            # whether much or little is left of the period.
            whole = rules.sample * (min(1.0, float(self.fair[0]) / demand) if demand > 0.0 else 1.0)
        if part >= 1.0 and not self.price[0]:
            for work, selector in zip(works, self.selectors, strict=True):
                selector.choose(nothing_left_out(work), np.array(whole))
            return
        budget = max(0.0, budget - whole * demand)
        works = [work._replace(arrivals=work.arrivals * (1.0 - whole)) for work in works]
        if demand <= 0.0:  # there is but the current basic window
            choices = [part * nothing_left_out(work) for work in works]
        elif rules.per_unit:
            choices = self._price.choose(works, budget)
        else:
            choices = algorithm.choose(works, budget)
        for selector, choice in zip(self.selectors, choices, strict=True):
            selector.choose(choice, np.array(whole))
            # A result that nobody has seen yet would weigh so much: no interval is narrower.
            weight = (1.0 - whole) / max(whole, 1e-9)
            each = float(self.emitted[1] / self.emitted[0]) if self.emitted[0] else 1.0
            largest = selector.tally.missed[:, LARGEST]
            largest[:] = np.maximum(largest, (weight, weight * each))

    def place(self) -> None:
        """Find the tuples that the present plan means, also after the state was loaded."""
        if self.is_planned:
            for selector in self.selectors:
                selector.place()

    def hear(self, kept_up: float) -> None:
        """Learn how much of its work the operator did in the time it had.

        It acts from the next tuple on, on the plan that was in force: told twice before that, the
        operator heard of the same plan twice.

        Reference: Gedik, Wu, Yu, Liu, Algorithm 1.
        """
        if self.rules.algorithm.foresees:
            self.capacity.hear(kept_up)
        part = float(self.part[1])
        part = part * kept_up if kept_up < 1.0 else part * self.rules.boost
        self.part[0] = min(1.0, max(LEAST_PART, part))

    # ------------------------------------------------------------------------------------- counts

    def count(self, ledger: Ledger) -> None:
        """Say what was skipped, and what recall is estimated from."""
        count_skipped(ledger, self.plan, self.selectors)
        if not self.rules.algorithm.drops:
            ledger.watched = watched(self.selectors, self.emitted)

    # -------------------------------------------------------------------------------------- state

    def arrays(self) -> Arrays:
        """Return all that decides, by name; classes and worth are part of the rows' own."""
        found: Arrays = {name: getattr(self, name) for name in _ARRAYS}
        for k, values in enumerate(self.values):
            found[f"values.{k}"] = values.known
        for k in range(len(self.logs)):
            found[f"dropped.{k}"] = self._dropped_numbers(k)
        for number, selector in enumerate(self.selectors):
            found |= selector.arrays(f"selector.{number}")
        return found if self.shares is None else found | self.shares.arrays()

    def _dropped_numbers(self, position: int) -> NDArray[np.int64]:
        live = self.classes[position].live()
        return self.logs[position].lanes.start + np.flatnonzero(live == DROPPED).astype(np.int64)

    def leave_out(self, position: int, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Mark tuples that were dropped elsewhere; returns those that were not marked here."""
        lanes = self.logs[position].lanes
        classes = self.classes[position].data
        numbers = numbers[numbers >= lanes.start]
        fresh: NDArray[np.int64] = numbers[classes[numbers - lanes.base] != DROPPED]
        classes[fresh - lanes.base] = DROPPED
        return fresh

    def load(self, arrays: Arrays) -> None:
        """Take over what :meth:`arrays` gave, before the rows are stored."""
        for name in _ARRAYS:
            getattr(self, name)[:] = arrays[name]
        for k, values in enumerate(self.values):
            values.known = arrays[f"values.{k}"]
        for number, selector in enumerate(self.selectors):
            selector.load(f"selector.{number}", arrays)
        if self.shares is not None:
            self.shares.load(arrays)

    def nbytes(self) -> int:
        """Bytes held beside the lanes of the logs."""
        return sum(selector.nbytes() for selector in self.selectors)
