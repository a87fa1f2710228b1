"""Two cores against one, on the operator's own time.

The workload is a join of sets with four items in common over a long window: the operator works for
longer than Spark takes to move the rows, which is what can be told apart here. Two buckets in both
cases. Each number of cores has a process of its own, Spark with as many task slots (``local[1]``,
``local[2]``), pinned to as many processors with all it starts (Java, Python workers), where the
system can do that: a single task slot alone would still use a second core, since Java and Python
work at the same time. The operator's own time is the median duration of a micro-batch less the
median of the pass-through's in the same process, which moves the same rows through the same source,
shuffle, Python and sink.
"""

from __future__ import annotations

import json
import os
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bankfull.cli.benchmarks.spark_overlap import join_sets, read_sets
from bankfull.cli.benchmarks.spark_queries import (
    BANKFULL,
    PASS_THROUGH,
    WARM_UP,
    Bench,
    pass_through,
    summary,
    take_turns,
)
from bankfull.cli.benchmarks.spark_streams import Shape, write_sets
from bankfull.cli.benchmarks.timing import Result, in_fresh_process, missing

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WORKLOAD = "cores"
_AT_LEAST = 4
_SHAPE = Shape(window_s=60, keys=100, batch_rows=20_000, batches=6, fill_rows=60_000)
_QUICK = Shape(window_s=6, keys=100, batch_rows=2_000, batches=4, fill_rows=6_000)
#: The micro-batch that fills the window, and those that warm up.
_FIRST = 1 + WARM_UP


def measure(quick: bool, repeats: int) -> list[Result]:
    """Run one and two cores in turns and compare what is left without the pass-through."""
    if _processors() < 2:
        return [missing(BANKFULL, WORKLOAD, "this machine lends us only one core")]
    turns: dict[int, list[list[Result]]] = {1: [], 2: []}
    for _ in range(repeats):
        for cores in turns:
            turns[cores].append(in_fresh_process(__name__, cores, quick))
    found = [one for cores, taken in turns.items() for one in _merged(cores, taken)]
    own = [one["own_seconds"] for one in found if one["system"] == BANKFULL]
    batch = [one["median_batch_seconds"] for one in found if one["system"] == BANKFULL]
    found[-2]["batch_time_ratio"] = round(batch[0] / batch[1], 3)
    if min(own) > 0:
        found[-2]["own_time_ratio"] = round(own[0] / own[1], 3)
    else:
        found[-2]["note"] += ", no slower than the pass-through: own time too short to measure"
    return found


def main(cores: int, quick: bool) -> None:
    """Measure ours and the pass-through on so many cores and print the results."""
    pinned = _pin(cores)
    shape = _QUICK if quick else _SHAPE
    with tempfile.TemporaryDirectory(prefix="bankfull-bench-") as folder:
        write_sets(Path(folder) / "data", shape, size_mean=5.0)
        # The same collector in both: with one processor Java would choose another.
        bench = Bench(
            Path(folder), quick, cores, **{"spark.driver.extraJavaOptions": "-XX:+UseG1GC"}
        )
        systems = {
            BANKFULL: lambda: join_sets(bench, shape, "data", _AT_LEAST),
            PASS_THROUGH: lambda: _moved(bench),
        }
        turns = take_turns(bench, systems, systems, 1)
    measured = slice(_FIRST, 1 + shape.batches)
    found = [summary(name, WORKLOAD, turns[name], measured) for name in systems]
    for one in found:
        one["cores"] = cores
        one["note"] = f"local[{cores}], {'' if pinned else 'not '}pinned"
    print(json.dumps(found))


def _moved(bench: Bench) -> DataFrame:
    """Move both streams through Python and back."""
    sides = [read_sets(bench, side, "data") for side in ("left", "right")]
    return pass_through(sides[0].union(sides[1]), "id")


def _merged(cores: int, turns: list[list[Result]]) -> list[Result]:
    """Give the best turn of each system, and the medians over the micro-batches of all turns."""
    found, medians = [], []
    for same in zip(*turns, strict=True):
        seconds = [taken for one in same for taken in one["batch_seconds"][_FIRST:-1]]
        best = dict(max(same, key=lambda one: one["rows_per_s"]))
        medians.append(statistics.median(seconds))
        best["median_batch_seconds"] = round(medians[-1], 3)
        best["repeats"] = len(turns)
        best["all_rows_per_s"] = [one["rows_per_s"] for one in same]
        found.append(best)
    found[0]["own_seconds"] = round(medians[0] - medians[1], 3)
    return found


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _pin(cores: int) -> bool:
    """Keep this process and all it will start on so many processors."""
    if not hasattr(os, "sched_setaffinity"):
        return False
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    return True
