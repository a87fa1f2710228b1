"""The Spark runtime beside Spark's own join, each workload in a process (and JVM) of its own."""

from __future__ import annotations

from bankfull.cli.benchmarks import spark_cores
from bankfull.cli.benchmarks.timing import Result, in_fresh_process


def measure(workload: str, quick: bool, repeats: int) -> list[Result]:
    """Measure one workload: all its systems, in turns."""
    if workload == "cores":
        return spark_cores.measure(quick, repeats)
    if workload == "overlap":
        found: list[Result] = in_fresh_process(f"{__name__}_overlap", quick, repeats)
    else:
        found = in_fresh_process(f"{__name__}_joins", workload, quick, repeats)
    return found
