"""Compile what many tests need, once and on all cores, before they run side by side.

Beside it, Java's classes are archived: most of the start of a small Spark query is their loading.
Otherwise every worker would compile it for itself. ``bankfull warm`` compiles everything, which
takes longer.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bankfull.policies import POLICIES
from bankfull.runtime.spark.java_classes import write_archive
from bankfull.warm import Kernels, compile_ahead

#: Those that are also tested, compiled, on sets; the others only with the compiler off.
ON_SETS = ("fifo", "gain", "prob")


UNCOMPILED = os.environ.get("NUMBA_DISABLE_JIT") == "1"
#: For what other tests do as well where the compiler is on.
only_uncompiled = pytest.mark.skipif(not UNCOMPILED, reason="compiled, another test does the same")


def fewer(seeds: Sequence[int], part: int = 6) -> Sequence[int]:
    """Return the seeds, and with the compiler off a part of them: plain loops take far longer."""
    if not UNCOMPILED:
        return seeds
    return seeds[: max(1, len(seeds) // part)]


def short(names: Iterable[str]) -> list[Any]:
    """Return parameters for tests with sets, which run with the compiler off for all policies.

    Compiled, which takes up to ten seconds each, only some do, unless there is time.
    """
    return [
        name if name in ON_SETS else pytest.param(name, marks=pytest.mark.soak) for name in names
    ]


def prepare() -> None:
    """Compile, and write the archive of Java's classes as soon as its small query need not.

    Tests start Java some twenty times; with the archive a first query takes 14 seconds, not 19.
    """
    os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    exact = [Kernels(on, compares=some) for on in ("keys", "sets") for some in (False, True)]
    on_sets = [Kernels("sets", one) for one in ON_SETS]
    with ThreadPoolExecutor(1) as beside:
        written: list[Future[Path]] = []

        def ready(done: Kernels, seconds: float) -> None:
            if done == Kernels("keys"):
                written.append(beside.submit(write_archive))

        on_keys = [Kernels("keys", name) for name in sorted(POLICIES)]
        wanted = [*exact, *on_sets, Kernels("keys", "fifo", compares=True), *on_keys]
        compile_ahead(wanted, ready)
        for one in written:
            one.result()


if __name__ == "__main__":
    prepare()
