"""esja and sja: the optimum as a minimum-cost flow, for streams of thousands of tuples.

The idea: in joins of two streams, whatever arrives meets what the *other* side has stored, however
its own side fares. So what a tuple earns by staying until some turn is known beforehand, the sum
of its meetings until then in all its joins, and does not depend on which other tuples stay (with
three streams in a join it does: see ``bound``). What is left is to schedule intervals on a
few identical places. The network of one buffer is a road through time:

    0 -----> 1 -----> 2 -----> 3 -----> 4      turns; the flow is the places of the buffer, and
     \\                ^        ^               on the road they are empty: nothing earned
      `--> tuple -----'-------'                each tuple can be entered once; it is left at one
                                               of its meetings, which pays all of them so far

Turns in which no tuple enters are left out: a place given up there is wanted by nobody before
the next one.

Reference: Ojewole, Zhu, Hou, *Window Join Approximation over Data Streams with Importance
    Semantics*, CIKM 2006, section 4.2.3, which extends the flow of Das, Gehrke, Riedewald
    (*Approximate join processing over data streams*, SIGMOD 2003) from counting to importance.
Deviations: the paper omits its graph; this one is ours. The convention is a switch (errata of
    paper 004); unified memory is one road; several joins, over the same streams or others, are
    more meetings. Among schedules of the same importance the one with
    most results is taken (``sja``: among those with most results, the most important), so
    that all methods agree on both numbers.
Cost: one node a tuple that has a meeting and one a turn, at most one arc a pair of the exact join.
    Streams of 5,600 tuples, w = 400, 200 places, 100 keys: 1 to 6 s; of 56,000 tuples, w = 2,000,
    800 places, 2,000 keys: about a minute.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import floor, fsum, log2
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bankfull.errors import PlanError
from bankfull.oracle.optimum.problem import Goal, Optimum, Problem, Stay
from bankfull.oracle.optimum.solvers import or_tools

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

#: OR-tools computes in 64 bits with prices times nodes, and says so when that is too much.
_CEILINGS = tuple(2.0**bits for bits in (61, 57, 53, 49, 45))


def esja(problem: Problem) -> Optimum:
    """Return the output of largest importance (extended semantic join approximation).

    >>> from bankfull.oracle.optimum import two
    >>> esja(two(([0, 1], [7, 8], [2, 9]), ([2, 3], [8, 7], [9, 9]), span=3, memory=(1, 1)))
    Optimum(results=1, importance=9.0, kept=(Stay(stream=0, row=1, until=2),), slack=0.0)
    """
    return _optimum(problem, "importance")


def sja(problem: Problem) -> Optimum:
    """Return the largest output (semantic join approximation): every result weighs the same."""
    return _optimum(problem, "results")


class _Meetings(NamedTuple):
    """Who must be in memory (as a number in canonical order), until which turn, for how much."""

    keeper: Ints
    turn: Ints
    worth: Floats


def _optimum(problem: Problem, goal: Goal) -> Optimum:
    if not problem.in_pairs:
        raise PlanError(
            "a join of three and more streams is no flow: odja (small memories) or bound can do it"
        )
    if problem.signed:
        raise PlanError(
            "with negative importances it can be better to keep less, which this flow does not "
            "know: odja (small memories) can do it"
        )
    meetings, free = _meetings(problem)
    kept: list[Stay] = []
    earned = list(free)
    slack = 0.0
    stream_of = np.array([arrival.stream for arrival in problem.arrivals], np.int64)
    for buffer in problem.buffers:
        inside = np.isin(stream_of[meetings.keeper], buffer.streams)
        mine = _Meetings(meetings.keeper[inside], meetings.turn[inside], meetings.worth[inside])
        until, loss = _schedule(problem, mine, buffer.room, goal)
        met = mine.turn <= until[mine.keeper]
        earned.extend(mine.worth[met].tolist())
        slack += loss
        for keeper in np.flatnonzero(until >= 0).tolist():
            arrival = problem.arrivals[keeper]
            kept.append(Stay(arrival.stream, arrival.row, int(until[keeper])))
    return Optimum(len(earned), fsum(earned), tuple(sorted(kept)), slack)


def _meetings(problem: Problem) -> tuple[_Meetings, list[float]]:
    """List the exact join as meetings, by keeper and turn; and what needs no memory (one turn)."""
    rows: list[tuple[int, int, float]] = []
    free: list[float] = []
    for _, last, (partners,) in problem.meetings():
        later = problem.arrivals[last]
        for keeper in partners:
            earlier = problem.arrivals[keeper]
            worth = problem.worth((earlier, later))
            if earlier.turn == later.turn:
                free.append(worth)
            else:
                rows.append((keeper, later.turn, worth))
    rows.sort()
    meetings = _Meetings(
        np.array([row[0] for row in rows], np.int64),
        np.array([row[1] for row in rows], np.int64),
        np.array([row[2] for row in rows], np.float64),
    )
    return meetings, free


class _Network(NamedTuple):
    """One buffer's network: the road first, then the ways into tuples, then the ways out.

    ``exits`` are the meetings, by their place in the list, at which a tuple can be left.
    """

    nodes: int
    tails: Ints
    heads: Ints
    capacities: Ints
    end_of_road: int
    exits: Ints


def _schedule(problem: Problem, meetings: _Meetings, room: int, goal: Goal) -> tuple[Ints, float]:
    """Return until which turn each arrival is kept (-1: not at all), and what rounding may cost."""
    until = np.full(len(problem.arrivals), -1, np.int64)
    if not len(meetings.keeper) or not room:
        return until, 0.0
    network = _network(problem, meetings, room)
    if _crowd(network) <= room:  # nobody has to leave; the solver would take long to find out
        until[meetings.keeper] = meetings.turn  # the last meeting of each is assigned last
        return until, 0.0
    starts = np.flatnonzero(np.diff(meetings.keeper, prepend=-1))
    for prices, slack in _prices(meetings, goal, network.nodes):
        total = np.cumsum(prices)
        before = np.repeat(total[starts] - prices[starts], np.diff(starts, append=len(total)))
        used = _solve(network, (total - before)[network.exits])
        if used is not None:
            taken = network.exits[used]
            until[meetings.keeper[taken]] = meetings.turn[taken]
            return until, slack
    raise PlanError(
        f"importances up to {meetings.worth.max():g} are too large for a flow over "
        f"{network.nodes} nodes: divide all of them by a common factor"
    )


def _network(problem: Problem, meetings: _Meetings, room: int) -> _Network:
    turn_of = np.array([arrival.turn for arrival in problem.arrivals], np.int64)
    keepers, keeper_at = np.unique(meetings.keeper, return_inverse=True)
    entries, entry_of = np.unique(turn_of[keepers], return_inverse=True)
    # Who is met in a turn must be in memory before it, and if the choice comes first also in it.
    leaves = np.searchsorted(entries, meetings.turn + problem.evict_first)
    # Of the meetings between two entries only the last is worth leaving at: worth is never < 0.
    exits = np.flatnonzero(np.append((np.diff(leaves) != 0) | (np.diff(keeper_at) != 0), True))
    end_of_road = len(entries)
    road, tuples = np.arange(end_of_road), end_of_road + 1 + np.arange(len(keepers))
    tails = np.concatenate((road, entry_of, tuples[keeper_at[exits]]))
    heads = np.concatenate((road + 1, tuples, leaves[exits]))
    capacities = np.where(np.arange(len(tails)) < end_of_road, room, 1)
    return _Network(1 + end_of_road + len(keepers), tails, heads, capacities, end_of_road, exits)


def _crowd(network: _Network) -> int:
    """Return how many tuples would be in memory at once if all stayed until their last meeting."""
    first_exit = len(network.tails) - len(network.exits)
    enter, tuples = network.tails[network.end_of_road : first_exit], network.tails[first_exit:]
    leave = network.heads[first_exit:][np.append(np.diff(tuples) != 0, True)]
    come, go = (np.bincount(turns, minlength=network.nodes) for turns in (enter, leave))
    return int(np.cumsum(come - go).max())


def _solve(network: _Network, gains: Ints) -> npt.NDArray[np.bool_] | None:
    """Return which exits are used; None if the gains are beyond what the solver can add up."""
    costs = np.zeros(len(network.tails), np.int64)
    costs[-len(gains) :] = -gains
    solver = or_tools("graph.python.min_cost_flow").SimpleMinCostFlow()
    arcs = solver.add_arcs_with_capacity_and_unit_cost(
        network.tails.astype(np.int32), network.heads.astype(np.int32), network.capacities, costs
    )
    room = int(network.capacities[0])
    solver.set_node_supply(0, room)
    solver.set_node_supply(network.end_of_road, -room)
    status = solver.solve()
    if status == solver.BAD_COST_RANGE:
        return None
    # The road alone carries everything, so there always is a flow.
    assert status == solver.OPTIMAL, status.name
    used: npt.NDArray[np.bool_] = np.asarray(solver.flows(arcs[-len(gains) :])) > 0
    return used


def _prices(meetings: _Meetings, goal: Goal, nodes: int) -> Iterator[tuple[Ints, float]]:
    """Yield whole prices for the meetings and what they may cost by rounding, best prices first.

    First both goals in one number, the second one scaled down until it only decides between
    equals; then the first goal alone; at last, for importance, rounded to ever fewer bits.
    """
    one = np.ones(len(meetings.worth), np.int64)
    longest = int(np.bincount(meetings.keeper).max())  # meetings of one tuple
    exact = _whole(meetings.worth)
    primary, secondary = (exact, one) if goal == "importance" else (one, exact)
    # Where all are worth the same, one goal is the other.
    same = exact is not None and exact[0] > 0 and bool(np.all(exact == exact[0]))
    if primary is not None and secondary is not None and not same:
        unit = sum(secondary.tolist()) + 1
        if (int(primary.max()) * unit + int(secondary.max())) * longest * nodes < _CEILINGS[0]:
            yield primary * unit + secondary, 0.0
    if primary is not None and int(primary.max()) * longest * nodes < _CEILINGS[0]:
        yield primary, 0.0
    if goal == "importance":
        for ceiling in _CEILINGS:
            bits = floor(log2(ceiling / longest / nodes) - log2(meetings.worth.max()))
            prices = np.rint(np.ldexp(meetings.worth, bits)).astype(np.int64)
            # Half a unit a meeting is lost to rounding, in this schedule and in a better one.
            yield prices, len(prices) * 2.0**-bits


def _whole(worths: Floats) -> Ints | None:
    """Return the worths times the smallest power of two that makes all whole, if there is one."""
    for bits in range(53):
        scaled = np.ldexp(worths, bits)
        if scaled.max() >= 2.0**53:
            break
        if np.all(scaled == np.rint(scaled)):
            return scaled.astype(np.int64)
    return None
