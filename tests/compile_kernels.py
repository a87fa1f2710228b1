"""Compile what many tests need, once and on all cores, before they run side by side.

``python tests/compile_kernels.py`` runs one tiny join for every policy; the kernels are then found
on disk. Otherwise every worker would compile them for itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.policies import POLICIES

#: Those that are also tested, compiled, on sets; the others only with the compiler off.
ON_SETS = ("fifo", "gain", "prob")


def short(names: Iterable[str]) -> list[Any]:
    """Return parameters for tests with sets, which run with the compiler off for all policies.

    Compiled, which takes half a minute each, only some do, unless there is time.
    """
    return [
        name if name in ON_SETS else pytest.param(name, marks=pytest.mark.soak) for name in names
    ]


def compile_for(policy: str, on_sets: bool) -> None:
    """Join two rows under a budget."""
    keys = pa.array([[1, 2]] * 2) if on_sets else pa.array([1, 1])
    table = pa.table({"t": [1, 2], "k": keys})
    joined = bf.join(
        *(bf.stream(table, time="t", name=name) for name in "ab"),
        on=bf.overlap("k", at_least=2) if on_sets else "k",
        within=5,
        overload=bf.shed(memory=bf.tuples(3), keep=policy),
    )
    assert joined.read_all().num_rows > 0


def main() -> None:
    """Compile in as many processes as there are cores, what takes long first."""
    wanted = [(name, True) for name in ON_SETS] + [(name, False) for name in sorted(POLICIES)]
    wanted.sort(key=lambda one: (one[0] != "gain", not one[1]))
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        for done in [pool.submit(compile_for, *one) for one in wanted]:
            done.result()


if __name__ == "__main__":
    main()
