"""Equality of keys within a minute: ours on one thread and on two, DuckDB over tables on two."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import bankfull as bf
from bankfull.cli.benchmarks.timing import Result, missing, result, take_turns

WORKLOAD = "equi"
WINDOW_S = 60
_KEYS = 100_000
_BATCHES = 10
_ONE, _TWO = "bankfull", "bankfull/2 threads"
_THREADS = {_ONE: 1, _TWO: 2}
_SEED = 7
_SQL = f"""
SELECT l.k AS left_k, l.t AS left_t, l.x, r.k AS right_k, r.t AS right_t, r.y,
       greatest(l.t, r.t) AS joined_at
FROM l JOIN r ON l.k = r.k
AND r.t BETWEEN l.t - INTERVAL {WINDOW_S} SECOND AND l.t + INTERVAL {WINDOW_S} SECOND
"""


@dataclass(frozen=True, slots=True)
class Answer:
    """What two systems must agree on."""

    rows: int
    keys: int
    times: int

    @classmethod
    def of(cls, table: pa.Table) -> Answer:
        """Sum up a result."""
        times = pc.cast(table["joined_at"], pa.int64())
        return cls(table.num_rows, pc.sum(table["left_k"]).as_py(), pc.sum(times).as_py())


def streams(quick: bool) -> tuple[pa.Table, pa.Table]:
    """Make two streams of a thousand rows a second."""
    rows = 200_000 if quick else 2_000_000
    random = np.random.default_rng(_SEED)

    def one(payload: str) -> pa.Table:
        times = pa.array(np.arange(rows) * 1_000).cast(pa.timestamp("us"))
        keys = random.integers(0, _KEYS, rows)
        return pa.table({"k": keys, "t": times, payload: random.random(rows)})

    return one("x"), one("y")


def measure(quick: bool, repeats: int) -> list[Result]:
    """Run the systems in turns and check that they agree."""
    left, right = streams(quick)
    rows = left.num_rows + right.num_rows
    ours = {name: _ours(left, right, threads) for name, threads in _THREADS.items()}
    answer = Answer.of(ours[_ONE]())  # also loads the kernels, which ``startup`` measures
    systems: dict[str, Callable[[], pa.Table]] = dict(ours)
    if Answer.of(ours[_TWO]()) != answer:
        raise AssertionError("two threads disagree with one")
    if find_spec("duckdb"):
        systems["duckdb"] = _duckdb(left, right)
        theirs = Answer.of(systems["duckdb"]())
        if theirs != answer:
            raise AssertionError(f"the joins disagree: bankfull {answer}, duckdb {theirs}")
    seconds = take_turns(systems, repeats)
    more = {"rows_out": answer.rows, "window_s": WINDOW_S, "keys": _KEYS}
    found = [
        result(
            name, WORKLOAD, rows, seconds[name],
            threads=_THREADS[name], cores_used=_cores_used(run), **more,
        )
        for name, run in ours.items()
    ]  # fmt: skip
    found[1]["ratio_to_one_thread"] = round(min(seconds[_ONE]) / min(seconds[_TWO]), 3)
    if "duckdb" in systems:
        found.append(
            result("duckdb", WORKLOAD, rows, seconds["duckdb"], threads=2, agrees=True, **more)
        )
        for one in found[:-1]:
            taken = min(seconds[one["system"]])
            one["ratio_to_duckdb"] = round(min(seconds["duckdb"]) / taken, 3)
    else:
        found.append(missing("duckdb", WORKLOAD, "not installed: pip install duckdb"))
    return found


def _ours(left: pa.Table, right: pa.Table, threads: int) -> Callable[[], pa.Table]:
    inputs = [table.to_batches(max_chunksize=table.num_rows // _BATCHES) for table in (left, right)]

    def batches(side: int) -> Iterator[pa.RecordBatch]:
        yield from inputs[side]

    def run() -> pa.Table:
        arrow_threads = pa.cpu_count()
        pa.set_cpu_count(1)
        try:
            joined = bf.join(
                bf.stream(batches(0), time="t", name="left"),
                bf.stream(batches(1), time="t", name="right"),
                on="k",
                within=f"{WINDOW_S} seconds",
                threads=threads,
            )
            return pa.Table.from_batches(list(joined), joined.schema)
        finally:
            pa.set_cpu_count(arrow_threads)

    return run


def _duckdb(left: pa.Table, right: pa.Table) -> Callable[[], pa.Table]:
    import duckdb

    connection = duckdb.connect(config={"threads": 2})
    for name, table in (("l", left), ("r", right)):
        # Its own tables: faster for it than scanning Arrow's.
        connection.register("arrow", table)
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow")
        connection.unregister("arrow")

    return lambda: connection.sql(_SQL).to_arrow_table()


def _cores_used(run: Callable[[], pa.Table]) -> float:
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return round((time.process_time() - cpu) / (time.perf_counter() - wall), 2)
