"""Property tests: exact means exact, over every predicate × window × streams × search × split.

Families: *oracle* (the real thing against brute force on invented cases). Each test draws small
hostile cases and a random way to cut the streams into batches, and compares combinations, the
values of every output column, ``joined_at`` and the ledger's count of what was emitted. The
tests marked ``uncompiled`` run again with the compiler off.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankfull.testing import Case, check_exact
from bankfull.testing.strategies import PREDICATES, WINDOWS, cases, shared_cases

SEEDS = st.integers(0, 2**16)


@pytest.mark.parametrize("search", ["hash", "scan"])
@pytest.mark.parametrize("streams", [2, 3, 4, 5])
@pytest.mark.parametrize("windows", WINDOWS)
def test_oracle_equal(windows: str, streams: int, search: str) -> None:
    @given(cases(["equal"], [windows], [streams], [search]), SEEDS)
    def holds(case: Case, seed: int) -> None:
        check_exact(case, seed=seed)

    holds()


@pytest.mark.parametrize("search", ["inverted", "identifier", "scan"])
@pytest.mark.parametrize("predicate", PREDICATES[1:])
@pytest.mark.parametrize("windows", WINDOWS)
def test_oracle_sets(windows: str, predicate: str, search: str) -> None:
    @given(cases([predicate], [windows], searches=[search]), SEEDS)
    def holds(case: Case, seed: int) -> None:
        check_exact(case, seed=seed)

    holds()


@pytest.mark.parametrize("windows", [*WINDOWS, "any"])
def test_oracle_shared_streams(windows: str) -> None:
    """Several joins on different columns in one operator that stores each tuple once."""

    @given(shared_cases(WINDOWS if windows == "any" else [windows]), SEEDS)
    def holds(case: Case, seed: int) -> None:
        check_exact(case, seed=seed)

    holds()


@pytest.mark.uncompiled
@settings(max_examples=60)
@given(cases(streams=(2, 3, 5)), SEEDS)
def test_oracle_anything(case: Case, seed: int) -> None:
    check_exact(case, seed=seed)


@pytest.mark.uncompiled
@settings(max_examples=30)
@given(shared_cases(), SEEDS)
def test_oracle_anything_shared(case: Case, seed: int) -> None:
    check_exact(case, seed=seed)
