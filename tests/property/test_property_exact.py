"""Property tests: exact means exact, over every predicate × window × streams × search × split.

Families: *oracle* (the real thing against brute force on invented cases). Each test draws small
hostile cases and a random way to cut the streams into batches, and compares combinations, the
values of every output column, ``joined_at`` and the ledger's count of what was emitted. What is
not a parameter is drawn: kinds of windows, ways to search, unequal windows, several joins. The
tests marked ``uncompiled`` run again with the compiler off.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankfull.testing import Case, check_exact
from bankfull.testing.strategies import PREDICATES, WINDOWS, cases, shared_cases
from compile_kernels import UNCOMPILED, only_uncompiled

SEEDS = st.integers(0, 2**16)
#: How many cases a test draws by the chosen profile (``conftest.py``).
DRAWN = settings.default.max_examples


@pytest.mark.parametrize("streams", [2, 3, 4, 5])
def test_oracle_equal(streams: int) -> None:
    @settings(max_examples=2 * DRAWN)
    @given(cases(["equal"], WINDOWS, [streams]), SEEDS)
    def holds(case: Case, seed: int) -> None:
        check_exact(case, seed=seed)

    holds()


@pytest.mark.parametrize("predicate", PREDICATES[1:])
def test_oracle_sets(predicate: str) -> None:
    @settings(max_examples=2 * DRAWN)
    @given(cases([predicate], WINDOWS), SEEDS)
    def holds(case: Case, seed: int) -> None:
        check_exact(case, seed=seed)

    holds()


@pytest.mark.uncompiled
@only_uncompiled
@settings(max_examples=3 * DRAWN)
@given(cases(streams=(2, 3, 5)), SEEDS)
def test_oracle_anything_uncompiled(case: Case, seed: int) -> None:
    check_exact(case, seed=seed)


@pytest.mark.uncompiled
@settings(max_examples=(2 if UNCOMPILED else 4) * DRAWN)
@given(shared_cases(), SEEDS)
def test_oracle_shared_streams(case: Case, seed: int) -> None:
    """Several joins on different columns in one operator that stores each tuple once."""
    check_exact(case, seed=seed)
