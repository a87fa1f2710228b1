"""Live operators, kept by the worker processes of an executor between micro-batches.

Spark gives a bucket to any idle worker, so a worker may hold an operator that others have moved
on. It then catches up: it reads what was committed since and takes it in without joining
(``durable.py``), which costs as much as what it missed, whatever the window. What a
worker holds is an ancestor of what is committed exactly if its token is in the header's history;
otherwise (a failed attempt, another checkpoint) it is thrown away.
"""

from __future__ import annotations

import os
import time
import uuid
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.core import Plan, State, start
from bankfull.runtime.spark.changes import Known

#: Commits that a header remembers, hence how far behind a worker may be and still catch up.
HISTORY = 32
#: Operators not asked for this long belong to a query that is gone.
_IDLE_S = 600.0


class Segment(NamedTuple):
    """A durable piece of a list of rows: its number, and the numbers of its rows."""

    number: int
    first: int
    end: int
    rows: int


@dataclass
class Live:
    """An operator between two micro-batches.

    ``lineage`` names the operator for all its life, ``history`` its latest commits, the newest
    last; ``commits`` counts them. For each list of rows that is kept: ``segments`` are its durable
    pieces, ``numbers`` the number of the next, ``ends`` where its stored rows end. ``known`` is
    what is stored of the arrays, in ``changes``: commit, values, bytes of each, the first of
    everything. ``frontiers`` is how far each stream has come over all buckets.
    """

    state: State
    lineage: str
    history: list[str] = field(default_factory=list)
    commits: int = 0
    segments: dict[str, deque[Segment]] = field(default_factory=lambda: defaultdict(deque))
    numbers: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    ends: dict[str, int] = field(default_factory=lambda: defaultdict(lambda: -(2**62)))
    known: dict[str, Known] = field(default_factory=dict)
    changes: list[list[int]] = field(default_factory=list)
    #: When the last micro-batch began, if this worker had it.
    began: float | None = None
    frontiers: dict[str, int] = field(default_factory=dict)
    used_at: float = 0.0

    @classmethod
    def fresh(cls, plan: Plan) -> Live:
        """Return an operator before its first micro-batch."""
        return cls(start(plan), uuid.uuid4().hex)

    def renew(self) -> None:
        """Begin a new commit."""
        self.history = [*self.history[1 - HISTORY :], uuid.uuid4().hex]
        self.commits += 1

    def append(self, name: str, numbers: NDArray[np.int64]) -> int:
        """Note a further segment with the rows of these numbers; returns its own number."""
        number = self.numbers[name]
        self.numbers[name] = number + 1
        segment = Segment(number, int(numbers[0]), int(numbers[-1]) + 1, len(numbers))
        self.segments[name].append(segment)
        return number

    def first(self, name: str) -> int:
        """Return the number of a list's first segment, or of its next one."""
        segments = self.segments[name]
        return segments[0].number if segments else self.numbers[name]


class LiveStates:
    """The live operators of this worker process: the most recently used, within a budget."""

    def __init__(self, budget_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._budget_bytes = budget_bytes
        self._clock = clock
        self._by_lineage: OrderedDict[str, Live] = OrderedDict()

    def keep(self, live: Live) -> None:
        """Remember an operator; forget those of dead queries and those beyond the budget."""
        live.used_at = self._clock()
        self._by_lineage[live.lineage] = live
        sizes = {name: one.state.nbytes() for name, one in self._by_lineage.items()}
        for name, one in list(self._by_lineage.items()):
            crowded = sum(sizes.values()) > self._budget_bytes and len(sizes) > 1
            if crowded or live.used_at - one.used_at > _IDLE_S:
                del self._by_lineage[name], sizes[name]

    def take(self, lineage: str) -> Live | None:
        """Return what this process has of an operator, of whatever commit."""
        return self._by_lineage.pop(lineage, None)

    def __len__(self) -> int:
        return len(self._by_lineage)


live_states = LiveStates(int(os.environ.get("BANKFULL_LIVE_MB", "1024")) << 20)
