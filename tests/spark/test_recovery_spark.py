"""Family: fault injection, in real processes.

Kill -9 at any moment, restart, and nothing is lost, doubled or decided differently: the sink holds
exactly the rows of an uninterrupted run (which the oracle has judged), and the ledger that the last
commit left in the state is the same. The long forms run under ``make soak``.
"""

from __future__ import annotations

import random
import re
import shutil
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark_cases import RECOVERY, pair, within
from spark_processes import Job, end, kill, launch, members, moments, until, workers
from spark_runs import Runner, joined, ledger_of, output_schema, same_rows

from bankfull.errors import SnapshotError
from bankfull.spec import Equal
from bankfull.testing import Case
from bankfull.testing.checks import check_output

Fresh = Callable[[], Runner]
Batches = Iterator[pa.RecordBatch]
#: Rows a file: few micro-batches for the short forms, many for the long ones.
SHORT, LONG = 30, 9
BUCKETS = 3


def _long(title: str) -> Any:
    return pytest.param(title, marks=pytest.mark.soak)


class Undisturbed:
    """What a case gives when nothing happens: rows and ledger, made once."""

    def __init__(self, spark: Any, folder: Path) -> None:
        self.spark = spark
        self.folder = folder
        self.known: dict[tuple[str, int], tuple[pa.Table, Any]] = {}

    def of(self, title: str, file_rows: int) -> tuple[pa.Table, Any]:
        """Return the rows and the final ledger of a case."""
        which = title, file_rows
        if which not in self.known:
            runner = Runner(self.spark, self.folder / f"{title}{file_rows}")
            found = runner.run(RECOVERY[title], file_rows, BUCKETS)
            assert len(found) > 100, "the case joins next to nothing"
            self.known[which] = found, ledger_of(self.spark, runner.checkpoint)
        return self.known[which]


