"""Sets with three items in common, streaming: ours, and what can be written for Spark today.

That is: explode both streams, join them on the item within the window (Spark's own stream-stream
join), count by pair, keep the counts of three and more. Spark runs this as one streaming query in
append mode if only one event time is grouped by; it holds a pair back until the watermark has
passed it. Its state is in memory, the faster of the two for it. A last micro-batch of one row a
stream makes it release what it holds; that one is not measured.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import bankfull as bf
from bankfull.cli.benchmarks.spark_queries import (
    BANKFULL,
    BUILT_IN_MEMORY,
    WARM_UP,
    Bench,
    Frame,
    summary,
    take_turns,
)
from bankfull.cli.benchmarks.spark_streams import Shape, write_sets
from bankfull.cli.benchmarks.timing import Result

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WORKLOAD = "overlap"
_AT_LEAST = 3
_SIZE_MEAN = 5.0
_SHAPE = Shape(window_s=2, keys=100, batch_rows=4_000, batches=6)
_QUICK = Shape(window_s=0.2, keys=100, batch_rows=400, batches=4)


def main(quick: bool, repeats: int) -> None:
    """Measure both systems and print the results."""
    shape = _QUICK if quick else _SHAPE
    with tempfile.TemporaryDirectory(prefix="bankfull-bench-") as name:
        folder = Path(name)
        write_sets(folder / "data", shape, _SIZE_MEAN)
        warm_up = replace(shape, batches=3)
        write_sets(folder / "warm-up", warm_up, _SIZE_MEAN)
        bench = Bench(folder, quick)
        systems = _systems(bench, shape, "data")
        turns = take_turns(bench, systems, _systems(bench, warm_up, "warm-up"), repeats)
    more = {
        "window_s": shape.window_s,
        "items_total": shape.keys,
        "batch_rows": 2 * shape.batch_rows,
    }
    measured = slice(WARM_UP, shape.batches)
    found = [summary(name, WORKLOAD, turns[name], measured, **more) for name in systems]
    print(json.dumps(_compared(found)))


def _compared(found: list[Result]) -> list[Result]:
    ours, theirs = found
    theirs["agrees"] = theirs["rows_out"] == ours["rows_out"]
    theirs["note"] = "explode, join on the item, count by pair"
    if not theirs["agrees"]:
        theirs["note"] += f"; {theirs['rows_out']:,} results against {ours['rows_out']:,}"
    ours["ratio_to_explode"] = round(ours["rows_per_s"] / theirs["rows_per_s"], 3)
    return found


def read_sets(bench: Bench, side: str, data: str) -> DataFrame:
    """Read one stream of sets."""
    return bench.stream(side, "id long, t timestamp, tags array<long>", data)


def join_sets(bench: Bench, shape: Shape, data: str, at_least: int) -> DataFrame:
    """Join two streams of sets with bankfull."""
    sides = [
        bf.stream(read_sets(bench, name, data), time="t", name=name) for name in ("left", "right")
    ]
    window = f"{round(shape.window_s * 1_000)} milliseconds"
    joined: DataFrame = bf.join(*sides, on=bf.overlap("tags", at_least=at_least), within=window)
    return joined


def _systems(bench: Bench, shape: Shape, data: str) -> dict[str, Frame]:
    window = f"{round(shape.window_s * 1_000)} milliseconds"

    def side(name: str) -> DataFrame:
        return read_sets(bench, name, data)

    def ours() -> DataFrame:
        return join_sets(bench, shape, data, _AT_LEAST)

    def exploded() -> DataFrame:
        from pyspark.sql import functions as f

        items = [
            side(name)
            .selectExpr("id", "t", "explode(tags) AS item")
            .withWatermark("t", "0 seconds")
            for name in ("left", "right")
        ]
        within = f"r.t BETWEEN l.t - INTERVAL {window} AND l.t + INTERVAL {window}"
        same = f.expr(f"l.item = r.item AND {within}")
        pairs = items[0].alias("l").join(items[1].alias("r"), same).groupBy("l.id", "l.t", "r.id")
        counted = pairs.agg(f.max("r.t").alias("right_t"), f.count("*").alias("common"))
        named = counted.toDF("left_id", "left_t", "right_id", "right_t", "common")
        return named.where(f"common >= {_AT_LEAST}")

    return {BANKFULL: ours, BUILT_IN_MEMORY: exploded}
