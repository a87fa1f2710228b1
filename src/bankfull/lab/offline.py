"""Running time and memory of the offline algorithms, and the worked example they must agree on.

Both run as they are in ``bankfull.oracle.optimum``: ``odja`` in plain Python, written to be read,
``esja`` over OR-tools' compiled flow. What is compared is therefore also Python with C++.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from bankfull.errors import BankfullError
from bankfull.lab.experiment import Cell, Record
from bankfull.lab.generators import draws, importances
from bankfull.lab.workloads import EXAMPLE

_ODJA = "odja"
#: What ODJA is to answer: the importance of the optimum alone, or also how it is reached.
VALUE, SCHEDULE = "importance alone", "with the schedule"


def running_time(cell: Cell) -> list[Record]:
    """Measure the seconds of one algorithm; the fastest of a few turns where they are short."""
    from bankfull.oracle.optimum import esja, odja

    problem = _problem(cell.seed, **_sizes(cell))

    def solve(given: Any) -> Any:
        return odja(given, schedule=False) if cell.system == _ODJA else esja(given)

    seconds: list[float] = []
    while len(seconds) < 3 and sum(seconds) < 2.0:
        began = time.perf_counter()
        found = solve(problem)
        seconds.append(time.perf_counter() - began)
    return [{"value": min(seconds), "importance": found.importance, "results": found.results}]


def memory_use(cell: Cell) -> list[Record]:
    """Measure by how many kilobytes a fresh process grows when it solves the problem.

    ODJA with its schedule remembers the ways to all states; without it, those of two instants.
    """
    schedule = cell.place["answer"] == SCHEDULE
    arguments = json.dumps(
        {"system": cell.system, "seed": cell.seed, "schedule": schedule, **_sizes(cell)}
    )
    done = subprocess.run(
        [sys.executable, "-m", __name__, arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BankfullError(f"measuring memory failed: {done.stderr.strip()[-1000:]}")
    return [{"value": float(done.stdout)}]


def worked_example(cell: Cell) -> list[Record]:
    """Solve the paper's example in its own convention (evict first) and two others.

    together: all that arrives at an instant is joined before anything leaves; operator: one
    tuple after the other, each joined before it is stored.
    """
    from bankfull.oracle.optimum import esja, odja, sja, two

    sides = [np.array(rows, dtype=np.float64).T for rows in EXAMPLE]
    rooms = (4, 4) if cell.system == "exact" else (2, 2)
    problem = two(
        tuple(sides[0]),
        tuple(sides[1]),
        span=3,
        memory=rooms,
        evict_first=cell.place["convention"] == "evict first",
        together=cell.place["convention"] == "together",
    )
    solve = {"exact": esja, "odja": odja, "esja": esja, "largest": sja}[cell.system]
    found = solve(problem)
    return [{"value": found.importance, "results": found.results}]


def _sizes(cell: Cell) -> dict[str, int]:
    """Return rows, window and room; a room of 0 stands for one less than the window."""
    rows, window = int(cell.place["rows"]), int(cell.place["window"])
    return {"rows": rows, "window": window, "room": int(cell.place["room"]) or window - 1}


def _problem(seed: int, rows: int, window: int, room: int) -> Any:
    """Streams of the paper's kind: Zipf 1.0 and 0.0 over 100 values."""
    from bankfull.oracle.optimum import two

    rng = np.random.default_rng([seed, 4])
    times = np.arange(rows, dtype=np.int64)
    left, right = (
        (times, draws(rng, rows, 100, skew), importances(rng, rows)) for skew in (1.0, 0.0)
    )
    return two(left, right, window - 1, (room, room))


def _grown(system: str, schedule: bool, **sizes: int) -> int:
    """Return the growth of this process in KB: its peak less its peak before solving."""
    from bankfull.oracle.optimum import esja, odja

    def solve(given: Any) -> Any:
        return odja(given, schedule=schedule) if system == _ODJA else esja(given)

    solve(_problem(0, 20, 5, 1))  # load what is loaded once
    before = _peak_kb()
    solve(_problem(**sizes))
    return _peak_kb() - before


def _peak_kb() -> int:
    """Return the largest memory this program has had; what ran before it does not count.

    (``getrusage`` would count it: the kernel hands its number on to a program started from it.)
    """
    status = Path("/proc/self/status")
    if not status.exists():
        raise BankfullError(
            "this experiment reads a process's memory from /proc, which this system does not have: "
            "run the others"
        )
    lines = status.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


if __name__ == "__main__":
    print(_grown(**json.loads(sys.argv[1])))  # noqa: T201 - read by memory_use
