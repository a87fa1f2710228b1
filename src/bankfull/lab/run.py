"""Run experiments: the grid on an engine, the verdicts, and what is left behind."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from bankfull.lab import store
from bankfull.lab.experiment import Experiment, Record
from bankfull.lab.figures import require
from bankfull.lab.grid import Engine, Pending
from bankfull.lab.kernels import kernel_cells

#: Told what is being done and how much of it is done, from 0 to 1.
Tell = Callable[[str, float], None]
#: Grids that an engine has at once: enough to be busy while the small ones are judged and drawn.
_AHEAD = 4


@dataclass(frozen=True)
class Report:
    """An experiment that was run."""

    experiment: Experiment
    records: list[Record]
    claims: list[dict[str, Any]]
    files: dict[str, str]
    cells: int
    seconds: float

    def describe(self) -> dict[str, Any]:
        """Return what is worth telling beside points and claims."""
        return {
            "experiment": self.experiment.key,
            "title": self.experiment.title,
            "paper": self.experiment.paper,
            "varied": self.experiment.varied,
            "cells": self.cells,
            "seconds": round(self.seconds, 3),
            "notes": list(self.experiment.notes),
            "files": self.files,
        }


def run(
    experiments: Sequence[Experiment],
    engine: Engine,
    folder: Path,
    *,
    quick: bool = False,
    seeds: Sequence[int] | None = None,
    tell: Tell = lambda told, part: None,
) -> Iterator[Report]:
    """Run experiments one after the other, each as one grid, and yield what came out.

    The grids that follow are under way meanwhile, so the seconds of an experiment are those since
    the one ahead of it was done.
    """
    require()
    store.prepare(folder)
    if kernels := kernel_cells(experiments):
        loaded = engine.submit(kernels)
        loaded(lambda done: tell(f"kernels: {done} of {len(kernels)} loaded", 0.0))
    grids = [experiment.cells(quick, seeds) for experiment in experiments]
    cells_all, cells_before = sum(map(len, grids)), 0
    ahead: deque[Pending] = deque(map(engine.submit, grids[:_AHEAD]))
    for experiment, cells, following in zip_longest(experiments, grids, grids[_AHEAD:]):
        began = time.perf_counter()

        def progress(
            done: int, key: str = experiment.key, many: int = len(cells), before: int = cells_before
        ) -> None:
            tell(f"{key}: {done} of {many} cells", (before + done) / cells_all)

        found = [record for points in ahead.popleft()(progress) for record in points]
        if following is not None:
            ahead.append(engine.submit(following))
        claims = experiment.judge(found, quick)
        files = store.save(folder, experiment, found, claims, quick)
        cells_before += len(cells)
        yield Report(experiment, found, claims, files, len(cells), time.perf_counter() - began)
