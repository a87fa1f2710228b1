"""Unit tests of what ``bf.join`` returns: read once, written down anywhere, loud about late rows.

Families: snapshots between two batches of results, refusals to read twice, lateness, what a plan
says of itself.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.errors import BankfullError, PlanError, SnapshotError, SourceError, SpecError
from bankfull.spec import Duration

ROWS = pa.table({"t": [1, 2, 3], "k": [1, 2, 3]})


def once(table: pa.Table) -> Iterator[pa.RecordBatch]:
    """Return a source that can be read once."""
    return iter(table.to_batches())


def pair(left: Any = ROWS, right: Any = ROWS, **options: Any) -> bf.Joined:
    sides = bf.stream(left, time="t", name="a"), bf.stream(right, time="t", name="b")
    return bf.join(*sides, **{"on": "k", "within": 5, **options})


@pytest.mark.parametrize("overload", ["block", bf.shed(bf.tuples(10_000), "fifo")])
def test_a_snapshot_holds_the_results_not_read_yet(overload: Any) -> None:
    """More results than one step makes: those after the first come out of the restored join."""
    many = pa.table({"t": np.zeros(1100, np.int64), "k": np.zeros(1100, np.int64)})
    first = pair(many, many, overload=overload)
    before = next(first).num_rows
    taken = first.snapshot()
    second = pair(many.schema.empty_table(), many.schema.empty_table(), overload=overload)
    second.restore(taken)
    after, undisturbed = second.read_all(), first.read_all()
    assert before < 2**20 < 1100**2, "one step is enough, nothing is pending"
    assert after.num_rows == undisturbed.num_rows == 1100**2 - before
    assert second.ledger.emitted == first.ledger.emitted
    with pytest.raises(SnapshotError, match="has already read from its streams"):
        second.restore(taken)
    damaged = bytearray(taken)
    damaged[200] ^= 1
    with pytest.raises(SnapshotError, match="damaged"):
        pair().restore(bytes(damaged))


def test_a_join_is_read_once() -> None:
    joined = pair()
    assert joined.read_all().num_rows == 3
    for again in (joined.read_all, lambda: list(joined)):
        with pytest.raises(BankfullError, match="has been read to its end"):
            again()
    with pytest.raises(StopIteration):
        next(joined)


def test_a_stream_is_read_by_one_join() -> None:
    """What can be read once is not divided between joins; a table may be read by many."""
    for source, error in ((once(ROWS), True), (ROWS, False)):
        shared = bf.stream(source, time="t", name="a")
        first, second = (
            bf.join(shared, bf.stream(ROWS, time="t", name="b"), on="k", within=5) for _ in range(2)
        )
        assert first.read_all().num_rows == 3
        if error:
            with pytest.raises(PlanError, match=r"'a' is already read by another.*bf\.joins"):
                second.read_all()
        else:
            assert second.read_all().num_rows == 3
    with pytest.raises(SpecError, match="the same stream twice"):
        bf.join(shared, shared, on="k", within=5)


def reader(table: pa.Table) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=1))


@pytest.mark.parametrize("make", [reader, lambda table: iter([*reader(table)]), lambda table: (
    batch for batch in reader(table)
)], ids=["reader", "list iterator", "generator"])  # fmt: skip
def test_what_can_be_read_once_is_not_divided_between_streams(make: Any) -> None:
    """Each of two streams over one reader would get some of its batches, or none."""
    source = make(ROWS)
    sides = [bf.stream(source, time="t", name=name) for name in "ab"]
    with pytest.raises(PlanError, match=r"'b' has a \w+ that another stream reads"):
        bf.join(*sides, on="k", within=5).read_all()
    other = bf.stream(ROWS, time="t", name="b")
    source = make(ROWS)
    first, second = (
        bf.join(bf.stream(source, time="t", name="a"), other, on="k", within=5) for _ in range(2)
    )
    next(first)
    with pytest.raises(PlanError, match="another stream reads"):
        second.read_all()
    source = make(ROWS)
    first = bf.join(bf.stream(source, time="t", name="a"), other, on="k", within=5)
    next(first)
    if make is reader:  # whoever goes on from a snapshot may go on with the reader, too
        second = bf.join(bf.stream(source, time="t", name="a"), other, on="k", within=5)
        second.restore(first.snapshot())
        second.read_all()


def test_a_join_that_was_read_is_not_joined_to_others() -> None:
    joined = pair()
    next(joined)
    with pytest.raises(SpecError, match="'join' has been read already"):
        bf.joins(joined)


def test_a_join_does_not_go_on_after_an_error() -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield from ROWS.to_batches()
        raise OSError("the network is down")

    joined = pair(failing())
    with pytest.raises(SourceError, match="the network is down"):
        joined.read_all()
    for again in (joined.read_all, joined.snapshot, lambda: next(joined)):
        with pytest.raises(BankfullError, match=r"ended with an error.*the network is down"):
            again()


def test_late_rows_are_reported_loudly(caplog: pytest.LogCaptureFixture) -> None:
    """How many, how late, and which bound would have kept them, once a run."""
    start, minutes = datetime(2024, 5, 1), [0, 60, *([1, 59] * 50), 61]
    times = [start + timedelta(minutes=minute) for minute in minutes]
    late = pa.table({"t": times, "k": range(len(times))})
    with caplog.at_level(logging.WARNING, "bankfull"):
        joined = pair(late, late.slice(0, 2), within="1 minute")
        joined.read_all()
    assert list(joined.lateness) == ["a"]
    found = joined.lateness["a"]
    assert (found.rows, found.arrived) == (joined.ledger.streams["a"].late, 103) == (100, 103)
    assert found.longest == Duration(59 * 60 * 10**9)
    assert found.p50.nanoseconds <= 1.04 * 60 * 10**9 < found.p99.nanoseconds
    (message,) = [record.getMessage() for record in caplog.records]
    assert "stream 'a': 100 of 103 rows" in message
    assert 'late="59 minutes" would have kept them all' in message
    assert "wrong order" in message
    kept = bf.join(
        bf.stream(late, time="t", name="a", late="59 minutes"),
        bf.stream(late.slice(0, 2), time="t", name="b"),
        on="k",
        within="1 minute",
    )
    kept.read_all()
    assert (kept.ledger.streams["a"].late, kept.lateness) == (0, {})


def test_lateness_counts_as_the_ledger_does() -> None:
    """Over any disorder and bad rows, in any cut; times at the edge of 64 bits too."""
    dice = np.random.default_rng(3)
    for scale in (1, 2**57):
        times = pa.array(dice.integers(-30, 30, 500) * scale, mask=dice.random(500) < 0.1)
        table = pa.table({"t": times, "k": dice.integers(0, 5, 500)})
        for rows in (7, 500):
            joined = pair(iter(table.to_batches(max_chunksize=rows)), ROWS)
            joined.read_all()
            assert joined.lateness["a"].rows == joined.ledger.streams["a"].late > 300


def test_a_plan_says_what_it_does_not_use() -> None:
    unique = bf.stream(ROWS, time="t", name="a", unique="k")
    other = bf.stream(ROWS, time="t", name="b", idle=3)
    exact = bf.join(unique, other, on="k", within=5, search="scan")
    assert "unique k: known, and not used here" in exact.explain()
    assert "stream b: time t, late 0 ticks, idle 3 ticks\n" in exact.explain()
    assert "searched by scan\n" in exact.explain()
    weighed = bf.stream(ROWS, time="t", name="a", importance="k")
    assert "importance of a: not used" in bf.join(weighed, other, on="k", within=5).explain()
    bounded = bf.join(
        unique, other, on="k", within=5, search="scan", overload=bf.shed(bf.tuples(5))
    )
    assert "searched by hash (search='scan' is not used under a budget)" in bounded.explain()
