"""Unit tests of the operator and its kernels' edges: output budgets, growth and expiry, item
numbers, imports. Families: budgets, state size, interning, kernel cache."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.assemble import assemble
from bankfull.core import Batch, Budget, start, step
from bankfull.core.exact.join import ExactJoin
from bankfull.core.exact.set_index import SetIndex
from bankfull.core.plan import NEVER
from bankfull.errors import BankfullError
from bankfull.kernels.exact.setjoin import MARK_MAX
from bankfull.spec import Equal, Join, Overlap, Query, Stream, Ticks


def table(times: np.ndarray, keys: np.ndarray) -> pa.Table:
    return pa.table({"t": times, "k": keys})


def query(predicate: Equal | Overlap, *names: str) -> Query:
    streams = tuple(Stream(name, "t") for name in names)
    return Query(streams, (Join("j", names, predicate, (Ticks(10),)),))


def test_results_beyond_the_output_budget_wait() -> None:
    schema = pa.schema([("t", pa.int64()), ("k", pa.int64())])
    names = ("a", "b", "c")
    state = start(assemble(query(Equal((("k",),)), *names), dict.fromkeys(names, schema)))
    hot = pa.RecordBatch.from_arrays([pa.array([1] * 20), pa.array([7] * 20)], schema=schema)
    outcome = step(state, Batch(dict.fromkeys(names, hot)), Budget(output_rows=500))
    sizes = []
    while outcome.pending:
        sizes.append(sum(batch.num_rows for batch in outcome.output))
        with pytest.raises(BankfullError, match="pending"):
            step(outcome.state, Batch({"a": hot}))
        outcome = step(outcome.state, Batch(), Budget(output_rows=500))
    sizes.append(sum(batch.num_rows for batch in outcome.output))
    assert sum(sizes) == 20**3
    assert len(sizes) > 4


def test_marks_of_a_search_begin_again_before_they_are_too_large() -> None:
    schema = pa.schema([("t", pa.int64()), ("k", pa.list_(pa.int64()))])
    plan = assemble(query(Overlap(("k",), 2), "a", "b"), dict.fromkeys("ab", schema))
    same = pa.RecordBatch.from_pydict({"t": [1] * 9, "k": [[1, 2, 3]] * 9}, schema=schema)
    outcome = step(start(plan), Batch({"a": same}))
    index = outcome.state.stage(ExactJoin).indexes[0]
    assert isinstance(index, SetIndex)
    index.advance(1, NEVER)  # makes the marks
    index.scratch.marked[0] = MARK_MAX - 8
    index.scratch.room.marks[:] = MARK_MAX - 8
    outcome = step(outcome.state, Batch({"b": same}))
    assert sum(batch.num_rows for batch in outcome.output) == 81
    assert index.scratch.marked[0] < 100


def test_state_is_empty_when_all_streams_have_ended() -> None:
    times = np.arange(5000)
    run = bf.join(
        bf.stream(table(times, times % 7), time="t", name="a"),
        bf.stream(table(times, times % 7), time="t", name="b"),
        on="k",
        within=30,
    )
    run.read_all()
    for counts in run.ledger.streams.values():
        assert counts.stored == 0
        assert counts.expired == 5000


@pytest.mark.parametrize("window", [30, bf.rows(30)])
def test_stored_tuples_stay_near_the_window(window: object) -> None:
    times = np.arange(20_000)
    a = bf.stream(iter(table(times, times % 7).to_batches(max_chunksize=50)), time="t", name="a")
    b = bf.stream(iter(table(times, times % 7).to_batches(max_chunksize=50)), time="t", name="b")
    run = bf.join(a, b, on="k", within=window)
    most = 0
    for _ in run:
        most = max(most, *(counts.stored for counts in run.ledger.streams.values()))
    assert 0 < most <= 30 + 2 * 50 + 4


def test_items_that_nobody_holds_are_forgotten() -> None:
    rng = np.random.default_rng(3)
    count = 12_000
    fresh = [[int(n), int(n) + 1] for n in np.arange(count) * 2 + rng.integers(0, 2, count)]
    times = np.arange(count)
    sides = [pa.table({"t": times, "tags": fresh}) for _ in range(2)]
    streams = [bf.stream(t, time="t", name=n) for t, n in zip(sides, "ab", strict=True)]
    run = bf.join(*streams, on=bf.overlap("tags", at_least=2), within=5)
    run._batch_rows = 500
    assert run.read_all().num_rows >= count
    index = run._state.stage(ExactJoin).indexes[0]
    assert isinstance(index, SetIndex)
    assert index.interner.known < 10_000


def test_long_sets_and_many_results_for_one_tuple() -> None:
    big = pa.table({"t": [0, 1], "tags": [list(range(2000, -1, -1)) * 2, [5]]})
    many = pa.table({"t": np.zeros(40_000, np.int64), "tags": [[5, 6]] * 40_000})
    a, b = bf.stream(big, time="t", name="a"), bf.stream(many, time="t", name="b")
    assert bf.join(a, b, on=bf.overlap("tags", at_least=2), within=9).read_all().num_rows == 40_000
    assert bf.join(a, b, on=bf.subset("tags"), within=9).read_all().num_rows == 40_000


def test_equal_meaning_gives_equal_queries() -> None:
    from datetime import timedelta

    one = pa.table({"t": pa.array([1], pa.timestamp("s")), "k": [1]})
    streams = [bf.stream(one, time="t", name=name, late="0 ms") for name in "ab"]
    spellings = [
        bf.join(*streams, on="k", within="10 minutes"),
        bf.join(*streams, on=["k"], within=("600 s", timedelta(minutes=10))),
        bf.join(*streams, on=bf.equal("k", "k"), within="10m", search="hash"),
    ]
    assert len({run.query for run in spellings}) == 1
    assert bf.join(*streams, on="k", within="11 minutes").query != spellings[0].query


def test_importing_bankfull_is_light() -> None:
    heavy = ("numba", "pyspark", "matplotlib", "pyarrow")
    code = f"import bankfull, sys; print([m for m in {heavy} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_comparisons_count_that_were_made_before_a_tuple_with_many_results() -> None:
    """The first tuple finds nothing, the second more than there is room for in a small step."""
    many = pa.table({"t": [0] * 3000, "k": [1] * 3000})
    two = pa.table({"t": [1, 2], "k": [2, 1]})
    tables = {"a": many, "b": two}
    streams = [bf.stream(table, time="t", name=name) for name, table in tables.items()]
    query = bf.join(*streams, on="k", within=10, search="scan").query
    state = start(assemble(query, {name: table.schema for name, table in tables.items()}))
    batches = {name: table.to_batches()[0] for name, table in tables.items()}
    outcome = step(state, Batch(batches), Budget(output_rows=5))
    while outcome.pending:
        outcome = step(outcome.state, Batch(), Budget(output_rows=5))
    [counts] = outcome.ledger.joins.values()
    assert (counts.emitted, counts.compared) == (3000, 6000)
