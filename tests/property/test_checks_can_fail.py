"""Checks on the checks: each invariant is broken once on purpose, and its check must say so.

Families: *fault injection* into what the runtime returns (a lost row, a doubled row, a row under
another's values, a miscount, a restart that forgets). A check that lets one of them pass is worth
nothing however many cases it runs over.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from bankfull.core import Plan, State
from bankfull.core import start as fresh
from bankfull.spec import Equal, Join, Query, Stream, Ticks
from bankfull.testing import (
    Case,
    check_conservation,
    check_determinism,
    check_exact,
    check_recovery,
    check_splits,
    check_subset,
    recovery,
    running,
    start,
)

TIMES = [1, 2, 4, 4, 5, 9, 3, None]
CASE = Case.of(
    Query(
        (Stream("left", "t"), Stream("right", "t")),
        (Join("join", ("left", "right"), Equal((("k",),)), (Ticks(3),)),),
    ),
    left=pa.table({"t": TIMES, "k": [1, 2, 1, 1, 2, 2, 1, 1], "note": list("abcdefgh")}),
    right=pa.table({"t": TIMES, "k": [1, 1, 2, 1, 2, 1, 2, 1], "worth": [n / 2 for n in range(8)]}),
)


class _Lying:
    """A result that is not what the join gave."""

    def __init__(self, joined: Any, lie: Callable[[pa.Table], pa.Table], miscount: int) -> None:
        self._joined, self._lie, self._miscount = joined, lie, miscount

    def __getattr__(self, name: str) -> Any:
        return getattr(self._joined, name)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(self._lie(self._joined.read_all()).to_batches())

    @property
    def ledger(self) -> Any:
        ledger = self._joined.ledger
        ledger.streams["left"].late += self._miscount
        return ledger


def _keep(table: pa.Table) -> pa.Table:
    return table


def _lose(table: pa.Table) -> pa.Table:
    return table.slice(1)


def _double(table: pa.Table) -> pa.Table:
    return pa.concat_tables([table, table.slice(0, 1)])


def _mix(table: pa.Table) -> pa.Table:
    """Give every row its neighbour's note."""
    turned = pa.concat_tables([table.slice(1), table.slice(0, 1)])["note"]
    return table.set_column(table.column_names.index("note"), "note", turned)


def _misdate(table: pa.Table) -> pa.Table:
    return table.set_column(table.num_columns - 1, table.schema.field("joined_at"), table["left_t"])


def _rename(table: pa.Table) -> pa.Table:
    return table.rename_columns({"note": "left_note"})


CHECKS: dict[str, Callable[[Case], object]] = {
    "exact": check_exact,
    "subset": check_subset,
    "conservation": check_conservation,
}


def test_the_case_passes_unharmed() -> None:
    for check in (*CHECKS.values(), check_splits, check_determinism, check_recovery):
        check(CASE)


@pytest.mark.parametrize(
    ("check", "lie", "miscount", "says"),
    [
        ("exact", _lose, 0, "missing"),
        ("exact", _double, 0, "should not be there"),
        ("exact", _mix, 0, "column note"),
        ("exact", _misdate, 0, "joined_at"),
        ("exact", _rename, 0, "left_note"),
        ("subset", _double, 0, "twice"),
        ("conservation", _keep, 1, "arrived"),
    ],
)
def test_a_lie_is_found(
    monkeypatch: pytest.MonkeyPatch,
    check: str,
    lie: Callable[[pa.Table], pa.Table],
    miscount: int,
    says: str,
) -> None:
    monkeypatch.setattr(running, "start", lambda *given: _Lying(start(*given), lie, miscount))
    with pytest.raises(AssertionError, match=says):
        CHECKS[check](CASE)


@pytest.mark.parametrize("check", [check_splits, check_determinism])
def test_a_run_that_differs_from_the_last_is_found(
    monkeypatch: pytest.MonkeyPatch, check: Callable[[Case], object]
) -> None:
    runs = iter([_keep, _lose, _keep, _keep])
    monkeypatch.setattr(running, "start", lambda *given: _Lying(start(*given), next(runs), 0))
    with pytest.raises(AssertionError):
        check(CASE)


def _forgetful(plan: Plan, data: bytes) -> State:
    return fresh(plan)


def _amnesiac_for_time(plan: Plan, data: bytes) -> State:
    state = recovery_restore(plan, data)
    for source in state.inputs:
        source.newest = min(source.newest, 0)
    return state


recovery_restore = recovery.restore


def _check_often(case: Case) -> None:
    for seed in range(20):
        check_recovery(case, seed)


@pytest.mark.parametrize("restore", [_forgetful, _amnesiac_for_time])
def test_a_restart_that_forgets_is_found(
    monkeypatch: pytest.MonkeyPatch, restore: Callable[[Plan, bytes], State]
) -> None:
    monkeypatch.setattr(recovery, "restore", restore)
    with pytest.raises(AssertionError, match="turn"):
        _check_often(CASE)


def test_a_case_numbers_its_rows() -> None:
    with pytest.raises(AssertionError, match="not numbered"):
        dataclasses.replace(CASE, tables={**CASE.tables, "left": CASE.tables["left"].slice(1)})