@pytest.fixture(scope="module")
def undisturbed(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """Return what the cases give when nothing happens."""
    return Undisturbed(spark, tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture
def prepare(spark: Any, tmp_path: Path) -> Callable[..., Job]:
    """Return a function that lays out a job for a driver of its own."""

    def prepared(title: str, file_rows: int, *master: str, **settings: Any) -> Job:
        folder = tmp_path / title
        Runner(spark, folder).write(RECOVERY[title], file_rows)
        job = Job(folder)
        job.describe(title, BUCKETS, *master, **settings)
        return job

    return prepared


def check_same(job: Job, undisturbed: Undisturbed, title: str, file_rows: int) -> None:
    """The sink and the last commit are those of a run without faults."""
    spark = undisturbed.spark
    rows, ledger = undisturbed.of(title, file_rows)
    same_rows(Runner(spark, job.folder).rows(output_schema(RECOVERY[title])), rows)
    assert ledger_of(spark, job.checkpoint) == ledger


def kill_again_and_again(job: Job, seed: int, kills: int) -> Counter[str]:
    """Kill the driver so often, then let it finish; say which parts of a micro-batch were hit."""
    phases: Counter[str] = Counter()
    for moment in moments(seed, kills):
        process = job.start()
        try:
            moment.wait(job, process)
            finished = process.poll()
        finally:
            end(process)
        assert finished in (None, 0), job.said()
        if finished is None:
            phases[job.phase()] += 1
    job.finish()
    return phases


# ------------------------------------------------------------------------------- the driver dies


def test_recovery_of_the_driver(prepare: Callable[..., Job], undisturbed: Undisturbed) -> None:
    """Three kills: sink written, state written, micro-batch begun."""
    job = prepare("equality", SHORT)
    phases = kill_again_and_again(job, seed=5, kills=3)
    assert phases.total() == 3, phases
    check_same(job, undisturbed, "equality", SHORT)


@pytest.mark.soak
def test_recovery_of_the_driver_for_long(
    prepare: Callable[..., Job], undisturbed: Undisturbed
) -> None:
    """Kills over several queries, every part of a micro-batch among them."""
    phases: Counter[str] = Counter()
    for number, title in enumerate(RECOVERY):
        job = prepare(title, LONG)
        hit = kill_again_and_again(job, seed=50 + number, kills=7)
        check_same(job, undisturbed, title, LONG)
        assert hit.total() >= 4, f"{title}: the driver finished before it could be killed, {hit}"
        phases += hit
    assert phases.total() >= 20, phases
    assert set(phases) == {"before the state", "after the state", "after the sink", "between"}


# -------------------------------------------------------------------------- tasks and workers die


def test_recovery_of_workers(prepare: Callable[..., Job], undisturbed: Undisturbed) -> None:
    """Python workers killed at work: Spark repeats the tasks, the driver notices nothing."""
    job = prepare("equality", SHORT)
    dice, killed, batch = random.Random(3), 0, 0
    process = job.start()
    try:
        while process.poll() is None:
            batch = _next_batch(job, process)
            time.sleep(dice.uniform(0, 0.4))
            for one in dice.sample(alive := workers(process.pid), min(1, len(alive))):
                kill(one.pid)
                killed += 1
    finally:
        end(process)
    assert process.returncode == 0, job.said()
    assert killed >= 2, f"{killed} killed in {batch} micro-batches"
    check_same(job, undisturbed, "equality", SHORT)


def _next_batch(job: Job, process: subprocess.Popen[Any]) -> int:
    """Wait until the driver has finished another micro-batch, or all of them."""
    before = job.written("commits")
    until(lambda: job.written("commits") > before or process.poll() is not None, "a micro-batch")
    return job.written("commits")


@pytest.mark.parametrize("title", ["equality", *(_long(t) for t in RECOVERY if t != "equality")])
def test_recovery_of_tasks(title: str, runner: Fresh, undisturbed: Undisturbed) -> None:
    """Every task fails half-way at its first attempt, before the join and behind it."""
    case = RECOVERY[title]
    broken = runner()
    broken.write(case, SHORT)
    frames = {name: _failing(broken.streaming(name, table)) for name, table in case.tables.items()}
    broken.drain(_failing(joined(case.query, frames, BUCKETS)))
    found = broken.rows(output_schema(case))
    check_output(case, found)
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


# ---------------------------------------------------------------- checkpoints that do not belong


def test_refusal_of_a_changed_query(runner: Fresh) -> None:
    """Another window, other buckets: refused in words, and nothing is written."""
    case = pair(Equal((("k",),)), within(1), seed=400)
    other = pair(Equal((("k",),)), within(3), seed=400)
    half = _half_way(runner(), case, buckets=5)
    before = half.rows(output_schema(case))

    with pytest.raises(Exception, match=r"query has changed.*became.*(restore the old query)"):
        half.drain(joined(other.query, _frames(half, case), 5))
    with pytest.raises(Exception, match=r"made with 5 buckets.*asks for 2.*buckets=5"):
        half.drain(joined(case.query, _frames(half, case), 2))

    same_rows(half.rows(output_schema(case)), before)
    half.drain(joined(case.query, _frames(half, case), 5))
    check_output(case, half.rows(output_schema(case)))


def test_refusal_of_changed_columns(runner: Fresh) -> None:
    """Stored rows have the columns they had: others are refused in words, not misread."""
    case = pair(Equal((("k",),)), within(5), seed=405)
    half = _half_way(runner(), case, buckets=2)
    frames = _frames(half, case)
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
        except Exception as refusal:
            answers[change] = str(refusal).partition("SQLSTATE")[0][-300:]
    for change, answer in answers.items():
        assert re.search(r"(?i)column.*changed.*new checkpoint", answer), f"{change}: {answers}"


def test_refusal_of_a_damaged_checkpoint(runner: Fresh) -> None:
    """Bytes changed in the state's files: an error and no rows, not other rows."""
    case = pair(Equal((("k",),)), within(1), seed=410)
    half = _half_way(runner(), case, buckets=2)
    before = half.rows(output_schema(case))
    damaged = [
        path
        for path in (half.checkpoint / "state" / "0").rglob("*")
        if path.suffix in (".changelog", ".zip", ".sst")
    ]
    assert damaged
    for path in damaged:
        data = bytearray(path.read_bytes())
        middle = len(data) // 2
        data[middle : middle + 8] = bytes(byte ^ 0xFF for byte in data[middle : middle + 8])
        path.write_bytes(bytes(data))
        (path.parent / f".{path.name}.crc").unlink(missing_ok=True)
    with pytest.raises(Exception, match=r"."):  # Spark's words: it reads the files
        half.drain(joined(case.query, _frames(half, case), 2))
    same_rows(half.rows(output_schema(case)), before)


def test_refusal_of_a_damaged_header() -> None:
    """A header that is not what was written is refused before anything is read from it."""
    from bankfull.runtime.spark.durable import Durable

    class Store:
        def getValue(self, _: Any) -> tuple[bytes]:  # noqa: N802 - Spark's name
            return (b"\0\0\0\0" + b'{"version": 1}',)

    class Handle:
        def __getattr__(self, name: str) -> Callable[..., Store]:
            return lambda *_: Store()

    durable = Durable(Handle(), None)  # type: ignore[arg-type]
    with pytest.raises(SnapshotError, match=r"damaged.*new checkpoint location"):
        durable.header()


def _half_way(runner: Runner, case: Case, buckets: int) -> Runner:
    """Run a query over the first half of its files."""
    runner.write(case, 20)
    aside = []
    for path in sorted(runner.input.rglob("*.parquet")):
        if int(path.stem) >= 2:  # a file whose name begins with an underline is not read
            aside.append((path, path.with_name(f"_{path.name}")))
            shutil.move(*aside[-1])
    runner.drain(joined(case.query, _frames(runner, case), buckets))
    for path, hidden in aside:
        shutil.move(hidden, path)
    return runner


def _frames(runner: Runner, case: Case) -> dict[str, Any]:
    return {name: runner.streaming(name, table) for name, table in case.tables.items()}


# ------------------------------------------------------------------------------ an executor dies


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[Any]]]]:
    """Return the address of a standalone master on loopback, and its two workers."""
    import pyspark

    spark_class = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    port = _free_port()
    address = f"spark://127.0.0.1:{port}"
    package = "org.apache.spark.deploy"
    where = ["--host", "127.0.0.1", "--webui-port", "0"]
    log = tmp_path / "cluster.log"
    master = [spark_class, f"{package}.master.Master", *where, "--port", str(port)]
    processes = [launch(master, log)]
    for number in range(2):
        folder = tmp_path / f"worker{number}"
        folder.mkdir()
        size = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder)]
        worker = [spark_class, f"{package}.worker.Worker", *where, *size, address]
        processes.append(launch(worker, log))
    try:
        until(
            lambda: log.read_text(errors="replace").count("Registering worker") >= 2,
            "two workers register with the master",
        )
        yield address, processes[1:]
    finally:
        for process in processes:
            end(process)


@pytest.mark.soak
def test_recovery_of_an_executor(
    cluster: tuple[str, list[subprocess.Popen[Any]]],
    prepare: Callable[..., Job],
    undisturbed: Undisturbed,
) -> None:
    """A standalone cluster loses an executor twice: the state is loaded elsewhere."""
    address, machines = cluster
    settings = {"spark.executor.memory": "512m", "spark.executorEnv.PYTHONPATH": _library()}
    job = prepare("equality", LONG, address, **settings)
    process, killed = job.start(), 0
    try:
        for machine in machines:
            for _ in range(2):
                _next_batch(job, process)
            for one in members(machine.pid):
                if "CoarseGrainedExecutorBackend" in one.command and process.poll() is None:
                    kill(one.pid)
                    killed += 1
        until(lambda: process.poll() is not None, "the driver finishes")
    finally:
        end(process)
    assert process.returncode == 0, job.said()
    assert killed == 2
    check_same(job, undisturbed, "equality", LONG)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _library() -> str:
    import bankfull

    return str(Path(bankfull.__file__).parent.parent)
