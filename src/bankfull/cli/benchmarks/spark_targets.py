"""What the project promises on Spark, held against what was just measured."""

from __future__ import annotations

from typing import NamedTuple

from bankfull.cli.benchmarks.timing import Result


class _Target(NamedTuple):
    workload: str
    field: str
    text: str
    at_least: float = 0.0
    at_most: float = float("inf")


_TARGETS = (
    _Target(
        "join60",
        "ratio_to_built_in_rocksdb",
        "join60: rate over the built-in join's with RocksDB, at least 6",
        at_least=6.0,
    ),
    _Target(
        "join60",
        "ratio_to_built_in_memory",
        "join60: rate over the built-in join's in memory, at least 2",
        at_least=2.0,
    ),
    _Target(
        "join60",
        "time_ratio_to_pass_through",
        "join60: time over the pass-through's, at most 1.35",
        at_most=1.35,
    ),
    _Target(
        "join600",
        "ratio_to_built_in_memory",
        "join600: rate over the built-in join's in memory, at least 2.5",
        at_least=2.5,
    ),
    _Target(
        "shed60",
        "time_ratio_of_fifo_to_exact",
        "shed60: micro-batch time of fifo over the exact join's, at most 1.2",
        at_most=1.2,
    ),
    _Target(
        "shed60",
        "time_ratio_of_gain_to_exact",
        "shed60: micro-batch time of gain over the exact join's, at most 1.5",
        at_most=1.5,
    ),
    _Target(
        "window10x",
        "time_ratio_to_window_x_1",
        "window10x: micro-batch time at 10 x the window, equal output, at most 1.3",
        at_most=1.3,
    ),
    _Target(
        "cores",
        "own_time_ratio",
        "cores: the operator's own time on one core over two, at least 1.6",
        at_least=1.6,
    ),
    _Target(
        "overlap",
        "ratio_to_explode",
        "overlap: rate over explode, join and count, at least 5",
        at_least=5.0,
    ),
)


def targets(results: list[Result]) -> list[Result]:
    """Judge every promise that these results speak of.

    >>> targets([{"workload": "join600", "ratio_to_built_in_memory": 2.5}])[0]["met"]
    True
    """
    return [
        {
            "text": target.text,
            "measured": one[target.field],
            "met": target.at_least <= one[target.field] <= target.at_most,
        }
        for target in _TARGETS
        for one in results
        if one["workload"] == target.workload and target.field in one
    ]
