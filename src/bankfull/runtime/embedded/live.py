"""Live sources: read by threads of their own, and how well the operator keeps up with them.

A source that blocks (a socket, a pipe, an iterator that waits) is read by a thread into a buffer of
bounded length. A full buffer makes the thread wait, and with it whoever writes: nothing is dropped.
Where a share of the clock bounds the join (``bf.shed(cpu=0.8)``), the operator is told a few times
a second what part of its work it did in the time that it had, and compares less, or more again.
"""

from __future__ import annotations

import time
from collections import deque
from threading import Condition, Thread
from types import TracebackType

import pyarrow as pa

from bankfull.core import Plan, State
from bankfull.runtime.embedded.sources import Source

#: Rows that wait in a buffer at most.
BUFFER_ROWS = 1 << 15
#: How long an operator waits for a source that has nothing, in seconds.
_PATIENCE = 0.005
#: How often the operator is told how well it keeps up, at most, in seconds of the clock (the
#: paper's T_r); and the share of the time for plans (its epsilon), which may make it less often.
_EVERY, _OVERHEAD = 0.2, 0.005
#: A buffer that is fuller than this is to be emptied, so the operator has less time than it takes.
_FULL, _EMPTYING = 0.5, 0.9


class LiveSource(Source):
    """A source that a thread reads ahead, as far as its buffer goes."""

    def __init__(self, inner: Source, rows_most: int = BUFFER_ROWS) -> None:
        super().__init__(inner.schema, ())
        self._inner = inner
        self._rows_most = rows_most
        self._buffer: deque[pa.RecordBatch] = deque()
        self._changed = Condition()
        self._ended = False
        self._failed: BaseException | None = None
        self._thread: Thread | None = None
        #: Rows that wait, rows that came, and the seconds for which the thread found no room.
        self.waiting, self.arrived, self.blocked = 0, 0, 0.0
        self._stopped = False

    def claim(self, reader: object, name: str, goes_on: bool = False) -> None:
        """Belong to a join, and begin to read."""
        self._inner.claim(reader, name, goes_on)
        if self._thread is None:
            self._thread = Thread(target=self._fill, name=f"bankfull {name}", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Let the thread end as soon as its source gives something."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _fill(self) -> None:
        """Read batches until there are no more."""
        try:
            while not self._stopped:
                rows = self._inner.read(self._rows_most)
                if rows is None:
                    break
                if rows.num_rows:
                    self._put(rows)
                elif self._inner.is_quiet:
                    time.sleep(_PATIENCE)
        except BaseException as error:
            self._failed = error
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _put(self, rows: pa.RecordBatch) -> None:
        with self._changed:
            while self.waiting >= self._rows_most and not self._stopped:
                began = time.monotonic()
                self._changed.wait()
                self.blocked += time.monotonic() - began
            self._buffer.append(rows)
            self.waiting += rows.num_rows
            self.arrived += rows.num_rows
            self._changed.notify_all()

    def read(self, rows_max: int) -> pa.RecordBatch | None:
        """Return what waits, at most so many rows; None at the end."""
        with self._changed:
            if not self._buffer and not self._ended:
                self._changed.wait(_PATIENCE)
            taken: list[pa.RecordBatch] = []
            room = rows_max
            while self._buffer and room > 0:
                rows = self._buffer.popleft()
                if rows.num_rows > room:
                    self._buffer.appendleft(rows.slice(room))
                    rows = rows.slice(0, room)
                taken.append(rows)
                room -= rows.num_rows
            self.waiting -= rows_max - room
            self._changed.notify_all()
            self.is_quiet = not taken
            if taken:
                return taken[0] if len(taken) == 1 else pa.concat_batches(taken)
            if not self._ended:
                nothing = [pa.nulls(0, field.type) for field in self.schema]
                return pa.RecordBatch.from_arrays(nothing, schema=self.schema)
        if self._failed is not None:
            failed, self._failed = self._failed, None
            raise failed
        return None


class Stopwatch:
    """Seconds that were spent inside of it, and how often it was entered."""

    def __init__(self) -> None:
        self.seconds, self.times, self._began = 0.0, 0, 0.0

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.seconds += time.monotonic() - self._began
        self.times += 1

    @property
    def mean(self) -> float:
        """The mean of all times."""
        return self.seconds / self.times if self.times else 0.0


class Pace:
    """Times the steps of an operator, and tells it how well it keeps up with its live sources.

    What it tells makes the operator plan anew. So it tells no more often than leaves plans a small
    share of the time, by what they were measured to take: the lower bound of T_r in Gedik, Wu, Yu,
    Liu, section 4.1. (They bound it by half the period of the most frequent bursts as well. Nobody
    knows that beforehand; a fifth of a second is shorter than any that a buffer does not bridge.)

    >>> kept_up(elapsed=1.0, busy=0.5, share=1.0, came=100, waiting=9, grown=9, full=0.0, blocked=0)
    2.0
    >>> kept_up(elapsed=1.0, busy=1.0, share=0.8, came=100, waiting=60, grown=50, full=0, blocked=0)
    0.5
    """

    def __init__(self, plan: Plan, sources: dict[str, Source]) -> None:
        self._live: list[LiveSource] = [s for s in sources.values() if isinstance(s, LiveSource)]
        self._share = 1.0 if plan.compare is None else plan.compare.share
        #: To be entered around every step, and by the operator around every plan.
        self.steps, self.plans = Stopwatch(), Stopwatch()
        self._busy_before = 0.0
        self._since = time.monotonic()
        self._before = (0, 0, 0.0)
        #: The first time is not told: kernels are loaded or compiled in it.
        self._is_first = True

    @property
    def every(self) -> float:
        """The seconds between two times that the operator is told something."""
        return _EVERY if self._is_first else max(_EVERY, self.plans.mean / _OVERHEAD)

    def tell(self, state: State) -> None:
        """Tell the operator how well it kept up, if it is time to."""
        now = time.monotonic()
        elapsed = now - self._since
        if not self._live or elapsed < self.every:
            return
        waiting = sum(source.waiting for source in self._live)
        arrived = sum(source.arrived for source in self._live)
        blocked = sum(source.blocked for source in self._live)
        was_waiting, had_arrived, was_blocked = self._before
        full = waiting / (len(self._live) * BUFFER_ROWS)
        part = kept_up(
            elapsed, self.steps.seconds - self._busy_before, self._share, arrived - had_arrived,
            waiting, waiting - was_waiting, full, blocked - was_blocked,
        )  # fmt: skip
        if self._is_first:
            self._is_first, self.plans = False, Stopwatch()
            state.be_timed(self.plans)
        else:
            state.hear(part)
        self._since, self._before = now, (waiting, arrived, blocked)
        self._busy_before = self.steps.seconds

    def stop(self) -> None:
        """Let all reading threads end."""
        for source in self._live:
            source.stop()


def kept_up(
    elapsed: float, busy: float, share: float, came: int, waiting: int, grown: int, full: float,
    blocked: float,
) -> float:  # fmt: skip
    """Return which part of its work an operator did in the time it had; above 1, it had more.

    ``came`` rows came, and of those ``waiting`` there are ``grown`` more than before; what comes in
    a quarter of the time may wait, as batches come in pieces. Sources that had to wait for room
    (``blocked`` seconds) would have sent more.
    """
    part = share * elapsed / busy if busy > 0.0 else 2.0
    if grown > 0 and waiting > came / 4:
        part = min(part, max(came - grown, 0) / came)
    if blocked > 0.0:
        part = min(part, max(0.5, 1.0 - blocked / elapsed))
    if full > _FULL:
        part = min(part, _EMPTYING)
    return part


def live_sources(plan: Plan, sources: dict[str, Source]) -> dict[str, Source]:
    """Return the sources, those that are read once by threads if the clock bounds the join."""
    if plan.compare is None or plan.compare.per_unit:
        return sources
    return {
        name: LiveSource(source) if source.is_read_once else source
        for name, source in sources.items()
    }


__all__ = ["BUFFER_ROWS", "LiveSource", "Pace", "Stopwatch", "kept_up", "live_sources"]
