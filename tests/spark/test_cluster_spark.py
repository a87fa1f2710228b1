"""Family: fault injection on a standalone cluster, one master and two workers on loopback.

Executors die, become fewer and more, or lack the library. All but the last runs under ``make
soak``; what executors lack is also tried in the local session, whose workers can be given another
interpreter.
"""

from __future__ import annotations

import re
import shlex
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from spark_processes import PATIENCE_S, Job, end, kill, launch, members, next_batch, until
from spark_runs import Runner
from spark_undisturbed import LONG, SHORT, Undisturbed

import bankfull
from bankfull.errors import PlanError
from bankfull.runtime.spark.session import _check_executors

Machine = subprocess.Popen[Any]
Cluster = tuple[str, list[Machine]]
Prepare = Callable[..., Job]
DAEMONS = ("bankfull.runtime.spark.daemon", "pyspark.daemon")
SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.executorEnv.PYTHONPATH": str(Path(bankfull.__file__).parent.parent),
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Return the address of a standalone master on loopback, and its two workers."""
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


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _executors(machines: list[Machine]) -> list[int]:
    """Return the processes of all executors."""
    return [
        one.pid
        for machine in machines
        for one in members(machine.pid)
        if "CoarseGrainedExecutorBackend" in one.command
    ]


@pytest.mark.soak
def test_recovery_of_an_executor(
    cluster: Cluster, prepare: Prepare, undisturbed: Undisturbed
) -> None:
    """A standalone cluster loses an executor twice: the state is loaded elsewhere."""
    address, machines = cluster
    job = prepare("equality", LONG, address, **SETTINGS)
    process, killed = job.start(), 0
    try:
        for machine in machines:
            for _ in range(2):
                next_batch(job, process)
            for executor in _executors([machine]):
                if process.poll() is None:
                    kill(executor)
                    killed += 1
        until(lambda: process.poll() is not None, "the driver finishes")
    finally:
        end(process)
    assert process.returncode == 0, job.said()
    assert killed == 2
    undisturbed.check(job.folder, "equality", LONG)


@pytest.mark.soak
def test_recovery_with_other_executors(
    cluster: Cluster, prepare: Prepare, undisturbed: Undisturbed
) -> None:
    """One executor, then two, then one again because its machine is gone; a driver each."""
    address, machines = cluster
    job = prepare("equality", LONG, address, **SETTINGS)
    files = Runner(undisturbed.spark, job.folder)
    seen = []
    for number, cores in enumerate((1, 2, 2)):
        if number == 2:
            end(machines.pop())
        job.describe("equality", 3, address, **SETTINGS, **{"spark.cores.max": cores})
        files.show(6 * (number + 1))
        process = job.start()
        try:
            next_batch(job, process)
            seen.append(len(_executors(machines)))
            assert process.wait(PATIENCE_S) == 0, job.said()
        finally:
            end(process)
    assert seen == [1, 2, 1]
    undisturbed.check(job.folder, "equality", LONG)


# ------------------------------------------------------------------- executors without the library


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Return an interpreter that has Spark and nothing else, whatever its environment says."""
    home = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    library = (Path(pyspark.__file__).parent / "python" / "lib").glob("*.zip")
    python = tmp_path / "bare_python"
    path = shlex.quote(":".join(map(str, library)))
    program = shlex.quote(f"{home}/bin/python")
    python.write_text(f'#!/bin/sh\nPYTHONPATH={path} exec {program} "$@"\n')
    python.chmod(0o755)
    return python


def refusal(bare: Path) -> str:
    """Return what must be said of that interpreter."""
    interpreter = re.escape(str(bare.parent / "bare" / "bin" / "python"))
    return (
        rf"an executor cannot run the join \({interpreter}: .*No module named 'bankfull'.*the same"
    )


@pytest.mark.parametrize("daemon", DAEMONS)
def test_refusal_of_workers_without_the_library(
    daemon: str, bare: Path, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the probe says, with our daemon (which cannot start there) and with Spark's."""
    context = spark.sparkContext
    settings = context._jsc.sc().conf()
    setting = "spark.python.daemon.module"
    before = settings.get(setting)
    _check_executors(spark)
    monkeypatch.setattr(context, "pythonExec", str(bare))
    settings.set(setting, daemon)
    try:
        with pytest.raises(PlanError, match=refusal(bare)):
            _check_executors(spark)
        monkeypatch.setattr(context, "pythonExec", "/no/such/python")
        with pytest.raises(PlanError, match=r'Cannot run program "/no/such/python".*the same'):
            _check_executors(spark)
    finally:
        settings.set(setting, before)


@pytest.mark.soak
@pytest.mark.parametrize("daemon", DAEMONS)
def test_refusal_of_executors_without_the_library(
    daemon: str, bare: Path, cluster: Cluster, prepare: Prepare
) -> None:
    """``bf.join`` refuses before anything is begun, and names their interpreter."""
    settings = {**SETTINGS, "spark.python.daemon.module": daemon}
    job = prepare("equality", SHORT, cluster[0], **settings)
    process = job.start(PYSPARK_PYTHON=str(bare))
    try:
        assert process.wait(PATIENCE_S) == 1
    finally:
        end(process)
    assert re.search(f"PlanError: {refusal(bare)}", job.said()), job.said()
    assert job.starts() == 0
    assert not job.checkpoint.exists()
