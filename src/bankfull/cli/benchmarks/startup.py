"""From nothing to the first joined row in a fresh process, kernels compiled before."""

from __future__ import annotations

import subprocess
import sys

from bankfull.cli.benchmarks.timing import Result, result, take_turns

WORKLOAD = "startup"
_TINY = """
import pyarrow as pa
import bankfull as bf
left = bf.stream(pa.table({"k": [1, 2], "t": [1, 2], "x": [0.5, 1.5]}), time="t")
right = bf.stream(pa.table({"k": [2, 3], "t": [2, 3], "y": [2.5, 3.5]}), time="t")
assert bf.join(left, right, on="k", within=10).read_all().num_rows == 1
"""


def measure(quick: bool, repeats: int) -> list[Result]:
    """Time the whole process, and beside it one that only starts Python."""
    _start(_TINY)  # compiles what is not compiled yet
    systems = {"bankfull": lambda: _start(_TINY), "python": lambda: _start("pass")}
    seconds = take_turns(systems, 1 if quick else max(repeats, 3))
    found = [result(name, WORKLOAD, 4, taken) for name, taken in seconds.items()]
    for one in found:
        one["rows_per_s"] = None  # four rows say nothing about a rate
    return found


def _start(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True)
