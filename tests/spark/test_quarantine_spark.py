"""Families: quarantine, telemetry, faults. Rows that the join cannot use are told of and kept.

Bad rows and late rows land as Parquet with their reason, once each, also when a micro-batch is done
twice and when a row has copies in several buckets. Late rows are logged. Levels outlive
micro-batches that bring nothing.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_runs import Runner, observed_in, read_stream, write_stream

import bankfull as bf
from bankfull.errors import PlanError
from bankfull.telemetry import Event

Fresh = Callable[[], Runner]
NOON = datetime(2024, 5, 1, 12)
SCHEMA = pa.schema([("t", pa.timestamp("us", "UTC")), ("k", pa.int64()), ("w", pa.string())])
#: A file a micro-batch: rows as (second, key); -1 is filtered out before the join.
FILES = [
    [(0, 1), (50, 2), (60, 3)],
    [(None, 4), (10, 5), (59, 6), (None, None), (61, 3)],
    [(70, -1)],
]
BAD = [(4, "null time"), (5, "late"), (None, "null time")]


def _table(rows: list[Any]) -> pa.Table:
    times = [None if s is None else NOON + timedelta(seconds=s) for s, _ in rows]
    words = [f"w{second}" for second, _ in rows]
    return pa.table([times, [key for _, key in rows], words], schema=SCHEMA)


def _streams(run: Runner) -> list[Any]:
    path = run.input / "b.c"
    if not path.exists():
        table = pa.concat_tables(map(_table, FILES))
        write_stream(path, table, [len(rows) for rows in FILES[:-1]])
    frames = [read_stream(run.spark, path, _table([])) for _ in range(2)]
    kept = [frame.where("k is null or k >= 0") for frame in frames]
    return [
        bf.stream(frame, time="t", name=name, late="5 seconds")
        for name, frame in zip(("a", "b.c"), kept, strict=True)
    ]


def _kept(folder: Path) -> list[Any]:
    rows = pq.read_table(folder).to_pylist()
    return sorted(((row["k"], row["reason"]) for row in rows), key=repr)


def test_rows_are_kept_once_with_their_reason(
    runner: Fresh, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run, folder = runner(), tmp_path / "aside"

    def joined() -> Any:
        where = f"file:{folder}"
        return bf.join(*_streams(run), on="k", within="1 minute", buckets=3, quarantine=where)

    def drain(files: int) -> None:
        run.show(files)
        run.drain(joined())
        run.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()

    events: list[Event] = []
    listener = bf.listen(run.spark, events.append)
    wanted = sorted(BAD, key=repr)
    _streams(run)
    try:
        with caplog.at_level(logging.WARNING, "bankfull"):
            drain(2)
        assert _kept(folder / "a") == _kept(folder / "b.c") == wanted
        before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}
        for log in (run.checkpoint / "commits", run.sink / "_spark_metadata"):
            for name in ("1", ".1.crc"):
                (log / name).unlink()
        drain(3)  # does the second micro-batch again
    finally:
        run.spark.streams.removeListener(listener)
    after = {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}
    assert set(after) == set(before)
    assert all(after[path] > before[path] for path in after)
    assert not list(folder.rglob(".*"))
    assert _kept(folder / "a") == _kept(folder / "b.c") == wanted
    assert pq.read_table(folder / "a").column_names == [*SCHEMA.names, "reason", "batch"]
    assert set(pq.read_table(folder / "a")["batch"].to_pylist()) == {1}
    assert [event.batch for event in events] == [0, 1, 1, 2]
    # Late rows are told of when they come.
    assert [event.late for event in events] == [{}, *[{"a": 1, "b.c": 1}] * 2, {}]
    told = [record.getMessage() for record in caplog.records if record.name == "bankfull"]
    assert len(told) == 4, "one warning for each stream with late rows, in each micro-batch"
    assert re.search(r"micro-batch 1: stream 'a': 1 of 5 rows.*late=.* would have kept", told[0])
    assert "times of modification" in told[0], "a fifth of the rows: perhaps read in wrong order"
    assert "stream 'b.c': 1 of 5 rows" in told[1]
    assert events[1].lateness["a"]["rows"] == 1
    assert events[1].lateness["a"]["advice"] in told[0]
    assert next(iter(bf.metrics(run.progress[1]).values()))["late"]["a"] == events[1].lateness["a"]
    # The last micro-batch brought nothing: what is stored is stored still.
    assert observed_in(run.progress[-1])["ledger"]["a.stored"] is None
    assert [event.counts["a"]["stored"] for event in events] == [3, 5, 5, 5]
    assert [event.counts["a"]["arrived"] for event in events] == [3, 5, 5, 0]


def test_copies_are_kept_once(runner: Fresh, tmp_path: Path) -> None:
    """Two joins on different columns bring a row to several buckets, and actions repeat it all."""
    run, folder = runner(), tmp_path / "aside"
    table = pa.concat_tables(map(_table, FILES))
    write_stream(run.input / "both", table, [])
    frame = run.spark.read.parquet(str(run.input / "both"))
    streams = [bf.stream(frame, time="t", name=name) for name in "ab"]
    one, two = (bf.join(*streams, on=on, within="1 minute", name=f"by_{on}") for on in "kw")
    both = bf.joins(one, two, buckets=5, quarantine=str(folder))
    assert both.count() == both.count() > 0
    for name in "ab":
        assert _kept(folder / name) == sorted([(4, "null time"), (None, "null time")], key=repr)
        assert pq.read_table(folder / name).column_names == [*SCHEMA.names, "reason"]


def test_a_folder_that_cannot_be_is_refused(spark: Any) -> None:
    frame = spark.createDataFrame([(NOON, 1)], "t timestamp, k long")
    streams = [bf.stream(frame, time="t", name=name) for name in "ab"]
    for path in ("/proc/nowhere", "odd://nowhere/at/all"):
        with pytest.raises(PlanError, match=rf"quarantine='{path}'.*give one"):
            bf.join(*streams, on="k", within="1 minute", quarantine=path)
    table = pa.table({"t": [1], "k": [1]})
    streams = [bf.stream(table, time="t", name=name) for name in "ab"]
    with pytest.raises(PlanError, match="on_quarantine="):
        bf.join(*streams, on="k", within=1, quarantine="/tmp/x")
