"""Kernels under a budget with every array access checked, and how a budget is divided.

Compiled kernels do not look whether an index lies within its array. Here they do, in a process of
its own: the compiler reads NUMBA_BOUNDSCHECK once, and what it compiles so is kept elsewhere.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.assemble import assemble
from bankfull.core import start
from bankfull.core.share import Share
from bankfull.errors import PlanError
from bankfull.kernels.budget import share_out
from bankfull.kernels.memory import CAPACITY
from bankfull.policies import POLICIES

#: What runs checked: every kind of split, in tuples and in bytes, over three streams of a few rows.
_RUN = """
import sys
import pyarrow as pa
import bankfull as bf

def stream(name, keys, sets):
    rows = [i * i % keys for i in range(120)]
    rows = [[k, k + 1, k + 2] for k in rows] if sets else rows
    return bf.stream(pa.table({"k": rows, "t": list(range(120))}), time="t", name=name)

splits = ["unified", "proportional"]
splits += [{"a": 0.9, "b": 0.05, "c": 0.05}, {"a": 0.3, "b": 0.2, "c": 0.1}]
def join(on, memory, keep, split="unified", **streams):
    joined = bf.join(
        *(stream(name, keys, on != "k") for name, keys in streams.items()), within=30,
        on=on, overload=bf.shed(memory, keep=keep, split=split),
    )
    for rows in joined:
        pass
    stored = sum(counts.stored for counts in joined.ledger.streams.values())
    assert memory == "20 KB" or stored <= memory.count, (keep, memory, split)

keep, sets = sys.argv[1:]
for memory in (bf.tuples(3), bf.tuples(10), "20 KB"):
    for split in splits:
        join("k", memory, keep, split, a=7, b=5, c=3)
    if sets == "True":
        join(bf.overlap("k", at_least=2), memory, keep, a=7, b=5)
print("done")
"""


def _run_checked(policy: str, on_sets: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _RUN, policy, str(on_sets)],
        env={**os.environ, "NUMBA_BOUNDSCHECK": "1"},
        capture_output=True,
        text=True,
        timeout=3000,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "done\n"


@pytest.mark.slow
def test_kernels_stay_within_their_arrays() -> None:
    """One policy here, the rest in the soak: compiling is what this takes."""
    _run_checked("fifo", on_sets=False)


@pytest.mark.soak
@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_kernels_of_every_policy_stay_within_their_arrays(policy: str) -> None:
    _run_checked(policy, POLICIES[policy].sets)


@pytest.mark.uncompiled
def test_parts_add_up_to_the_whole() -> None:
    """However small a share is, nobody is left without a tuple and nothing is given twice."""
    draws = np.random.default_rng(7)
    for _ in range(300):
        count, least = int(draws.integers(1, 7)), int(draws.integers(1, 4))
        weights = draws.random(count) ** draws.integers(0, 9)
        whole = count * least + int(draws.integers(0, 10 ** int(draws.integers(1, 12))))
        buffers = np.zeros((count, 3), np.int64)
        share_out(whole, weights, least, buffers)
        parts = buffers[:, CAPACITY]
        assert parts.sum() == whole
        assert parts.min() >= least
        assert (np.diff(parts[np.argsort(weights)]) >= -1).all()  # who weighs more has no less


@pytest.mark.uncompiled
def test_a_budget_below_a_tuple_a_buffer_is_refused() -> None:
    rows = pa.table({"k": [1], "t": [1]})
    streams = [bf.stream(rows, time="t", name=name) for name in "abc"]
    shed = bf.shed(bf.tuples(2), keep="fifo", split={"a": 0.5, "b": 0.25, "c": 0.25})
    with pytest.raises(PlanError, match="smallest is 3 tuples"):
        list(bf.join(*streams, on="k", within=5, overload=shed))


@pytest.mark.parametrize("split", ["proportional", {"a": 0.9, "b": 0.05, "c": 0.05}], ids=str)
def test_a_part_of_a_budget_is_divided_whole(split: Any) -> None:
    """Buckets on Spark have a part each, which follows their load."""
    rows = pa.table({"k": [1], "t": [1]})
    joined = bf.join(
        *(bf.stream(rows, time="t", name=name) for name in "abc"),
        on="k",
        within=5,
        overload=bf.shed(bf.tuples(40), keep="fifo", split=split),
    )
    state = start(assemble(joined.query, dict.fromkeys("abc", rows.schema)))
    assert state.shedding is not None
    for share, whole in ((0.01, 3), (1.0, 40), (0.29, 11), (0.5, 20)):
        state.shedding._resize(Share(share))
        parts = state.shedding.memory.buffers[:, CAPACITY]
        assert parts.sum() == whole
        assert parts.min() >= 1
