"""``oracle_*``: what the lab counts by bisection equals a nested loop's count."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from lab_cases import results, some

from bankfull.lab.counting import (
    age_curves,
    best_age,
    distortion,
    exact,
    in_canonical_order,
    optimal_ages,
)
from bankfull.lab.locality import stack_distances
from bankfull.lab.optimum import keys_met, optimum
from bankfull.lab.traces import JoinOn, Trace, Workload

SEED = 7


CASES = [
    (2, [JoinOn((0, 1), "k", 4)], 0),
    (2, [JoinOn((0, 1), "k", 0)], 0),
    (2, [JoinOn((0, 1), "k", 6)], 12),
    (2, [JoinOn((0, 1), "k", 4), JoinOn((0, 1), "m", 4)], 5),
    (4, [JoinOn((0, 1), "k", 4), JoinOn((2, 3), "k", 4)], 0),
]


@pytest.mark.parametrize(("streams", "joins", "since"), CASES)
@pytest.mark.parametrize("seed", range(5))
def test_oracle_exact_counts(seed: int, streams: int, joins: list[JoinOn], since: int) -> None:
    made = some(seed, streams, joins, since)
    wanted, found = results(made), exact(made)
    assert found.results == len(wanted) > 0
    assert found.importance == pytest.approx(sum(worth for _, worth in wanted))
    by_key = dict(zip(found.keys.tolist(), found.counts.tolist(), strict=True))
    assert {key: many for key, many in by_key.items() if many} == Counter(key for key, _ in wanted)


@pytest.mark.parametrize("streams", [3, 4])
def test_oracle_exact_counts_of_many_streams(streams: int) -> None:
    made = some(SEED, streams, [JoinOn(tuple(range(streams)), "k", 5)], weighed=False)
    assert exact(made).results == len(results(made)) > 0


def test_best_ages_follow_from_every_tuples_own_results() -> None:
    made = some(SEED, 2, [JoinOn((0, 1), "k", 9)])
    left, right = made.streams
    for (mine, theirs, first), found in zip(
        ((left, right, True), (right, left, False)), optimal_ages(made), strict=True
    ):
        for row in range(len(mine)):
            ages = [
                int(theirs.times[other] - mine.times[row])
                for other in range(len(theirs))
                if theirs.columns["k"][other] == mine.columns["k"][row]
                and (0 if first else 1) <= theirs.times[other] - mine.times[row] <= 9
            ]
            rates = {age: sum(one <= age for one in ages) / (age + 1) for age in sorted(ages)}
            assert found[row] == (max(rates, key=lambda age: rates[age]) if rates else 0)
    curves = age_curves(made, 0)
    assert sum(map(len, curves.values())) + sum(map(len, age_curves(made, 1).values())) == len(
        results(made)
    )


def test_ages_are_handed_over_in_canonical_order() -> None:
    left = Trace("l", np.array([1, 2, 2]), {"k": np.arange(3)})
    right = Trace("r", np.array([0, 2]), {"k": np.arange(2)})
    made = Workload("ordered", (left, right), (JoinOn((0, 1), "k", 1),))
    ages = [np.array([10, 11, 12]), np.array([20, 21])]
    assert in_canonical_order(made, ages) == [20, 10, 11, 12, 21]


def test_a_best_age_pays_for_the_instant_of_arrival() -> None:
    assert best_age(np.array([0, 9, 9])) == 0
    assert best_age(np.array([4, 5, 5, 5])) == 5


def test_distortion_is_nothing_for_the_exact_histogram_and_grows_with_bias() -> None:
    truth = exact(some(SEED, 2, [JoinOn((0, 1), "k", 9)]))
    same = dict(zip(truth.keys.tolist(), truth.counts.tolist(), strict=True))
    half = {key: many for key, many in same.items() if key < 3}
    assert distortion(same, truth) == (pytest.approx(0.0), pytest.approx(0.0))
    assert min(distortion(half, truth)) > 0.01


def test_stack_distances_count_the_values_in_between() -> None:
    keys = np.random.default_rng(SEED).integers(0, 6, 60)
    wanted = []
    for place, key in enumerate(keys):
        before = np.flatnonzero(keys[:place] == key)
        if len(before):
            wanted.append(len(set(keys[before[-1] + 1 : place].tolist())))
    assert stack_distances(keys).tolist() == wanted


SHARED = [
    (4, [JoinOn((0, 1), "k", 6), JoinOn((2, 3), "k", 6)]),
    (2, [JoinOn((0, 1), "k", 6), JoinOn((0, 1), "m", 4)]),
    (3, [JoinOn((0, 1, 2), "k", 6)]),
]


@pytest.mark.parametrize(("streams", "joins"), SHARED)
def test_optimum_of_one_buffer_lies_between_the_split_and_the_exact(
    streams: int, joins: list[JoinOn]
) -> None:
    pytest.importorskip("ortools")
    made = some(SEED, streams, joins)
    split = optimum(made, (2,) * streams, False, "results")
    unified = optimum(made, (2,) * streams, True, "results")
    whole = optimum(made, (50,) * streams, True, "results")
    assert split.results <= unified.results + unified.slack
    assert unified.results <= whole.results == len(results(made))
    for best in (split, unified, whole):
        assert sum(keys_met(made, best).values()) == best.results
    assert keys_met(made, whole) == Counter(key for key, _ in results(made))
