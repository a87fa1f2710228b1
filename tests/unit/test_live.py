"""Live sources read by threads, and how an operator is told that it falls behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.core import Batch, step
from bankfull.core.exact.join import ExactJoin
from bankfull.errors import BankfullError
from bankfull.runtime.embedded.live import LiveSource, kept_up
from bankfull.runtime.embedded.sources import as_source


def rows(start: int, count: int) -> pa.RecordBatch:
    times = list(range(start, start + count))
    return pa.record_batch({"t": times, "k": [time % 3 for time in times]})


def batches(count: int, size: int = 10) -> Iterator[pa.RecordBatch]:
    for number in range(count):
        yield rows(number * size, size)


def test_a_buffer_is_bounded_and_loses_nothing() -> None:
    source = LiveSource(as_source(batches(50), "a"), rows_most=30)
    source.claim(object(), "a")
    deadline = time.monotonic() + 30
    while source.waiting < 30 and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.05)  # the thread has every chance to read too much
    assert 30 <= source.waiting <= 30 + 10
    found = []
    while (taken := source.read(7)) is not None:
        assert taken.num_rows <= 7
        found += taken.column("t").to_pylist()
    assert found == list(range(500))
    assert source.blocked > 0.0


def test_what_fails_in_the_thread_is_raised_after_what_was_read() -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield rows(0, 4)
        raise OSError("the line is dead")

    source = LiveSource(as_source(failing(), "a"))
    source.claim(object(), "a")
    found: list[int] = []

    def read_all() -> None:
        while (taken := source.read(100)) is not None:
            found.extend(taken.column("t").to_pylist())

    with pytest.raises(BankfullError, match="the line is dead"):
        read_all()
    assert found == [0, 1, 2, 3]
    assert source.read(100) is None


def test_a_join_over_live_sources_is_exact_while_it_keeps_up() -> None:
    gate = threading.Event()

    def waiting() -> Iterator[pa.RecordBatch]:
        yield rows(0, 10)
        gate.wait(10)  # blocks as a socket would
        yield rows(10, 10)

    streams = [bf.stream(waiting(), time="t", name=name) for name in "ab"]
    joined = bf.join(*streams, on="k", within=5, overload=bf.shed(cpu=1.0))
    threading.Timer(0.05, gate.set).start()
    tables = [bf.stream(pa.Table.from_batches(waiting()), time="t", name=name) for name in "ab"]
    exact = bf.join(*tables, on="k", within=5).read_all()
    found = joined.read_all()
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, exact.to_pylist()))
    assert joined.recall is not None
    assert joined.recall.low == 1.0


def test_an_operator_that_falls_behind_compares_less_and_later_more_again() -> None:
    table = pa.table({"t": range(400), "k": [1] * 400})
    streams = [bf.stream(table, time="t", name=name) for name in "ab"]
    shed = bf.shed(cpu=0.8, compare="rate")
    joined = bf.join(*streams, on="k", within=100, search="scan", basic_window=5, overload=shed)
    state = joined._state
    comparing = state.stage(ExactJoin).comparing
    assert comparing is not None
    state.hear(0.25)
    assert comparing.part[0] == 0.25
    found = joined.read_all().num_rows
    whole = bf.join(*streams, on="k", within=100).read_all().num_rows
    assert 0.2 * whole < found < 0.5 * whole
    state.hear(2.0)
    assert comparing.part[0] == pytest.approx(0.3)
    for _ in range(40):
        state.hear(0.1)
    assert comparing.part[0] > 0.0


def test_the_first_basic_window_is_compared_as_far_as_the_clock_says() -> None:
    """Nobody knows yet how many tuples come, but what the operator was told holds all the same."""
    table = pa.table({"t": range(200), "k": [1] * 200})
    streams = [bf.stream(table, time="t", name=name) for name in "ab"]
    found = {}
    for heard in (1.0, 0.25):
        shed = bf.shed(cpu=0.8, compare=bf.compare("rate", sample=0.001))
        joined = bf.join(
            *streams, on="k", within=400, search="scan", basic_window=400, overload=shed
        )
        joined._state.hear(heard)
        found[heard] = joined.read_all().num_rows
    assert found[0.25] == pytest.approx(0.25 * found[1.0], rel=0.1)


def test_what_is_learned_does_not_depend_on_when_the_clock_tells() -> None:
    """Every pair is a result, so of every basic window as many are learned as pairs.

    An operator is told at the end of every basic window, when the oldest one is nearly empty.
    """
    table = pa.table({"t": range(400), "k": [1] * 400})
    streams = [bf.stream(table, time="t", name=name) for name in "ab"]
    joined = bf.join(
        *streams, on="k", within=80, search="scan", basic_window=20,
        overload=bf.shed(cpu=0.8, compare="rate"),
    )  # fmt: skip
    state = joined._state
    for begin in range(0, 400, 20):
        for rows in (table.slice(begin, 18), table.slice(begin + 18, 2)):
            batch = rows.combine_chunks().to_batches()[0]
            outcome = step(state, Batch({"a": batch, "b": batch}))
            while outcome.pending:
                outcome = step(outcome.state, Batch())
            state = outcome.state
            state.hear(0.98)
    stage = state.stage(ExactJoin)
    assert stage.comparing is not None
    (selector,) = stage.comparing.selectors
    pairs, found = selector.tried[..., 0].sum(axis=1), selector.tried[..., 1].sum(axis=1)
    looked_at = pairs > 100.0
    assert looked_at.sum() >= 8
    assert found[looked_at] == pytest.approx(pairs[looked_at], rel=0.15)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"busy": 0.4}, 2.0),  # as much time again is left
        ({"busy": 1.6}, 0.5),  # it took twice what it may
        ({"busy": 0.4, "waiting": 90, "grown": 90}, 0.1),  # most of what came still waits
        ({"busy": 0.4, "waiting": 20, "grown": 20}, 2.0),  # a piece of a batch
        ({"busy": 0.4, "blocked": 0.3}, 0.7),  # the source had to wait
        ({"busy": 0.4, "full": 0.9}, 0.9),  # what waits is to be emptied
    ],
)
def test_how_well_it_kept_up(given: dict[str, float], expected: float) -> None:
    usual = {"elapsed": 1.0, "share": 0.8, "came": 100, "waiting": 0, "grown": 0, "full": 0.0}
    told: dict[str, float] = {**usual, "blocked": 0.0, **given}
    assert kept_up(**told) == pytest.approx(expected)  # type: ignore[arg-type]


def test_plans_that_take_long_are_asked_for_less_often() -> None:
    """The lower bound of T_r: what plans are measured to take is a small share of the time."""
    streams = [bf.stream(batches(40), time="t", name=name) for name in "ab"]
    joined = bf.join(*streams, on="k", within=5, overload=bf.shed(cpu=1.0))
    pace, state = joined._pace, joined._state
    told: list[float] = []
    state.hear = told.append  # type: ignore[method-assign]
    for heard in range(3):
        pace._since -= pace.every + 1.0
        pace.tell(state)
        assert len(told) == heard, "the first time is not told: kernels are compiled in it"
    assert pace.every == 0.2
    pace.plans.seconds, pace.plans.times = 4.0, 2
    assert pace.every == pytest.approx(400.0)
    pace._since -= 300.0
    pace.tell(state)
    assert len(told) == 2
    pace._since -= 101.0
    pace.tell(state)
    assert len(told) == 3


def test_an_operator_tells_the_stopwatch_of_its_plans() -> None:
    streams = [bf.stream(batches(40), time="t", name=name) for name in "ab"]
    joined = bf.join(*streams, on="k", within=5, overload=bf.shed(cpu=1.0), basic_window=1)
    joined._pace._since += 1000.0  # nothing is told in this test
    joined._state.be_timed(joined._pace.plans)
    joined.read_all()
    assert joined._pace.plans.times == 400
    assert joined._pace.plans.mean > 0.0
