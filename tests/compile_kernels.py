"""Compile what many tests need, once and on all cores, before they run side by side.

Otherwise every worker would compile it for itself. ``bankfull warm`` compiles everything, which
takes longer.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from bankfull.policies import POLICIES
from bankfull.warm import Kernels, compile_ahead

#: Those that are also tested, compiled, on sets; the others only with the compiler off.
ON_SETS = ("fifo", "gain", "prob")


def fewer(seeds: Sequence[int]) -> Sequence[int]:
    """Return the seeds, and with the compiler off a sixth of them: plain loops take far longer."""
    if os.environ.get("NUMBA_DISABLE_JIT") != "1":
        return seeds
    return seeds[: max(1, len(seeds) // 6)]


def short(names: Iterable[str]) -> list[Any]:
    """Return parameters for tests with sets, which run with the compiler off for all policies.

    Compiled, which takes half a minute each, only some do, unless there is time.
    """
    return [
        name if name in ON_SETS else pytest.param(name, marks=pytest.mark.soak) for name in names
    ]


if __name__ == "__main__":
    exact = [Kernels(on, compares=some) for on in ("keys", "sets") for some in (False, True)]
    on_sets = [Kernels("sets", name) for name in ON_SETS]
    compile_ahead([*exact, *on_sets, *(Kernels("keys", name) for name in sorted(POLICIES))])
