"""Property tests: hostile generated cases under a budget that does not suffice.

The cases of ``test_property_ample.py`` with a budget of a few tuples or kilobytes, any policy and
any division into buffers. The output is part of the exact result and has nothing twice, every row
is accounted for after every batch, and neither the cuts nor a restart leave a trace.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_property_ample import ANYTHING, DRAWN, SEEDS

from bankfull.policies import POLICIES
from bankfull.spec import Bytes, Equal, Keep, Shed, Tuples
from bankfull.testing import Case, check_splits, check_subset, run
from bankfull.testing.recovery import check_restored
from compile_kernels import ON_SETS

#: A buffer a stream needs one tuple each, or 1,024 bytes; there are up to five streams.
SCARCE = st.integers(5, 12).map(Tuples) | st.integers(6, 16).map(lambda count: Bytes(count << 10))


@st.composite
def scarce(draw: st.DrawFn, policies: list[str]) -> Case:
    """Invent a case and a budget that may not hold all of it."""
    case = draw(ANYTHING)
    keyed = all(isinstance(join.predicate, Equal) for join in case.query.joins)
    policy = draw(st.sampled_from([p for p in policies if keyed or p in ON_SETS]))
    split = draw(st.sampled_from(["unified", "proportional"]))
    shed = Shed(draw(SCARCE), Keep(policy), split)
    return replace(case, query=replace(case.query, shed=shed))


@pytest.mark.uncompiled
@settings(max_examples=DRAWN)
@given(scarce(list(ON_SETS)), SEEDS)
def test_part_of_the_result_is_accounted_for(case: Case, seed: int) -> None:
    check_subset(case, seed=seed)
    run(case, seed=seed, each=lambda joined: joined.ledger.check())


@settings(max_examples=DRAWN)
@given(scarce(sorted(POLICIES)), SEEDS)
def test_cuts_and_restarts_leave_no_trace(case: Case, seed: int) -> None:
    check_splits(case, seeds=(seed,))
    check_restored(case, seed)
