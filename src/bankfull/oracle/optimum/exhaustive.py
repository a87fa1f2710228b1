"""exhaustive: the optimum by trying every decision there is, for a handful of tuples.

Nothing clever: it plays all streams at once, recognises no state it has seen before, and looks
at whole outputs. It judges the other methods. The decisions are those an operator has: when the
memory is full, anybody may go, the newcomer too; while there is room, nobody does.

Cost: exponential in the number of tuples; the paper's example, twelve tuples, takes a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, groupby, product

from bankfull.oracle.optimum.problem import Aim, Arrival, Optimum, Problem, Stay

Memory = tuple[Arrival, ...]
Output = tuple[tuple[Arrival, ...], ...]


def exhaustive(problem: Problem, goal: Aim = "importance") -> Optimum:
    """Return the best of all outputs: of largest or least importance, or with most results.

    >>> from bankfull.oracle.optimum import two
    >>> streams = ([0, 1], [7, 8], [2, 9]), ([2, 3], [8, 7], [9, 9])
    >>> exhaustive(two(*streams, span=3, memory=(1, 1)))
    Optimum(results=1, importance=9.0, kept=(Stay(stream=0, row=1, until=2),), slack=0.0)
    """
    turns = [tuple(group) for _, group in groupby(problem.arrivals, lambda arrival: arrival.turn)]
    best: tuple[tuple[Fraction, Fraction], Output] | None = None
    for output in _outputs(problem, turns, ()):
        importance = sum((Fraction(problem.worth(members)) for members in output), Fraction(0))
        score = importance, Fraction(len(output))
        if goal == "results":
            score = score[1], score[0]
        if goal == "least importance":
            score = -score[0], -score[1]
        if best is None or score > best[0]:
            best = score, output
    assert best is not None  # to do nothing is a decision too
    importance = sum((Fraction(problem.worth(members)) for members in best[1]), Fraction(0))
    return Optimum(len(best[1]), float(importance), _stays(best[1]))


def _outputs(problem: Problem, turns: list[Memory], memory: Memory) -> Iterator[Output]:
    """Yield the output of every sequence of decisions, from this memory on."""
    if not turns:
        yield ()
        return
    arrivals, later = turns[0], turns[1:]
    for stored in _decisions(problem, (*memory, *arrivals), arrivals[0].time):
        old = tuple(one for one in stored if one in memory) if problem.evict_first else memory
        met = tuple(
            members
            for place, last in enumerate(arrivals)
            for members in problem.completed((*old, *arrivals[:place]), last)
        )
        for output in _outputs(problem, later, stored):
            yield met + output


def _decisions(problem: Problem, there: Memory, now: int) -> Iterator[Memory]:
    """Yield every memory that can follow: as many as fit in each buffer of those still alive."""
    alive = [one for one in there if now - one.time <= problem.lasting[one.stream]]
    shares = [[one for one in alive if one.stream in buffer.streams] for buffer in problem.buffers]
    for chosen in product(
        *(
            combinations(share, min(buffer.room, len(share)))
            for share, buffer in zip(shares, problem.buffers, strict=True)
        )
    ):
        yield tuple(one for share in chosen for one in share)


def _stays(output: Output) -> tuple[Stay, ...]:
    until = {
        one: last.turn for *earlier, last in output for one in earlier if one.turn != last.turn
    }
    return tuple(sorted(Stay(old.stream, old.row, turn) for old, turn in until.items()))
