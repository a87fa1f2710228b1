"""The first stage: who may come in, and when a row's turn has come.

Rows that cannot be used are set aside with a reason, late rows are counted out, rows without a key
are forgotten. Where the order of tuples decides (count windows, a memory budget) the others wait
until no stream can bring one that comes before them; otherwise they go on at once.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pyarrow as pa

from bankfull.core.batch import Batch
from bankfull.core.intake.admit import admit, checks_of, legible, text_checks, with_reason
from bankfull.core.intake.reorder import Reorder, in_order
from bankfull.core.intake.useless import without_keys
from bankfull.core.kept import Kept, Loaded
from bankfull.core.ledger import Ledger
from bankfull.core.plan import NEVER, Plan
from bankfull.core.stage import Rows, Stage, Turn
from bankfull.core.store.log import counted_rows
from bankfull.errors import DataError


class Input:
    """What is known of one stream: how far its time has come, and which of its rows wait.

    ``newest`` is the largest time that came, ``heard`` the largest that came to any operator of
    the query, where there are several. ``promised``: no row that is still to come has a smaller
    time, because the runtime says so or because the stream is idle and nobody waits for it.
    """

    def __init__(self, plan: Plan, position: int) -> None:
        self.plan = plan.streams[position]
        self.reorder = Reorder(self.plan, plan.by_content) if plan.ordered else None
        self.newest = -NEVER
        self.heard = -NEVER
        self.promised = -NEVER
        self.checks = checks_of(plan, position)

    @property
    def frontier(self) -> int:
        """No row that is still to come has a smaller time."""
        return max(self.promised, self.newest - self.plan.late)

    @property
    def next_time(self) -> int:
        """No row that is still to be joined has a smaller time: none that waits or will come."""
        if self.reorder is not None and len(self.reorder.times):
            return min(self.frontier, int(self.reorder.times[0]))
        return self.frontier

    @property
    def reached(self) -> int:
        """The largest time known of this stream, by its rows or by a promise."""
        return self.newest if self.has_ended else self.frontier + self.plan.late

    @property
    def has_ended(self) -> bool:
        """Whether no row is still to come."""
        return self.promised >= NEVER

    def promise(self, batch: Batch) -> None:
        """Learn what a batch says of the rows that come after it."""
        name = self.plan.name
        then = batch.then.get(name, -NEVER)
        self.promised = NEVER if name in batch.ended else max(self.promised, then)
        self.heard = max(self.heard, then + self.plan.late)

    @property
    def waiting(self) -> int:
        """Rows whose turn has not come."""
        return counted_rows(self.plan, self.reorder.rows) if self.reorder else 0


class Intake(Stage):
    """Admits rows, and releases them in order."""

    name: ClassVar[str] = "intake"

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.inputs = [Input(plan, position) for position in range(len(plan.streams))]
        spans = [span for join in plan.joins for span in join.span if span < NEVER]
        self._longest = max(spans, default=0)

    def take(self, turn: Turn) -> None:
        """Judge new rows; release those whose turn has come."""
        for position, source in enumerate(self.inputs):
            rows = self._admit(turn, source)
            if rows is not None:
                rows = self._without_useless(turn, position, rows)
                if source.reorder is not None:
                    source.reorder.hold(*rows)
                else:
                    turn.released[position] = in_order(*rows)
        for source in self.inputs:
            source.promise(turn.batch)
        self._pass_idle(turn)
        self._pass_crowded(turn)
        if self.plan.ordered and not turn.resumed:
            for position, limit in enumerate(self._limits()):
                reorder = self.inputs[position].reorder
                if reorder is not None and len(reorder.times):
                    turn.released[position] = reorder.release(limit)
        turn.released = {k: rows for k, rows in turn.released.items() if len(rows[1])}

    def _admit(self, turn: Turn, source: Input) -> Rows | None:
        """Return the rows of one stream that may come in, and their times."""
        name, plan, batch = source.plan.name, source.plan, turn.batch
        given, counts = batch.rows.get(name), turn.ledger.streams[name]
        told = batch.frontiers.get(name, -NEVER)
        source.promised = max(source.promised, told)
        source.heard = max(source.heard, told + plan.late)
        if given is None:
            return None
        read, sound = (given, True) if batch.validated else legible(plan, given)
        if read is None:
            self._set_batch_aside(turn, source, given)
            return None
        counts.arrived += counted_rows(plan, read)
        least = -NEVER if source.has_ended else source.promised
        checks = source.checks if sound else [*source.checks, *text_checks(plan)]
        admitted = admit(plan, read, source.newest, least, checks, self.plan.query.strict)
        source.newest = admitted.newest
        source.heard = max(source.heard, source.newest)
        for aside in admitted.aside:
            gone = counted_rows(plan, aside)
            if admitted.late and aside is admitted.aside[-1]:
                counts.late += gone
            else:
                counts.quarantined += gone
        if admitted.aside:
            turn.quarantine.setdefault(name, []).extend(admitted.aside)
        return admitted.rows, admitted.times

    def _set_batch_aside(self, turn: Turn, source: Input, rows: pa.RecordBatch) -> None:
        """Quarantine a batch that cannot be read; only one of another schema is safe to keep."""
        name = source.plan.name
        if self.plan.query.strict:
            raise DataError(
                f"stream {name!r}: a batch of {rows.num_rows} rows does not have the stream's "
                "schema or is damaged: mend it, or leave out strict=True to have it set aside and "
                "counted"
            )
        turn.ledger.streams[name].arrived += rows.num_rows
        turn.ledger.streams[name].quarantined += rows.num_rows
        try:
            rows.validate(full=True)
        except pa.ArrowException:
            return
        turn.quarantine.setdefault(name, []).append(with_reason(rows, "broken batch"))

    def _without_useless(self, turn: Turn, position: int, given: Rows) -> Rows:
        """Forget rows that no join can ever use; they count as inserted and purged."""
        rows, times = given
        useless = without_keys(self.plan, position, rows)
        if useless is None:
            return given
        stream = self.plan.streams[position]
        counts = turn.ledger.streams[stream.name]
        gone = counted_rows(stream, rows.filter(pa.array(useless)))
        counts.inserted += gone
        counts.purged += gone
        return rows.filter(pa.array(~useless)), times[~useless]

    def _pass_idle(self, turn: Turn) -> None:
        """Stop waiting for streams that have nothing to give and are behind by more than ``idle``.

        How far the others are is taken from times that came, never from promises: a promise made
        here must not be the reason for a further one.
        """
        furthest = max(source.heard for source in self.inputs)
        for source in self.inputs:
            if source.plan.name in turn.batch.quiet:
                source.promised = max(source.promised, furthest - source.plan.idle)

    def _pass_crowded(self, turn: Turn) -> None:
        """Stop waiting for streams that have nothing to give when too many rows wait for them.

        A stream that goes quiet without ``idle`` would let them grow without end. So where they
        are more than the budget could hold, the oldest are released that are further than a window
        ahead of what the quiet stream may still bring; what it brings from before then is late.
        Within a window nothing is passed over: which stream was read last when a step began must
        not decide.
        """
        quiet = [s for s in self.inputs if s.plan.name in turn.batch.quiet and not s.has_ended]
        held = [s.reorder for s in self.inputs if s.reorder is not None]
        excess = turn.excess([reorder.rows for reorder in held]) if quiet and held else 0
        if not excess:
            return
        times = np.sort(np.concatenate([reorder.times for reorder in held]))
        furthest = max(source.heard for source in self.inputs)
        for source in quiet:
            kept = furthest - self._longest - source.plan.late
            source.promised = max(source.promised, min(int(times[excess - 1]) + 1, kept))

    def _limits(self) -> list[int]:
        """Return up to which time the rows of each stream may be released now.

        A row waits until no stream can bring one that comes before it: streams that go first at
        equal times must have moved past its time, the others must have reached it. Where ties of
        one stream are ordered by content, its own frontier must have passed it too.
        """
        frontiers = [source.frontier for source in self.inputs]
        ties = self.plan.by_content
        return [
            min(
                frontier - (other < own or (ties and other == own))
                for other, frontier in enumerate(frontiers)
            )
            for own in range(len(frontiers))
        ]

    def count(self, ledger: Ledger) -> None:
        """Say how many rows wait."""
        for source in self.inputs:
            ledger.streams[source.plan.name].waiting = source.waiting

    def keep(self) -> Kept:
        """Keep how far every stream has come, and the rows that wait."""
        kept = Kept()
        for source in self.inputs:
            name, reorder = source.plan.name, source.reorder
            about = {"newest": source.newest, "heard": source.heard, "promised": source.promised}
            if reorder is not None:
                about["numbered"] = reorder.numbered
                kept.arrays[name] = reorder.numbers.copy()  # compared with what is loaded
                kept.rows[name] = reorder
            kept.about[name] = about
        return kept

    def load(self, loaded: Loaded) -> None:
        """Stand where every stream stood."""
        for source in self.inputs:
            name = source.plan.name
            about = loaded.about[name]
            source.newest, source.promised = about["newest"], about["promised"]
            source.heard = about["heard"]
            if source.reorder is not None:
                source.reorder.load(loaded.rows[name], loaded.arrays[name], about["numbered"])

    def nbytes(self) -> int:
        """Return the bytes of the rows that wait."""
        held = [source.reorder for source in self.inputs if source.reorder is not None]
        return sum(int(reorder.rows.nbytes) + reorder.times.nbytes for reorder in held)
