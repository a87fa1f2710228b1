"""Run experiments: the grid on an engine, the verdicts, and what is left behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bankfull.lab import store
from bankfull.lab.experiment import Experiment, Record
from bankfull.lab.figures import require
from bankfull.lab.grid import Engine
from bankfull.lab.kernels import kernel_cells

#: Told what is being done and how much of it is done, from 0 to 1.
Tell = Callable[[str, float], None]


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
    """Run experiments one after the other, each as one grid, and yield what came out."""
    require()
    store.prepare(folder)
    if kernels := kernel_cells(experiments):
        engine.run(kernels, lambda done: tell(f"kernels: {done} of {len(kernels)} loaded", 0.0))
    for number, experiment in enumerate(experiments):
        cells = experiment.cells(quick, seeds)
        began = time.perf_counter()

        def progress(
            done: int, key: str = experiment.key, many: int = len(cells), before: int = number
        ) -> None:
            tell(f"{key}: {done} of {many} cells", (before + done / many) / len(experiments))

        found = [record for points in engine.run(cells, progress) for record in points]
        claims = experiment.judge(found)
        files = store.save(folder, experiment, found, claims)
        seconds = time.perf_counter() - began
        yield Report(experiment, found, claims, files, len(cells), seconds)
