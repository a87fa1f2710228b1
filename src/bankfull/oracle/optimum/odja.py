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
    the third (errata of paper 004). With split memory the streams are independent graphs, as
    printed; a shared memory is one graph whose states hold tuples of all, and so is any memory
    if a join has three and more streams. Expired tuples leave the state at once. Sums are exact;
    equals are decided by the number of results. The variants that the section names are aims here:
    the largest output, the smallest importance, and importances of both signs (``signed``). The
    stated space, two time instants of states, is kept with ``schedule=False``. With the schedule
    every state remembers the way to it, as ``prev`` in the paper does, and then the states of all
    instants on those ways stay in memory, which grows with the streams; the paper's printing
    procedure needs them as well and its space is stated without them.
Cost: a state for every choice of ``memory`` among the live tuples, each turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations, groupby, product
from typing import NamedTuple

from bankfull.oracle.optimum.problem import Aim, Arrival, Buffer, Optimum, Problem, Stay

State = frozenset[Arrival]
Turn = tuple[Arrival, ...]


class _Path(NamedTuple):
    """The best way to a state: what it earned, and where it came from, if that is wanted."""

    importance: Fraction
    results: int
    state: State
    previous: _Path | None

    def better(self, other: _Path, goal: Aim) -> bool:
        if goal == "importance":
            return (self.importance, self.results) > (other.importance, other.results)
        if goal == "least importance":
            return (self.importance, self.results) < (other.importance, other.results)
        return (self.results, self.importance) > (other.results, other.importance)


def odja(problem: Problem, goal: Aim = "importance", schedule: bool = True) -> Optimum:
    """Return the output of largest importance (optimal dynamic-programming join approximation).

    With ``goal="results"`` it is the largest output: every result weighs the same; with ``"least
    importance"`` the one of smallest importance. Without the ``schedule`` nothing is ``kept`` in
    the answer, and the states of two turns are all that is in memory.

    >>> from bankfull.oracle.optimum import two
    >>> odja(two(([0, 1], [7, 8], [2, 9]), ([2, 3], [8, 7], [9, 9]), span=3, memory=(1, 1)))
    Optimum(results=1, importance=9.0, kept=(Stay(stream=0, row=1, until=2),), slack=0.0)
    """
    turns = [tuple(group) for _, group in groupby(problem.arrivals, lambda arrival: arrival.turn)]
    importance, results = _simultaneous(problem, turns)
    kept: set[Stay] = set()
    graphs = [(buffer,) for buffer in problem.buffers] if problem.in_pairs else [problem.buffers]
    for buffers in graphs:
        path = _best_path(problem, turns, buffers, goal, schedule)
        importance, results = importance + path.importance, results + path.results
        if schedule:
            kept |= _stays(problem, turns, path)
    return Optimum(results, float(importance), tuple(sorted(kept)))


def _best_path(
    problem: Problem, turns: list[Turn], buffers: tuple[Buffer, ...], goal: Aim, schedule: bool
) -> _Path:
    reached = {State(): _Path(Fraction(0), 0, State(), None)}
    for arrivals in turns:
        ahead: dict[State, _Path] = {}
        for state, path in reached.items():
            live = _alive(problem, state, arrivals[0].time)
            for stored in _choices(live, arrivals, buffers):
                found = stored.difference(arrivals) if problem.evict_first else live
                worth, count = _sum(problem, _earned(problem, found, arrivals))
                before = path if schedule else None
                step = _Path(path.importance + worth, path.results + count, stored, before)
                if stored not in ahead or step.better(ahead[stored], goal):
                    ahead[stored] = step
        reached = ahead
    best, *others = reached.values()
    for path in others:
        best = path if path.better(best, goal) else best
    return best


def _alive(problem: Problem, state: State, now: int) -> State:
    return State(old for old in state if now - old.time <= problem.lasting[old.stream])


def _choices(live: State, arrivals: Turn, buffers: tuple[Buffer, ...]) -> Iterator[State]:
    """Yield every memory that can follow: nobody is dropped while there is room."""
    chosen = []
    for buffer in buffers:
        wanted = [one for one in (*live, *arrivals) if one.stream in buffer.streams]
        chosen.append(combinations(wanted, min(buffer.room, len(wanted))))
    for shares in product(*chosen):
        yield State(one for share in shares for one in share)


def _earned(problem: Problem, found: State, arrivals: Turn) -> Iterator[Turn]:
    """Yield the results that need the memory: those with one of the tuples found there."""
    for place, last in enumerate(arrivals):
        for members in problem.completed((*found, *arrivals[:place]), last):
            if not found.isdisjoint(members):
                yield members


def _simultaneous(problem: Problem, turns: list[Turn]) -> tuple[Fraction, int]:
    """Return what tuples of the same turn earn with one another, whatever is stored."""
    return _sum(
        problem,
        (
            members
            for arrivals in turns
            for place, last in enumerate(arrivals)
            for members in problem.completed(arrivals[:place], last)
        ),
    )


def _sum(problem: Problem, results: Iterable[Turn]) -> tuple[Fraction, int]:
    worths = [Fraction(problem.worth(members)) for members in results]
    return sum(worths, Fraction(0)), len(worths)


def _stays(problem: Problem, turns: list[Turn], path: _Path) -> set[Stay]:
    """Walk back along a path; a tuple is listed until the last turn in which it earned."""
    states: list[State] = []
    step: _Path | None = path
    while step is not None:
        states.append(step.state)
        step = step.previous
    states.reverse()  # states[i] is what there was before turn i
    until: dict[Arrival, int] = {}
    for number, arrivals in enumerate(turns):
        there = states[number] & states[number + 1] if problem.evict_first else states[number]
        for members in _earned(problem, there, arrivals):
            until |= {one: number for one in members if one in there}
    return {Stay(old.stream, old.row, turn) for old, turn in until.items()}
