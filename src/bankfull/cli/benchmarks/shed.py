"""Memory shedding: what every policy costs a tuple.

*table1* is the workload of the importance paper's Table 1: 2 x 56,000 tuples, a window of 2,000,
800 of them in memory, 2,000 keys, one stream skewed. *tenth* is a tenth of the window in memory, by
which policies are compared with ``fifo``; *large* the same streams with ten times the window and
the memory, by which the cost of a larger buffer shows, at as many partners a tuple (ten times the
keys). Kernels are warm.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import bankfull as bf
from bankfull.cli.benchmarks.timing import Result, result, take_turns

WORKLOAD = "shed"
_SEED = 23
#: name: tuples a stream, window, tuples in memory, keys
_SHAPES = {
    "table1": (56_000, 2_000, 800, 2_000),
    "tenth": (100_000, 2_000, 400, 2_000),
    "large": (100_000, 20_000, 4_000, 20_000),
}
#: Where it is to be quick: the least, a heap that changes with every result, and the default.
_QUICK = ("fifo", "gdj", "gain")


def measure(quick: bool, repeats: int) -> list[Result]:
    """Run every policy over every shape, in turns; a few of them where it is to be quick."""
    from bankfull.policies import POLICIES

    names = _QUICK if quick else tuple(sorted(POLICIES))
    found = []
    for shape, (rows, window, budget, keys) in _SHAPES.items():
        rows = rows // 10 if quick else rows
        sides = _streams(rows, keys)
        runs = {name: partial(_run, sides, window, budget, name) for name in names}
        for run in runs.values():
            run()
        seconds = take_turns(runs, repeats)
        about = {"shape": shape, "window": window, "budget_tuples": budget}
        for name in names:
            one = result(f"bankfull/{name}", WORKLOAD, 2 * rows, seconds[name], **about)
            one["us_per_tuple"] = round(1e6 * one["seconds"] / (2 * rows), 3)
            one["ratio_to_fifo"] = round(min(seconds[name]) / min(seconds["fifo"]), 3)
            one["note"] = shape
            found.append(one)
    small = {one["system"]: one["seconds"] for one in found if one["shape"] == "tenth"}
    for one in found:
        if one["shape"] == "large":
            one["ratio_to_tenth"] = round(one["seconds"] / small[one["system"]], 3)
    return found


def _streams(rows: int, keys: int) -> list[pa.Table]:
    random = np.random.default_rng(_SEED)
    sides = []
    for skew in (1.0, 0.0):
        chance = 1.0 / np.arange(1, keys + 1) ** skew
        drawn = random.choice(keys, rows, p=chance / chance.sum())
        worth = np.where(random.random(rows) < 0.05, 100, random.integers(1, 11, rows))
        sides.append(pa.table({"t": np.arange(rows), "k": drawn, "v": worth.astype(float)}))
    return sides


def _run(sides: list[pa.Table], window: int, budget: int, policy: str) -> Any:
    streams = [
        bf.stream(table, time="t", name=name, importance="v")
        for name, table in zip("ab", sides, strict=True)
    ]
    overload = bf.shed(memory=bf.tuples(budget), keep=policy, split={"a": 0.5, "b": 0.5})
    return bf.join(*streams, on="k", within=window - 1, overload=overload).read_all()
