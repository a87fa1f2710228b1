"""Drivers as real processes: start one, watch what it has written, kill all that it started."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
#: Where a driver dies that is killed right after it has left a trace of some kind.
AIMS = {
    "offsets": "before the state",
    "state": "after the state",
    "sink": "after the sink",
    "commits": "between",
}
#: Nothing that a healthy driver does takes so long, even on a busy machine.
PATIENCE_S = 240.0


@dataclass(frozen=True)
class Process:
    """A process as ``/proc`` describes it."""

    pid: int
    parent: int
    command: str


def members(session: int) -> list[Process]:
    """Return all living processes of a session: everything one driver started."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue  # it has ended meanwhile
        if int(fields[3]) == session and fields[0] != "Z":
            found.append(Process(int(entry.name), int(fields[1]), command))
    return found


def end(process: subprocess.Popen[Any]) -> None:
    """Kill a process that leads its own session, and all that belongs to it.

    Its group goes first and at once, the driver's Java process among it: what it does not get to
    do in the next milliseconds is the point of many tests.
    """
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    while living := members(process.pid):
        for one in living:
            kill(one.pid)
        time.sleep(0.01)
    process.wait()


def kill(pid: int) -> None:
    """Send SIGKILL; whoever has ended already is left alone."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def workers(session: int) -> list[Process]:
    """Return the Python workers that run tasks: children of a daemon."""
    living = members(session)
    daemons = {one.pid for one in living if "daemon pyspark.worker" in one.command}
    return [one for one in living if one.parent in daemons]


def workers_of(java: int) -> list[Process]:
    """Return the Python workers of the session whose Java process this is."""
    living = members(os.getsid(java))
    daemons = {one.pid for one in living if one.parent == java and "daemon" in one.command}
    return [one for one in living if one.parent in daemons]


def at_state(some: list[Process]) -> bool:
    """Tell whether a worker is connected to the state server: it has three sockets otherwise."""
    for worker in some:
        with suppress(OSError):  # it has ended meanwhile
            opened = [os.readlink(path) for path in Path(f"/proc/{worker.pid}/fd").iterdir()]
            if sum(name.startswith("socket:") for name in opened) > 3:
                return True
    return False


def pause(java: int, seconds: float) -> None:
    """Stop a Java process with SIGSTOP for a while, unless it has ended."""
    with suppress(ProcessLookupError):
        os.kill(java, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(java, signal.SIGCONT)


def launch(command: list[str], log: Path, **settings: str) -> subprocess.Popen[Any]:
    """Start a process in a session of its own, with this library on its path."""
    source = _HERE.parent.parent / "src"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")]),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        **settings,
    }
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_ENV_LOADED"):
        environment.pop(name, None)
    with log.open("ab") as output:
        return subprocess.Popen(
            command, stdout=output, stderr=output, env=environment, start_new_session=True
        )


class Job:
    """The folder of a driver, and how far its query has come."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.checkpoint, self.sink = folder / "checkpoint", folder / "sink"
        self.log = folder / "driver.log"

    def describe(
        self, case: str, buckets: int, master: str = "local[2,4]", **settings: Any
    ) -> None:
        """Write down what the driver is to do."""
        job = {"case": case, "buckets": buckets, "master": master, "settings": settings}
        (self.folder / "job.json").write_text(json.dumps(job))

    def start(self, **environment: str) -> subprocess.Popen[Any]:
        """Start the driver and wait until its query runs, or cannot."""
        before = self.starts()
        command = [sys.executable, str(_HERE / "driver.py"), str(self.folder)]
        process = launch(command, self.log, **environment)
        until(lambda: self.starts() > before or process.poll() is not None, "the driver starts")
        return process

    def finish(self) -> None:
        """Run the driver to its end, and insist that it ends well."""
        process = self.start()
        try:
            code = process.wait(PATIENCE_S)
        finally:
            end(process)
        assert code == 0, self.said()

    def said(self) -> str:
        """Return the end of what the driver wrote, for a failing test."""
        return self.log.read_text(errors="replace")[-6000:]

    def starts(self) -> int:
        """Return how often the query was started."""
        path = self.folder / "started"
        return path.read_text().count("\n") if path.exists() else 0

    def written(self, what: str) -> int:
        """Return the last micro-batch of which the driver has written a trace of some kind."""
        if what == "state":  # version n + 1 is what micro-batch n leaves behind
            tasks = (self.checkpoint / "state" / "0").glob("[0-9]*")
            return max((_last(task) for task in tasks), default=0) - 1
        folder = self.sink / "_spark_metadata" if what == "sink" else self.checkpoint / what
        return _last(folder / "0" if what == "sources" else folder)

    def phase(self) -> str:
        """Say in which part of a micro-batch a dead driver died."""
        begun, done = self.written("offsets"), self.written("commits")
        if begun == done:
            return "between"
        if self.written("sink") >= begun:
            return "after the sink"
        return "after the state" if self.written("state") >= begun else "before the state"


def _last(folder: Path) -> int:
    """Return the largest number that a file's name begins with."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return -1
    numbers = [name.split(".")[0].split("_")[0] for name in names]
    return max((int(number) for number in numbers if number.isdigit()), default=-1)


@dataclass(frozen=True)
class Moment:
    """When to kill: so long after the driver has left so many traces of this kind."""

    trace: str
    count: int
    delay_s: float

    def wait(self, job: Job, process: subprocess.Popen[Any]) -> None:
        """Return when it is time, or when there is nobody left to kill."""
        goal = job.written(self.trace) + self.count
        until(lambda: job.written(self.trace) >= goal or process.poll() is not None, str(self))
        time.sleep(self.delay_s)


def moments(seed: int, kills: int) -> Iterator[Moment]:
    """Draw moments over all parts of a micro-batch, some on the spot and some a little later."""
    dice = random.Random(seed)
    traces = ("sink", "state", "offsets", "commits")
    for number in range(kills):
        delay = dice.choice([0.0, 0.0, dice.uniform(0, 0.1), dice.uniform(0, 1)])
        yield Moment(traces[number % len(traces)], dice.randint(1, 2), delay)


def until(true: Callable[[], bool], what: str) -> None:
    """Look again and again, quickly: the shortest part of a micro-batch lasts milliseconds."""
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.002)


def next_batch(job: Job, process: subprocess.Popen[Any]) -> int:
    """Wait until the driver has finished another micro-batch, or all of them."""
    before = job.written("commits")
    until(lambda: job.written("commits") > before or process.poll() is not None, "a micro-batch")
    return job.written("commits")
