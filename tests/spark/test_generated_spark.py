"""Family: ``oracle_*``, drawn cases. Bad text anywhere, and restarts that say otherwise of nulls.

Arrow cannot hold text that is not UTF-8 as text, so it is written as bytes and cast in Spark, as
people do who read Kafka. Keys, payload, cuts, buckets, the moment of the restart and which columns
may be null before and after it are drawn; pairs are counted by brute force over the sound rows.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from spark_runs import Runner, write_stream

import bankfull as bf

Row = tuple[int, bytes | None, bytes | None, int]
COUNT, FILES, WITHIN = 120, 4, 9
BAD = (b"\xff", b"ab\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"fine \x80")
GOOD = (b"", b"a", b"\xc3\xa9", b"\xf0\x9f\x90\x89", b"a\x00", b"long enough not to be inlined")
SCHEMA = pa.schema(
    [("t", pa.int64()), ("k", pa.binary()), ("note", pa.binary()), ("n", pa.int64())]
)
#: Two ways to write the same column; the first is never null to Spark.
ORIGIN = ("'web'", "CASE WHEN t >= 0 THEN 'web' END")
NUMBER = ("coalesce(n, 0L)", "n")


def _rows(dice: random.Random) -> list[Row]:
    def text(bad: float) -> bytes | None:
        pool = BAD if dice.random() < bad else GOOD
        return None if dice.random() < 0.1 else dice.choice(pool)

    times = sorted(dice.randint(0, COUNT // 2) for _ in range(COUNT))
    bad = dice.choice([0.0, 0.02, 0.3])
    return [(t, text(bad), text(bad), number) for number, t in enumerate(times)]


def _is_sound(row: Row) -> bool:
    try:
        for value in row[1:3]:
            (value or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def _pairs(left: list[Row], right: list[Row]) -> Counter[tuple[int, int]]:
    return Counter(
        (a[3], b[3])
        for a in filter(_is_sound, left)
        for b in filter(_is_sound, right)
        if a[1] is not None and a[1] == b[1] and abs(a[0] - b[0]) <= WITHIN
    )


def _joined(spark: Runner, dice: random.Random, buckets: int, overload: Any) -> Any:
    streams = []
    for name in "ab":
        reader = spark.spark.readStream.schema("t long, k binary, note binary, n long")
        frame = reader.option("maxFilesPerTrigger", 1).parquet(str(spark.input / name))
        origin, number = dice.choice(ORIGIN), dice.choice(NUMBER)
        texts = [f"CAST({column} AS STRING) AS {column}" for column in ("k", "note")]
        frame = frame.selectExpr("t", *texts, f"{number} AS n", f"{origin} AS origin")
        streams.append(bf.stream(frame, time="t", name=name))
    return bf.join(*streams, on="k", within=WITHIN, buckets=buckets, overload=overload)


@pytest.mark.parametrize(
    "seed", [1, 2, *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(3, 30))]
)
def test_oracle_bad_text_and_restarts(seed: int, runner: Callable[[], Runner]) -> None:
    """All pairs of sound rows, and every other row counted, over a restart."""
    dice, spark = random.Random(seed), runner()
    rows = {name: _rows(dice) for name in "ab"}
    for name, drawn in rows.items():
        cuts = sorted(dice.sample(range(COUNT), FILES - 1))
        lengths = [end - begin for begin, end in zip([0, *cuts], cuts, strict=False)]
        columns = [dict(zip(SCHEMA.names, row, strict=True)) for row in drawn]
        write_stream(spark.input / name, pa.Table.from_pylist(columns, SCHEMA), lengths)
    memory = bf.tuples(10_000) if seed % 2 else "64 MB"
    roomy = bf.shed(memory=memory, keep=("fifo", "prob", "gain", "gdj")[seed // 2 % 4])
    buckets, overload = dice.choice([1, 2, 5]), dice.choice(["block", roomy])
    for files in (dice.randint(1, FILES - 1), FILES):
        spark.show(files)
        spark.drain(_joined(spark, dice, buckets, overload))
    found = spark.spark.read.parquet(str(spark.sink)).select("a_n", "b_n").collect()
    expected = _pairs(rows["a"], rows["b"])
    if overload == "block":  # under a budget rows wait for the other stream, to the end
        assert Counter(map(tuple, found)) == expected
    else:
        reached = min(max(row[0] for row in drawn if _is_sound(row)) for drawn in rows.values())
        known = {name: [row for row in drawn if row[0] < reached] for name, drawn in rows.items()}
        assert Counter(map(tuple, found)) >= _pairs(known["a"], known["b"])
        assert Counter(map(tuple, found)) <= expected
    counts = spark.counts()
    for name, drawn in rows.items():
        assert counts[f"{name}.arrived"] == COUNT
        assert counts[f"{name}.quarantined"] == sum(not _is_sound(row) for row in drawn)
