"""The bound for joins of three and more streams: nobody passes it, and it is close."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from optimum_cases import (
    MORE,
    PAIRS,
    RULES,
    case,
    each_convention,
    numbers,
    replay,
)

from bankfull.errors import PlanError
from bankfull.oracle.optimum import (
    Goal,
    bound,
    esja,
    exhaustive,
    odja,
    sja,
)


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
        problem = case(seed, tuples=9, split=split, shape=shape, span=6, rule=rule, **convention)
        found, best = bound(problem, goal), exhaustive(problem, goal)
        assert numbers(odja(problem, goal)) == numbers(best), seed
        assert replay(problem, best) == numbers(best), seed
        assert replay(problem, found) == pytest.approx(numbers(found)), seed
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
        problem = case(seed, tuples=18, split=split, shape=MORE[0], span=6)
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
        problem = case(seed, tuples=60, split=seed % 2 > 0, shape=shape, **convention)
        flowing, found = esja(problem), bound(problem, tolerance=0.0)
        assert found.importance + found.slack == pytest.approx(flowing.importance, rel=1e-5), seed


def test_a_join_of_three_is_no_flow() -> None:
    problem = case(1, tuples=9, split=True, shape=MORE[0])
    for method in (esja, sja):
        with pytest.raises(PlanError, match=r"no flow: odja .* or bound"):
            method(problem)
