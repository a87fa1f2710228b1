"""What an operator is made of: stages, which a step runs through one after the other.

A capability is a stage of its own, or an optional part of one; ``step`` knows none by name. Rows go
from stage to stage in :meth:`Stage.take`, results in :meth:`Stage.advance`, and everything that
must survive is told by :meth:`Stage.keep`. ``pipeline.py`` says which stages a plan has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.batch import Batch
from bankfull.core.kept import Kept, Loaded
from bankfull.core.ledger import Ledger
from bankfull.core.output.results import Allowance, Results

#: Rows of one stream and their times.
Rows = tuple[pa.RecordBatch, NDArray[np.int64]]


@dataclass
class Turn:
    """What one step carries from stage to stage.

    ``resumed``: the step before this one was not done, so nothing new may come in. ``released``
    are the rows whose turn has come, by the position of their stream, each stream in order.
    ``excess`` tells how many of some waiting rows are more than all stages could hold.
    """

    batch: Batch
    resumed: bool
    allowance: Allowance
    ledger: Ledger
    excess: Callable[[list[pa.RecordBatch]], int]
    released: dict[int, Rows] = field(default_factory=dict)
    quarantine: dict[str, list[pa.RecordBatch]] = field(default_factory=dict)
    output: list[pa.RecordBatch] = field(default_factory=list)


class Stage:
    """One part of the operator; every method may be left as it is."""

    #: What its part of a written state is called.
    name: ClassVar[str]

    def take(self, turn: Turn) -> None:
        """Take in what came, or what earlier stages made of it."""

    def advance(self, turn: Turn, found: Iterator[Results]) -> Iterator[Results]:
        """Pass results on, or find, hold back or write some.

        Whoever reads stops when the step has given out enough; what was not read is found by the
        next step, so between two results a stage must be in a state that it can go on from.
        """
        return found

    def hear(self, kept_up: float) -> None:
        """Learn from the runtime what part of its work the operator did in the time it had.

        Told at the end of a step; it may act from the next one on, so that a replay, which takes
        over what was told, decides the same.
        """

    def be_timed(self, stopwatch: AbstractContextManager[object]) -> None:
        """Enter this around what is done to adapt, for the runtime to time; never ask it."""

    @property
    def has_work(self) -> bool:
        """Whether the step must go on before new rows may come."""
        return False

    def expire(self, turn: Turn) -> None:
        """Forget what no row to come can need; called when no stage has work left."""

    def count(self, ledger: Ledger) -> None:
        """Write into the ledger what became of the tuples."""

    def excess(self, waiting: list[pa.RecordBatch]) -> int:
        """Return how many of these waiting rows there are beyond what the stage could hold."""
        return 0

    def keep(self) -> Kept:
        """Return everything that must survive, by name."""
        return Kept()

    def load(self, loaded: Loaded) -> None:
        """Stand where :meth:`keep` was asked; rows that are here already are not brought again."""

    def nbytes(self) -> int:
        """Return the bytes held."""
        return 0
