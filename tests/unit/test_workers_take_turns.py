"""Family: differential. An operator that two workers take turns with against one that stays.

Spark gives a bucket's micro-batch to any worker. One that comes back finds its operator as it left
it and takes in what it missed, rows that came and expired meanwhile among them.
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bankfull.core import Batch, step
from bankfull.runtime.spark.durable import Durable
from bankfull.runtime.spark.layout import Layout
from bankfull.runtime.spark.live import Live
from bankfull.spec import Equal, Join, Query, Stream, Ticks

_SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.int64())])


class Store(dict[Any, Any]):
    """Spark's map of a state variable."""

    getValue = dict.get  # noqa: N815 - Spark's names
    updateValue = dict.__setitem__  # noqa: N815
    removeKey = dict.__delitem__  # noqa: N815

    def exists(self) -> bool:
        return bool(self)


def _layout() -> Layout:
    streams = (Stream("a", "t"), Stream("b", "t"))
    join = Join("j", ("a", "b"), Equal((("k",),)), (Ticks(5), Ticks(0)))
    return Layout(Query(streams, (join,)), {"a": _SCHEMA, "b": _SCHEMA}, (0,))


def _run(batches: list[Batch], workers: list[int]) -> list[Any]:
    """Step through all batches, each by the worker named; return the rows of each."""
    layout, store = _layout(), Store()
    plan, durable = layout.plan(), Durable(store, layout)
    kept: dict[int, Live] = {}
    found = []
    for batch, worker in zip(batches, workers, strict=True):
        header, live = durable.header(), kept.pop(worker, None)
        if header is None:
            live = Live.fresh(plan)
        elif live is None or (
            live.history[-1] != header["history"][-1] and not durable.catch_up(live, header)
        ):
            live = durable.rebuild(plan, header)
        outcome = step(live.state, copy.copy(batch))
        found.append(
            sorted(tuple(row.values()) for out in outcome.output for row in out.to_pylist())
        )
        durable.commit(live)
        kept[worker] = live
    return found


@pytest.mark.parametrize("seed", range(8))
def test_differential_workers_take_turns(seed: int) -> None:
    dice = np.random.default_rng(seed)
    batches, now = [], 0
    for _ in range(30):
        now += int(dice.integers(0, 12))
        rows = {}
        for name in ("a", "b"):
            times = now + np.sort(dice.integers(0, 30, dice.integers(0, 12)))
            keys = dice.integers(0, 3, len(times))
            rows[name] = pa.RecordBatch.from_arrays(
                [pa.array(times, pa.int64()), pa.array(keys, pa.int64())], schema=_SCHEMA
            )
        now += 30
        batches.append(Batch(rows))
    turns = [int(worker) for worker in dice.integers(0, 3, len(batches))]
    expected = _run(batches, [0] * len(batches))
    assert sum(map(len, expected)) > 0
    assert _run(batches, turns) == expected
