"""Property tests: a budget that suffices changes nothing.

Family: *oracle*. Hostile generated cases (late and idle streams, nulls, bad rows, count windows,
unequal windows, two to five streams, sets, several joins over shared streams) run under a budget
in tuples or bytes that holds everything, with any policy and any division into buffers: the output
is the exact result, nothing is shed or evicted, and every row is accounted for as without a budget.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankfull.policies import POLICIES
from bankfull.spec import Bytes, Equal, Keep, Shed, Tuples
from bankfull.testing import Case, check_conservation, check_exact, check_recovery, check_splits
from bankfull.testing.strategies import cases, shared_cases
from compile_kernels import ON_SETS

SEEDS = st.integers(0, 2**16)
#: How many cases a test draws by the chosen profile (``conftest.py``).
DRAWN = settings.default.max_examples
ROOMY = st.sampled_from([Tuples(10_000), Bytes(64 << 20)])
ANYTHING = st.one_of(cases(streams=(2, 3, 5)), shared_cases())


@st.composite
def ample(draw: st.DrawFn, policies: list[str]) -> Case:
    """Invent a case and a budget that holds all of it."""
    case = draw(ANYTHING)
    keyed = all(isinstance(join.predicate, Equal) for join in case.query.joins)
    policy = draw(st.sampled_from([p for p in policies if keyed or p in ON_SETS]))
    split = draw(st.sampled_from(["unified", "proportional"]))
    shed = Shed(draw(ROOMY), Keep(policy), split)
    return replace(case, query=replace(case.query, shed=shed))


def holds(case: Case, seed: int) -> None:
    result = check_exact(case, seed=seed)
    for counts in result.ledger["streams"].values():
        assert counts["shed"] == counts["evicted"] == counts["waiting"] == 0
    check_conservation(case, seed=seed)


@settings(max_examples=4 * DRAWN)
@given(ample(sorted(POLICIES)), SEEDS)
def test_oracle_ample_budget_is_exact(case: Case, seed: int) -> None:
    holds(case, seed)


@pytest.mark.uncompiled
@settings(max_examples=DRAWN)
@given(ample(list(ON_SETS)), SEEDS)
def test_oracle_ample_budget_is_exact_uncompiled(case: Case, seed: int) -> None:
    holds(case, seed)


@settings(max_examples=2 * DRAWN)
@given(ample(list(ON_SETS)), SEEDS)
def test_ample_budget_survives_cuts_and_restarts(case: Case, seed: int) -> None:
    check_splits(case, seeds=(seed,))
    check_recovery(case, seed)
