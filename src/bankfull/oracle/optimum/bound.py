"""bound: the optimum of joins of any number of streams, between a schedule and a linear program.

The idea: in a join of three and more streams a tuple earns only together with others, so the best
schedule is no flow any more. Let x be how much of a tuple is still in memory at one of its
meetings, between 0 and 1, never rising. A result needs all its members, so of a fraction of each
it gets the smallest: results are bounded by the sum of such minima, which is concave, and the
memory by sums of x. The best x is a linear program and no schedule is better than it.

The minima are not written down one by one: there may be a million results. For any order of the
members of a meeting, let each be paid for the results that it completes after those before it;
then the meeting earns at most the sum of x times that pay, and exactly so for the order of falling
x. So solve with a few orders, look at x, add the orders that it is in, and solve again. Every
round gives an upper bound; the rounds end when it is close to what x itself is worth.

The schedule below the bound is played from x: a full buffer lets go of whoever has the smallest
share in its next meeting.

Reference: the concave sum of minima is the Lovász extension (*Submodular functions and convexity*,
    1983) of what a meeting earns, which is supermodular; adding orders is Kelley's method of
    cutting planes (1960). Its use for joins is ours.
Deviations: for joins of two streams the program has whole solutions, those of ``esja``; with more
    the only fractions that remain come from the limits of the memory, and cost little.
Cost: a column for every tuple and turn in which it can be part of a result, one number for every
    result of the exact join. Three streams of 2,760 tuples, 14 places each, 19,000 results: 11 s,
    within 0.3 % of the bound; five, 705,000 results: a minute, within 0.5 %.
"""

from __future__ import annotations

from collections import defaultdict
from functools import reduce
from math import fsum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bankfull.errors import PlanError
from bankfull.oracle.optimum.problem import RULES, Goal, Meeting, Optimum, Problem, Stay
from bankfull.oracle.optimum.solvers import or_tools

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
#: How much of a tuple is in memory, by tuple and turn of a meeting.
_Shares = dict[tuple[int, int], float]

#: How much the solver may be wrong by, relative to the bound.
_SOLVER = 1e-6
_ROUNDS = 200


def bound(problem: Problem, goal: Goal = "importance", tolerance: float = 1e-3) -> Optimum:
    """Return a good schedule, and as its slack how much better another one could be at most.

    The upper bound is within ``tolerance``, relatively, of the least that the program can give.

    >>> from bankfull.oracle.optimum import On
    >>> streams = ([0, 1], [7, 8], [1, 1]), ([2, 3], [8, 7], [1, 1]), ([4, 5], [7, 8], [1, 1])
    >>> small = Problem(streams, (On((0, 1, 2), span=5),), memory=(1, 1, 0))
    >>> found = bound(small)
    >>> found.results, round(found.importance + found.slack, 3)
    (1, 1.0)
    """
    if problem.signed:
        raise PlanError(
            "the sum of minima bounds nothing where importances are negative: odja (small "
            "memories) can do it"
        )
    meetings = [_weigh(problem, meeting, goal) for meeting in problem.meetings()]
    if not meetings:
        return Optimum(0, 0.0, ())
    program = _Program(problem, meetings)
    upper, shares = program.solve(tolerance)
    until = _play(problem, program.turns, shares)
    results, worths, reached = 0, [], []
    for meeting in meetings:
        met = np.ix_(*(_met(problem, meeting, until, axis) for axis in meeting.partners))
        results += meeting.worth[met].size
        worths.append(float(meeting.importance[met].sum()))
        reached.append(float(meeting.worth[met].sum()))
    kept = (Stay(*problem.arrivals[keeper][1:3], turn) for keeper, turn in until.items())
    slack = max(0.0, upper * (1 + _SOLVER) - fsum(reached))
    return Optimum(results, fsum(worths), tuple(sorted(kept)), slack)


class _Weighed(NamedTuple):
    """A meeting, and for each of its results what it is worth: to the goal, and its importance."""

    turn: int
    partners: tuple[Ints, ...]
    worth: Floats
    importance: Floats


