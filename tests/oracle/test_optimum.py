"""The offline optimum: four methods, one answer; and a bound where there is none.

Families: *worked example* (the paper's numbers, written out), *oracle* (flow and dynamic
programming against every decision there is, and against each other where that is too many),
*replay* (a schedule is played turn by turn by the code below, which knows nothing of the methods,
and must fit the memory and earn what was reported), *laws* (more memory is never worse, enough
memory is the exact join, who decides later never loses), *bad input*. ``SHAPES`` are joins of two
streams, several joins that share streams, and joins of three.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import fsum
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bankfull.errors import PlanError, SpecError
from bankfull.oracle import exact
from bankfull.oracle.optimum import (
    Goal,
    On,
    Optimum,
    Problem,
    bound,
    esja,
    exhaustive,
    odja,
    sja,
    two,
)
from bankfull.spec import Equal, Join, Query, Stream, Ticks

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


def _numbers(optimum: Optimum) -> tuple[int, float]:
    return optimum.results, optimum.importance


def _case(
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


# ---------------------------------------------------------------------------------- worked example
#
#   time          0        1        2        3        4        5      (key, importance), w = 4
#   R           1, 1    9, 20     1, 1     3, 5     4, 5     2, 1     two places each
#   S           3, 5     1, 1     1, 1     1, 1    9, 20     1, 1
#
# R's tuples 0, 1 and 2 want a place until 3, 4 and 5: one must go at time 2. The 20 is worth it.

R = ([0, 1, 2, 3, 4, 5], [1, 9, 1, 3, 4, 2], [1, 20, 1, 5, 5, 1])
S = ([0, 1, 2, 3, 4, 5], [3, 1, 1, 1, 9, 1], [5, 1, 1, 1, 20, 1])


def _example(memory: int | tuple[int, int] = (2, 2), **convention: Any) -> Problem:
    return two(R, S, span=4 - 1, memory=memory, **convention)


@each_convention
def test_worked_example_exact(convention: dict[str, Any]) -> None:
    assert _numbers(esja(_example((4, 4), **convention))) == (9, 32)
    assert _numbers(odja(_example((4, 4), **convention))) == (9, 32)


@pytest.mark.parametrize(
    ("convention", "best", "largest"),
    [
        (PAPER, (7, 30), (8, 12)),
        # R's first tuple still meets S's third before it makes room for R's third.
        (TOGETHER, (8, 31), (8, 31)),
        # R's third arrives before S's third, so the first has to go unmet; and S's third finds
        # R's third only if that was stored.
        (OPERATOR, (7, 30), (8, 12)),
    ],
    ids=["paper", "together", "operator"],
)
def test_worked_example_optima(
    convention: dict[str, Any], best: tuple[int, int], largest: tuple[int, int]
) -> None:
    problem = _example(**convention)
    for method in (esja, odja, exhaustive):
        assert _numbers(method(problem)) == best
    assert _numbers(sja(problem)) == largest
    assert _numbers(odja(problem, "results")) == largest
    assert _numbers(exhaustive(problem, "results")) == largest


def test_worked_example_schedule() -> None:
    # Until which instant: R 0 leaves for R 2; R 1 waits for the other 20; S 0 for its 5.
    kept = [(0, 1, 4), (1, 0, 3), (1, 1, 2)]
    assert {*kept} < {tuple(stay) for stay in esja(_example(evict_first=True)).kept}


# ------------------------------------------------------------------------------------------ replay


def _replay(problem: Problem, optimum: Optimum) -> tuple[int, float]:
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
            _fits(problem, memory + stays)
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
            _fits(problem, memory)
    return len(earned), fsum(earned)


def _fits(problem: Problem, memory: list[tuple[Any, ...]]) -> None:
    if isinstance(problem.memory, tuple):
        for stream, room in enumerate(problem.memory):
            assert sum(row[1] == stream for row in memory) <= room
    else:
        assert len(memory) <= problem.memory


def test_replay_notices_a_tuple_too_many() -> None:
    problem = _example(evict_first=True)
    everything = esja(replace(problem, memory=(4, 4)))
    with pytest.raises(AssertionError):
        _replay(problem, everything)


def test_replay_notices_a_tuple_too_few() -> None:
    problem = _example(evict_first=True)
    best = esja(problem)
    assert _replay(problem, replace(best, kept=best.kept[1:])) != _numbers(best)


@each_convention
@pytest.mark.parametrize("split", [True, False])
def test_replay_of_large_streams(convention: dict[str, Any], split: bool) -> None:
    """As in the lab, but shorter: 100 keys, one stream skewed, five in a hundred worth 100."""
    draw = np.random.default_rng(7)
    skewed = 1 / np.arange(1, 101)
    streams = [
        (
            np.arange(1_000),
            draw.choice(100, 1_000, p=chance),
            np.where(draw.random(1_000) < 0.05, 100.0, draw.integers(1, 11, 1_000)),
        )
        for chance in (skewed / skewed.sum(), None)
    ]
    problem = two(*streams, span=100, memory=(25, 25) if split else 50, since=200, **convention)
    for optimum in (esja(problem), sja(problem)):
        assert _replay(problem, optimum) == _numbers(optimum)
        assert optimum.slack == 0
    best, largest = esja(problem), sja(problem)
    assert best.importance > largest.importance
    assert best.results < largest.results


# ------------------------------------------------------------------------------------------ oracle


@each_convention
@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize(
    ("shape", "rule"),
    [(PAIRS[0], rule) for rule in RULES] + [(shape, "min") for shape in PAIRS[1:]],
)
def test_oracle_every_decision(
    convention: dict[str, Any], split: bool, shape: str, rule: str
) -> None:
    for seed in range(10):
        problem = _case(seed, tuples=9, split=split, shape=shape, rule=rule, **convention)
        goals: list[tuple[Goal, Callable[[Problem], Optimum]]]
        goals = [("importance", esja), ("results", sja)]
        for goal, flow in goals:
            found = [exhaustive(problem, goal), odja(problem, goal), flow(problem)]
            assert len({_numbers(optimum) for optimum in found}) == 1, (seed, goal, found)
            for optimum in found:
                assert _replay(problem, optimum) == _numbers(optimum), (seed, goal, optimum)


@each_convention
@pytest.mark.parametrize("split", [True, False])
def test_oracle_flow_is_dynamic_programming(convention: dict[str, Any], split: bool) -> None:
    for seed in range(8):
        problem = _case(seed, tuples=25, split=split, **convention)
        for programmed, flowing in (
            (odja(problem), esja(problem)),
            (odja(problem, "results"), sja(problem)),
        ):
            assert _numbers(programmed) == _numbers(flowing), seed
            assert _replay(problem, programmed) == _numbers(programmed), seed
            assert _replay(problem, flowing) == _numbers(flowing), seed


@each_convention
@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("goal", ["importance", "results"])
@pytest.mark.parametrize(
    ("shape", "rule"), [(MORE[0], rule) for rule in RULES] + [(shape, "min") for shape in MORE[1:]]
)
def test_oracle_bound_holds_every_decision(
    convention: dict[str, Any], split: bool, shape: str, rule: str, goal: Goal
) -> None:
    """Nobody passes the bound, and the schedule below it is one."""
    results = 0
    for seed in range(10):
        problem = _case(seed, tuples=9, split=split, shape=shape, span=6, rule=rule, **convention)
        found, best = bound(problem, goal), exhaustive(problem, goal)
        assert _numbers(odja(problem, goal)) == _numbers(best), seed
        assert _replay(problem, best) == _numbers(best), seed
        assert _replay(problem, found) == pytest.approx(_numbers(found)), seed
        reached, most = getattr(found, goal), getattr(best, goal)
        assert reached <= most * (1 + 1e-9) + 1e-9, seed
        assert most <= (reached + found.slack) * (1 + 1e-9), seed
        results += best.results
    assert results > 0


@pytest.mark.parametrize("split", [True, False])
def test_oracle_bound_is_close_for_joins_of_three(split: bool) -> None:
    """Larger streams than can be decided by hand: what is not known is a small part."""
    slack = most = 0.0
    for seed in range(8):
        problem = _case(seed, tuples=18, split=split, shape=MORE[0], span=6)
        problem = replace(problem, memory=(2, 2, 2) if split else 5)
        found, best = bound(problem), odja(problem)
        assert found.importance <= best.importance <= found.importance + found.slack
        slack, most = slack + found.slack, most + best.importance
    assert most > 0
    assert slack < 0.25 * most


@each_convention
@pytest.mark.parametrize("shape", PAIRS)
def test_oracle_bound_is_the_flow_for_joins_of_two(convention: dict[str, Any], shape: str) -> None:
    for seed in range(5):
        problem = _case(seed, tuples=60, split=seed % 2 > 0, shape=shape, **convention)
        flowing, found = esja(problem), bound(problem, tolerance=0.0)
        assert found.importance + found.slack == pytest.approx(flowing.importance, rel=1e-5), seed


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    "importances",
    [
        lambda dice: dice.random(),
        lambda dice: dice.random() * 1e150,
        lambda dice: dice.random() * 1e-12 + dice.randrange(2),
    ],
    ids=["fraction", "huge", "far apart"],
)
def test_oracle_rounding_stays_within_its_slack(
    rule: str, importances: Callable[[random.Random], float]
) -> None:
    for seed in range(10):
        problem = _case(seed, tuples=20, split=False, rule=rule, importances=importances)
        exact_one, rounded = odja(problem), esja(problem)
        assert rounded.importance <= exact_one.importance <= rounded.importance + rounded.slack
        assert rounded.slack <= 1e-6 * exact_one.importance
        assert _replay(problem, rounded) == _numbers(rounded)


def test_oracle_coarse_rounding_loses_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bankfull.oracle.optimum.flow._CEILINGS", (2.0**10,))
    losses = []
    for seed in range(20):
        problem = _case(seed, tuples=20, split=False, importances=lambda dice: dice.random())
        exact_one, rounded = odja(problem), esja(problem)
        losses.append(exact_one.importance - rounded.importance)
        assert 0 <= losses[-1] <= rounded.slack, seed
    assert any(losses)


def test_oracle_large_whole_importances_are_exact() -> None:
    for seed in range(10):
        problem = _case(
            seed, tuples=20, split=True, importances=lambda dice: 2**50 + dice.randrange(9)
        )
        assert esja(problem).slack == 0
        assert esja(problem).importance == odja(problem).importance


# -------------------------------------------------------------------------------------------- laws


@each_convention
@pytest.mark.parametrize("split", [True, False])
def test_more_memory_is_never_worse(convention: dict[str, Any], split: bool) -> None:
    for seed in range(5):
        problem = _case(seed, tuples=40, split=split, span=6, **convention)
        rooms = range(14)
        problems = [replace(problem, memory=(room, room) if split else room) for room in rooms]
        best = [esja(one).importance for one in problems]
        largest = [sja(one).results for one in problems]
        assert best == sorted(best)
        assert largest == sorted(largest)
        assert best[0] < best[-1]
        assert largest[0] < largest[-1]


@each_convention
def test_enough_memory_is_the_exact_join(convention: dict[str, Any]) -> None:
    for seed in range(10):
        problem = replace(_case(seed, tuples=40, split=False, **convention), memory=40, since=None)
        left, right = problem.streams
        tables = {
            name: pa.table(
                {"t": pa.array(times, pa.int64()), "k": pa.array(keys[:, 0], pa.int64())}
            )
            for name, (times, keys, _) in (("l", left), ("r", right))
        }
        join = Join("join", ("l", "r"), Equal((("k",),)), (Ticks(problem.joins[0].span),))
        pairs = exact(Query((Stream("l", "t"), Stream("r", "t")), (join,)), tables)["join"]
        worth = [min(left[2][i], right[2][j]) for i, j in pairs]
        assert _numbers(esja(problem)) == _numbers(sja(problem)) == (len(pairs), fsum(worth))


def test_shared_memory_is_never_worse_than_the_same_divided() -> None:
    for seed in range(10):
        divided = _case(seed, tuples=40, split=True)
        assert isinstance(divided.memory, tuple)
        shared = replace(divided, memory=sum(divided.memory))
        assert esja(divided).importance <= esja(shared).importance


@pytest.mark.parametrize("split", [True, False])
def test_who_decides_after_the_instant_never_loses(split: bool) -> None:
    for seed in range(10):
        together = _case(seed, tuples=40, split=split, together=True)
        best = esja(together).importance
        assert esja(replace(together, together=False)).importance <= best
        assert esja(replace(together, evict_first=True)).importance <= best


# --------------------------------------------------------------------------------------- bad input


def test_nothing_comes_of_nothing() -> None:
    empty: tuple[list[int], list[int], list[float]] = ([], [], [])
    for streams in ((empty, empty), (R, empty), (empty, S)):
        problem = two(*streams, span=3, memory=(2, 2))
        for method in (esja, sja, odja, exhaustive, bound):
            assert method(problem) == Optimum(0, 0.0, ())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"joins": (On((0, 1), -1),)}, "span -1 is negative"),
        ({"joins": (On((0, 0), 3),)}, r"a join of streams \(0, 0\)"),
        ({"joins": (On((0,), 3),)}, r"a join of streams \(0,\)"),
        ({"joins": (On((0, 2), 3),)}, "no stream 2: there are 2"),
        ({"joins": (On((0, 1), 3, 1),)}, "stream 0 has no attribute 1"),
        ({"memory": (1, 1, 1)}, r"memory \(1, 1, 1\) for 2 streams"),
        ({"memory": -1}, "memory -1 is negative"),
        ({"memory": (3, -2)}, r"memory \(3, -2\) is negative"),
        ({"rule": "mean"}, "no importance rule 'mean'"),
        ({"streams": (([1, 2], [1], [1, 1]), S)}, "stream 0 has 2 times, 1 keys and 2 imp"),
        ({"streams": (R, ([2, 1], [1, 1], [1, 1]))}, "times of stream 1 decrease"),
        ({"streams": (([1], [1], [float("nan")]), S)}, "stream 0 has an importance"),
        ({"streams": (([1], [1], [-1.0]), S)}, "stream 0 has an importance"),
        ({"streams": (([1], [1], [1e308]), S), "rule": "product"}, "product of importances"),
    ],
)
def test_bad_input_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        replace(_example(), **change)


def test_a_join_of_three_is_no_flow() -> None:
    problem = _case(1, tuples=9, split=True, shape=MORE[0])
    for method in (esja, sja):
        with pytest.raises(PlanError, match=r"no flow: odja .* or bound"):
            method(problem)


def test_without_the_solver_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.graph.python.min_cost_flow", None)
    with pytest.raises(PlanError, match=r"pip install .*bankfull\[lab\]"):
        esja(_example())
