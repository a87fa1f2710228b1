"""The grids of the experiments, one task a cell: on Spark, or in processes of this machine.

What travels is text: a cell as JSON in, its points as JSON out. Both engines give the points in
the order of the cells, so everything but the measured seconds is the same on either. A grid is
handed over before the one ahead of it is done, so that no processor waits for the last cell.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from bankfull.lab.experiment import Cell, Record

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

    from pyspark.sql import SparkSession

#: Told how many cells are done.
Progress = Callable[[int], None]
#: Waits for a grid and returns the points of every cell.
Pending = Callable[[Progress], list[list[Record]]]
_POLL_S = 0.2


class Engine(Protocol):
    """Where cells are run, grid after grid in the order in which they are handed over."""

    def submit(self, cells: Sequence[Cell]) -> Pending:
        """Take over a grid."""

    def close(self) -> None:
        """Give up what is not done."""


def run_cell(text: str) -> str:
    """Measure one cell, or load a kernel."""
    from bankfull.lab.kernels import KERNELS, load
    from bankfull.lab.registry import find

    cell = Cell.loads(text)
    if cell.experiment == KERNELS:
        load(cell.system)
        return "[]"
    return json.dumps(find(cell.experiment).records(cell), allow_nan=False)


class LocalEngine:
    """Processes of this machine; with one, this process itself."""

    def __init__(self, processes: int | None = None) -> None:
        self.processes = processes or os.cpu_count() or 1
        self._pool: ProcessPoolExecutor | None = None
        self._left = 0

    def submit(self, cells: Sequence[Cell]) -> Pending:
        """Take over a grid."""
        texts = [cell.dumps() for cell in cells]
        return self._spread(texts) if self.processes > 1 else self._run_here(texts)

    def close(self) -> None:
        """Give up what is not done.

        A pool that has nothing left is waited for: otherwise Python complains as it ends.
        """
        if self._pool is not None:
            self._pool.shutdown(wait=self._left == 0, cancel_futures=True)

    def _run_here(self, texts: Sequence[str]) -> Pending:
        def wait(progress: Progress) -> list[list[Record]]:
            found = []
            for done, text in enumerate(texts, 1):
                found.append(json.loads(run_cell(text)))
                progress(done)
            return found

        return wait

    def _spread(self, texts: Sequence[str]) -> Pending:
        from concurrent.futures import ProcessPoolExecutor, as_completed
        from multiprocessing import get_context

        if self._pool is None:
            self._pool = ProcessPoolExecutor(self.processes, mp_context=get_context("spawn"))
        futures = [self._pool.submit(run_cell, text) for text in texts]
        self._left += len(futures)

        def wait(progress: Progress) -> list[list[Record]]:
            for done, future in enumerate(as_completed(futures), 1):
                future.result()
                self._left -= 1
                progress(done)
            return [json.loads(future.result()) for future in futures]

        return wait


class SparkEngine:
    """A Spark job for every grid, a task for every cell; jobs are served in their order."""

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext
        self._grids = 0

    def submit(self, cells: Sequence[Cell]) -> Pending:
        """Take over a grid."""
        self._grids += 1
        group, texts = f"bankfull-lab-{self._grids}", [cell.dumps() for cell in cells]
        found: list[str] = []
        failed: list[BaseException] = []

        def work() -> None:
            try:
                self._context.setJobGroup(group, cells[0].experiment, interruptOnCancel=True)
                found.extend(self._context.parallelize(texts, len(texts)).map(run_cell).collect())
            except BaseException as error:
                failed.append(error)

        from pyspark import InheritableThread

        worker: Any = InheritableThread(target=work, daemon=True)
        worker.start()

        def wait(progress: Progress) -> list[list[Record]]:
            self._watch(worker, group, progress)
            if failed:
                raise failed[0]
            progress(len(texts))
            return [json.loads(text) for text in found]

        return wait

    def close(self) -> None:
        """Give up what is not done."""
        self._context.cancelAllJobs()

    def _watch(self, worker: threading.Thread, group: str, progress: Progress) -> None:
        tracker = self._context.statusTracker()
        while worker.is_alive():
            worker.join(_POLL_S)
            for job in tracker.getJobIdsForGroup(group):
                about = tracker.getJobInfo(job)
                stages = [tracker.getStageInfo(stage) for stage in about.stageIds] if about else []
                done = sum(stage.numCompletedTasks for stage in stages if stage is not None)
                progress(done)
