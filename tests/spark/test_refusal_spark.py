"""Family: fault injection, what cannot go on.

A checkpoint of another query, of another version, of another library or with damage in it is
refused in words; nothing is written, and whoever restores what was changed goes on from there.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql.classic.dataframe import DataFrame
from spark_cases import pair, within
from spark_runs import Runner, joined, output_schema, same_rows, words_of

from bankfull.errors import SnapshotError
from bankfull.spec import Equal
from bankfull.testing import Case
from bankfull.testing.checks import check_output

Fresh = Callable[[], Runner]


@contextmanager
def refused(half: Runner, case: Case, words: str) -> Iterator[None]:
    """Going on fails with these words, and neither sink nor log of commits has changed."""
    rows, commits = half.rows(output_schema(case)), _names(half.checkpoint / "commits")
    assert len(rows), "nothing there that could be harmed"
    with pytest.raises((StreamingQueryException, SnapshotError)) as failure:
        yield
    assert re.search(words, words_of(failure.value)), words_of(failure.value)
    same_rows(half.rows(output_schema(case)), rows)
    assert _names(half.checkpoint / "commits") == commits


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -------------------------------------------------------------------------------- another query


def test_refusal_of_a_changed_query(runner: Fresh) -> None:
    """Another window, other buckets: refused in words, and nothing is written."""
    case = pair(Equal((("k",),)), within(1), seed=400)
    other = pair(Equal((("k",),)), within(3), seed=400)
    half = runner().begin(case, 5)
    words = r"query has changed.*became.*(restore the old query)"
    changed = joined(other.query, half.frames(other), 5)
    made = changed.withColumn("row", changed.row_a).where("true").drop("row")
    for frame in (changed, made):
        with pytest.raises(SnapshotError, match=words):  # at once
            half.start(frame)
    with refused(half, case, words):  # by the workers, where the DataFrame is Spark's own
        half.drain(DataFrame(made._jdf, made.sparkSession))
    with refused(half, case, r"made with 5 buckets.*asks for 2.*buckets=5"):
        half.resume(case, 2)
    half.resume(case, 5)
    check_output(case, half.rows(output_schema(case)))


def test_refusal_of_changed_columns(runner: Fresh) -> None:
    """Stored rows have the columns they had: others are refused in words, not misread."""
    case = pair(Equal((("k",),)), within(5), seed=405)
    half = runner().begin(case, 2)
    frames = half.frames(case)
    whole = frames["a"]
    kept = [name for name in whole.columns if name not in ("t", "k", "big")]
    changes = {
        "fewer": ["t", "k", "row_a"],
        "more": ["*", "1 AS one"],
        "other type": ["t", "k", *kept, "CAST(big AS double) AS big"],
        "other order": ["big" if c == "k" else "k" if c == "big" else c for c in whole.columns],
    }
    answers = {}
    for change, columns in changes.items():
        frames["a"] = whole.selectExpr(*columns)
        try:
            half.drain(joined(case.query, frames, 2))
            answers[change] = "accepted"
        except (StreamingQueryException, SnapshotError) as refusal:
            answers[change] = str(refusal).partition("SQLSTATE")[0][-300:]
    for change, answer in answers.items():
        assert re.search(r"(?i)column.*changed.*new checkpoint", answer), f"{change}: {answers}"


def test_refusal_of_other_partitions(runner: Fresh, spark: Any) -> None:
    """Keys of buckets follow from the shuffle partitions: with others, state would not be found."""
    case = pair(Equal((("k",),)), within(5), seed=415, count=36)
    half = runner().begin(case, 3, files=1)
    setting = "spark.sql.shuffle.partitions"
    before = spark.conf.get(setting)
    spark.conf.set(setting, 4)
    try:
        with refused(half, case, rf"{setting}.*has changed.*new checkpoint"):
            half.resume(case, 3)
    finally:
        spark.conf.set(setting, before)
    half.resume(case, 3)
    check_output(case, half.rows(output_schema(case)))


def test_refusal_of_a_foreign_checkpoint(runner: Fresh) -> None:
    """A checkpoint of Spark's own join over the same files: Spark names both operators."""
    case = pair(Equal((("k",),)), within(5), seed=425, count=36)
    half = runner()
    half.write(case, 20)
    half.show(1)
    sides = [
        frame.select("t", "k", f"row_{name}").withWatermark("t", "1 second").alias(name)
        for name, frame in half.frames(case).items()
    ]
    near = "a.k = b.k AND a.t <= b.t + INTERVAL 5 SECONDS AND b.t <= a.t + INTERVAL 5 SECONDS"
    half.drain(sides[0].join(sides[1]).where(near).select("row_a", "row_b"))
    before = half.spark.read.parquet(str(half.sink)).count()
    half.show(1000)
    with pytest.raises(StreamingQueryException, match=r"(?s)symmetricHashJoin.*transformWithState"):
        half.resume(case, 2)
    assert half.spark.read.parquet(str(half.sink)).count() == before > 0


