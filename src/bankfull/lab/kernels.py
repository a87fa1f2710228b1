"""Every policy's kernel once before the grid, so that no two workers compile the same one.

A kernel is compiled on first use, which takes seconds, and is then found on disk by every process.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bankfull.lab.experiment import Cell, Experiment
from bankfull.lab.simulate import simulate
from bankfull.lab.systems import CHOSEN, FITTED, variants
from bankfull.lab.traces import JoinOn, Trace, Workload

#: Stands for an experiment in the cells that only load kernels.
KERNELS = "kernels"


def kernel_cells(experiments: Sequence[Experiment]) -> list[Cell]:
    """Return a cell for every policy that the experiments need."""
    from bankfull.policies import POLICIES

    named = {name for one in experiments for name in (*one.systems, *one.policies)}
    needed = {
        "gdj" if name in (CHOSEN, FITTED) else variants(name, _tiny())[0][0]
        for name in (one.rpartition(" ")[2] for one in named)
    }
    known = [name for name in sorted(needed) if name in POLICIES or ":" in name]
    return [Cell(KERNELS, policy, 0, {}) for policy in known]


def load(policy: str) -> None:
    """Compile a policy's kernel, or find it on disk, by a very small join."""
    made = _tiny()
    simulate(made.streams, made.joins, [1, 1], policy, {})


def _tiny() -> Workload:
    times = np.arange(4, dtype=np.int64)
    streams = tuple(Trace(name, times, {"k": times % 2}, np.ones(4)) for name in "ab")
    return Workload("tiny", streams, (JoinOn((0, 1), "k", 3),))
