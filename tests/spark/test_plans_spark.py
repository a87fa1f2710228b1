"""Families: oracle, refusal. The join in larger plans, and columns that only Spark has.

Several joins in one plan, chained or united; watermarks before and behind the join; dates as times;
names with dots and backticks, names that differ in case alone; strings with collations.
"""

from __future__ import annotations

import stat
import tempfile
from collections import Counter
from collections.abc import Callable
from copy import copy
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark_runs import Runner, read_stream, write_stream

import bankfull as bf
from bankfull.errors import PlanError
from bankfull.runtime.spark.session import _socket_folder
from bankfull.telemetry import Event

Fresh = Callable[[], Runner]
STAMP = pa.timestamp("us", "UTC")
NOON = datetime(2024, 5, 1, 12)
Rows = list[tuple[int, int]]
#: Rows of three streams as (second, key), a list a file.
FILES: dict[str, list[Rows]] = {
    "a": [[(0, 1), (1, 2), (2, 3)], [(4, 1), (5, 2), (9, 3)]],
    "b": [[(1, 1), (1, 3), (3, 2)], [(4, 2), (6, 1), (8, 3)]],
    "c": [[(0, 1), (2, 2), (3, 3)], [(5, 1), (6, 2), (7, 3)]],
}
WITHIN = 2


def _table(rows: Rows) -> pa.Table:
    times = [NOON + timedelta(seconds=second) for second, _ in rows]
    return pa.table(
        {"t": pa.array(times, STAMP), "k": pa.array([key for _, key in rows], pa.int64())}
    )


@pytest.fixture
def sources(spark: Any, tmp_path: Path) -> Callable[..., Any]:
    """Return a function that gives a stream by its letter, as a new DataFrame each time."""
    for name, files in FILES.items():
        table = pa.concat_tables(map(_table, files))
        write_stream(tmp_path / "in" / name, table, [len(rows) for rows in files[:-1]])

    def fresh(name: str, mark: str | None = None, **more: Any) -> Any:
        frame = read_stream(spark, tmp_path / "in" / name, _table([]))
        frame = frame if mark is None else frame.withWatermark("t", mark)
        return bf.stream(frame, time="t", name=name, late="1 minute", **more)

    return fresh


def _pairs(*names: str) -> list[tuple[int, ...]]:
    """Return the seconds of all exact matches of two streams, by comparing all with all."""
    left, right = ([row for rows in FILES[name] for row in rows] for name in names)
    return [(s, t) for s, k in left for t, m in right if k == m and abs(s - t) <= WITHIN]


def _join(*streams: Any, **more: Any) -> Any:
    return bf.join(*streams, **{"on": "k", "within": f"{WITHIN} seconds", "buckets": 2, **more})


