"""Family: fault injection, in real processes.

Kill -9 at any moment, restart, and nothing is lost, doubled or decided differently: the sink holds
exactly the rows of an uninterrupted run (which the oracle has judged), and the ledger that the last
commit left in the state is the same. The long forms run under ``make soak``.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pytest
from spark_cases import RECOVERY
from spark_processes import AIMS, Job, Moment, end, kill, moments, until, workers_of
from spark_runs import Runner, joined, judge, ledger_of, output_schema, same_rows
from spark_undisturbed import BUCKETS, LONG, SHORT, Undisturbed

Fresh = Callable[[], Runner]
Prepare = Callable[..., Job]
Batches = Iterator[pa.RecordBatch]


def _long(title: str) -> Any:
    return pytest.param(title, marks=pytest.mark.soak)


def kill_at(job: Job, moment: Moment) -> str | None:
    """Start the driver, kill it, and say in which part of a micro-batch; None if it was done."""
    process = job.start()
    try:
        moment.wait(job, process)
        finished = process.poll()
    finally:
        end(process)
    assert finished in (None, 0), job.said()
    return job.phase() if finished is None else None


# ------------------------------------------------------------------------------- the driver dies


def test_recovery_of_the_driver(prepare: Prepare, undisturbed: Undisturbed) -> None:
    """Begun on two cores, continued on one by a driver that is killed, ended on two.

    Killed when the state is written and the sink is not, which lasts some 50 ms; a kill that comes
    too late is repeated in a later micro-batch. (Other parts of one: for long.)
    """
    job, hit = prepare("equality", SHORT // 2, "local[1,4]"), []
    case, here = RECOVERY["equality"], Runner(undisturbed.spark, job.folder)
    here.show(1)
    here.resume(case, BUCKETS)
    here.show(1000)
    while AIMS["state"] not in hit and len(hit) < 4:
        hit.append(kill_at(job, Moment("state", 1 if hit else 2, 0.0)))
    assert AIMS["state"] in hit, f"aimed in vain, hit {hit}"
    assert 0 < job.written("commits") < 5, "each of the three is to have micro-batches of its own"
    here.resume(case, BUCKETS)
    undisturbed.check(job.folder, "equality", SHORT // 2)


@pytest.mark.soak
@pytest.mark.parametrize("title", RECOVERY)
def test_recovery_of_the_driver_for_long(
    title: str, prepare: Prepare, undisturbed: Undisturbed
) -> None:
    """Killed often, in whatever part of a micro-batch it is."""
    job = prepare(title, LONG)
    hit = _kill_often(job, moments(seed=50 + list(RECOVERY).index(title), kills=7))
    job.finish()
    undisturbed.check(job.folder, title, LONG)
    assert hit.total() >= 4, f"the driver finished before it could be killed, {hit}"
    assert len(hit) > 1, hit


def _kill_often(job: Job, when: Iterable[Moment]) -> Counter[str]:
    phases = (kill_at(job, moment) for moment in when)
    return Counter(phase for phase in phases if phase is not None)


# --------------------------------------------------------------------------- other cores, restart


@pytest.mark.soak  # test_recovery_of_the_driver changes the cores too
def test_recovery_with_other_cores(prepare: Prepare, undisturbed: Undisturbed) -> None:
    """Begun on two cores, continued by another driver on one, and again on two."""
    job = prepare("equality", SHORT, "local[1,4]")
    case, here = RECOVERY["equality"], Runner(undisturbed.spark, job.folder)
    here.show(1)
    here.resume(case, BUCKETS)
    here.show(2)
    job.finish()
    assert job.written("commits") == 1, "each of the three is to have micro-batches of its own"
    here.show(1000)
    here.resume(case, BUCKETS)
    undisturbed.check(job.folder, "equality", SHORT)


# -------------------------------------------------------------------------- tasks and workers die


def test_recovery_of_workers(spark: Any, runner: Fresh, undisturbed: Undisturbed) -> None:
    """Python workers killed at work, one a micro-batch: Spark repeats the task, and goes on."""
    case, run = RECOVERY["equality"], runner()
    run.write(case, SHORT)
    job, dice, killed = Job(run.folder), random.Random(3), 0
    java = spark.sparkContext._gateway.proc.pid
    query = run.start(joined(case.query, run.frames(case), BUCKETS))
    while query.isActive:
        before = job.written("commits")
        time.sleep(dice.uniform(0, 0.2))
        for one in dice.sample(alive := workers_of(java), min(1, len(alive))):
            kill(one.pid)
            killed += 1
        until(lambda n=before: job.written("commits") > n or not query.isActive, "a micro-batch")
    query.awaitTermination()
    assert killed >= 2
    undisturbed.check(run.folder, "equality", SHORT)


SHORT_ONES = ("equality", "shed")


@pytest.mark.parametrize(
    "title", [*SHORT_ONES, *(_long(title) for title in RECOVERY if title not in SHORT_ONES)]
)
def test_recovery_of_tasks(title: str, runner: Fresh, undisturbed: Undisturbed) -> None:
    """Every task fails half-way at its first attempt, before the join and behind it."""
    case = RECOVERY[title]
    broken = runner()
    broken.write(case, SHORT)
    frames = {name: _failing(frame) for name, frame in broken.frames(case).items()}
    broken.drain(_failing(joined(case.query, frames, BUCKETS)))
    found = broken.rows(output_schema(case))
    judge(case, found)
    rows, ledger = undisturbed.of(title, SHORT)
    same_rows(found, rows)
    assert ledger_of(broken.spark, broken.checkpoint) == ledger


def _failing(frame: Any) -> Any:
    """Let half of the rows through at the first attempt of a task, and raise."""

    def first_attempt_fails(batches: Batches) -> Batches:
        from pyspark import TaskContext

        for batch in batches:
            if TaskContext.get().attemptNumber() == 0:  # type: ignore[union-attr]
                yield batch.slice(0, batch.num_rows // 2)
                raise RuntimeError("failed on purpose")
            yield batch

    return frame.mapInArrow(first_attempt_fails, frame.schema)
