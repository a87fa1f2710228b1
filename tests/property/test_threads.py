"""Property tests: the number of threads decides nothing but the order of results.

Families: *differential* (one thread against two and three, on invented cases) and *oracle* (with
threads the result is still the exact one). Results are asked for in portions of random size, so
that threads stop in the middle of their part, and the state goes through snapshots that another
number of threads goes on from. Steps as small as these would be left to one thread; not here.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bankfull as bf
from bankfull.assemble import assemble
from bankfull.core import Batch, Budget, Ledger, restore, snapshot, start, step
from bankfull.core.exact.equal_index import EqualIndex
from bankfull.core.exact.join import ExactJoin
from bankfull.core.workers import Workers
from bankfull.runtime.embedded.run import BATCH_ROWS
from bankfull.testing import Case
from bankfull.testing.checks import check_output
from bankfull.testing.recovery import turns
from bankfull.testing.running import rows_emitted
from bankfull.testing.strategies import WINDOWS, cases, shared_cases

SEEDS = st.integers(0, 2**16)
#: What every turn gave: the combinations of each join, sorted, and the account after it.
Outcome = tuple[dict[str, list[tuple[int, ...]]], Ledger]


@pytest.fixture(autouse=True, scope="module")
def _divide_everything() -> Iterator[None]:
    """Use threads for a single row too."""
    least, Workers.least_rows = Workers.least_rows, 0
    yield
    Workers.least_rows = least


def _outcomes(
    case: Case, seed: int, threads: list[int]
) -> tuple[list[Outcome], pa.Table, list[bytes]]:
    """Run a case turn by turn; after a snapshot the next number of threads goes on."""
    plan = assemble(case.query, {name: table.schema for name, table in case.tables.items()})
    dice = random.Random(seed)
    state, number = start(plan, threads[0]), 0
    outcomes, tables, written = [], [], []
    for batch in turns(case, dice):
        budget = Budget(output_rows=dice.choice((1, 3, 1000)))
        outcome = step(state, batch, budget)
        output = list(outcome.output)
        while outcome.pending:
            outcome = step(outcome.state, Batch(), budget)
            output += outcome.output
        state = outcome.state
        tables.append(pa.Table.from_batches(output, plan.schema))
        found = rows_emitted(tables[-1], case.query)
        outcomes.append(({name: sorted(rows) for name, rows in found.items()}, outcome.ledger))
        if dice.random() < 0.3:
            number += 1
            written.append(snapshot(state))
            state = restore(plan, written[-1], threads[number % len(threads)])
    return outcomes, pa.concat_tables(tables), written


def _check(case: Case, seed: int) -> None:
    alone, _, written = _outcomes(case, seed, [1])
    for threads in ([2], [3], [3, 1, 2]):
        found, table, also_written = _outcomes(case, seed, threads)
        assert found == alone, f"{threads} threads"
        assert also_written == written
        check_output(case, table)


@pytest.mark.uncompiled
@settings(max_examples=12)
@given(cases(["equal"], WINDOWS, (2, 3, 5)), SEEDS)
def test_differential_threads(case: Case, seed: int) -> None:
    _check(case, seed)


@settings(max_examples=8)
@given(shared_cases(), SEEDS)
def test_differential_threads_of_several_joins(case: Case, seed: int) -> None:
    """Joins on sets among them stay on one thread."""
    _check(case, seed)


def _tables(kind: str, streams: int) -> dict[str, pa.Table]:
    dice = np.random.default_rng(5)
    rows = 1500
    tables = {}
    for name in "abc"[:streams]:
        keys = dice.integers(0, 300, rows)
        column = pa.array([f"key number {k}" for k in keys]) if kind == "text" else pa.array(keys)
        times = np.sort(dice.integers(0, 3000, rows))
        tables[name] = pa.table({"t": times, "k": column, name: dice.random(rows)})
    return tables


def _read(tables: dict[str, pa.Table], threads: int, **more: Any) -> bf.api.Joined:
    streams = [bf.stream(table, time="t", name=name) for name, table in tables.items()]
    return bf.join(*streams, on="k", within=400, threads=threads, **more)  # type: ignore[no-any-return]


@pytest.mark.parametrize("streams", [2, 3])
@pytest.mark.parametrize("kind", ["number", "text"])
def test_differential_all_parts_have_work(kind: str, streams: int) -> None:
    """Larger than the invented cases: every part has tuples, tables grow, panes expire."""
    tables = _tables(kind, streams)
    alone = _read(tables, 1)
    order = [(name, "ascending") for name in alone.schema.names]
    wanted = alone.read_all()
    assert wanted.num_rows > 1000
    for threads in (2, 3):
        joined = _read(tables, threads)
        found = joined.read_all()
        assert found.sort_by(order) == wanted.sort_by(order)
        assert joined.ledger == alone.ledger
        assert found == _read(tables, threads).read_all(), "the order is the same in every run"
        clocks = _index(joined).clocks
        assert len(clocks) == threads


def _index(joined: Any) -> EqualIndex:
    index = joined._state.stage(ExactJoin).indexes[0]
    assert isinstance(index, EqualIndex)
    return index


def test_few_rows_are_left_to_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Workers, "least_rows", 1 << 12)
    joined = _read(_tables("number", 2), 3)
    assert joined.read_all().num_rows
    assert len(_index(joined).clocks) == 1


def test_more_threads_are_given_more_rows_at_a_time() -> None:
    """Where they divide a step: a memory budget is kept by one thread."""
    tables = _tables("number", 2)
    rows = [_read(tables, threads)._batch_rows for threads in (1, 2, 64)]
    assert rows == [BATCH_ROWS, 2 * BATCH_ROWS, 4 * BATCH_ROWS]
    shed = bf.shed(bf.tuples(10), keep="fifo")
    assert _read(tables, 2, overload=shed)._batch_rows == BATCH_ROWS


def test_an_error_of_a_thread_is_raised_when_all_have_ended() -> None:
    ended = []

    def work(number: int) -> int:
        if number == 1:
            raise ValueError("thread 1")
        ended.append(number)
        return number

    with pytest.raises(ValueError, match="thread 1"):
        Workers(4).run(work, range(4))
    assert sorted(ended) == [0, 2, 3]
    assert Workers(4).run(lambda number: number * number, range(9)) == [n * n for n in range(9)]


def test_threads_are_explained_and_not_part_of_the_query() -> None:
    tables = _tables("number", 2)
    assert _read(tables, 2).query == _read(tables, 1).query
    assert "threads: 2, each for a part of the keys" in _read(tables, 2).explain()
    assert "threads: 1\n" in _read(tables, 1).explain()
    assert "as one thread searches" in _read(tables, 2, search="scan").explain()
    shed = bf.shed(bf.tuples(10), keep="fifo")
    assert "one thread keeps a memory budget" in _read(tables, 2, overload=shed).explain()
    with pytest.raises(bf.errors.SpecError, match="threads=0 is no number"):
        _read(tables, 0)


_FORKED = """
import os
from bankfull.core.workers import Workers
assert Workers(3).run(abs, [-1, -2, -3]) == [1, 2, 3]
child = os.fork()
assert Workers(3).run(abs, [-1, -2, -3]) == [1, 2, 3]
if child:
    assert os.waitpid(child, 0)[1] == 0
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_process_ends_and_a_forked_one_has_threads_of_its_own() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _FORKED], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "done\ndone\n"
