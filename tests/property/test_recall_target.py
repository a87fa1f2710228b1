"""Families: property, differential: a recall asked for is reached, however the input is cut."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from recall_cases import exact_pairs, pair, run

import bankfull as bf
from bankfull.assemble import assemble
from bankfull.core import Batch, State, restore, snapshot, start, step
from bankfull.core.bounded.join import BoundedJoin
from bankfull.core.bounded.named import named
from bankfull.core.recall.interval import Recall
from bankfull.errors import SpecError
from bankfull.spec import Equal, Join, Keep, Query, Shed, Stream, Ticks, Tuples


def test_a_target_is_checked() -> None:
    """A budget or a recall must be given, and a recall is a share."""
    with pytest.raises(SpecError, match="no budget"):
        bf.shed()
    for wrong in (0.0, 1.0, 95):
        with pytest.raises(SpecError, match="no target"):
            bf.shed(recall=wrong)


def in_pieces(shed: Shed, pieces: int, restored: bool) -> State:
    """Run two streams in so many batches, each state written down and read back if asked."""
    tables = pair(7, 4000, 200, 1.0)
    query = Query(
        tuple(Stream(name, "t", importance="v") for name in "ab"),
        (Join("j", ("a", "b"), Equal((("k",),)), (Ticks(500),)),),
        shed=shed,
    )
    state = start(assemble(query, {n: one.schema for n, one in zip("ab", tables, strict=True)}))
    bounds = np.linspace(0, 4001, pieces + 1).astype(int)
    for low, high in itertools.pairwise(bounds):
        rows = {}
        for name, one in zip("ab", tables, strict=True):
            first, last = np.searchsorted(one["t"].to_numpy(), [low, high])
            part = one.slice(first, last - first).combine_chunks().to_batches()
            if part:
                rows[name] = part[0]
        last_one = high == bounds[-1]
        outcome = step(state, Batch(rows, ended=frozenset("ab") if last_one else frozenset()))
        while outcome.pending:
            outcome = step(outcome.state, Batch())
        state = outcome.state
        if restored:
            state = restore(state.plan, snapshot(state))
    return state


@pytest.mark.parametrize("target", [None, 0.8])
def test_differential_batch_split_and_recovery(target: float | None) -> None:
    """Estimate, sample and budget are the same however the input is cut, and after recovery."""
    memory = Tuples(400) if target is None else None
    shed = Shed(memory, Keep("prob"), seed=5, recall=target)
    states = [in_pieces(shed, *how) for how in ((1, False), (13, False), (150, False), (13, True))]
    sheddings = [state.stage(BoundedJoin) for state in states]
    first = sheddings[0]
    assert first is not None
    assert first.watch is not None
    assert first.watched is not None
    known = first.watched.recall()
    assert known.low < known.high
    assert first.watch.now.held <= len(first.watch.kept)
    assert len(first.watch.kept) == (256 if target is None else 4096)
    assert first.watch.chance[0] < 1.0
    for other in sheddings[1:]:
        assert other is not None
        assert other.watch is not None
        assert other.watched == first.watched
        assert other.rules.budget == first.rules.budget
        theirs = named("watch", other.watch)
        for name, ours in named("watch", first.watch).items():
            assert (ours == theirs[name]).all(), name


@pytest.mark.parametrize(
    ("policy", "keys", "skew", "target", "at_most"),
    [("fifo", 300, 0.0, 0.8, 0.9), ("prob", 1000, 1.2, 0.95, 0.65), ("prob", 1000, 1.2, 0.5, 0.3)],
)
def test_a_recall_asked_for_is_reached(
    policy: str, keys: int, skew: float, target: float, at_most: float
) -> None:
    """On a stationary stream recall settles near its target, with less than the whole window."""
    window, count = 1000, 24_000
    tables = pair(3, count, keys, skew)
    joined, found = run(tables, window, bf.shed(recall=target, keep=policy))
    _, _, times = exact_pairs(tables, window)
    late = count // 2
    made = np.maximum(found["a_t"].to_numpy(), found["b_t"].to_numpy())
    reached = np.count_nonzero(made >= late) / np.count_nonzero(times >= late)
    assert target - 0.02 <= reached <= target + 0.05
    shedding = joined._state.stage(BoundedJoin)
    assert shedding is not None
    assert shedding.rules.budget < at_most * 2 * window
    whole = joined.recall
    assert isinstance(whole, Recall)
    assert whole.low - 0.01 <= found.num_rows / len(times) <= whole.high + 0.01


def steer(seed: int, keys: int, skew: float, policy: str, count: int) -> tuple[float, float]:
    """Ask for 95 %; return what was reached in the second half, and memory by the whole window."""
    window = 500
    tables = pair(seed, count, keys, skew)
    joined, found = run(tables, window, bf.shed(recall=0.95, keep=policy, seed=seed))
    _, _, times = exact_pairs(tables, window)
    late = count // 2
    made = np.maximum(found["a_t"].to_numpy(), found["b_t"].to_numpy())
    reached = np.count_nonzero(made >= late) / np.count_nonzero(times >= late)
    shedding = joined._state.stage(BoundedJoin)
    assert shedding is not None
    return reached, shedding.rules.budget / (2 * window)


@pytest.mark.parametrize(("keys", "skew", "memory"), [(300, 0.0, 1.0), (1000, 1.0, 0.8)])
def test_a_recall_is_reached_at_many_seeds(keys: int, skew: float, memory: float) -> None:
    """At no seed far below, on average not below, and with less memory than exactness needs."""
    runs = [steer(seed, keys, skew, "prob", 8_000) for seed in range(5)]
    reached, used = np.array(runs).T
    assert reached.min() >= 0.93, runs
    assert reached.mean() >= 0.945, runs
    assert used.mean() < memory, runs


@pytest.mark.soak
@pytest.mark.parametrize("policy", ["fifo", "prob", "gain"])
@pytest.mark.parametrize(("keys", "skew"), [(300, 0.0), (1000, 1.0), (1000, 1.2)])
def test_a_recall_is_reached_soak(policy: str, keys: int, skew: float) -> None:
    """The same for more seeds and policies, over a longer time."""
    runs = [steer(seed, keys, skew, policy, 16_000) for seed in range(100, 120)]
    reached, used = np.array(runs).T
    assert reached.min() >= 0.92, runs
    assert reached.mean() >= 0.945, runs
    assert used.mean() < 1.0, runs


def low_chance(seeds: range, keys: int, skew: float, policy: str) -> tuple[float, float, float]:
    """Return how often the interval holds the truth at a low chance, and the mean of the chance."""
    window, covered, chances = 6_400, np.zeros(2), []
    for seed in seeds:
        tables = pair(seed, 10_000, keys, skew)
        total, worth, _ = exact_pairs(tables, window)
        joined, found = run(tables, window, bf.shed(bf.tuples(500), policy, seed=seed))
        got, true = joined.recall, found.num_rows / total
        true_worth = found["importance"].to_numpy().sum() / worth
        assert got is not None
        covered += (
            got.low <= true <= got.high,
            (got.importance_low <= true_worth <= got.importance_high),
        )
        assert joined._state.stage(BoundedJoin).watch is not None
        chances.append(float(joined._state.stage(BoundedJoin).watch.chance[0]))
    return (*(covered / len(seeds)), float(np.mean(chances)))


def test_interval_covers_at_a_low_chance() -> None:
    """About one tuple in a hundred is kept aside: wide intervals, and honest ones."""
    held, worth, chance = low_chance(range(20), 10_000, 0.0, "fifo")
    assert chance < 0.016
    assert min(held, worth) >= 0.85, (held, worth)  # of 20 runs; the soak test has 200


@pytest.mark.soak
@pytest.mark.parametrize("policy", ["fifo", "prob"])
@pytest.mark.parametrize(("keys", "skew"), [(10_000, 0.0), (3_000, 1.0), (3_000, 1.2)])
def test_interval_covers_at_a_low_chance_soak(policy: str, keys: int, skew: float) -> None:
    """The same over many runs, uniform and heavily skewed."""
    held, worth, chance = low_chance(range(1000, 1200), keys, skew, policy)
    assert chance < 0.016
    assert min(held, worth) >= 0.92, (held, worth)


def test_a_recall_stays_within_the_memory_given() -> None:
    """With both, memory is the bound and recall what could be had."""
    tables = pair(3, 8000, 300, 0.0)
    joined, _ = run(tables, 1000, bf.shed(bf.tuples(500), "fifo", recall=0.95))
    shedding = joined._state.stage(BoundedJoin)
    assert shedding is not None
    assert shedding.rules.budget == 500
    assert joined.recall is not None
    assert joined.recall.high < 0.5
