"""``differential_*``: the operator as the lab calls it, against counts of another kind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from lab_cases import some

from bankfull.lab.counting import exact
from bankfull.lab.informed import informed
from bankfull.lab.onetime import LAGS
from bankfull.lab.optimum import Goal
from bankfull.lab.simulate import simulate
from bankfull.lab.systems import HINDSIGHT, OPTIMUM, run
from bankfull.lab.traces import JoinOn, Workload
from bankfull.lab.workloads import workload

PAIR = JoinOn((0, 1), "k", 6)
SHAPES = [
    (2, [PAIR], 0),
    (2, [PAIR], 12),
    (2, [PAIR, JoinOn((0, 1), "m", 4)], 5),
    (4, [PAIR, JoinOn((2, 3), "k", 6)], 0),
]
ENOUGH = 100


@pytest.mark.parametrize(("streams", "joins", "since"), SHAPES)
@pytest.mark.parametrize("unified", [True, False])
def test_differential_enough_memory_is_exact(
    streams: int, joins: list[JoinOn], since: int, unified: bool
) -> None:
    made = some(3, streams, joins, since)
    found = simulate(
        made.streams,
        made.joins,
        [ENOUGH] * streams,
        "fifo",
        {},
        since=since,
        unified=unified,
        histogram=True,
    )
    truth = exact(made)
    assert (found.results, found.importance) == (truth.results, pytest.approx(truth.importance))
    wanted = dict(zip(truth.keys.tolist(), truth.counts.tolist(), strict=True))
    if len(joins) == 1:
        assert found.histogram == {key: many for key, many in wanted.items() if many}
    assert found.compared >= found.results


def test_differential_many_streams_with_enough_memory() -> None:
    made = some(3, 3, [JoinOn((0, 1, 2), "k", 6)], weighed=False)
    found = simulate(made.streams, made.joins, ENOUGH, "prob", {})
    assert found.results == exact(made).results > 0


def tight(seed: int) -> Workload:
    return some(seed, 2, [PAIR])


@pytest.mark.parametrize("unified", [True, False])
@pytest.mark.parametrize("policy", ["random", "fifo", "prob", "dimpprob", "gain", "age"])
def test_differential_nobody_passes_the_optimum(policy: str, unified: bool) -> None:
    pytest.importorskip("ortools")
    goals: list[Goal] = ["results", "importance"]
    for seed in range(5):
        made = tight(seed)
        for goal in goals:
            best = run(made, OPTIMUM, (2, 2), seed, unified=unified, goal=goal)
            mine = run(made, policy, (2, 2), seed, unified=unified, goal=goal)
            assert mine["value"] <= best["value"] <= 1.0, seed


@pytest.mark.parametrize("unified", [True, False])
@pytest.mark.parametrize("policy", ["fifo", "prob", "gdj", "gain"])
@pytest.mark.parametrize(
    ("streams", "joins"),
    [(2, [PAIR, JoinOn((0, 1), "m", 4)]), (3, [JoinOn((0, 1, 2), "k", 9)])],
    ids=["two attributes", "three streams"],
)
def test_differential_nobody_passes_the_optimum_of_many(
    streams: int, joins: list[JoinOn], policy: str, unified: bool
) -> None:
    pytest.importorskip("ortools")
    for seed in range(5):
        made = some(seed, streams, joins, weighed=False)
        best = run(made, OPTIMUM, (2,) * streams, seed, unified=unified)
        mine = run(made, policy, (2,) * streams, seed, unified=unified)
        assert mine["value"] <= best["value"] <= 1.0 + 1e-6, seed
        assert best["reached"] <= best["value"]


def test_hindsight_is_at_least_every_percentile_it_chooses_from() -> None:
    made = tight(1)
    best = run(made, HINDSIGHT, (2, 2), 0)["results"]
    for initial in (0.0, 0.5, 0.995):
        assert run(made, "gdj", (2, 2), 0, params={"initial": initial})["results"] <= best


def test_sampling_drops_what_it_is_told_to() -> None:
    made = tight(1)
    whole = simulate(made.streams, made.joins, ENOUGH, "fifo", {}, unified=True).results
    some_of_it = [
        simulate(
            made.streams, made.joins, ENOUGH, "fifo", {}, unified=True, sample=0.5, seed=seed
        ).results
        for seed in range(30)
    ]
    assert np.mean(some_of_it) == pytest.approx(whole / 2, rel=0.2)


def test_the_informed_scheduler_counts_from_an_instant_on() -> None:
    """With room for all it misses nothing, from the beginning or from a later instant on."""
    made = workload("payments, short lag", 1, quick=True)
    for one in (made, replace(made, since=800)):
        assert informed(one, LAGS["payments, short lag"], 400)[0] == exact(one).results
    assert exact(replace(made, since=800)).results < exact(made).results
