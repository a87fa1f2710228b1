"""The slots and keys of a query under a budget: room for more, and what is forgotten.

The kernel (``kernels/bounded/``) finds everything it may need already there; arrays grow between
its calls. Keys that nobody stored holds are remembered for their statistics, the rarest forgotten
first.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bankfull.core.bounded.arrays import about_joins, about_streams, longer
from bankfull.core.bounded.bags import ITEM_BYTES, TEXT_ROOM, Bagger
from bankfull.core.plan import NEVER, Plan
from bankfull.kernels.bounded import memory as m
from bankfull.kernels.bounded.keys import number_again
from bankfull.kernels.bounded.leaps import Leaps
from bankfull.kernels.bounded.records import BUFFER, HELD_SET, LINK, LIST, NOW, POST, SLOT, records
from bankfull.kernels.bounded.slotsets import COMMON

#: Tuples that are processed at a time; where they have sets or the budget is in bytes, fewer: at
#: most, and at least.
_PIECE, _FEWER, _SHORT = 8192, 1024, 64
#: At least so many keys are remembered beyond those of stored tuples.
_KEYS = 4096
#: In bytes, keys that nobody holds are remembered in up to this part of the budget, and those
#: that are forgotten are counted in as much.
SPARE = 32
#: The most keys that nobody holds: tables for them are made at once, however few are needed.
_SPARE_KEYS = 1 << 22


def new_items(budget: int) -> int:
    """Return how many items of new tuples a budget in bytes has room for beside those stored."""
    return max(64, budget >> 13) * 8


class Slots:
    """The arrays of a bounded store, which grow."""

    def __init__(self, plan: Plan, bagger: Bagger) -> None:
        assert plan.shed is not None
        self.plan, self.shed, self.bagger = plan, plan.shed, bagger
        streams, joins = len(plan.streams), len(plan.joins)
        own = self.shed.shares is not None or self.shed.proportional
        policy = self.shed.policy
        self.stats = streams * (1 + policy.key_stats) + policy.key_times
        self.times = policy.key_times
        self.notes = streams * policy.key_notes
        # A slot with a quarter to spare; a key with its part of the hash table.
        slot = SLOT.itemsize + LINK.itemsize * joins + 16
        key = 40 + LIST.itemsize * streams + 8 * self.stats + 4 * (self.notes > 0)
        #: What the notes of a key take; items come again, so there they are paid for with the item.
        self.note_bytes = 0 if bagger else 4 * self.notes
        key += 4 * self.notes - self.note_bytes
        if bagger:
            slot += 24 + HELD_SET.itemsize * joins
        self.overhead = slot * 5 // 4
        self.key_bytes = key + (ITEM_BYTES + 8 * TEXT_ROOM if bagger else 0)
        self.memory = m.Memory(
            slots=records(0, SLOT),
            links=records((0, joins), LINK),
            heap=np.zeros((streams if own else 1, 0), np.int64),
            ranks=np.zeros((streams if own else 1, 0)),
            codes=np.zeros((0, 2), np.uint64),
            lists=records((0, streams), LIST),
            stats=np.zeros((0, self.stats)),
            notes=np.zeros((0, self.notes), np.float32),
            rows=np.zeros(0, np.int32),
            table=np.zeros(0, np.int64),
            streams=about_streams(plan, own),
            buffers=records(streams if own else 1, BUFFER),
            joins=about_joins(plan),
            now=records(1, NOW)[0],
            sketch=np.zeros((streams, 0), np.uint8),
            sketched=np.zeros(streams, np.int64),
            sets=None,
        )
        now = self.memory.now
        now.free = now.post_free = m.NONE
        now.time_now, now.keys_most = -NEVER, NEVER
        if not self.shed.policy.exact_keys:
            now.keys_most = 2 * _KEYS
        if self.shed.in_bytes:
            now.keys_most = 0
            self.memory.joins.key_bytes = key
            self.memory.joins.note_bytes = self.note_bytes
            self.memory.joins.key_bytes[list(bagger.joins)] = self.key_bytes
        if bagger:
            self._prepare_sets()
        self.make_room(64, 64)

    def start_sketch(self, budget: int) -> None:
        """Have counters for keys that are forgotten."""
        streams = len(self.plan.streams)
        counters = np.zeros((streams, self.sketch_bytes(budget) // streams), np.uint8)
        self.memory = self.memory._replace(sketch=counters)

    def sketch_bytes(self, budget: int) -> int:
        """Return how many counters there are, of all streams."""
        streams = len(self.plan.streams)
        keyed = len(self.bagger.joins) < len(self.plan.joins)
        counted = self.shed.policy.counts_keys and not self.shed.policy.exact_keys
        if not keyed or not (counted or self.shed.in_bytes):
            return 0
        if self.shed.in_bytes:
            return streams << min(max(10, (budget // SPARE // streams).bit_length() - 1), 26)
        return streams << min(max(16, (64 * budget).bit_length()), 20)

    def dropped(self) -> int:
        """Return how many tuples were shed or evicted, copies and all."""
        streams = self.memory.streams
        return int(sum(map(np.sum, (streams.shed, streams.evicted, streams.copies_lost))))

    def _prepare_sets(self) -> None:
        """Describe joins on sets to the kernel."""
        counted, compare = self.shed.policy.counts_partners, self.plan.compare
        sets = m.SlotSets(
            posts=records(0, POST),
            weights=np.zeros(0),
            held=records((0, len(self.plan.joins)), HELD_SET),
            marks=np.zeros(0, np.int64),
            found=np.zeros(0, np.int64),
            scores=np.zeros(0),
            wanted=np.zeros(0, np.int64),
            wanted_weights=np.zeros(0),
            at_least=self.bagger.describe(self.memory.joins, counted),
            common=np.zeros(COMMON + 1),
            leaps=None if compare is None else Leaps(compare.basic, np.zeros(0, np.int32)),
        )
        self.memory = self.memory._replace(sets=sets)

    def piece(self, budget: int) -> int:
        """Return how many tuples may be processed at a time.

        A small budget in bytes has no room for the slots and keys of thousands of newcomers.
        """
        if not self.shed.in_bytes:
            return _FEWER if self.bagger else _PIECE
        return min(max(_SHORT, 1 << max(0, (budget >> 13).bit_length() - 1)), _FEWER)

    def make_room(
        self, slots: int, numbers: int, coming: int = 0, items: int = 0, largest: int = 0
    ) -> None:
        """Have so many slots and numbers for keys, and free postings; the largest set that comes.

        ``coming``: how many keys, known or not, and ``items``, which are among them.
        """
        memory, have = self.memory, len(self.memory.slots)
        if slots > have:
            wanted = slots + slots // 4
            if not self.shed.in_bytes:
                wanted = min(wanted, self.shed.budget + 1)
            tuples, links = longer(memory.slots, wanted), longer(memory.links, wanted)
            tuples.stream[have:], links.first[have:] = m.NONE, m.NONE
            tuples.older[have:] = [*range(have + 1, wanted), int(memory.now.free)]
            memory.now.free = have
            heap = np.zeros((len(memory.heap), wanted), np.int64)
            ranks = np.zeros((len(memory.heap), wanted))
            heap[:, :have], ranks[:, :have] = memory.heap, memory.ranks
            memory = memory._replace(slots=tuples, links=links, heap=heap, ranks=ranks)
            if memory.sets is not None:
                sets = memory.sets._replace(
                    held=longer(memory.sets.held, wanted),
                    marks=longer(memory.sets.marks, wanted),
                    found=np.zeros(wanted, np.int64),
                    scores=np.zeros(wanted),
                )
                memory = memory._replace(sets=sets)
        self.memory = memory
        if numbers > len(memory.codes):
            used = int(memory.now.keys_used)
            self._number_keys(np.arange(used), numbers + numbers // 8 + 64)
        if self.notes:
            self._make_room_for_notes(min(int(self.memory.now.noted) + coming, numbers))
        if memory.sets is not None and items:
            self._make_room_for_items(memory.sets, items)
            self._make_room_for_set(largest)

    def check(self) -> None:
        """Assert the sizes that the kernel relies on: compiled, it does not look."""
        memory, slots, numbers = self.memory, len(self.memory.slots), len(self.memory.codes)
        assert memory.links.shape == (slots, len(self.plan.joins))
        assert memory.heap.shape == memory.ranks.shape == (len(memory.buffers), slots)
        assert len(memory.lists) == len(memory.stats) == numbers
        assert not self.notes or len(memory.rows) == numbers
        assert numbers < len(memory.table)
        assert memory.now.keys_used <= numbers
        assert -1 <= memory.now.free < slots
        if not self.shed.in_bytes:  # a slot each, and one for the arrival that is being judged
            assert memory.buffers.capacity.sum() <= self.shed.budget
        if memory.sets is not None:
            assert len(memory.sets.marks) == len(memory.sets.scores) == slots
            assert memory.sets.held.shape == memory.links.shape
            assert len(memory.sets.found) == slots
            assert memory.now.posts_used <= len(memory.sets.posts)
            if memory.sets.leaps is not None:
                assert len(memory.sets.leaps.older) == len(memory.sets.posts)
            assert memory.sets.held["items"].max(initial=0) <= len(memory.sets.wanted)

    def _make_room_for_notes(self, wanted: int) -> None:
        """Have so many rows of notes."""
        if wanted > len(self.memory.notes):
            notes = longer(self.memory.notes, wanted + wanted // 8)
            self.memory = self.memory._replace(notes=notes)

    def _make_room_for_items(self, sets: m.SlotSets, items: int) -> None:
        have, now = len(sets.posts), self.memory.now
        used = int(now.posts_used)
        if used + items <= have:
            return
        wanted = (used + items) * 5 // 4
        posts = longer(sets.posts, wanted)
        posts.key[have:] = m.NONE
        posts.next[have:] = [*range(have + 1, wanted), int(now.post_free)]
        now.post_free = have
        weights = np.zeros(wanted if self.bagger.weighted else 0)
        weights[:have] = sets.weights
        sets = sets._replace(posts=posts, weights=weights)
        if sets.leaps is not None:
            leaps = sets.leaps._replace(older=longer(sets.leaps.older, wanted))
            sets = sets._replace(leaps=leaps)
        self.memory = self.memory._replace(sets=sets)

    def _make_room_for_set(self, largest: int) -> None:
        """Let a search look for as many items as the largest set has, of all that ever came."""
        sets = self.memory.sets
        if sets is not None and largest > len(sets.wanted):
            weights = np.zeros(largest if self.bagger.weighted else 0)
            fresh = sets._replace(wanted=np.zeros(largest, np.int64), wanted_weights=weights)
            self.memory = self.memory._replace(sets=fresh)

    def forget_keys(self, budget: int, wanted: int) -> None:
        """Forget keys that nobody holds, the rarest first, so that ``wanted`` new ones fit.

        Called when there are as many as there may be, which follows from the tuples alone: how
        the input was cut leaves no trace.
        """
        memory, used = self.memory, int(self.memory.now.keys_used)
        held = self._held(used)
        if self.shed.in_bytes:
            each = self.key_bytes + self.note_bytes
            spare = min(max(16, budget // SPARE // each), _SPARE_KEYS)
            kept = int(held.sum()) + spare // 2
            most = kept + max(spare - spare // 2, wanted)
            memory.now.held_least = memory.now.held - spare
        else:
            # To forget takes a look at all keys, so not for every few new ones.
            kept = int(held.sum()) + max(_KEYS, int(memory.buffers.heaped.sum()))
            most = kept + max(kept, wanted)
        memory.now.keys_most = most
        seen = memory.stats[:used, : len(self.plan.streams)].sum(axis=1)
        seen[held] = np.inf
        keep = np.sort(np.argsort(-seen, kind="stable")[:kept])
        self._number_keys(keep, most)

    def tidy_items(self) -> None:
        """Give up numbers of items that were forgotten."""
        used = int(self.memory.now.keys_used)
        if self.bagger and self.bagger.tidy(self.memory.codes[:used], self.shed.in_bytes):
            self._number_keys(np.arange(used), len(self.memory.codes))

    def _held(self, used: int) -> NDArray[np.bool_]:
        """Return which of the numbered keys a stored tuple has."""
        held = np.zeros(used, np.bool_)
        for stream in range(len(self.plan.streams)):
            held |= self.memory.lists.held[:used, stream] > 0
        return held

    def _number_keys(self, keep: NDArray[np.int64], wanted: int) -> None:
        """Number these keys anew, in tables with room for ``wanted``."""
        memory, used = self.memory, int(self.memory.now.keys_used)
        table = np.full(1 << (wanted + wanted // 2).bit_length(), m.NONE, np.int64)
        codes = np.zeros((wanted, 2), np.uint64)
        lists = records((wanted, memory.lists.shape[1]), LIST)
        lists.newest = m.NONE
        stats = np.zeros((wanted, self.stats))
        stats[:, self.stats - self.times :] = -np.inf  # it has never come
        lists[: len(keep)], stats[: len(keep)] = memory.lists[keep], memory.stats[keep]
        rows, notes = memory.rows, memory.notes
        if self.notes:
            rows = np.full(wanted, m.NONE, np.int32)
            of = memory.rows[keep]
            noted = np.flatnonzero(of >= 0)
            rows[noted] = np.arange(noted.size)
            notes = np.zeros((noted.size, self.notes), np.float32)  # more when keys come
            notes[: noted.size] = memory.notes[of[noted]]
            memory.now.noted = noted.size
        renumbered = np.full(used + 1, m.NONE, np.int64)
        renumbered[keep] = np.arange(len(keep))
        for join in range(len(self.plan.joins)):
            if join not in self.bagger.joins:
                first = memory.links.first[:, join]
                first[:] = renumbered[np.clip(first, -1, used)]
        if memory.sets is not None:
            memory.sets.posts.key = renumbered[memory.sets.posts.key]
        before = memory.codes
        self.memory = memory._replace(
            table=table, codes=codes, lists=lists, stats=stats, notes=notes, rows=rows
        )
        self.memory.now.keys_used = 0
        if keep.size:  # before the first tuple nobody waits for this to be compiled
            number_again(self.memory, keep, before)
