"""odja: the optimum by dynamic programming over the states of the memory, for small memories.

The idea: of all decisions that lead to the same tuples in memory after the same turn, only the
ones that have earned most so far can be part of an optimum, because what is to come depends on
the memory alone. So go through the turns and remember, for every state of the memory that can be
reached, the most that was earned on the way to it.

Reference: Ojewole, Zhu, Hou, *Window Join Approximation over Data Streams with Importance
    Semantics*, CIKM 2006, section 4.2.1 (ComputeMaxImportance, ComputeSAImportance,
    ReconstructContents).
Deviations: the printed procedure lets state y, which holds r(t), meet s(t+1), and so drops a
    tuple *after* the meetings of its last instant, while the text and Figure 1 drop it before;
    both are conventions here (``together``, ``evict_first``), and our operator's turn by turn is
    the third (errata of paper 004). With split memory the streams are two independent graphs, as
    printed; a shared memory is one graph whose states hold tuples of both. Expired tuples leave
    the state at once. Sums are exact; equals are decided by the number of results.
Cost: a state for every choice of ``memory`` among the live tuples, each turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, groupby
from typing import NamedTuple

from bankfull.oracle.optimum.problem import Arrival, Buffer, Goal, Optimum, Problem, Stay

State = frozenset[Arrival]


class _Path(NamedTuple):
    """The best way to a state: what it earned, and where it came from."""

    importance: Fraction
    results: int
    state: State
    previous: _Path | None

    def better(self, other: _Path, goal: Goal) -> bool:
        if goal == "importance":
            return (self.importance, self.results) > (other.importance, other.results)
        return (self.results, self.importance) > (other.results, other.importance)


def odja(problem: Problem, goal: Goal = "importance") -> Optimum:
    """Return the output of largest importance (optimal dynamic-programming join approximation).

    With ``goal="results"`` it is the largest output: every result weighs the same.

    >>> odja(Problem(([0, 1], [7, 8], [2, 9]), ([2, 3], [8, 7], [9, 9]), span=3, memory=(1, 1)))
    Optimum(results=1, importance=9.0, kept=(Stay(stream=0, row=1, until=2),), slack=0.0)
    """
    turns = [tuple(group) for _, group in groupby(problem.arrivals, lambda arrival: arrival.turn)]
    importance, results = _simultaneous(problem, turns)
    kept: set[Stay] = set()
    for buffer in problem.buffers:
        path = _best_path(problem, turns, buffer, goal)
        importance, results = importance + path.importance, results + path.results
        kept |= _stays(problem, turns, path)
    return Optimum(results, float(importance), tuple(sorted(kept)))


def _best_path(
    problem: Problem, turns: list[tuple[Arrival, ...]], buffer: Buffer, goal: Goal
) -> _Path:
    reached = {State(): _Path(Fraction(0), 0, State(), None)}
    for arrivals in turns:
        ahead: dict[State, _Path] = {}
        for state, path in reached.items():
            live = State(old for old in state if arrivals[0].time - old.time <= problem.span)
            for stored in _choices(live, arrivals, buffer):
                found = stored.difference(arrivals) if problem.evict_first else live
                worth, count = _earn(problem, found, arrivals)
                step = _Path(path.importance + worth, path.results + count, stored, path)
                if stored not in ahead or step.better(ahead[stored], goal):
                    ahead[stored] = step
        reached = ahead
    best, *others = reached.values()
    for path in others:
        best = path if path.better(best, goal) else best
    return best


def _choices(live: State, arrivals: tuple[Arrival, ...], buffer: Buffer) -> Iterator[State]:
    """Yield every memory that can follow. Fewer tuples than fit are never better."""
    wanted = [*live, *(new for new in arrivals if new.stream in buffer.streams)]
    return map(State, combinations(wanted, min(buffer.room, len(wanted))))


def _earn(problem: Problem, found: State, arrivals: tuple[Arrival, ...]) -> tuple[Fraction, int]:
    """Return what the arrivals earn with the tuples they find in memory."""
    worths = [
        Fraction(problem.worth(old, new))
        for new in arrivals
        for old in found
        if problem.counts(new) and problem.joins(old, new)
    ]
    return sum(worths, Fraction(0)), len(worths)


def _simultaneous(problem: Problem, turns: list[tuple[Arrival, ...]]) -> tuple[Fraction, int]:
    """Return what tuples of the same turn earn with one another, whatever is stored."""
    importance, results = Fraction(0), 0
    for arrivals in turns:
        for first, second in combinations(arrivals, 2):
            worth, count = _earn(problem, State((first,)), (second,))
            importance, results = importance + worth, results + count
    return importance, results


def _stays(problem: Problem, turns: list[tuple[Arrival, ...]], path: _Path) -> set[Stay]:
    """Walk back along a path; a tuple is listed until the last turn in which it earned."""
    states: list[State] = []
    step: _Path | None = path
    while step is not None:
        states.append(step.state)
        step = step.previous
    states.reverse()  # states[i] is what there was before turn i
    until: dict[Arrival, int] = {}
    for number, arrivals in enumerate(turns):
        for old in states[number] & states[number + 1] if problem.evict_first else states[number]:
            if _earn(problem, State((old,)), arrivals)[1]:
                until[old] = number
    return {Stay(old.stream, old.row, turn) for old, turn in until.items()}
