"""Property tests: the invariants of DESIGN section 4, each over any predicate, window and split.

Families: *invariants* (every check that ``bankfull.testing`` ships, over one join and over shared
streams), *differential* (batch split against batch split, run against run) and *strategies* (the
invented cases are as hostile as they claim: a property over empty joins proves nothing).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bankfull as bf
from bankfull import oracle
from bankfull.spec import Equal, Join, Query, Stream, Ticks
from bankfull.testing import (
    CHECKS,
    Case,
    check_conservation,
    check_determinism,
    check_recovery,
    check_subset,
)
from bankfull.testing.strategies import WINDOWS, cases, shared_cases
from compile_kernels import only_uncompiled

SEEDS = st.integers(0, 2**16)


@pytest.mark.parametrize("name", CHECKS)
def test_invariant(name: str) -> None:
    @settings(max_examples=2 * settings.default.max_examples)
    @given(cases(streams=(2, 3, 4, 5)))
    def holds(case: Case) -> None:
        CHECKS[name](case)

    holds()


@pytest.mark.parametrize("name", CHECKS)
def test_invariant_of_shared_streams(name: str) -> None:
    @given(shared_cases())
    def holds(case: Case) -> None:
        CHECKS[name](case)

    holds()


def written(case: Case) -> Any:
    """Write a case's query as a user would."""
    query = case.query
    streams = {
        one.name: bf.stream(
            case.tables[one.name],
            name=one.name,
            time=one.time,
            late=one.late,
            importance=one.importance,
            unique=list(one.unique) or None,
            idle=one.idle,
        )
        for one in query.streams
    }
    planned = [
        bf.join(
            *(streams[name] for name in join.streams),
            on=join.predicate,
            within=join.windows,
            name=join.name,
            search=join.search,
            basic_window=query.basic_window,
            strict=query.strict,
        )
        for join in query.joins
    ]
    return planned[0] if len(planned) == 1 else bf.joins(*planned)


@given(st.one_of(cases(streams=(2, 3)), shared_cases()))
def test_a_query_written_in_python_is_the_spec(case: Case) -> None:
    """What ``bf.run`` takes is what ``bf.join`` and ``bf.joins`` make."""
    assert written(case).query == case.query


@given(cases(streams=(2, 3)), SEEDS)
def test_conservation_and_determinism_in_batches(case: Case, seed: int) -> None:
    check_conservation(case, seed=seed)
    check_determinism(case, seed=seed)


@pytest.mark.parametrize("windows", WINDOWS)
def test_recovery_whoever_is_ahead(windows: str) -> None:
    """Streams take turns at random: neither who runs ahead nor a restart changes anything."""

    @given(cases(windows=[windows], streams=(2, 3)), SEEDS)
    def holds(case: Case, seed: int) -> None:
        check_recovery(case, seed)

    holds()


@pytest.mark.uncompiled
@only_uncompiled
@settings(max_examples=25)
@given(cases(streams=(2, 3)), SEEDS)
def test_conservation_subset_and_recovery(case: Case, seed: int) -> None:
    check_conservation(case, seed=seed)
    check_subset(case, splits=3)
    check_recovery(case, seed)


def test_many_batches_of_one_row_each_and_empty_ones() -> None:
    """A long thin stream: conservation holds after each of some hundred steps."""
    rows = pa.table({"t": [n // 3 for n in range(240)], "k": [n % 5 for n in range(240)]})
    query = Query(
        (Stream("left", "t"), Stream("right", "t")),
        (Join("join", ("left", "right"), Equal((("k",),)), (Ticks(4),)),),
    )
    case = Case.of(query, left=rows, right=rows.slice(30, 100))
    thin = {"left": [1, 0] * 240, "right": [0, 0, 1] * 100}
    result = check_conservation(case, thin)
    assert result.combinations == oracle.exact(query, case.tables)
    assert result.ledger["streams"]["left"]["expired"] > 0


def _times(case: Case) -> dict[str, list[int]]:
    """Return the accepted times of each stream as they arrive."""
    kept = oracle.accepted(case.query, case.tables)
    columns = {
        stream.name: oracle.plain(case.tables[stream.name][stream.time])
        for stream in case.query.streams
    }
    return {name: [columns[name][row] for row in rows] for name, rows in kept.items()}


def test_strategies_invent_what_they_promise() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=150)
    @given(cases(streams=(2, 3, 4, 5)))
    def look(case: Case) -> None:
        seen["cases"] += 1
        seen["with output"] += bool(oracle.exact(case.query, case.tables)["join"])
        for times in _times(case).values():
            seen["disorder kept"] += times != sorted(times)
            seen["equal times"] += len(set(times)) < len(times)
        for fates in oracle.fates(case.query, case.tables).values():
            seen["empty"] += not fates
            seen["streams"] += 1
            seen.update(f"with {fate}" for fate in set(fates))

    look()
    assert seen["with output"] > seen["cases"] * 0.5, seen
    for rare in ("empty", "with late", "with quarantined", "disorder kept", "equal times"):
        assert seen[rare] > seen["streams"] * 0.03, seen