def _weigh(problem: Problem, meeting: Meeting, goal: Goal) -> _Weighed:
    arrivals = problem.arrivals
    partners = tuple(np.array(axis, np.int64) for axis in meeting.partners)
    shape = tuple(len(axis) for axis in partners)
    members = np.meshgrid(
        *([arrivals[keeper].importance for keeper in axis] for axis in meeting.partners),
        [arrivals[meeting.last].importance],
        indexing="ij",
    )
    stacked = np.stack([member.ravel() for member in members], axis=1)
    importance = np.array([RULES[problem.rule](row) for row in stacked.tolist()]).reshape(shape)
    worth = importance if goal == "importance" else np.ones(shape)
    return _Weighed(arrivals[meeting.last].turn, partners, worth, importance)


class _Order(NamedTuple):
    """The members of a meeting by falling share, the pay of each, what they earn together."""

    members: list[int]
    pays: list[float]
    earns: float


class _Program:
    """The linear program: shares of tuples at their meetings, and what each meeting earns."""

    def __init__(self, problem: Problem, meetings: list[_Weighed]) -> None:
        self._problem, self._meetings = problem, meetings
        #: When each keeper has its meetings.
        self.turns = _turns(problem, meetings)
        solver = or_tools("linear_solver.pywraplp").Solver
        self._solver: Any = solver.CreateSolver("GLOP")
        self._shares: dict[tuple[int, int], Any] = {}
        for keeper, turns in self.turns.items():
            self._let_fall(keeper, turns)
        for buffer in problem.buffers:
            self._limit(buffer.streams, buffer.room)
        goal = self._solver.Objective()
        goal.SetMaximization()
        self._earns = []
        for meeting in meetings:
            self._earns.append(self._solver.NumVar(0, float(meeting.worth.sum()), ""))
            goal.SetCoefficient(self._earns[-1], 1)

    def solve(self, tolerance: float) -> tuple[float, _Shares]:
        """Return an upper bound and the shares that come closest to it."""
        found = best = dict.fromkeys(self._shares, 0.0)
        upper, lower = float("inf"), -1.0
        claims = [float("inf")] * len(self._meetings)
        for _ in range(_ROUNDS):
            # Orders of shares half-way to the best so far cut deeper than the solver's corners.
            for shares in (_between(found, best), found):
                orders = [self._order(meeting, shares) for meeting in self._meetings]
                earned = fsum(order.earns for order in orders)
                if earned > lower:
                    lower, best = earned, shares
                broken = self._broken(orders, claims, found)
                if broken:
                    break
            if not broken or upper - lower <= tolerance * lower:
                break
            for number in broken:
                self._pay(number, orders[number])
            assert self._solver.Solve() == self._solver.OPTIMAL
            upper = self._solver.Objective().Value()
            claims = [earns.solution_value() for earns in self._earns]
            found = {at: share.solution_value() for at, share in self._shares.items()}
        return upper, best

    def _broken(self, orders: list[_Order], claims: list[float], found: _Shares) -> list[int]:
        """Return the meetings that claim more than they are paid in these orders."""
        broken = []
        for number, (order, claim) in enumerate(zip(orders, claims, strict=True)):
            turn = self._meetings[number].turn
            paid = fsum(
                pay * found.get((member, turn), 1.0)
                for member, pay in zip(order.members, order.pays, strict=True)
            )
            if claim > paid + 1e-6 * max(1.0, paid):
                broken.append(number)
        return broken

    def _let_fall(self, keeper: int, turns: list[int]) -> None:
        """Add a share for each meeting of a tuple; who has left does not come back."""
        before = None
        for turn in turns:
            self._shares[keeper, turn] = share = self._solver.NumVar(0, 1, "")
            if before is not None:
                self._solver.Add(share <= before)
            before = share

    def _limit(self, streams: tuple[int, ...], room: int) -> None:
        """Hold a buffer to its room whenever somebody enters it."""
        arrivals = self._problem.arrivals
        live: list[int] = []
        for keeper in self.turns:
            if arrivals[keeper].stream in streams:
                live.append(keeper)
                ahead = _ahead(self._problem, self.turns, live, arrivals[keeper].turn)
                live = list(ahead)
                if len(live) > room:
                    limit = self._solver.Constraint(-self._solver.infinity(), room)
                    for one, turn in ahead.items():
                        limit.SetCoefficient(self._shares[one, turn], 1)

    def _order(self, meeting: _Weighed, shares: _Shares) -> _Order:
        members = np.concatenate(meeting.partners)
        # Who came in the same turn needs no memory.
        share = np.array([shares.get((one, meeting.turn), 1.0) for one in members.tolist()])
        order = np.argsort(-share, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        ranks = np.split(rank, np.cumsum([len(axis) for axis in meeting.partners])[:-1])
        completes = reduce(np.maximum.outer, ranks)
        pays = np.bincount(completes.ravel(), meeting.worth.ravel(), minlength=len(order))
        return _Order(members[order].tolist(), pays.tolist(), float(pays @ share[order]))

    def _pay(self, number: int, order: _Order) -> None:
        """A meeting earns at most what its members are paid in this order."""
        turn = self._meetings[number].turn
        free, due = 0.0, []
        for member, pay in zip(order.members, order.pays, strict=True):
            if (member, turn) not in self._shares:
                free += pay
            elif pay:
                due.append((self._shares[member, turn], pay))
        at_most = self._solver.Constraint(-self._solver.infinity(), free)
        at_most.SetCoefficient(self._earns[number], 1)
        for share, pay in due:
            at_most.SetCoefficient(share, -pay)


def _between(one: _Shares, other: _Shares) -> _Shares:
    return {at: (share + other[at]) / 2 for at, share in one.items()}


def _turns(problem: Problem, meetings: list[_Weighed]) -> dict[int, list[int]]:
    """Return when each tuple is of use, in order of arrival; those of one turn need no memory."""
    turns: dict[int, set[int]] = defaultdict(set)
    for meeting in meetings:
        for keeper in np.concatenate(meeting.partners).tolist():
            if problem.arrivals[keeper].turn < meeting.turn:
                turns[keeper].add(meeting.turn)
    return {keeper: sorted(turns[keeper]) for keeper in sorted(turns)}


def _ahead(
    problem: Problem, turns: dict[int, list[int]], keepers: list[int], now: int
) -> dict[int, int]:
    """Return the next meeting of those that have one for which they must survive this turn.

    Who is met in a turn must be in memory before it, and if the choice comes first also in it.
    """
    first = now + 1 - problem.evict_first
    found = ((one, next((turn for turn in turns[one] if turn >= first), -1)) for one in keepers)
    return {one: turn for one, turn in found if turn >= 0}


def _play(problem: Problem, turns: dict[int, list[int]], shares: _Shares) -> dict[int, int]:
    """Return until which meeting each tuple is kept if the smallest shares have to go."""
    until = {keeper: ahead[-1] for keeper, ahead in turns.items()}
    for buffer in problem.buffers:
        live: list[int] = []
        for keeper in turns:
            arrival = problem.arrivals[keeper]
            if arrival.stream in buffer.streams:
                ahead = _ahead(problem, turns, [*live, keeper], arrival.turn)
                if len(ahead) > buffer.room:
                    gone = min(ahead, key=lambda one: (shares[one, ahead[one]], -ahead[one]))
                    until[gone] = max((t for t in turns[gone] if t < ahead[gone]), default=-1)
                    del ahead[gone]
                live = list(ahead)
    return {keeper: turn for keeper, turn in until.items() if turn >= 0}


def _met(problem: Problem, meeting: _Weighed, until: dict[int, int], axis: Ints) -> Ints:
    """Return who of one stream is still there for a meeting."""
    return np.flatnonzero(
        [
            problem.arrivals[one].turn == meeting.turn or until.get(one, -1) >= meeting.turn
            for one in axis.tolist()
        ]
    )
