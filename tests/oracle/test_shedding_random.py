"""The naive twins on random streams, every policy, shared and split memory.

The trace is played back by an independent reading and must add up; formulas that are special
cases of others fall together with them. Nothing here imports the engine.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from bankfull.oracle.shedding import (
    TWINS,
    Additive,
    Age,
    Arrival,
    Cumulative,
    Dgl,
    Dimpprob,
    Fifo,
    Gain,
    Gdj,
    GdjTuned,
    JoinSpec,
    LearnedAge,
    Life,
    Memory,
    Multiplicative,
    Policy,
    Prob,
    ProbWindow,
    Random,
    S3Fifo,
    Sieve,
    Simp,
    Simpprob,
    Trace,
    simulate,
)

# ------------------------------------------------------------------------------------------ random

SHAPES: dict[str, list[JoinSpec]] = {
    "pair": [JoinSpec((0, 1), (6, 9))],
    "three": [JoinSpec((0, 1, 2), (8, 5, 8))],
    "joins": [
        JoinSpec((0, 1), (4, 9)),
        JoinSpec((2, 0), (9, 7)),
        JoinSpec((1, 2), (3, 3)),
    ],
}

POLICIES: list[Policy] = [
    Random(),
    Fifo(),
    Age({seq: seq * 7 % 5 for seq in range(1000)}),
    LearnedAge(period=3),
    Sieve(),
    S3Fifo(small=0.4),
    Prob(),
    ProbWindow(),
    Life(),
    *(Gdj(initial, method) for initial in (0.0, 0.9) for method in (1, 2, 3)),
    GdjTuned(),
    Simp(),
    Simpprob(),
    Dimpprob(),
    Dgl(gain=0.5, decay=0.9),
    Additive(1, 2, 0.5),
    Multiplicative(0.5, 1, 0.25),
    Cumulative(1, 2, 0.5, keep=0.75),
    Gain(),
]


def test_no_policy_is_left_out() -> None:
    assert {type(policy) for policy in POLICIES} == set(TWINS.values())


def _arrivals(seed: int, joins: Sequence[JoinSpec], count: int) -> list[Arrival]:
    """Few keys, few importances, several tuples at one instant: ties everywhere."""
    source = random.Random(seed)
    streams = sorted({stream for join in joins for stream in join.streams})
    rows = sorted((source.randrange(count // 2), source.choice(streams)) for _ in range(count))
    keys: list[int | None] = [0, 0, 1, 1, 2, 3, None]
    return [
        Arrival(
            stream,
            time,
            tuple(source.choice(keys) if stream in join.streams else None for join in joins),
            float(source.randint(1, 4)),
            seq,
        )
        for seq, (time, stream) in enumerate(rows)
    ]


def _exact(
    arrivals: Sequence[Arrival], joins: Sequence[JoinSpec]
) -> set[tuple[int, tuple[int, ...]]]:
    """Look at every combination of tuples."""
    return {
        (number, tuple(u.seq for u in members))
        for number, join in enumerate(joins)
        for members in itertools.product(
            *([u for u in arrivals if u.stream == stream] for stream in join.streams)
        )
        if len({u.keys[number] for u in members}) == 1
        and members[0].keys[number] is not None
        and all(
            max(v.time for v in members) - u.time <= span
            for u, span in zip(members, join.spans, strict=True)
        )
    }


def _lives(arrivals: Sequence[Arrival], joins: Sequence[JoinSpec]) -> dict[int, int]:
    """The last time at which each tuple is in some window."""
    return {
        u.seq: u.time
        + max(
            s
            for join in joins
            for i, s in zip(join.streams, join.spans, strict=True)
            if i == u.stream
        )
        for u in arrivals
    }


def _played_back(
    arrivals: Sequence[Arrival], joins: Sequence[JoinSpec], trace: Trace
) -> list[set[int]]:
    """What was stored after each tuple, by the drops and the windows alone."""
    lives, dropped = _lives(arrivals, joins), {u: x for x, u in trace.decisions}
    return [
        {
            u.seq
            for u in arrivals[: x.seq + 1]
            if lives[u.seq] >= x.time and dropped.get(u.seq, len(arrivals)) > x.seq
        }
        for x in arrivals
    ]


def _check(
    arrivals: Sequence[Arrival],
    joins: Sequence[JoinSpec],
    capacity: Sequence[int] | int,
    sample: float,
    trace: Trace,
) -> None:
    lives, states = _lives(arrivals, joins), _played_back(arrivals, joins, trace)

    # Conservation: nobody is dropped twice, before arrival or after its life; who was neither
    # dropped nor expired is stored, in order.
    dropped = [u for _, u in trace.decisions]
    assert len(set(dropped)) == len(dropped)
    assert all(u <= x and lives[u] >= arrivals[x].time for x, u in trace.decisions)
    turns = [x for x, _ in trace.decisions]
    assert turns == sorted(set(turns)), "at most one drop a turn"
    assert trace.stored == sorted(states[-1])
    expired = {u.seq for u in arrivals if lives[u.seq] < arrivals[-1].time} - set(dropped)
    assert len(arrivals) == len(dropped) + len(expired) + len(trace.stored)

    # Budget: held after every tuple, and nobody is dropped while there is room.
    before: set[int] = set()
    for x, after in zip(arrivals, states, strict=True):
        mine = [u for u in after if isinstance(capacity, int) or arrivals[u].stream == x.stream]
        size = capacity if isinstance(capacity, int) else capacity[x.stream]
        assert len(mine) <= size
        if x.seq in turns and not sample:
            assert len(mine) == size
        assert after <= before | {x.seq}
        before = after

    # Results: no duplicates; exactly those of the exact join whose earlier members were stored.
    assert len(set(trace.results)) == len(trace.results)
    assert set(trace.results) == {
        (number, members)
        for number, members in _exact(arrivals, joins)
        if all(u in states[max(members) - 1] for u in members if u != max(members))
    }
    lasts = [max(members) for _, members in trace.results]
    assert lasts == sorted(lasts), "found in the order of arrival"


@pytest.mark.parametrize("capacity", [4, 11, (2, 3, 5)], ids=str)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_invariants(policy: Policy, shape: str, capacity: Sequence[int] | int) -> None:
    joins, found = SHAPES[shape], 0
    for seed, sample in ((1, 0.0), (2, 0.3)):
        arrivals = _arrivals(seed, joins, 60)
        trace = simulate(arrivals, joins, capacity, policy, seed=seed, sample=sample)
        assert trace.decisions, f"seed {seed}: nothing was dropped, nothing was tested"
        found += len(trace.results)
        _check(arrivals, joins, capacity, sample, trace)
    assert found, "nothing was found, nothing was tested"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_enough_memory_is_exact(policy: Policy, shape: str) -> None:
    joins = SHAPES[shape]
    arrivals = _arrivals(3, joins, 60)
    exact = _exact(arrivals, joins)
    assert len(exact) > 20
    for capacity in (60, (60, 60, 60)):
        trace = simulate(arrivals, joins, capacity, policy)
        assert trace.decisions == []
        assert set(trace.results) == exact
        assert len(trace.results) == len(exact)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_policy_can_be_simulated_again(policy: Any) -> None:
    joins = SHAPES["pair"]
    first, second = _arrivals(4, joins, 60), _arrivals(5, joins, 60)
    trace = simulate(first, joins, 5, policy)
    simulate(second, joins, 5, policy)
    assert simulate(first, joins, 5, policy) == trace
    simulate([], joins, 5, policy)
    assert policy == dataclasses.replace(policy), "a policy must forget what it noted"


# ----------------------------------------------------------------------------------- special cases

TWICE: list[tuple[str, Callable[[], Policy], Callable[[], Policy]]] = [
    ("method 3 is method 1", lambda: Gdj(0.7, 1), lambda: Gdj(0.7, 3)),
    ("additive importance is simp", Simp, lambda: Additive(2, 0, 0)),
    ("multiplicative importance is simp", Simp, lambda: Multiplicative(1, 0, 0)),
    (
        "an average of what never changes",
        lambda: Additive(1, 0, 1),
        lambda: Cumulative(1, 0, 1, 0.5),
    ),
    (
        "nothing to keep, nothing to weigh",
        lambda: Additive(0, 0, 0),
        lambda: Cumulative(0, 0, 0, 1),
    ),
]


@pytest.mark.parametrize(("one", "other"), [case[1:] for case in TWICE], ids=[c[0] for c in TWICE])
def test_special_cases_fall_together(
    one: Callable[[], Policy], other: Callable[[], Policy]
) -> None:
    for seed, joins in enumerate(SHAPES.values()):
        arrivals = _arrivals(seed, joins, 80)
        for capacity in (7, (3, 4, 2)):
            expected = simulate(arrivals, joins, capacity, one())
            assert expected.decisions
            assert simulate(arrivals, joins, capacity, other()) == expected, f"seed {seed}"


def test_the_decrement_of_method_2_moves_nobody() -> None:
    class Undiminished(Gdj):
        def arrived(self, x: Arrival, memory: Memory) -> None:
            self.earned = []

    for seed, joins in enumerate(SHAPES.values()):
        arrivals = _arrivals(seed, joins, 80)
        for capacity in (7, (3, 4, 2)):
            expected = simulate(arrivals, joins, capacity, Gdj(0.7, 2))
            assert simulate(arrivals, joins, capacity, Undiminished(0.7, 2)) == expected
