"""What the project promises, held against what was just measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from bankfull.cli.benchmarks.timing import Result


class _Target(NamedTuple):
    text: str
    where: Mapping[str, object]
    field: str
    at_least: float | None = None
    at_most: float | None = None


_EQUI = {"workload": "equi", "system": "bankfull"}
_THREADS = {"workload": "equi", "system": "bankfull/2 threads"}
_INVERTED = {"workload": "overlap", "system": "bankfull/inverted"}
_LONG = {"workload": "length", "system": "bankfull", "length": 10}
_START = {"workload": "startup", "system": "bankfull"}
_TABLE1 = {"workload": "shed", "shape": "table1"}
_TARGETS = (
    _Target("equi: rate over DuckDB's, at least 1", _EQUI, "ratio_to_duckdb", 1.0),
    _Target(
        "equi: rate of two threads over that of one, at least 1.7",
        _THREADS,
        "ratio_to_one_thread",
        1.7,
    ),
    *(
        _Target(
            f"streams: rate of {count} streams over that of two, at least 0.5",
            {"workload": "streams", "streams": count},
            "ratio_to_two_streams",
            0.5,
        )
        for count in (3, 4, 5)
    ),
    _Target(
        "overlap, uniform items: inverted index over scan, at least 10",
        {**_INVERTED, "items": "uniform"},
        "ratio_to_scan",
        10.0,
    ),
    _Target(
        "overlap, skewed items: inverted index over scan, at least 10",
        {**_INVERTED, "items": "zipf 0.6"},
        "ratio_to_scan",
        10.0,
    ),
    _Target(
        "length: cost a tuple at 10 x the stream, at most 1.3",
        _LONG,
        "ratio_ns_per_tuple",
        at_most=1.3,
    ),
    _Target(
        "length: memory growth at 10 x the stream, at most 1.2",
        _LONG,
        "rss_growth_ratio",
        at_most=1.2,
    ),
    _Target(
        "length: stored bytes a tuple beyond its payload, at most 96",
        _LONG,
        "overhead_bytes_per_tuple",
        at_most=96,
    ),
    _Target("startup: seconds, at most 2", _START, "seconds", at_most=2.0),
    _Target("shed, Table 1: seconds of any policy, at most 1", _TABLE1, "seconds", at_most=1.0),
    *(
        _Target(
            f"shed, a tenth of the window: cost of {name} over fifo, at most 2",
            {"workload": "shed", "shape": "tenth", "system": f"bankfull/{name}"},
            "ratio_to_fifo",
            at_most=2.0,
        )
        for name in ("gdj", "dgl")
    ),
)


def targets(results: list[Result]) -> list[Result]:
    """Judge every promise that these results speak of.

    >>> targets([{"workload": "startup", "system": "bankfull", "seconds": 0.8}])
    [{'text': 'startup: seconds, at most 2', 'measured': 0.8, 'met': True}]
    """
    judged = []
    for text, where, field, at_least, at_most in _TARGETS:
        for one in results:
            measured = one.get(field)
            if measured is None or any(one.get(key) != value for key, value in where.items()):
                continue
            enough = at_least is None or measured >= at_least
            little = at_most is None or measured <= at_most
            judged.append({"text": text, "measured": measured, "met": enough and little})
    return judged
