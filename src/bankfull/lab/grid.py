"""The grid of an experiment, one task a cell: on Spark, or in processes of this machine.

What travels is text: a cell as JSON in, its points as JSON out. Both engines give the points in
the order of the cells, so everything but the measured seconds is the same on either.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from bankfull.lab.experiment import Cell, Record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Told how many cells are done.
Progress = Callable[[int], None]
_POLL_S = 0.2


class Engine(Protocol):
    """Where cells are run."""

    def run(self, cells: Sequence[Cell], progress: Progress) -> list[list[Record]]:
        """Return the points of every cell."""


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

    def run(self, cells: Sequence[Cell], progress: Progress) -> list[list[Record]]:
        """Return the points of every cell."""
        texts = [cell.dumps() for cell in cells]
        found: list[str] = []
        if self.processes == 1:
            for text in texts:
                found.append(run_cell(text))
                progress(len(found))
        else:
            found = self._spread(texts, progress)
        return [json.loads(text) for text in found]

    def _spread(self, texts: Sequence[str], progress: Progress) -> list[str]:
        from concurrent.futures import ProcessPoolExecutor, as_completed
        from multiprocessing import get_context

        with ProcessPoolExecutor(self.processes, mp_context=get_context("spawn")) as pool:
            futures = [pool.submit(run_cell, text) for text in texts]
            try:
                for done, future in enumerate(as_completed(futures), 1):
                    future.result()
                    progress(done)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            return [future.result() for future in futures]


class SparkEngine:
    """A Spark job for every experiment, a task for every cell."""

    _GROUP = "bankfull-lab"

    def __init__(self, spark: SparkSession) -> None:
        self._context = spark.sparkContext

    def run(self, cells: Sequence[Cell], progress: Progress) -> list[list[Record]]:
        """Return the points of every cell."""
        found: list[str] = []
        failed: list[BaseException] = []

        def work() -> None:
            try:
                self._context.setJobGroup(self._GROUP, cells[0].experiment, interruptOnCancel=True)
                texts = [cell.dumps() for cell in cells]
                found.extend(self._context.parallelize(texts, len(texts)).map(run_cell).collect())
            except BaseException as error:
                failed.append(error)

        from pyspark import InheritableThread

        worker: Any = InheritableThread(target=work)
        worker.start()
        try:
            self._watch(worker, progress)
        except BaseException:
            self._context.cancelJobGroup(self._GROUP)
            raise
        if failed:
            raise failed[0]
        progress(len(cells))
        return [json.loads(text) for text in found]

    def _watch(self, worker: threading.Thread, progress: Progress) -> None:
        tracker = self._context.statusTracker()
        while worker.is_alive():
            worker.join(_POLL_S)
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info is not None:
                    progress(info.numCompletedTasks)