def _seconds(frame: Any, *columns: str) -> Counter[tuple[int, ...]]:
    rows = frame.select(*columns).toArrow().cast(pa.schema([(c, STAMP) for c in columns]))
    start = int(pa.scalar(NOON, pa.timestamp("us")).value)
    values = ([v // 10**6 for v in _since(rows[c], start)] for c in columns)
    return Counter(zip(*values, strict=True))


def _since(column: Any, start: int) -> list[int]:
    return [value - start for value in column.cast(pa.int64()).to_pylist()]


# ------------------------------------------------------------------------- several joins in a plan


def test_oracle_chain(runner: Fresh, sources: Callable[..., Any], tmp_path: Path) -> None:
    """Each join of a chain gives its results, its metrics and its events, also after a restart."""
    run = runner()
    run.input = tmp_path / "in"

    def chained() -> Any:
        first = _join(sources("a"), sources("b"))
        inner = bf.stream(first, time="joined_at", name="ab", late="1 minute")
        return _join(inner, sources("c"), on=bf.equal("a_k", "k"))

    names = [f"bankfull{more}" for more in ("", ":2")]
    events: list[Event] = []
    listener = bf.listen(run.spark, events.append)
    try:
        for files in (1, 2):
            run.show(files)
            run.drain(chained())
        run.spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    finally:
        run.spark.streams.removeListener(listener)
    keys = {(name, s): k for name, files in FILES.items() for rows in files for s, k in rows}
    wanted = Counter(
        (s, t, u)
        for s, t in _pairs("a", "b")
        for rows in FILES["c"]
        for u, k in rows
        if keys["a", s] == k and abs(max(s, t) - u) <= WITHIN
    )
    assert _seconds(run.spark.read.parquet(str(run.sink)), "a_t", "b_t", "t") == wanted
    assert all(sorted(bf.metrics(progress)) == names for progress in run.progress)
    emitted = Counter[str]()
    for event in events:
        emitted[event.metrics] += event.counts["join"]["emitted"]
    assert emitted == {names[0]: len(_pairs("a", "b")), names[1]: wanted.total()}


def test_oracle_union(runner: Fresh, sources: Callable[..., Any]) -> None:
    """Joins are united, whether or not they were given names."""
    run = runner()
    united = _join(sources("a"), sources("b")).union(_join(sources("a"), sources("c")))
    named = _join(sources("b"), sources("c"), name="last, but not least")
    run.drain(united.union(named))
    found = _seconds(run.spark.read.parquet(str(run.sink)), "a_t", "b_t")
    assert found == Counter([*_pairs("a", "b"), *_pairs("a", "c"), *_pairs("b", "c")])
    names = {"bankfull", "bankfull:2", "bankfull:last_ but not least"}
    assert set(bf.metrics(run.progress[-1])) == names


def test_other_joins_do_not_change_names(runner: Fresh, sources: Callable[..., Any]) -> None:
    """Joins of the same columns that lie about in the program are not this query's affair."""
    lying_about = [_join(sources("a"), sources("b"), within=f"{n} seconds") for n in (3, 4)]
    run = runner()
    last = _join(sources("b"), sources("c"))
    first = _join(sources("a"), sources("b"))
    run.drain(first.union(last))
    emitted = dict.fromkeys(("bankfull", "bankfull:2"), 0)
    for progress in run.progress:
        metrics = bf.metrics(progress)
        assert metrics.keys() == emitted.keys()
        for name, found in metrics.items():
            emitted[name] += found["ledger"]["join.emitted"]
    in_the_order_of_making = {"bankfull": _pairs("b", "c"), "bankfull:2": _pairs("a", "b")}
    assert emitted == {name: len(pairs) for name, pairs in in_the_order_of_making.items()}
    assert len(lying_about) == 2


# -------------------------------------------------------------------------------------- watermarks


def test_oracle_watermark_before_the_join(runner: Fresh, sources: Callable[..., Any]) -> None:
    """A watermark on an input drops nothing: the join's own bound decides what is late."""
    run = runner()
    run.drain(_join(sources("a", "0 seconds"), sources("b", "1 second")))
    found = _seconds(run.spark.read.parquet(str(run.sink)), "a_t", "b_t")
    assert found == Counter(_pairs("a", "b"))


def test_oracle_watermark_behind_the_join(runner: Fresh, sources: Callable[..., Any]) -> None:
    """Results are counted by windows of Spark's, as far as the watermark has come."""
    from pyspark.sql import functions as f

    run = runner()
    marked = _join(sources("a"), sources("b")).withWatermark("joined_at", "3 seconds")
    counted = marked.groupBy(f.window("joined_at", "2 seconds")).count()
    run.drain(counted.select(f.col("window.start").alias("start"), "count"))
    table = run.spark.read.parquet(str(run.sink))
    wanted = Counter(max(pair) // 2 * 2 for pair in _pairs("a", "b"))
    closed = {second: rows for second, rows in wanted.items() if second + 2 <= 9 - 3}
    found = {second: row["count"] for row in table.collect() for second in [_second(row.start)]}
    assert len(found) > 1
    assert found == closed
    dropped = [o["numRowsDroppedByWatermark"] for p in run.progress for o in p["stateOperators"]]
    assert not any(dropped)


def _second(moment: datetime) -> int:
    return int((moment - NOON).total_seconds())


# ------------------------------------------------------------------------------------ odd columns


@pytest.mark.parametrize("streaming", [False, True])
def test_dates_are_times(streaming: bool, spark: Any, runner: Fresh) -> None:
    """A join on days: ``joined_at`` is a timestamp without a zone."""
    run = runner()
    days = {"a": [1, 2, 9], "b": [3, 4, 10]}
    streams = []
    for name, numbers in days.items():
        table = pa.table({"t": [date(2024, 5, number) for number in numbers], "k": [1, 2, 3]})
        write_stream(run.input / name, table, [2])
        path = run.input / name
        frame = read_stream(spark, path, table) if streaming else spark.read.parquet(str(path))
        streams.append(bf.stream(frame, time="t", name=name))
    frame = bf.join(*streams, on="k", within="2 days", buckets=2)
    if streaming:
        run.drain(frame)
        frame = spark.read.parquet(str(run.sink))
    found = {(row.a_t.day, row.b_t.day, row.joined_at) for row in frame.collect()}
    assert found == {(a, b, datetime(2024, 5, b)) for a, b in zip(*days.values(), strict=True)}


def test_any_name_is_a_column(spark: Any) -> None:
    """Dots and backticks in the names of times, keys and payload."""
    columns = ["at.time", "a`key.", "struct.`x`"]
    made = spark.createDataFrame(
        [(NOON, 1, (2, "u")), (NOON, 2, (3, "v"))],
        "t timestamp, k long, p struct<`n.m`:long,w:string>",
    )
    frame = made.toDF(*columns)
    sides = [bf.stream(frame, time=columns[0], name=name) for name in "ab"]
    found = bf.join(*sides, on=columns[1], within="1 second").toArrow()
    names = [f"{side}_{column}" for side in "ab" for column in columns]
    assert found.column_names == [*names, "joined_at"]
    assert sorted(row["n.m"] for row in found[names[2]].to_pylist()) == [2, 3]
    plain = [bf.stream(frame.drop(columns[2]), time=columns[0], name=name) for name in "ab"]
    assert bf.join(*plain, on=columns[1], within="1 second").count() == 2


def test_names_that_differ_in_case_are_refused(spark: Any) -> None:
    """A session that ignores case could not tell the columns of the result apart."""
    left = spark.createDataFrame([(NOON, 1)], "t timestamp, id long")
    right = left.toDF("t", "ID")
    sides = [bf.stream(left, time="t", name="a"), bf.stream(right, time="t", name="b")]
    with pytest.raises(PlanError, match=r"'id' and 'ID'.*rename one"):
        bf.join(*sides, on=bf.equal("id", "ID"), within="1 second")


def test_collations(spark: Any) -> None:
    """Collated strings are refused where they are compared, and keep their collation elsewhere."""
    made = spark.createDataFrame([(NOON, 1, "A"), (NOON, 2, "a")], "t timestamp, k long, w string")
    collated = "cast(w as string collate UTF8_LCASE)"
    frame = made.selectExpr("t", "k", f"{collated} as w", f"array({collated}) as ws")
    sides = [bf.stream(frame, time="t", name=name) for name in "ab"]
    for on in ("w", ["k", "w"], bf.overlap("ws", at_least=1)):
        with pytest.raises(PlanError, match=r"'ws?' of stream 'a' has collation UTF8_LCASE.*cast"):
            bf.join(*sides, on=on, within="1 second")
    found = bf.join(*sides, on="k", within="1 second")
    assert found.where("a_w = 'a' and b_ws[0] = 'A'").count() == 2
    filled = f"array(coalesce({collated}, ''))"  # it holds no nulls, and Spark knows
    full = made.selectExpr("t", "k", f"{filled} as ws", f"named_struct('m', map(k, {filled})) as s")
    assert not full.schema["ws"].dataType.containsNull
    sides = [bf.stream(full, time="t", name=name) for name in "ab"]
    found = bf.join(*sides, on="k", within="1 second")
    assert found.where("a_ws[0] = 'a' and b_s.m[b_k][0] = 'A'").count() == 2


def test_variants_stay_variants(spark: Any) -> None:
    """To the join they are structs of bytes, alone and inside other types."""
    made = spark.range(3).selectExpr(
        "id as t",
        "parse_json(concat('{\"x\":', id, '}')) as v",
        "array(v) as vs",
        "map('m', v) as m",
    )
    sides = [bf.stream(made, time="t", name=name) for name in "ab"]
    found = bf.join(*sides, on="t", within=1, buckets=2)
    taken = (f"variant_get({what}, '$.x', 'long') = a_t" for what in ("b_v", "a_vs[0]", "b_m['m']"))
    assert found.where(" and ".join(taken)).count() == 3
    again = bf.stream(found.select("a_t", "a_v"), time="a_t", name="c")
    chained = bf.join(again, sides[1], on=bf.equal("a_t", "t"), within=1)
    assert [f.dataType.simpleString() for f in chained.schema][1::2][:2] == ["variant", "variant"]


def test_a_type_that_arrow_lacks_is_named(spark: Any) -> None:
    """The refusal says which column of which stream."""
    made = spark.range(3).selectExpr("id as t", "make_ym_interval(1, 2) as period")
    sides = [bf.stream(made, time="t", name=name) for name in ("orders", "b")]
    with pytest.raises(PlanError, match=r"'period' of stream 'orders' has type interval.*cast it"):
        bf.join(*sides, on="t", within=1)


def test_attributes_of_a_streaming_join_are_its_columns(spark: Any) -> None:
    """``joined.name`` was what the join's metrics are called."""
    from pyspark.sql import Column

    frame = spark.readStream.format("rate").load()
    names = ["name", "layout", "frames"]
    left = frame.selectExpr("timestamp as t", "value as k", *(f"value as {name}" for name in names))
    right = frame.selectExpr("timestamp as t", "value as k")
    sides = [bf.stream(left, time="t", name="a"), bf.stream(right, time="t", name="b")]
    joined = bf.join(*sides, on="k", within="1 second")
    assert all(isinstance(getattr(joined, name), Column) for name in names)


def test_one_session_may_have_several_objects(spark: Any) -> None:
    """``SparkSession.active()`` may return another object for the same session."""
    rows = ([(1, 1)], "t long, k long")
    sides = [
        bf.stream(one.createDataFrame(*rows), time="t", name=name)
        for one, name in ((spark, "a"), (copy(spark), "b"))
    ]
    assert bf.join(*sides, on="k", within=1).count() == 1
    sides[1] = bf.stream(spark.newSession().createDataFrame(*rows), time="t", name="b")
    with pytest.raises(PlanError, match="different sessions"):
        bf.join(*sides, on="k", within=1)


def test_a_local_session_talks_through_a_folder_of_its_own(spark: Any) -> None:
    folder = Path(spark.sparkContext.getConf().get("spark.python.unix.domain.socket.dir"))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert any(entry.is_socket() for entry in folder.iterdir())


def test_sockets_in_a_folder_with_a_long_name_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A socket's path may have some hundred bytes: Spark would fail to make one.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / ("long" * 20)))
    assert _socket_folder.__wrapped__() is None
