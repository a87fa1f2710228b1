"""The offline optimum: four methods, one answer; and a bound where there is none.

Families: *worked example* (the paper's numbers, written out), *oracle* (flow and dynamic
programming against every decision there is, and against each other where that is too many),
*replay* (a schedule is played turn by turn in ``optimum_cases``, which knows nothing of the
methods, and must fit the memory and earn what was reported), *laws* (more memory is never worse,
enough memory is the exact join, who decides later never loses), *bad input*. ``SHAPES`` are joins
of two streams, several joins that share streams, and joins of three.
"""

from __future__ import annotations

import random
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from math import fsum
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from optimum_cases import (
    OPERATOR,
    PAIRS,
    PAPER,
    RULES,
    TOGETHER,
    R,
    S,
    case,
    each_convention,
    example,
    numbers,
    replay,
)

from bankfull.errors import PlanError, SpecError
from bankfull.oracle import exact
from bankfull.oracle.optimum import (
    Aim,
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

# ---------------------------------------------------------------------------------- worked example


@each_convention
def test_worked_example_exact(convention: dict[str, Any]) -> None:
    assert numbers(esja(example((4, 4), **convention))) == (9, 32)
    assert numbers(odja(example((4, 4), **convention))) == (9, 32)


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
    problem = example(**convention)
    for method in (esja, odja, exhaustive):
        assert numbers(method(problem)) == best
    assert numbers(sja(problem)) == largest
    assert numbers(odja(problem, "results")) == largest
    assert numbers(exhaustive(problem, "results")) == largest


def test_worked_example_schedule() -> None:
    # Until which instant: R 0 leaves for R 2; R 1 waits for the other 20; S 0 for its 5.
    kept = [(0, 1, 4), (1, 0, 3), (1, 1, 2)]
    assert {*kept} < {tuple(stay) for stay in esja(example(evict_first=True)).kept}


# ------------------------------------------------------------------------------------------ replay


def test_replay_notices_a_tuple_too_many() -> None:
    problem = example(evict_first=True)
    everything = esja(replace(problem, memory=(4, 4)))
    with pytest.raises(AssertionError):
        replay(problem, everything)


def test_replay_notices_a_tuple_too_few() -> None:
    problem = example(evict_first=True)
    best = esja(problem)
    assert replay(problem, replace(best, kept=best.kept[1:])) != numbers(best)


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
        assert replay(problem, optimum) == numbers(optimum)
        assert optimum.slack == 0
    best, largest = esja(problem), sja(problem)
    assert best.importance > largest.importance
    assert best.results < largest.results


# ------------------------------------------------------------------- variants of section 4.2.1


def test_the_smallest_importance_of_the_worked_example() -> None:
    """Keep what earns least: the two twenties and R's first tuple are given up."""
    for method in (odja, exhaustive):
        least = method(example(evict_first=True), "least importance")
        assert least.importance < sja(example(evict_first=True)).importance
    assert numbers(odja(example(evict_first=True), "least importance")) == numbers(
        exhaustive(example(evict_first=True), "least importance")
    )


@each_convention
@pytest.mark.parametrize("split", [True, False])
def test_oracle_variants(convention: dict[str, Any], split: bool) -> None:
    """Unwanted results, and the smallest importance there is, against every decision."""
    goals: list[Aim] = ["importance", "least importance"]
    differing = 0
    for seed in range(6):
        problem = case(
            seed,
            tuples=8,
            split=split,
            importances=lambda dice: dice.choice([-5, -1, 1, 2, 20.5]),
            signed=True,
            **convention,
        )
        found = []
        for goal in goals:
            wanted, best = exhaustive(problem, goal), odja(problem, goal)
            assert numbers(wanted) == numbers(best), (seed, goal)
            assert replay(problem, best) == numbers(best), (seed, goal)
            found.append(best.importance)
        differing += found[0] > found[1]
    assert differing > 2


def test_negative_importances_are_refused_where_they_cannot_be_solved() -> None:
    columns = ([0, 1], [1, 1], [-1, 2]), ([0, 1], [1, 1], [1, 1])
    with pytest.raises(SpecError, match="signed=True"):
        two(*columns, span=3, memory=(1, 1))
    problem = two(*columns, span=3, memory=(1, 1), signed=True)
    for method in (esja, sja, bound):
        with pytest.raises(PlanError, match="odja"):
            method(problem)


# ----------------------------------------------------------------------------------- space of odja


def test_odja_without_its_schedule_needs_no_more_for_longer_streams() -> None:
    """Its stated space is that of two instants; what grows then is the list of turns alone."""

    def peak(rows: int, schedule: bool) -> tuple[int, tuple[int, float]]:
        dice = random.Random(rows)
        columns = [
            (
                list(range(rows)),
                [dice.randrange(4) for _ in range(rows)],
                [dice.randrange(9) for _ in range(rows)],
            )
            for _ in range(2)
        ]
        problem = two(columns[0], columns[1], span=4, memory=(1, 1))
        assert len(problem.arrivals) == 2 * rows  # made before, so it is not counted
        found = []
        for _ in range(2):  # other threads of this process allocate too, now and then
            tracemalloc.start()
            best = odja(problem, schedule=schedule)
            found.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        return min(found), numbers(best)

    grown = {}
    for schedule in (False, True):
        (small, _), (large, reached) = peak(100, schedule), peak(500, schedule)
        grown[schedule] = large - small
    assert reached == peak(500, False)[1]
    assert grown[False] * 4 < grown[True]


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
        problem = case(seed, tuples=9, split=split, shape=shape, rule=rule, **convention)
        goals: list[tuple[Goal, Callable[[Problem], Optimum]]]
        goals = [("importance", esja), ("results", sja)]
        for goal, flow in goals:
            found = [exhaustive(problem, goal), odja(problem, goal), flow(problem)]
            assert len({numbers(optimum) for optimum in found}) == 1, (seed, goal, found)
            for optimum in found:
                assert replay(problem, optimum) == numbers(optimum), (seed, goal, optimum)


@each_convention
@pytest.mark.parametrize("split", [True, False])
def test_oracle_flow_is_dynamic_programming(convention: dict[str, Any], split: bool) -> None:
    for seed in range(8):
        problem = case(seed, tuples=25, split=split, **convention)
        for programmed, flowing in (
            (odja(problem), esja(problem)),
            (odja(problem, "results"), sja(problem)),
        ):
            assert numbers(programmed) == numbers(flowing), seed
            assert replay(problem, programmed) == numbers(programmed), seed
            assert replay(problem, flowing) == numbers(flowing), seed


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
        problem = case(seed, tuples=20, split=False, rule=rule, importances=importances)
        exact_one, rounded = odja(problem), esja(problem)
        assert rounded.importance <= exact_one.importance <= rounded.importance + rounded.slack
        assert rounded.slack <= 1e-6 * exact_one.importance
        assert replay(problem, rounded) == numbers(rounded)


def test_oracle_coarse_rounding_loses_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bankfull.oracle.optimum.flow._CEILINGS", (2.0**10,))
    losses = []
    for seed in range(20):
        problem = case(seed, tuples=20, split=False, importances=lambda dice: dice.random())
        exact_one, rounded = odja(problem), esja(problem)
        losses.append(exact_one.importance - rounded.importance)
        assert 0 <= losses[-1] <= rounded.slack, seed
    assert any(losses)


def test_oracle_large_whole_importances_are_exact() -> None:
    for seed in range(10):
        problem = case(
            seed, tuples=20, split=True, importances=lambda dice: 2**50 + dice.randrange(9)
        )
        assert esja(problem).slack == 0
        assert esja(problem).importance == odja(problem).importance


# -------------------------------------------------------------------------------------------- laws


@each_convention
@pytest.mark.parametrize("split", [True, False])
def test_more_memory_is_never_worse(convention: dict[str, Any], split: bool) -> None:
    for seed in range(5):
        problem = case(seed, tuples=40, split=split, span=6, **convention)
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
        problem = replace(case(seed, tuples=40, split=False, **convention), memory=40, since=None)
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
        assert numbers(esja(problem)) == numbers(sja(problem)) == (len(pairs), fsum(worth))


def test_shared_memory_is_never_worse_than_the_same_divided() -> None:
    for seed in range(10):
        divided = case(seed, tuples=40, split=True)
        assert isinstance(divided.memory, tuple)
        shared = replace(divided, memory=sum(divided.memory))
        assert esja(divided).importance <= esja(shared).importance


@pytest.mark.parametrize("split", [True, False])
def test_who_decides_after_the_instant_never_loses(split: bool) -> None:
    for seed in range(10):
        together = case(seed, tuples=40, split=split, together=True)
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
        replace(example(), **change)


def test_without_the_solver_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.graph.python.min_cost_flow", None)
    with pytest.raises(PlanError, match=r"pip install .*bankfull\[lab\]"):
        esja(example())
