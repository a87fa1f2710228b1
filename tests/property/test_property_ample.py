"""Property tests: a budget that suffices changes nothing.

Family: *oracle*. Hostile generated cases (late and idle streams, nulls, bad rows, count windows,
unequal windows, two to five streams, sets, several joins over shared streams) run under a budget
in tuples or bytes that holds everything, with any policy and any division into buffers: the output
is the exact result, nothing is shed or evicted, and every row is accounted for as without a budget.
Family: *differential*. Where sources are quiet at times and ``idle`` gives them up, what is late
depends on who was waited for: there the same turns, with a budget and without, give the same rows
and the same account. On Spark: ``test_generated_spark.py``.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bankfull.assemble import assemble
from bankfull.core import Batch, start, step
from bankfull.policies import POLICIES
from bankfull.spec import Bytes, Equal, Keep, Shed, Tuples
from bankfull.testing import Case, check_conservation, check_exact, check_recovery, check_splits
from bankfull.testing.running import cut, random_lengths, rows_emitted
from bankfull.testing.strategies import cases, shared_cases
from compile_kernels import ON_SETS, only_uncompiled

SEEDS = st.integers(0, 2**16)
#: How many cases a test draws by the chosen profile (``conftest.py``).
DRAWN = settings.default.max_examples
ROOMY = st.sampled_from([Tuples(10_000), Bytes(64 << 20)])
ANYTHING = st.one_of(cases(streams=(2, 3, 4, 5)), shared_cases())


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
@only_uncompiled
@settings(max_examples=DRAWN)
@given(ample(list(ON_SETS)), SEEDS)
def test_oracle_ample_budget_is_exact_uncompiled(case: Case, seed: int) -> None:
    holds(case, seed)


@settings(max_examples=DRAWN)
@given(ample(list(ON_SETS)), SEEDS)
def test_ample_budget_survives_cuts_and_restarts(case: Case, seed: int) -> None:
    check_splits(case, seeds=(seed,))
    check_recovery(case, seed)


def turns(case: Case, seed: int) -> Iterator[Batch]:
    """Let the streams take turns; whoever has no turn may be quiet, and may be so for long."""
    dice = random.Random(seed)
    waiting = {
        name: list(cut(table, random_lengths(len(table), dice)))
        for name, table in case.tables.items()
    }
    ended: set[str] = set()
    while waiting:
        name = dice.choice(sorted(waiting))
        quiet = frozenset(other for other in waiting if other != name and dice.random() < 0.5)
        if waiting[name]:
            yield Batch({name: waiting[name].pop(0)}, ended=frozenset(ended), quiet=quiet)
        else:
            del waiting[name]
            ended.add(name)
            yield Batch(ended=frozenset(ended), quiet=quiet)


def taken(case: Case, seed: int) -> tuple[dict[str, Counter[Any]], dict[str, dict[str, int]]]:
    """Return all results, and what became of the rows, after turns that the seed decides."""
    plan = assemble(case.query, {name: table.schema for name, table in case.tables.items()})
    state, emitted = start(plan), {join.name: Counter[Any]() for join in case.query.joins}
    for batch in turns(case, seed):
        outcome = step(state, batch)
        while True:
            for rows in outcome.output:
                found = rows_emitted(pa.Table.from_batches([rows]), case.query)
                for name, combinations in found.items():
                    emitted[name].update(combinations)
            if not outcome.pending:
                break
            outcome = step(outcome.state, Batch())
        state = outcome.state
    fates = ("arrived", "quarantined", "late", "inserted", "purged", "shed", "evicted", "waiting")
    counts = outcome.ledger.as_dict()["streams"]
    return emitted, {name: {fate: one[fate] for fate in fates} for name, one in counts.items()}


@settings(max_examples=2 * DRAWN)
@given(ample(sorted(POLICIES)), SEEDS)
def test_differential_ample_budget_with_quiet_sources(case: Case, seed: int) -> None:
    exact = replace(case, query=replace(case.query, shed=None))
    assert taken(case, seed) == taken(exact, seed)
