"""The join stage under a memory budget: bounded memory, a policy, payload only of what is stored.

The kernel works on slots (``kernels/bounded/memory.py``); payload lies in a log a stream, which is
rewritten with the stored tuples alone when a quarter of it is of others. Everything that decides
lives in arrays that are kept by name, so a restored operator decides as it would have.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from bankfull.core.bounded.arrays import new_output, no_arrivals, same_keys
from bankfull.core.bounded.arriving import Work, merged
from bankfull.core.bounded.bags import Bagger
from bankfull.core.bounded.limit import Limit
from bankfull.core.bounded.named import named, refilled, total_bytes
from bankfull.core.bounded.payload import Payload, compact, take_over
from bankfull.core.bounded.slots import Slots, new_items
from bankfull.core.codes import keys
from bankfull.core.comparing.slotted import SlotComparing
from bankfull.core.kept import Arrays, Kept, Loaded, RowList
from bankfull.core.ledger import Ledger, by_importance
from bankfull.core.output.results import Results, together
from bankfull.core.plan import NEVER, Plan
from bankfull.core.recall import sample as recall
from bankfull.core.recall.interval import Watched
from bankfull.core.stage import Stage, Turn
from bankfull.core.store.log import Log
from bankfull.kernels.bounded import memory as m
from bankfull.kernels.bounded.budget import PERIOD, Rules
from bankfull.kernels.bounded.matches import Output
from bankfull.kernels.bounded.shedjoin import KEYS_FULL, OUTPUT_FULL, SLOTS_FULL, shed_join
from bankfull.kernels.recall.feed import no_feed
from bankfull.kernels.recall.sample import Watch
from bankfull.kernels.recall.watch import watch_join

#: Results that the kernel may return at once.
_RESULTS = 1 << 15
#: Results that are passed on together: a piece of the input may have only a few.
_GIVEN = 1 << 10


class BoundedJoin(Stage):
    """The bounded store of a query and its policy."""

    name: ClassVar[str] = "join"

    def __init__(self, plan: Plan) -> None:
        assert plan.shed is not None
        self.plan, self.shed = plan, plan.shed
        self.logs = [Log(stream) for stream in plan.streams]
        self.bagger = Bagger(plan)
        self.slots = Slots(plan, self.bagger)
        self.policy = self.shed.policy.start(self.shed.shape)
        #: What of the budget is used.
        self.limit = Limit(plan, self.slots, self.policy)
        self.exact = [
            n in self.bagger.joins or keys.is_exact(j.types) for n, j in enumerate(plan.joins)
        ]
        self.work = Work(no_arrivals(len(plan.joins)))
        #: Room for results, used again and again: megabytes that come and go leave gaps in memory.
        self.room = new_output(_RESULTS, len(self.plan.joins))
        #: Results found and not passed on.
        self.found: deque[Results] = deque()
        self.watch: Watch | None = None
        self._prepare()
        self.guessed = recall.is_guessed(plan)
        #: What is compared, where there is not time for all that is stored.
        self.comparing = None if plan.compare is None else SlotComparing(plan)
        #: What the tuples that are being processed are compared with; None: with everything.
        self.selections: Any = None

    @property
    def memory(self) -> m.Memory:
        """What is stored and remembered."""
        return self.slots.memory

    @property
    def rules(self) -> Rules:
        """What holds for every tuple."""
        return self.limit.rules

    # ------------------------------------------------------------------------------ taking in

    def excess(self, waiting: list[pa.RecordBatch]) -> int:
        """Return how many of these waiting rows there are beyond what the budget could hold."""
        rows = sum(int(batch.num_rows) for batch in waiting)
        if not self.shed.in_bytes:
            return max(0, rows - self.rules.budget)
        held = sum(int(batch.nbytes) for batch in waiting)
        return max(0, rows - rows * self.rules.budget // held) if held else 0

    @property
    def has_work(self) -> bool:
        """Whether tuples were taken in and not processed, or results not passed on."""
        return len(self.work.left) > 0 or bool(self.found)

    def take(self, turn: Turn) -> None:
        """Take in the rows whose turn has come; learn how many came to all operators."""
        if self.limit.shares is not None and turn.batch.loads is not None:
            self.limit.shares.learn(turn.batch.loads)
            if self.comparing is not None and self.comparing.shares is not None:
                self.comparing.shares.learn(turn.batch.loads)
        if turn.resumed:
            return
        self.work = merged(self.plan, self.logs, self.bagger, self.slots.overhead, turn.released)
        if self.comparing is not None:
            self.work.classes = self.comparing.classify(self.work)

    # ------------------------------------------------------------------------------ processing

    def advance(self, turn: Turn, found: Iterator[Results]) -> Iterator[Results]:
        """Process what was taken in, a piece at a time."""
        yield from found
        yield from self._give()
        counts = turn.ledger.joins
        if len(self.work.left):
            self.limit.begin(int(self.work.arrivals.times[self.work.next]))
        while len(self.work.left):
            self._follow_share()
            before, work, room = self.work.next, self.work, self.room
            until = self._plan_ahead()
            stop = self._piece_end(before)
            if until < NEVER:  # a plan of comparisons ends before this time
                stop = before + int(np.searchsorted(work.arrivals.times[before:stop], until))
            self._make_room(before, stop)
            room.compared[0] = 0
            work.next, count, why = shed_join(
                work.arrivals, work.bags, self.memory, self.policy, self.rules, self.selections,
                room, before, stop,
            )  # fmt: skip
            assert why != SLOTS_FULL, "there is a slot for every tuple of the budget, and one more"
            if why == KEYS_FULL:
                wanted = len(self.plan.joins) + int(work.bags.sizes[:, work.next :][:, :1].sum())
                self.slots.forget_keys(self.rules.budget, wanted)
            if why == OUTPUT_FULL and self.work.next == before:
                # One tuple has more than fit.
                self.room = new_output(2 * len(room.times), len(self.plan.joins))
                continue
            if work.next > before:
                self.limit.follow_rates(self.policy)
            self._watch(before, room, count)
            if work.next > before:
                self._learn()
            self.limit.steer(self.watch, self.policy)
            for join, compared in zip(self.plan.joins, room.compared[0], strict=True):
                counts[join.name].compared += int(compared)
            results = self._results(room, count)
            for some in results:
                counts[some.join.name].emitted += some.joined.size
            self.found.extend(results)
            if sum(some.joined.size for some in self.found) >= _GIVEN:
                yield from self._give()
        yield from self._give()

    def _give(self) -> Iterator[Results]:
        """Pass on what was found; what is not asked for is there at the next step."""
        while self.found:
            alike = [self.found.popleft()]
            while self.found and self.found[0].join is alike[0].join:
                alike.append(self.found.popleft())
            yield together(alike)

    def expire(self, turn: Turn) -> None:
        """Forget what was made room for on the way; tuples have left in their turn."""
        if len(self.room.times) > _RESULTS:
            self.room = new_output(_RESULTS, len(self.plan.joins))
        self.work = Work(no_arrivals(len(self.plan.joins)))
        self.slots.tidy_items()
        self._compact()

    def _plan_ahead(self) -> int:
        """Plan what the next tuples are compared with; returns up to which time that holds."""
        if self.comparing is None:
            return NEVER
        assert self.work.classes is not None
        assert len(self.work.classes) == len(self.work.arrivals.times)
        time = int(self.work.arrivals.times[self.work.next])
        until = self.comparing.plan_ahead(time, self.memory)
        self.selections = self.comparing.view(self.work.classes)
        return until

    def _piece_end(self, start: int) -> int:
        """Return up to where to process now: large sets come few at a time, for they need room."""
        number = int(self.memory.now.seq_next)
        piece = self.slots.piece(self.rules.budget)
        size = min(piece - number % piece, len(self.work.left))
        if self.rules.proportional or self.rules.unbiased:
            size = min(size, PERIOD - number % PERIOD)
        if self.shed.recall is not None:
            size = min(size, recall.PERIOD - number % recall.PERIOD)
        if every := self._learns_every(number):
            size = min(size, every - number % every)
        if self.limit.shares is not None:
            times = self.work.arrivals.times[start : start + size]
            size = int(np.searchsorted(times, self.limit.share_until[0]))
        stop = start + size
        if self.bagger and self.shed.in_bytes:
            items = np.cumsum(self.work.bags.sizes[:, start:stop].sum(axis=0))
            fit = int(np.searchsorted(items, new_items(self.rules.budget), side="right"))
            stop = min(stop, start + max(1, fit))
        return stop

    def _follow_share(self) -> None:
        """Have the part of the budget that holds at the time of the next tuple."""
        time = int(self.work.arrivals.times[self.work.next])
        if self.limit.follow_share(time, self.policy) and not self.memory.now.seq_next:
            self._prepare()

    def _watch(self, start: int, found: Output, count: int) -> None:
        """Count what the tuples just processed have missed."""
        if self.watch is None:
            return
        stop, memory = self.work.next, self.memory
        room = recall.room(self.plan, self.rules.budget)
        largest = int(self.work.bags.sizes[:, start:stop].sum(axis=0).max(initial=0))
        self.watch = recall.with_room(self.watch, room, largest, self.bagger.weighted)
        first = int(memory.now.seq_next) - (stop - start)
        slots = len(self.watch.kept)
        feed = self.shed.policy.feed(self.policy) if self._learns_every(first) else no_feed()
        watch_join(
            self.watch, room, self.work.arrivals, self.work.bags, start, stop, found, count, first,
            memory.streams, memory.joins, self.rules.combine, self.rules.seed, self.guessed,
            np.empty(slots, np.int64), np.empty((slots, 2)), feed, self.selections,
        )  # fmt: skip

    def _learn(self) -> None:
        """Have the policy learn from the sample, at fixed places of the input."""
        number = int(self.memory.now.seq_next)
        every = self._learns_every(number - 1)
        if every and self.watch is not None and number % every == 0:
            self.shed.policy.learn(self.policy, self.memory, self.watch, self.bagger.numbers())

    def _learns_every(self, number: int) -> int:
        """Return how many tuples are between two places to learn at, once so many have come."""
        return self.shed.policy.learns_every(self.shed.shape, number)

    @property
    def watched(self) -> Watched | None:
        """What recall is estimated from, or None where it cannot be.

        The sample counts what is missing, for want of memory or of time, once.
        """
        if self.watch is None:
            return None
        skipped = 0 if self.comparing is None else self.comparing.skipped()
        return recall.watched(self.watch, self.slots.dropped() + skipped)

    def hear(self, kept_up: float) -> None:
        """Compare more or less from the next plan on, where the clock decides."""
        if self.comparing is not None:
            self.comparing.hear(kept_up)

    def _results(self, found: Output, count: int) -> list[Results]:
        results = []
        for number, join in enumerate(self.plan.joins):
            which = np.flatnonzero(found.joins[:count] == number)
            if not which.size:
                continue
            numbers = found.rows[: len(join.streams), which]
            logs = [self.logs[k] for k in join.streams]
            if not self.exact[number]:
                same = same_keys(join, logs, numbers)
                which, numbers = which[same], numbers[:, same]
            if which.size:
                times, importance = found.times[which], found.importance[which]
                results.append(Results(join, logs, numbers, times, importance))
        return results

    def count(self, ledger: Ledger) -> None:
        """Say what became of the tuples, and what recall is estimated from."""
        ours = self.work.arrivals.copies[self.work.next :] == 0
        for position, stream in enumerate(self.plan.streams):
            counts, about = ledger.streams[stream.name], self.memory.streams[position]
            counts.waiting += int(np.count_nonzero((self.work.left == position) & ours))
            counts.shed, counts.evicted = int(about.shed), int(about.evicted)
            counts.expired, counts.stored = int(about.expired), int(about.stored)
            counts.inserted = counts.purged + int(about.inserted)
            if stream.masked:
                slots = np.count_nonzero(self.memory.slots.stream == position)
                counts.copies = int(slots) - counts.stored
                counts.copies_lost = int(about.copies_lost)
        if self.comparing is not None:
            self.comparing.count(ledger)
        ledger.watched = self.watched
        names = [stream.name for stream in self.plan.streams]
        ledger.lost_by_importance = by_importance(names, self.rules.lost)

    def keep(self) -> Kept:
        """Keep everything that decides, and the payload of stored tuples by arrival number."""
        rows: dict[str, RowList] = {
            log.plan.name: Payload(log, position, self.slots)
            for position, log in enumerate(self.logs)
        }
        return Kept(arrays=self._arrays(), rows=rows)

    def load(self, loaded: Loaded) -> None:
        """Take over what :meth:`keep` gave; payload that is here already is used."""
        before = self.memory.slots
        self._load(loaded.arrays)
        for position, log in enumerate(self.logs):
            missed = loaded.rows[log.plan.name]
            self.logs[position] = take_over(log, position, before, self.memory.slots, missed)

    def _arrays(self) -> Arrays:
        """Return everything that decides, by name."""
        found = self.limit.arrays() | self.bagger.arrays()
        if self.comparing is not None:
            found |= self.comparing.arrays()
        for name in ("memory", "watch", "policy"):
            found |= named(name, getattr(self, name))
        # Where payload lies is not kept: it is found again by the number of the arrival.
        slots = found["memory.slots"] = self.memory.slots.copy()
        slots.row = 0
        return found

    def _load(self, arrays: Arrays) -> None:
        """Take over what :meth:`_arrays` gave."""
        self.slots.memory = refilled("memory", self.memory, arrays)
        self.policy = refilled("policy", self.policy, arrays)
        self.watch = refilled("watch", self.watch, arrays)
        self.limit.load(arrays, self.policy)
        self.bagger.load(arrays)
        if self.comparing is not None:
            self.comparing.load(arrays)

    def nbytes(self) -> int:
        """Bytes of payload, slots, keys, the policy's own arrays and tuples kept aside.

        What a budget of comparisons has learned counts too; it is not part of the memory budget.
        """
        held = total_bytes(self.memory, self.watch, self.policy) + self.bagger.nbytes()
        held += 0 if self.comparing is None else self.comparing.nbytes()
        return held + sum(log.nbytes() for log in self.logs)

    # ------------------------------------------------------------------------------- the arrays

    def _prepare(self) -> None:
        """Have counts of forgotten keys and a sample for recall that fit the budget."""
        budget = self.limit.granted
        self.slots.start_sketch(budget)
        self.watch = recall.new_watch(self.plan, self.memory.sets, budget)

    def _make_room(self, start: int, stop: int) -> None:
        arrivals = stop - start
        stored = int(self.memory.buffers.heaped.sum())
        slots = stored + arrivals
        least = self.slots.overhead if self.shed.in_bytes else 1
        slots = min(slots, max(stored, self.rules.room // least))
        sizes = self.work.bags.sizes[:, start:stop]
        items, largest = int(sizes.sum()), int(sizes.max(initial=0))
        coming = arrivals * len(self.plan.joins) + items
        numbers = int(self.memory.now.keys_used) + coming
        numbers = min(numbers, int(self.memory.now.keys_most))
        self.slots.make_room(slots + 1, numbers, coming, items, largest)
        self.slots.check()

    def _compact(self, slack: int = 32) -> None:
        """Rewrite logs with the stored tuples alone, where much of one is of others."""
        spare = self.shed.budget // (64 * len(self.logs)) if self.shed.in_bytes else NEVER
        for position, log in enumerate(self.logs):
            self.logs[position] = compact(log, position, self.slots, slack, spare)
