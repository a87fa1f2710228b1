"""Small problems for the offline optimum, and a replay of schedules that shares nothing with it."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product
from math import fsum
from typing import Any

import numpy as np
import pytest

from bankfull.oracle.optimum import (
    On,
    Optimum,
    Problem,
    two,
)

OPERATOR: dict[str, Any] = {}
TOGETHER: dict[str, Any] = {"together": True}
PAPER: dict[str, Any] = {"evict_first": True}
CONVENTIONS = [OPERATOR, TOGETHER, PAPER]
CONVENTION_NAMES = ["operator", "together", "paper"]
RULES = ["min", "max", "sum", "product", "average"]

#: Joins by what they are of: (streams, span, attribute); a span of None is drawn.
SHAPES: dict[str, list[tuple[tuple[int, ...], int | None, int]]] = {
    "two streams": [((0, 1), None, 0)],
    "two attributes": [((0, 1), None, 0), ((0, 1), 2, 1)],
    "chain": [((0, 1), None, 0), ((1, 2), 3, 0)],
    "side by side": [((0, 1), None, 0), ((2, 3), None, 0)],
    "three streams": [((0, 1, 2), None, 0)],
    "three and two": [((0, 1, 2), 4, 0), ((0, 2), None, 1)],
}
PAIRS, MORE = list(SHAPES)[:4], list(SHAPES)[4:]

each_convention = pytest.mark.parametrize("convention", CONVENTIONS, ids=CONVENTION_NAMES)


def numbers(optimum: Optimum) -> tuple[int, float]:
    return optimum.results, optimum.importance


def case(
    seed: int,
    *,
    tuples: int,
    split: bool,
    shape: str = "two streams",
    span: int | None = None,
    rule: str = "min",
    importances: Callable[[random.Random], float] = lambda dice: dice.choice([0, 1, 2, 5, 20.5]),
    **convention: Any,
) -> Problem:
    """Draw short streams with gaps and ties, few keys, and little memory."""
    dice = random.Random(f"{seed} {tuples} {split} {rule} {shape}")
    streams = 1 + max(one for joined, _, _ in SHAPES[shape] for one in joined)
    columns: list[tuple[list[int], list[list[int]], list[float]]]
    columns = [([], [], []) for _ in range(streams)]
    clock = [dice.randrange(3) for _ in range(streams)]
    for _ in range(tuples):
        stream = dice.randrange(streams)
        times, keys, worths = columns[stream]
        times.append(clock[stream])
        keys.append([dice.choice([1, 1, 2, 3]), dice.choice([1, 2])])
        worths.append(importances(dice))
        clock[stream] += dice.choice([0, 1, 1, 1, 2])
    drawn = dice.choice([0, 2, 3, 6]) if span is None else span
    rooms = tuple(dice.randint(stream > 0, 2) for stream in range(streams))
    return Problem(
        tuple((times, np.reshape(keys, (-1, 2)), worths) for times, keys, worths in columns),
        tuple(
            On(joined, drawn if fixed is None else fixed, at) for joined, fixed, at in SHAPES[shape]
        ),
        memory=rooms if split else dice.randint(1, 3),
        rule=rule,
        since=dice.choice([None, None, 2]),
        **convention,
    )


#
#   time          0        1        2        3        4        5      (key, importance), w = 4
#   R           1, 1    9, 20     1, 1     3, 5     4, 5     2, 1     two places each
#   S           3, 5     1, 1     1, 1     1, 1    9, 20     1, 1
#
# R's tuples 0, 1 and 2 want a place until 3, 4 and 5: one must go at time 2. The 20 is worth it.

R = ([0, 1, 2, 3, 4, 5], [1, 9, 1, 3, 4, 2], [1, 20, 1, 5, 5, 1])
S = ([0, 1, 2, 3, 4, 5], [3, 1, 1, 1, 9, 1], [5, 1, 1, 1, 20, 1])


def example(memory: int | tuple[int, int] = (2, 2), **convention: Any) -> Problem:
    return two(R, S, span=4 - 1, memory=memory, **convention)


def replay(problem: Problem, optimum: Optimum) -> tuple[int, float]:
    """Play a schedule and return what it earns; by hand, sharing nothing with the methods."""
    combine = {
        "min": np.min,
        "max": np.max,
        "sum": np.sum,
        "product": np.prod,
        "average": np.mean,
    }[problem.rule]
    until = {(stay.stream, stay.row): stay.until for stay in optimum.kept}
    assert len(until) == len(optimum.kept), "a tuple is kept twice"
    rows = sorted(
        (time, stream, row, np.atleast_1d(key).tolist(), worth)
        for stream, columns in enumerate(problem.streams)
        for row, (time, key, worth) in enumerate(zip(*columns, strict=True))
    )
    instants = sorted({row[0] for row in rows})
    turns = (
        [[row for row in rows if row[0] == instant] for instant in instants]
        if problem.together or problem.evict_first
        else [[row] for row in rows]
    )
    memory: list[tuple[Any, ...]] = []
    earned: list[float] = []
    for turn, arrivals in enumerate(turns):
        stays = [row for row in arrivals if until.get(row[1:3], -1) > turn]
        if problem.evict_first:
            memory = [row for row in memory if until[row[1:3]] >= turn]
            fits(problem, memory + stays)
        for i, new in enumerate(arrivals):
            there = memory + arrivals[:i]
            for joined, span, at in problem.joins:
                if new[1] not in joined or (problem.since is not None and new[0] < problem.since):
                    continue
                others = [
                    [old for old in there if old[1] == one] for one in joined if one != new[1]
                ]
                earned += [
                    float(combine([member[4] for member in (*found, new)]))
                    for found in product(*others)
                    if all(old[3][at] == new[3][at] and new[0] - old[0] <= span for old in found)
                ]
        memory = [row for row in memory if until[row[1:3]] > turn or problem.evict_first] + stays
        if not problem.evict_first:
            fits(problem, memory)
    return len(earned), fsum(earned)


def fits(problem: Problem, memory: list[tuple[Any, ...]]) -> None:
    if isinstance(problem.memory, tuple):
        for stream, room in enumerate(problem.memory):
            assert sum(row[1] == stream for row in memory) <= room
    else:
        assert len(memory) <= problem.memory
