"""Equality joins on Spark: ours, the built-in join, and the same rows only moved.

``join60``: wide micro-batches, a short window. ``join600``: narrow micro-batches, a long window,
which the first micro-batch fills. ``shed60``: ours within a quarter of the memory, beside ours
without a budget. ``latency``: a thousand rows a micro-batch. ``window10x``: ours alone, at a window
and at ten times it, with ten times the keys, so that a micro-batch has as many results.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import bankfull as bf
from bankfull.cli.benchmarks.spark_queries import (
    BANKFULL,
    BUILT_IN_MEMORY,
    BUILT_IN_ROCKSDB,
    PASS_THROUGH,
    PLAIN_PASS_THROUGH,
    WARM_UP,
    Bench,
    joins,
    summary,
    take_turns,
)
from bankfull.cli.benchmarks.spark_streams import Shape, write_keys
from bankfull.cli.benchmarks.timing import Result

#: 1,200,000 rows a stream: six micro-batches, of which four are measured.
JOIN60 = Shape(window_s=60, keys=100_000, batch_rows=200_000, batches=6)
_JOIN600 = Shape(window_s=600, keys=100_000, batch_rows=20_000, batches=40, fill_rows=600_000)
_WIDE = replace(_JOIN600, batches=20)
_NARROW = replace(_WIDE, window_s=60, keys=10_000, fill_rows=60_000)
_LATENCY = Shape(window_s=60, keys=10_000, batch_rows=500, batches=40)
_SHEDS = ("fifo", "gain")
_NARROW_NAME, _WIDE_NAME = "bankfull, window x 1", "bankfull, window x 10"


def main(workload: str, quick: bool, repeats: int) -> None:
    """Measure one of the workloads here and print its results."""
    with tempfile.TemporaryDirectory(prefix="bankfull-bench-") as folder:
        print(json.dumps(_MEASURES[workload](Path(folder), quick, repeats)))


def _join60(folder: Path, quick: bool, repeats: int) -> list[Result]:
    shape = JOIN60.tenth(4) if quick else JOIN60
    names = (BANKFULL, BUILT_IN_ROCKSDB, BUILT_IN_MEMORY, PASS_THROUGH, PLAIN_PASS_THROUGH)
    found = measure_joins(Bench(folder, quick), "join60", shape, names, repeats)
    rates = {one["system"]: one["rows_per_s"] for one in found}
    found[0]["ratio_to_built_in_rocksdb"] = _ratio(rates[BANKFULL], rates[BUILT_IN_ROCKSDB])
    found[0]["ratio_to_built_in_memory"] = _ratio(rates[BANKFULL], rates[BUILT_IN_MEMORY])
    found[0]["time_ratio_to_pass_through"] = _ratio(rates[PASS_THROUGH], rates[BANKFULL])
    found[0]["time_ratio_to_plain_pass_through"] = _ratio(
        rates[PLAIN_PASS_THROUGH], rates[BANKFULL]
    )
    return found


def _join600(folder: Path, quick: bool, repeats: int) -> list[Result]:
    shape = _JOIN600.tenth(5) if quick else _JOIN600
    names = (BANKFULL, BUILT_IN_MEMORY, PASS_THROUGH)
    found = measure_joins(Bench(folder, quick), "join600", shape, names, repeats)
    rates = {one["system"]: one["rows_per_s"] for one in found}
    found[0]["ratio_to_built_in_memory"] = _ratio(rates[BANKFULL], rates[BUILT_IN_MEMORY])
    found[0]["time_ratio_to_pass_through"] = _ratio(rates[PASS_THROUGH], rates[BANKFULL])
    return found


def _latency(folder: Path, quick: bool, repeats: int) -> list[Result]:
    """A thousand rows a micro-batch: what a micro-batch costs by itself."""
    shape = replace(_LATENCY, batches=6) if quick else _LATENCY
    names = (BANKFULL, BUILT_IN_ROCKSDB, BUILT_IN_MEMORY, PASS_THROUGH, PLAIN_PASS_THROUGH)
    found = measure_joins(Bench(folder, quick), "latency", shape, names, repeats)
    seconds = {one["system"]: one["median_batch_seconds"] for one in found}
    for name, system in (
        ("built_in_memory", BUILT_IN_MEMORY),
        ("pass_through", PASS_THROUGH),
        ("plain_pass_through", PLAIN_PASS_THROUGH),
    ):
        found[0][f"time_ratio_to_{name}"] = _ratio(seconds[BANKFULL], seconds[system])
    return found


def _shed60(folder: Path, quick: bool, repeats: int) -> list[Result]:
    """A quarter of what the window holds, by the policies that cost least and most."""
    shape = JOIN60.tenth(4) if quick else JOIN60
    write_keys(folder / "data", shape)
    bench = Bench(folder, quick)
    budget = round(2 * shape.window_s * 1_000 / 4)  # a thousand rows a second, two streams
    systems = {BANKFULL: joins(bench, shape)[BANKFULL]}
    for policy in _SHEDS:
        overload = bf.shed(memory=bf.tuples(budget), keep=policy)
        systems[f"{BANKFULL}, {policy}"] = joins(bench, shape, overload=overload)[BANKFULL]
    turns = take_turns(bench, systems, systems, repeats)
    about = {**_about(shape), "budget_tuples": budget}
    found = [summary(name, "shed60", turns[name], _measured(shape), **about) for name in systems]
    for one, policy in zip(found[1:], _SHEDS, strict=True):
        ratio = _ratio(one["median_batch_seconds"], found[0]["median_batch_seconds"])
        one[f"time_ratio_of_{policy}_to_exact"] = ratio
    return found


def _window10x(folder: Path, quick: bool, repeats: int) -> list[Result]:
    shapes = {
        name: shape.tenth(5) if quick else shape
        for name, shape in ((_NARROW_NAME, _NARROW), (_WIDE_NAME, _WIDE))
    }
    expected = {name: write_keys(folder / name, shape) for name, shape in shapes.items()}
    bench = Bench(folder, quick)
    systems = {name: joins(bench, shape, name)[BANKFULL] for name, shape in shapes.items()}
    turns = take_turns(bench, systems, systems, repeats)
    found = [
        _judged(
            summary(name, "window10x", turns[name], _measured(shape), **_about(shape)),
            expected[name],
        )
        for name, shape in shapes.items()
    ]
    found[1]["time_ratio_to_window_x_1"] = _ratio(*(one["rows_per_s"] for one in found))
    return found


_MEASURES = {
    "join60": _join60,
    "join600": _join600,
    "latency": _latency,
    "shed60": _shed60,
    "window10x": _window10x,
}


def measure_joins(
    bench: Bench, workload: str, shape: Shape, names: Sequence[str], repeats: int
) -> list[Result]:
    """Write the streams and run the named systems over them, in turns."""
    expected = write_keys(bench.folder / "data", shape)
    ways = joins(bench, shape)
    systems = {name: ways[name] for name in names}
    turns = take_turns(bench, systems, systems, repeats)
    return [
        _judged(
            summary(name, workload, turns[name], _measured(shape), **_about(shape)),
            sum(shape.sizes) * 2 if name.startswith(PASS_THROUGH) else expected,
        )
        for name in names
    ]


def _measured(shape: Shape) -> slice:
    """Leave out the micro-batch that fills the window, if there is one, and the warm-up."""
    return slice(WARM_UP + bool(shape.fill_rows), None)


def _about(shape: Shape) -> Result:
    return {
        "window_s": shape.window_s,
        "keys": shape.keys,
        "batch_rows": 2 * shape.batch_rows,
        "fill_rows": 2 * shape.fill_rows,
    }


def _judged(one: Result, expected: int) -> Result:
    """Say how many results there should have been; ours may miss none."""
    one["rows_out_expected"] = expected
    one["agrees"] = one["rows_out"] == expected
    if not one["agrees"]:
        if one["system"].startswith(BANKFULL):
            raise AssertionError(f"bankfull wrote {one['rows_out']} rows, {expected} were due")
        one["note"] = f"{expected - one['rows_out']:,} results lost at the watermark"
    return one


def _ratio(above: float, below: float) -> float:
    return round(above / below, 3)