# ------------------------------------------------------------------------------ another version


@pytest.mark.soak  # workers load everything anew; without Spark: test_refusal_of_a_header
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("durable._VERSION = 1", r"state version 1, this bankfull reads \d+:.*new checkpoint"),
        ("durable._HEADER = (-9, 0)", r"rows and no header:.*new checkpoint"),
    ],
    ids=["version", "no header"],
)
def test_refusal_of_another_version(
    change: str, words: str, runner: Fresh, spark: Any, tmp_path: Path
) -> None:
    """State that another bankfull wrote is refused in words; that other one can go on."""
    case = pair(Equal((("k",),)), within(5), seed=420, count=36)
    half = runner()
    with _workers_where(change, spark, tmp_path / "other"):
        half.begin(case, 2, files=1)
    with refused(half, case, words):
        half.resume(case, 2)
    with _workers_where(change, spark, tmp_path / "other"):
        half.resume(case, 2)
    check_output(case, half.rows(output_schema(case)))


@contextmanager
def _workers_where(change: str, spark: Any, folder: Path) -> Iterator[None]:
    """Run queries in workers that change the library as they start.

    Python runs ``sitecustomize`` before all else; a daemon is only shared by queries whose
    environment is the same.
    """
    folder.mkdir(exist_ok=True)
    load = "import bankfull.runtime.spark.durable as durable"
    (folder / "sitecustomize.py").write_text(f"{load}\n{change}\n")
    environment = spark.sparkContext.environment
    environment["PYTHONPATH"] = str(folder)
    try:
        yield
    finally:
        del environment["PYTHONPATH"]


# --------------------------------------------------------------------------------------- damage


def test_refusal_of_a_damaged_checkpoint(runner: Fresh) -> None:
    """Bytes changed in all files of the state: Spark, which reads them, says so."""
    case = pair(Equal((("k",),)), within(1), seed=410)
    half = runner().begin(case, 2)
    files = (half.checkpoint / "state" / "0").rglob("*")
    whole = {p: p.read_bytes() for p in files if p.suffix in (".changelog", ".zip", ".sst")}
    assert {path.suffix for path in whole} >= {".changelog"}
    for path, data in whole.items():
        middle = len(data) // 2
        flipped = bytes(byte ^ 0xFF for byte in data[middle : middle + 8])
        path.write_bytes(data[:middle] + flipped + data[middle + 8 :])
        (path.parent / f".{path.name}.crc").unlink(missing_ok=True)
    damage = r"(?s)CANNOT_LOAD_STATE_STORE.*(Stream is corrupted|block checksum mismatch)"
    with refused(half, case, damage):
        half.resume(case, 2)
    for path, data in whole.items():
        path.write_bytes(data)
    half.resume(case, 2)
    check_output(case, half.rows(output_schema(case)))


def _header(**about: Any) -> tuple[bytes]:
    """Return a header as it is stored, with its checksum."""
    body = json.dumps(about).encode()
    return (zlib.crc32(body).to_bytes(4, "little") + body,)


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        (_header(version=1), r"state version 1, this bankfull reads \d+:.*new checkpoint"),
        ((b"\0\0\0\0" + b'{"version": 1}',), r"damaged.*new checkpoint location"),
        (None, r"rows and no header:.*new checkpoint"),
    ],
    ids=["version", "other bytes", "no header"],
)
def test_refusal_of_a_header(stored: tuple[bytes] | None, words: str) -> None:
    """A header of another version, or not as it was written: refused before more is read."""
    from bankfull.runtime.spark.durable import Durable

    class Store:
        def getValue(self, _: Any) -> tuple[bytes] | None:  # noqa: N802 - Spark's name
            return stored

        def exists(self) -> bool:
            return True

    durable = Durable(Store(), None)  # type: ignore[arg-type]
    with pytest.raises(SnapshotError, match=words):
        durable.header()
