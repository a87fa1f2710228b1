"""Family: fault injection, in real processes, judged by DuckDB alone.

A shedding query with several buckets over two file sources is killed with SIGKILL at random moments
and started again. What its sink holds at the end is, row for row, what an undisturbed query gives,
and part of the exact join. The judge reads the sink's files and its log of commits by itself.

One of the kills falls between the notes that Spark makes of the next file of each stream. The query
then takes two files of one stream in one micro-batch, and that must not be seen in the result.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from spark_overload import OVERLOADS, WINDOW_S
from spark_processes import Job, Moment, end, moments
from spark_runs import Runner, joined, ledger_of
from spark_sinks import committed

BUCKETS = 3


def _kill(job: Job, moment: Moment) -> bool:
    """Start the driver and kill it; say whether it was still at work."""
    process = job.start()
    try:
        moment.wait(job, process)
        finished = process.poll()
    finally:
        end(process)
    assert finished in (None, 0), job.said()
    return finished is None


def _kill_between_sources(job: Job) -> bool:
    """Kill the driver when it has noted the next file of the first stream and not of the second.

    That lasts a few milliseconds. Where the kill came later and nothing but notes was written
    since, taking back the latest two leaves the disk as it was.
    """
    if not _kill(job, Moment("sources", 1, 0.0)):
        return False
    noted = job.written("sources")
    if job.written("offsets") >= noted:
        if job.phase() != "before the state":
            return False
        _take_back(job.checkpoint / "offsets", noted)
    _take_back(job.checkpoint / "sources" / "1", noted)
    return True


def _take_back(folder: Path, number: int) -> None:
    for path in [*folder.glob(f"{number}*"), *folder.glob(f".{number}*")]:
        path.unlink()


def _files_taken(job: Job) -> list[int]:
    """Return how many files of the first stream every micro-batch took."""
    taken, before = [], -1
    for path in sorted((job.checkpoint / "offsets").glob("[0-9]*"), key=lambda p: int(p.name)):
        reached = json.loads(path.read_text().splitlines()[2])["logOffset"]
        taken.append(reached - before)
        before = reached
    return taken


def _judge(killed: Path, undisturbed: Path, given: Path) -> None:
    """Both sinks hold the same rows, each once, and all of them belong to the exact join."""
    near = f"abs(epoch_us(a.t) - epoch_us(b.t)) <= {WINDOW_S * 10**6}"
    with duckdb.connect() as database:
        for name, sink in {"killed": killed, "undisturbed": undisturbed}.items():
            found = database.read_parquet(committed(sink))
            columns = "a_t, a_k, a_load, row_a, b_t, b_k, b_load, row_b, joined_at"
            assert set(found.columns) == set(columns.split(", "))
            database.execute(f"CREATE TABLE {name} AS SELECT {columns} FROM found")
        a, b = (f"read_parquet('{given}/{name}/*.parquet') {name}" for name in "ab")
        database.execute(
            f"CREATE TABLE exact AS SELECT a.t, a.k, a.load, row_a, b.t, b.k, b.load, row_b, "
            f"greatest(a.t, b.t) FROM {a} JOIN {b} ON a.k = b.k AND {near}"
        )

        def count(question: str) -> int:
            return int(database.sql(f"SELECT count(*) FROM ({question})").fetchall()[0][0])

        def missing(some: str, others: str) -> int:
            return count(f"SELECT * FROM {some} EXCEPT ALL SELECT * FROM {others}")

        assert missing("killed", "undisturbed") == 0
        assert missing("undisturbed", "killed") == 0
        assert count("FROM killed") == count("SELECT DISTINCT row_a, row_b FROM killed")
        assert missing("killed", "exact") == 0
        assert count("FROM exact") / 10 < count("FROM killed") < count("FROM exact") * 0.95


@pytest.mark.parametrize(
    ("title", "kills"), [("overload", 1), pytest.param("long overload", 9, marks=pytest.mark.soak)]
)
def test_recovery_under_a_budget(title: str, kills: int, spark: Any, tmp_path: Path) -> None:
    """Killed at random moments, and once between two notes of the file sources."""
    overload = OVERLOADS[title]
    case = overload.case()
    runs = [Runner(spark, tmp_path / name) for name in ("killed", "undisturbed")]
    for run in runs:
        overload.write(run.input)
    job = Job(runs[0].folder)
    job.describe(title, BUCKETS)
    # First, so that the drivers find compiled kernels: a killed compiler leaves none.
    runs[1].drain(joined(case.query, runs[1].frames(case), BUCKETS))
    between = any(_kill_between_sources(job) for _ in range(4))
    hit = sum(_kill(job, moment) for moment in moments(seed=70 + kills, kills=kills))
    runs[0].drain(joined(case.query, runs[0].frames(case), BUCKETS))
    _judge(job.sink, runs[1].sink, runs[1].input)
    ledgers = [ledger_of(spark, run.checkpoint) for run in runs]
    assert ledgers[0] == ledgers[1]
    assert between
    assert max(_files_taken(job)) > 1, f"no two files at once, {_files_taken(job)}"
    assert hit >= kills - 1, f"the driver finished before it could be killed, {hit}"
