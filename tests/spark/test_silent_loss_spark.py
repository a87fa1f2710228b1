"""Family: differential. Rows that used to vanish without a word on Spark, each with its cause.

Small queries against what is counted by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from spark_runs import Runner, write_stream

import bankfull as bf

Fresh = Callable[[], Runner]


def _stream(runner: Runner, name: str, fields: str, files: list[pa.Table]) -> Any:
    for number, table in enumerate(files):
        folder = runner.input / name
        part = runner.folder / f"{name}{number}"
        write_stream(part, table, len(table) + 1)
        folder.mkdir(parents=True, exist_ok=True)
        next(iter(part.glob("*.parquet"))).rename(folder / f"{number:05}.parquet")
    return read(runner, name, fields)


def read(runner: Runner, name: str, fields: str) -> Any:
    reader = runner.spark.readStream.schema(fields).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(runner.input / name))


def _found(runner: Runner) -> int:
    return int(runner.spark.read.parquet(str(runner.sink)).count())


def test_one_bad_text_costs_one_row(runner: Fresh) -> None:
    """Spark casts any bytes to a string; they cost the whole batch of a bucket."""
    spark = runner()
    count = 1000
    raw = [b"fine"] * count
    raw[500] = b"\xff\xfe"
    left = pa.table({"t": np.arange(count), "k": np.arange(count), "raw": raw})
    right = pa.table({"t": np.arange(count), "k": np.arange(count)})
    a = _stream(spark, "a", "t long, k long, raw binary", [left])
    b = _stream(spark, "b", "t long, k long", [right])
    text = a.selectExpr("t", "k", "CAST(raw AS STRING) AS text")
    given = [bf.stream(text, time="t", name="a"), bf.stream(b, time="t", name="b")]
    spark.drain(bf.join(*given, on="k", within=5))
    assert _found(spark) == count - 1
    counts = spark.counts()
    assert (counts["a.quarantined"], counts["a.arrived"]) == (1, count)


def test_a_restart_may_say_otherwise_of_nulls(runner: Fresh) -> None:
    """``lit("web")`` is never null, ``when(...)`` may be: it is the same column."""
    spark = runner()
    tables = [pa.table({"t": np.arange(20) + 20 * n, "k": np.arange(20)}) for n in range(3)]
    for name in "ab":
        _stream(spark, name, "t long, k long", tables)
    for files, origin in ((1, "'web'"), (2, "CASE WHEN t >= 0 THEN 'web' END"), (3, "'web'")):
        spark.show(files)
        frames = {n: read(spark, n, "t long, k long") for n in "ab"}
        frames["a"] = frames["a"].selectExpr("t", "k", f"{origin} AS origin")
        given = [bf.stream(frames[n], time="t", name=n, late=100) for n in "ab"]
        spark.drain(bf.join(*given, on="k", within=100, buckets=2))
    assert _found(spark) == 3 * 3 * 20
    assert spark.counts()["a.quarantined"] == 0


def test_a_row_set_aside_does_not_move_time(runner: Fresh) -> None:
    """A row without importance and with a time far ahead made the others late."""
    spark = runner()
    schema = pa.schema([("t", pa.int64()), ("k", pa.int64()), ("v", pa.float64())])
    files = [
        pa.table({"t": [1, 2, 9000], "k": [1, 1, 1], "v": [1.0, 1.0, None]}, schema),
        pa.table({"t": [3, 4], "k": [1, 1], "v": [1.0, 1.0]}, schema),
    ]
    frames = {n: _stream(spark, n, "t long, k long, v double", files) for n in "ab"}
    given = [bf.stream(frames[n], time="t", name=n, importance="v") for n in "ab"]
    shed = bf.shed(memory=bf.tuples(100), keep="fifo")
    spark.drain(bf.join(*given, on="k", within=10, overload=shed, buckets=2))
    counts = spark.counts()
    assert (counts["a.late"], counts["a.quarantined"], counts["b.late"]) == (0, 1, 0)


def test_a_batch_join_has_no_idle_streams(spark: Any, tmp_path: Path) -> None:
    """One stream is read before the other, and ``late`` is longer than ``idle``."""
    times = np.arange(20_000)
    frame = spark.createDataFrame(pa.table({"t": times, "k": times % 1000}))
    given = [bf.stream(frame, time="t", name=n, late=600, idle=300) for n in "ab"]
    joined = bf.join(*given, on="k", within=10, buckets=2)
    assert joined.count() == 20_000


def test_bad_text_and_bad_times_are_set_aside_in_one_file(runner: Fresh, tmp_path: Path) -> None:
    """Text that is not UTF-8 is handed on as bytes, beside rows whose text is text."""
    spark = runner()
    raw = [b"fine", b"\xff\xfe", b"fine", b"fine"]
    left = pa.table({"t": [1, 2, None, 3], "k": [1, 1, 1, 1], "raw": raw})
    a = _stream(spark, "a", "t long, k long, raw binary", [left])
    b = _stream(spark, "b", "t long, k long", [left.select(["t", "k"])])
    text = a.selectExpr("t", "k", "CAST(raw AS STRING) AS text")
    given = [bf.stream(text, time="t", name="a"), bf.stream(b, time="t", name="b")]
    aside = tmp_path / "aside"
    spark.drain(bf.join(*given, on="k", within=5, buckets=1, quarantine=str(aside)))
    found = spark.spark.read.parquet(str(aside / "a"))
    rows = found.selectExpr("reason", "CAST(text AS BINARY) AS raw").collect()
    assert sorted((row.reason, bytes(row.raw)) for row in rows) == [
        ("null time", b"fine"),
        ("text is not UTF-8", b"\xff\xfe"),
    ]
