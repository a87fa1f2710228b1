"""Units: who waits for whom. Streams that are idle, late or quiet, through ``step`` and embedded.

Judged by counting pairs in NumPy, which shares no code with the operator.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.assemble import assemble
from bankfull.core import Batch, State, start, step
from bankfull.spec import Equal, Join, Query, Stream, Ticks

SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.int64())])


def rows(times: object, keys: object = 1) -> pa.RecordBatch:
    moments = np.asarray(times, np.int64)
    return pa.RecordBatch.from_arrays(
        [pa.array(moments), pa.array(np.broadcast_to(keys, moments.shape).astype(np.int64))],
        schema=SCHEMA,
    )


def begin(*streams: Stream, within: int = 10, **shed: object) -> State:
    join = Join("j", ("a", "b"), Equal((("k",),)), (Ticks(within),))
    overload = bf.shed(**shed) if shed else None
    query = Query(streams, (join,), shed=overload)
    return start(assemble(query, {"a": SCHEMA, "b": SCHEMA}))


def pairs_within(a: np.ndarray, b: np.ndarray, within: int) -> int:
    return int((np.abs(a[:, None] - b[None, :]) <= within).sum())


def test_a_promise_is_no_reason_for_a_further_one() -> None:
    """With ``late`` beyond ``idle`` every step moved the frontier by their difference."""
    state = begin(
        Stream("a", "t", late=Ticks(100)), Stream("b", "t", idle=Ticks(50), late=Ticks(100))
    )
    times = np.arange(0, 400, 2)
    found = 0
    for start_at in range(0, 200, 10):
        some = times[start_at : start_at + 10]
        quiet = frozenset(["b"]) if start_at % 20 else frozenset()
        given = {"a": rows(some)} if quiet else {"a": rows(some), "b": rows(some)}
        outcome = step(state, Batch(given, quiet=quiet))
        found += sum(batch.num_rows for batch in outcome.output)
    for _ in range(20):  # nothing comes, nothing may move
        before = [source.frontier for source in state.inputs]
        step(state, Batch(quiet=frozenset(["a", "b"])))
        after = [source.frontier for source in state.inputs]
        assert after[0] == before[0]
        assert after[1] <= max(before[1], 398 - 50)
    there = times.reshape(20, 10)[::2].ravel()
    assert outcome.ledger.streams["b"].late == 0
    assert found == pairs_within(times, there, 10)


def test_rows_of_a_stream_that_was_given_up_are_late() -> None:
    state = begin(Stream("a", "t"), Stream("b", "t", idle=Ticks(50)))
    step(state, Batch({"a": rows([100])}, quiet=frozenset(["b"])))
    outcome = step(state, Batch({"b": rows([49, 50, 95])}))
    assert outcome.ledger.streams["b"].late == 1
    assert sum(batch.num_rows for batch in outcome.output) == 1


@pytest.mark.parametrize("overload", ["block", bf.shed(bf.tuples(10_000), keep="fifo")])
def test_a_stream_that_is_read_later_is_not_idle(overload: object) -> None:
    """Complete tables: one is read before the other, and neither is idle."""
    times = np.arange(50_000)
    table = pa.Table.from_batches([rows(times, times % 1000)])
    streams = [bf.stream(table, time="t", name=name, idle=100) for name in "ab"]
    joined = bf.join(*streams, on="k", within=0 + 1, overload=overload)
    assert len(joined.read_all()) == len(times)
    assert not any(counts.late for counts in joined.ledger.streams.values())


@pytest.mark.parametrize(("idle", "most"), [(None, 4000), (100, 250)])
def test_an_idle_stream_holds_the_others_back_no_longer_than_allowed(
    idle: int | None, most: int
) -> None:
    """A live source gives None while it has nothing."""

    def quiet() -> Iterator[pa.RecordBatch | None]:
        yield rows([5])
        yield rows([])  # an empty batch is a batch
        for _ in range(90):
            yield None
        yield rows([3000])

    times = np.arange(4000)
    batches = [rows(times[k : k + 50]) for k in range(0, 4000, 50)]
    a = bf.stream(iter(batches), time="t", name="a")
    b = bf.stream(quiet(), time="t", name="b", idle=idle)
    joined = bf.join(a, b, on="k", within=10)
    stored = 0
    for _ in joined:
        stored = max(stored, joined.ledger.streams["a"].stored)
    ledger = joined.ledger
    assert stored <= most
    assert (stored > 250) == (idle is None)
    assert ledger.streams["b"].late == (0 if idle is None else 1)
    assert ledger.emitted == (16 + 21 if idle is None else 16)


def test_what_waits_for_a_quiet_stream_is_bounded() -> None:
    """Without ``idle`` the waiting rows would grow without end under a budget."""
    state = begin(Stream("a", "t"), Stream("b", "t"), memory=bf.tuples(40), keep="fifo")
    for start_at in range(0, 2000, 20):
        fresh = {"a": rows(np.arange(start_at, start_at + 20))}
        outcome = step(state, Batch(fresh, quiet=frozenset(["b"])))
        counts = outcome.ledger.streams["a"]
        assert counts.waiting <= 40
        assert counts.stored <= 40
    outcome = step(state, Batch({"b": rows([10, 1999])}))
    assert outcome.ledger.streams["b"].late == 1


def test_a_stream_that_is_quiet_for_less_than_a_window_is_waited_for() -> None:
    """A crash lets Spark take two files of a stream at once, and none in the next micro-batch."""
    fresh = {"a": rows(np.arange(100)), "b": rows(np.arange(90))}
    budget = {"memory": bf.tuples(10), "keep": "fifo"}
    found = []
    for batches in (
        [Batch(fresh), Batch({"b": rows(np.arange(90, 100))}, quiet=frozenset(["a"]))],
        [Batch({"a": fresh["a"]}, quiet=frozenset(["b"])), Batch({"b": rows(np.arange(100))})],
    ):
        state = begin(Stream("a", "t"), Stream("b", "t"), within=100, **budget)
        rows_out = []
        for batch in batches:
            for one in step(state, batch).output:
                rows_out += one.to_pylist()
        assert not any(counts.late for counts in state.ledger.streams.values())
        found.append(rows_out)
    assert found[0] == found[1]
    assert len(found[0]) > 50
