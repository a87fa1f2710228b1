"""Families: unit, oracle (a linear program, brute force).

How the algorithms divide their comparisons, over random work: the constraint of the paper holds, no
choice lies outside of 0 to 1, and what is packed first is what a solver would pack.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from ortools.linear_solver import pywraplp

from bankfull.adapt import ALGORITHMS, Auto, Direction, Utility, auto, utility
from bankfull.adapt.direction import parts_of
from bankfull.adapt.parts import best_first, fraction, mean_results, results_a_pair
from bankfull.core.comparing.directions import directions
from bankfull.core.comparing.work import Float64, Work
from bankfull.kernels.probes.learning import Known, learn
from bankfull.kernels.probes.selection import FOUND, PAIRS, STEPS, WORTH, Tally

SEEDS = range(30)


def work_of(
    seed: int, *, scanned: bool, in_chains: bool = False, kinds: int = 3, streams: int = 2
) -> Work:
    """Draw a join in the middle of its life; some basic windows are empty, or were never seen."""
    dice = np.random.default_rng(seed)
    windows = int(dice.integers(2, 9))
    arriving = directions(streams).arriving
    ways = len(arriving)
    cells = (ways, kinds, windows)
    seen, tried = np.zeros((*cells, 4)), np.zeros((*cells, 3))
    seen[..., PAIRS] = dice.integers(0, 200, cells) * (dice.random(cells) < 0.8)
    cost = 1.0 if scanned else dice.uniform(0.05, 3.0, (ways, 1, windows))
    seen[..., STEPS] = seen[..., PAIRS] * cost
    seen[..., FOUND] = np.floor(seen[..., PAIRS] * dice.random(cells) * 0.4)
    seen[..., WORTH] = seen[..., FOUND] * dice.integers(1, 5, (ways, kinds, 1))
    tried[..., 0] = dice.integers(0, 300, cells)
    tried[..., 1] = np.floor(tried[..., 0] * dice.random(cells) * 0.3)
    tried[..., 2] = tried[..., 1] * 2.0
    tuples = dice.integers(0, 40, (ways, windows)) * (dice.random((ways, windows)) < 0.85)
    arrivals = dice.uniform(0.0, 30.0, (ways, kinds)) * (dice.random((ways, kinds)) < 0.9)
    return Work(tuples.astype(np.float64), arrivals, seen, tried, in_chains, scanned, arriving)


def budgets(works: list[Work]) -> list[float]:
    """Return budgets from none to more than enough."""
    return [share * sum(work.demand() for work in works) for share in (0.0, 0.07, 0.4, 0.9, 1.3)]


def comparisons(work: Work, choice: Float64) -> float:
    """Return what a choice is expected to take."""
    each = work.arrivals[:, :, None] * (work.tuples * work.cost())[:, None, :]
    return float((each * choice).sum())


def solved(volumes: Float64, values: Float64, budget: float) -> float:
    """Return the most value that fits, by a linear program."""
    solver = pywraplp.Solver.CreateSolver("GLOP")
    parts = [solver.NumVar(0.0, 1.0, "") for _ in volumes]
    solver.Add(solver.Sum([v * x for v, x in zip(volumes.tolist(), parts, strict=True)]) <= budget)
    solver.Maximize(solver.Sum([v * x for v, x in zip(values.tolist(), parts, strict=True)]))
    assert solver.Solve() == pywraplp.Solver.OPTIMAL
    return float(solver.Objective().Value())


@pytest.mark.parametrize("name", ALGORITHMS)
def test_choices_are_shares(name: str) -> None:
    """Whatever there is to do, and with whatever budget, no choice is below 0 or above 1."""
    algorithm = ALGORITHMS[name][0]
    for seed in SEEDS:
        kinds = 3 if algorithm.by_importance else 1
        works = [
            work_of(2 * seed, scanned=True, kinds=kinds),
            work_of(2 * seed + 1, scanned=False, in_chains=seed % 2 == 0, kinds=kinds),
            work_of(seed, scanned=False, in_chains=seed % 2 == 0, kinds=kinds, streams=3),
        ]
        for budget in budgets(works):
            for work, choice in zip(works, algorithm.choose(works, budget), strict=True):
                assert choice.shape == work.seen.shape[:3], seed
                assert (choice >= 0.0).all(), seed
                assert (choice <= 1.0).all(), seed
                if budget >= sum(one.demand() for one in works):
                    # Of a basic window without tuples nothing is compared, whatever is chosen.
                    empty = (work.tuples == 0.0)[:, None, :]
                    assert ((choice == 1.0) | empty).all(), seed


@pytest.mark.parametrize("in_chains", [True, False])
def test_constraint_of_several_windows(in_chains: bool) -> None:
    """Of three and four streams every way to choose takes what it may, by its own estimate.

    What is chosen of the windows that tuples of a stream search is something of each, or nothing.
    """
    for seed in SEEDS:
        work = work_of(seed, scanned=False, in_chains=in_chains, kinds=2, streams=3 + seed % 2)
        volume = auto.units(work).volume
        for budget in budgets([work])[1:4]:
            chosen = Auto().choose([work], budget)[0]
            taken = float((volume * chosen).sum())
            assert taken == pytest.approx(min(budget, float(volume.sum())), rel=1e-8), seed
            for s in range(work.streams):
                some = (chosen[work.of_stream(s)].max(axis=2) > 0.0).sum(axis=0)
                assert set(some.tolist()) <= {0, work.streams - 1}, seed
            parts = utility.packed(work, budget)
            assert (parts >= 0.0).all(), seed
            demand = work.arrivals.sum(axis=1) * (work.cost() * work.tuples).sum(axis=1)
            r = fraction([work], budget)
            own = parts_of(work, r)
            assert (own * demand).sum() == pytest.approx(r * demand.sum(), rel=1e-9), seed
            begun = {s for s in range(work.streams) if own[work.of_stream(s)].max() > 0.0}
            unfilled = [s for s in begun if own[work.of_stream(s)].min() < 1.0]
            assert len(unfilled) <= 1, seed


@pytest.mark.parametrize("name", ["rate", "correlation", "direction"])
@pytest.mark.parametrize("scanned", [True, False])
def test_constraint_of_parts(name: str, scanned: bool) -> None:
    """The constraint ``r (D1 + D2) = r1 D1 + r2 D2``, with what each window takes for D.

    Where a comparison is a pair, that is the budget.
    """
    for seed in SEEDS:
        works = [work_of(2 * seed + k, scanned=scanned, kinds=1) for k in range(2)]
        for budget in budgets(works):
            r = fraction(works, budget)
            choices = ALGORITHMS[name][0].choose(works, budget)
            for work, choice in zip(works, choices, strict=True):
                demand = work.arrivals.sum(axis=1) * (work.cost() * work.tuples).sum(axis=1)
                total = work.tuples.sum(axis=1)
                parts = (choice[:, 0] * work.tuples).sum(axis=1) / np.maximum(total, 1.0)
                assert (parts * demand).sum() == pytest.approx(r * demand.sum(), rel=1e-9), seed
                if name != "direction":
                    assert parts[total > 0.0] == pytest.approx(r, rel=1e-9), seed
            if scanned:
                taken = sum(map(comparisons, works, choices))
                needed = sum(work.demand() for work in works)
                assert taken == pytest.approx(min(budget, needed), rel=1e-9), seed


def test_direction_fills_the_better_window_first() -> None:
    """The other window is searched only where the better one is compared whole."""
    for seed in SEEDS:
        work = work_of(seed, scanned=True, kinds=1)
        returns = mean_results(work)
        better = 0 if returns[0] >= returns[1] else 1
        if (work.arrivals.sum(axis=1) * work.tuples.sum(axis=1) <= 0.0).any():
            continue
        for budget in budgets([work]):
            choice = Direction().choose([work], budget)[0][:, 0] * (work.tuples > 0.0)
            whole = choice[better].sum() >= (work.tuples[better] > 0.0).sum() - 1e-9
            assert whole or choice[1 - better].max() <= 1e-9, seed


@pytest.mark.parametrize("scanned", [True, False])
def test_constraint_of_classes(scanned: bool) -> None:
    """What ``utility`` chooses takes as many comparisons as it may, in every join."""
    for seed in SEEDS:
        works = [work_of(2 * seed + k, scanned=scanned) for k in range(2)]
        demands = [work.demand() for work in works]
        for budget in budgets(works):
            choices = Utility().choose(works, budget)
            for work, demand, choice in zip(works, demands, choices, strict=True):
                own = min(demand, budget * demand / sum(demands))
                assert comparisons(work, choice) == pytest.approx(own, rel=1e-9), seed


@pytest.mark.parametrize("kind", ["scan", "lists", "chains"])
def test_constraint_of_units(kind: str) -> None:
    """What ``auto`` chooses takes as many comparisons as it may, by its own estimate of them."""
    for seed in SEEDS:
        works = [
            work_of(2 * seed + k, scanned=kind == "scan", in_chains=kind == "chains")
            for k in range(2)
        ]
        volumes = [auto.units(work).volume for work in works]
        for budget in budgets(works):
            if budget >= sum(work.demand() for work in works):
                continue
            choices = Auto().choose(works, budget)
            taken = sum(float((v * c).sum()) for v, c in zip(volumes, choices, strict=True))
            most = sum(float(volume.sum()) for volume in volumes)
            assert taken == pytest.approx(min(budget, most), rel=1e-9), seed


def test_oracle_packed_units() -> None:
    """What ``auto`` packs is worth what a linear program would pack."""
    for seed in SEEDS:
        dice = np.random.default_rng(seed)
        count = int(dice.integers(1, 40))
        volumes = dice.uniform(0.0, 9.0, count) * (dice.random(count) < 0.9)
        values = dice.uniform(0.0, 5.0, count) * (volumes > 0.0)
        budget = float(dice.uniform(0.0, 1.2) * volumes.sum())
        taken = auto.packed(volumes, values, budget)
        assert float((taken * volumes).sum()) <= budget * (1 + 1e-12), seed
        assert float((taken * values).sum()) == pytest.approx(
            solved(volumes, values, budget), rel=1e-9, abs=1e-9
        ), seed


def test_oracle_packed_classes() -> None:
    """What ``utility`` packs is worth what a linear program would pack, where pairs cost the same.

    Its order of basic windows is by results a pair, so the next unit is never worth more.
    """
    for seed in SEEDS:
        work = work_of(seed, scanned=True)
        returned, order = results_a_pair(work), best_first(work)
        mean = mean_results(work)
        if (mean <= 0.0).any():
            continue
        pairs = work.seen[..., PAIRS].sum(axis=2)
        each = work.seen[..., WORTH].sum(axis=2) / np.maximum(pairs, 1.0)
        volume = work.arrivals[:, :, None] * work.tuples[:, None, :]
        value = volume * each[:, :, None] * (returned / mean[:, None])[:, None, :]
        assert (np.diff(np.take_along_axis(returned, order, axis=1)) <= 0.0).all()
        for budget in budgets([work]):
            choice = Utility().choose([work], budget)[0]
            best = solved(volume.ravel(), value.ravel(), budget)
            assert float((choice * value).sum()) == pytest.approx(best, rel=1e-6, abs=1e-9), seed
            parts = utility.packed(work, budget)
            assert (parts >= 0.0).all(), seed
            assert (parts <= 1.0 + 1e-12).all(), seed


def rows_of(seed: int) -> tuple[Float64, Float64]:
    """Draw three chains of four units: volumes and values, some of them without any."""
    dice = np.random.default_rng(seed)
    volumes = dice.integers(0, 5, (3, 4)).astype(np.float64)
    return volumes, dice.integers(0, 9, (3, 4)) * (volumes > 0.0)


def blocks_of(volumes: Float64, values: Float64) -> tuple[list[Float64], list[Float64]]:
    """Return volumes and values of the blocks of every chain."""
    begins = [auto.blocks(v, w) for v, w in zip(volumes, values, strict=True)]
    return (
        [np.add.reduceat(row, begin) for row, begin in zip(volumes, begins, strict=True)],
        [np.add.reduceat(row, begin) for row, begin in zip(values, begins, strict=True)],
    )


def best_of_prefixes(volumes: Float64, values: Float64, budget: float) -> float:
    """Return the most value of all prefixes of the chains, of which one may end within a unit."""
    best = 0.0
    rows, places = volumes.shape
    for depths in itertools.product(range(places + 1), repeat=rows):
        left = budget - sum(volumes[k, :depth].sum() for k, depth in enumerate(depths))
        if left < 0.0:
            continue
        value = sum(values[k, :depth].sum() for k, depth in enumerate(depths))
        more = 0.0
        for k, depth in enumerate(depths):
            if depth < places and volumes[k, depth] > 0.0:
                more = max(more, values[k, depth] * min(1.0, left / volumes[k, depth]))
        best = max(best, value + more)
    return float(best)


def test_oracle_blocks_of_a_chain() -> None:
    """Value a volume falls from block to block, and no prefix is worth more than its blocks."""
    for seed in range(200):
        volumes, values = rows_of(seed)
        sizes, worths = blocks_of(volumes, values)
        for row, (size, worth) in enumerate(zip(sizes, worths, strict=True)):
            assert size.sum() == volumes[row].sum()
            assert (worth[1:] * size[:-1] < worth[:-1] * size[1:]).all(), seed
            for depth in range(volumes.shape[1] + 1):
                part = auto.packed(size, worth, float(volumes[row, :depth].sum()))
                assert values[row, :depth].sum() <= (part * worth).sum() + 1e-9, seed


def test_oracle_packed_chains() -> None:
    """Of all prefixes of several chains none is worth more than the blocks that are packed.

    Where the comparisons end between two blocks they are worth the same. Where they end within one,
    what was chosen lacks at most what that block is worth.
    """
    for seed in range(25):
        volumes, values = rows_of(seed)
        sizes, worths = blocks_of(volumes, values)
        size, worth = np.concatenate(sizes), np.concatenate(worths)
        order = np.argsort(-worth / np.maximum(size, 1e-300), kind="stable")
        ends = np.cumsum(size[order]).tolist()
        for budget in ends:
            part = auto.packed(size, worth, budget)
            best = best_of_prefixes(volumes, values, budget)
            assert best == pytest.approx(float((part * worth).sum())), seed
        for budget in (0.3 * ends[-1], 0.7 * ends[-1]):
            part = auto.packed(size, worth, budget)
            best = best_of_prefixes(volumes, values, budget)
            assert best <= float((part * worth).sum()) + 1e-9, seed
            assert best >= float((np.floor(part) * worth).sum()) - 1e-9, seed


def learned_after(results: list[int], fade: float, least: float, elapsed: int = 1) -> float:
    """Return how many results are known after basic windows that had so many each."""
    cells = (2, 1, 3)
    learned, tried = np.zeros((*cells, 4)), np.zeros((*cells, 3))
    meant, before, there = np.zeros(cells), np.zeros(cells), np.ones((2, 3))
    none, back = np.zeros((2, 1), np.int64), np.array([1, 0])
    known = Known(np.zeros((2, 1)), learned, tried, meant, before, none, there, back)
    for found in results:
        tally = Tally(
            np.ones((2, 1), np.int64), np.ones((2, 1), np.int64), np.zeros((*cells, 4)),
            np.zeros((*cells, 2)), np.zeros((2, 3)), np.zeros((2, 4), np.int64),
        )  # fmt: skip
        # Half of them are of the sample, the others were found in the part that was chosen.
        tally.seen[0, 0, 1, FOUND] = found // 2
        tally.tried[1, 0, 2, 0] = found - found // 2
        learn(tally, known, np.ones((2, 1)), 1.0, fade, least, elapsed)
    return float(learned[..., FOUND].sum() + tried[..., 1].sum())


@pytest.mark.uncompiled
def test_few_results_are_remembered_longer_than_a_period() -> None:
    """What was learned fades with time, or, where it is of few results, by what replaces it."""
    assert learned_after([10] * 60, 0.8, 0.0) == pytest.approx(50.0, rel=1e-3)
    assert learned_after([10] * 600, 0.8, 200.0) == pytest.approx(200.0, rel=1e-3)
    assert learned_after([100, *[0] * 50], 0.8, 200.0) == 100.0, "nothing new, nothing forgotten"
    assert learned_after([100, *[0] * 50], 0.8, 0.0) < 0.01
    many = [1000] * 60  # no memory is longer than time allows
    assert learned_after(many, 0.8, 200.0) == pytest.approx(learned_after(many, 0.8, 0.0))
    assert learned_after([100], 0.8, 200.0, elapsed=9) == 100.0
    assert Auto.remembers > 0.0
    assert not any(made.remembers for made, _ in ALGORITHMS.values() if not isinstance(made, Auto))
