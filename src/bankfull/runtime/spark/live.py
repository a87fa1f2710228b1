"""Live operators, kept by the worker processes of an executor between micro-batches.

Spark gives a bucket to any idle worker, so a worker may hold an operator that others have moved
on. It then catches up: it reads the segments committed since and takes them in without joining
(``bankfull.core.catch_up``), which costs as much as the missed rows, whatever the window. What a
worker holds is an ancestor of what is committed exactly if its token is in the header's history;
otherwise (a failed attempt, another checkpoint) it is thrown away.
"""

from __future__ import annotations

import os
import time
import uuid
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from bankfull.core import Plan, State, start

#: Commits that a header remembers, hence how far behind a worker may be and still catch up.
HISTORY = 32
#: Operators not asked for this long belong to a query that is gone.
_IDLE_S = 600.0


@dataclass
class Live:
    """An operator between two micro-batches.

    ``lineage`` names the operator for all its life, ``history`` its latest commits, the newest
    last. ``segments[k]`` are the durable pieces of stream k's log, as (number, one past its last
    tuple), ``numbers[k]`` the number of the next, ``starts[k]`` the first tuple of the first.
    ``frontiers`` is how far each stream has come over all buckets. ``pieces`` is in how many
    values everything else lies, by its position.
    """

    state: State
    lineage: str
    history: list[str]
    segments: list[deque[tuple[int, int]]]
    numbers: list[int]
    starts: list[int]
    frontiers: dict[str, int] = field(default_factory=dict)
    pieces: dict[str, int] = field(default_factory=dict)
    used_at: float = 0.0

    @classmethod
    def fresh(cls, plan: Plan) -> Live:
        """Return an operator before its first micro-batch."""
        streams = len(plan.streams)
        segments: list[deque[tuple[int, int]]] = [deque() for _ in range(streams)]
        return cls(start(plan), uuid.uuid4().hex, [], segments, [0] * streams, [0] * streams)

    def renew(self) -> None:
        """Begin a new commit."""
        self.history = [*self.history[1 - HISTORY :], uuid.uuid4().hex]


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
