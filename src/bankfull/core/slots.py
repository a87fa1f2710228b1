"""The slots and keys of a query under a budget: room for more, and what is forgotten.

The kernel finds everything it may need already there (``kernels/memory.py``); arrays grow between
its calls. Keys that nobody stored holds are remembered for their statistics, the rarest forgotten
first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankfull.core.arrays import about_joins, about_streams
from bankfull.core.bags import ITEM_BYTES, TEXT_ROOM, Bagger
from bankfull.core.plan import NEVER, Plan
from bankfull.kernels import memory as m
from bankfull.kernels.keys import number_again

#: Tuples that are processed at a time: the most, and the least under a budget in bytes.
_PERIOD, _SHORT = 1024, 64
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
        self.words = m.LINKS + 3 * joins
        self.stats = streams * (1 + self.shed.policy.key_stats)
        # A slot with a quarter to spare; a key with its part of the hash table.
        slot, key = 8 * (self.words + m.NOTE + m.NOTES + 1), 40 + 16 * streams + 8 * self.stats
        if bagger:
            slot += 24
        self.overhead = slot * 5 // 4
        self.key_bytes = key + (ITEM_BYTES + 8 * TEXT_ROOM if bagger else 0)
        self.memory = m.Memory(
            whole=np.full((0, self.words), m.NONE, np.int64),
            real=np.zeros((0, m.NOTE + m.NOTES)),
            heap=np.zeros((streams if own else 1, 0), np.int64),
            codes=np.zeros((0, 2), np.uint64),
            lists=np.zeros((0, 2 * streams), np.int64),
            stats=np.zeros((0, self.stats)),
            table=np.zeros(0, np.int64),
            streams=about_streams(plan, own),
            buffers=np.zeros((streams if own else 1, 3), np.int64),
            joins=about_joins(plan),
            now=np.array([m.NONE, 0, -NEVER, 0, 0, m.NONE, 0, 0, NEVER, 0, 0, 0], np.int64),
            sketch=np.zeros((streams, 0), np.uint8),
            sketched=np.zeros(streams, np.int64),
            sets=None,
        )
        if self.shed.in_bytes:  # the number of keys remembered is bounded at every tuple
            self.memory.now[m.KEYS_MOST] = 0
            self.memory.joins[:, m.KEY_BYTES] = key
            self.memory.joins[list(bagger.joins), m.KEY_BYTES] = self.key_bytes
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
        if not keyed or (self.shed.policy.exact_keys and not self.shed.in_bytes):
            return 0
        if self.shed.in_bytes:
            return streams << min(max(10, (budget // SPARE // streams).bit_length() - 1), 26)
        return streams << min(max(16, (64 * budget).bit_length()), 20)

    def arrays(self) -> list[NDArray[Any]]:
        """Return all arrays in one order."""
        return [*self.memory[:-1], *(self.memory.sets or ())]

    def load(self, arrays: list[NDArray[Any]]) -> int:
        """Take over what :meth:`arrays` gave, from the front; returns how many that were."""
        count = len(self.memory) - 1
        self.memory = m.Memory._make([*arrays[:count], None])
        if self.bagger:
            width = len(m.Sets._fields)
            self.memory = self.memory._replace(sets=m.Sets(*arrays[count : count + width]))
            count += width
        return count

    def _prepare_sets(self) -> None:
        """Describe joins on sets to the kernel."""
        counted = self.shed.policy.counts_partners
        sets = m.Sets(
            posts=np.zeros((0, m.POST_WORDS), np.int32),
            weights=np.zeros(0),
            marks=np.zeros((0, 2), np.int64),
            scores=np.zeros(0),
            at_least=self.bagger.describe(self.memory.joins, counted),
        )
        self.memory = self.memory._replace(sets=sets)

    def period(self, budget: int) -> int:
        """Return after how many tuples keys that nobody stored holds are forgotten.

        They are counted from the first one, so that how the input is cut into batches leaves no
        trace. A small budget in bytes has no room for the slots and keys of a thousand newcomers.
        """
        if not self.shed.in_bytes:
            return _PERIOD
        return min(max(_SHORT, 1 << max(0, (budget >> 13).bit_length() - 1)), _PERIOD)

    def make_room(self, slots: int, numbers: int, items: int = 0) -> None:
        """Have so many slots, numbers for keys, and free postings."""
        memory, have = self.memory, len(self.memory.whole)
        if slots > have:
            wanted = slots + slots // 4
            if not self.shed.in_bytes:
                wanted = min(wanted, self.shed.budget + 1)
            whole = np.full((wanted, self.words), m.NONE, np.int64)
            whole[:have] = memory.whole
            whole[have:, m.OLDER] = [*range(have + 1, wanted), int(memory.now[m.FREE])]
            memory.now[m.FREE] = have
            real = np.zeros((wanted, memory.real.shape[1]))
            real[:have] = memory.real
            heap = np.zeros((len(memory.heap), wanted), np.int64)
            heap[:, :have] = memory.heap
            memory = memory._replace(whole=whole, real=real, heap=heap)
            if memory.sets is not None:
                marks = np.zeros((wanted, 2), np.int64)
                marks[:have] = memory.sets.marks
                sets = memory.sets._replace(marks=marks, scores=np.zeros(wanted))
                memory = memory._replace(sets=sets)
        self.memory = memory
        if numbers > len(memory.codes):
            used = int(memory.now[m.KEYS_USED])
            self._number_keys(np.arange(used), numbers + numbers // 8 + 64)
        if memory.sets is not None and items:
            self._make_room_for_items(memory.sets, items)

    def check(self) -> None:
        """Assert the sizes that the kernel relies on: compiled, it does not look."""
        memory, slots, numbers = self.memory, len(self.memory.whole), len(self.memory.codes)
        assert memory.whole.shape[1] == self.words
        assert len(memory.real) == slots
        assert memory.heap.shape == (len(memory.buffers), slots)
        assert len(memory.lists) == len(memory.stats) == numbers < len(memory.table)
        assert memory.now[m.KEYS_USED] <= numbers
        assert -1 <= memory.now[m.FREE] < slots
        if not self.shed.in_bytes:  # a slot each, and one for the arrival that is being judged
            assert memory.buffers[:, m.CAPACITY].sum() <= self.shed.budget
        if memory.sets is not None:
            assert len(memory.sets.marks) == len(memory.sets.scores) == slots
            assert memory.now[m.POSTS_USED] <= len(memory.sets.posts)

    def _make_room_for_items(self, sets: m.Sets, items: int) -> None:
        have, now = len(sets.posts), self.memory.now
        used = int(now[m.POSTS_USED])
        if used + items <= have:
            return
        wanted = (used + items) * 5 // 4
        posts = np.full((wanted, m.POST_WORDS), m.NONE, np.int32)
        posts[:have] = sets.posts
        posts[have:, m.POST_NEXT] = [*range(have + 1, wanted), int(now[m.POST_FREE])]
        now[m.POST_FREE] = have
        weights = np.zeros(wanted if self.bagger.weighted else 0)
        weights[:have] = sets.weights
        self.memory = self.memory._replace(sets=sets._replace(posts=posts, weights=weights))

    def forget_idle(self, budget: int, wanted: int) -> None:
        """Forget keys that nobody holds, the rarest first, so that ``wanted`` new ones fit."""
        memory, used = self.memory, int(self.memory.now[m.KEYS_USED])
        held = memory.lists[:used, 1::2].sum(axis=1) > 0
        spare = min(max(16, budget // SPARE // self.key_bytes), _SPARE_KEYS)
        seen = memory.stats[:used, : len(self.plan.streams)].sum(axis=1)
        seen[held] = np.inf
        keep = np.sort(np.argsort(-seen, kind="stable")[: int(held.sum()) + spare // 2])
        most = int(held.sum()) + spare // 2 + max(spare - spare // 2, wanted)
        memory.now[m.KEYS_MOST] = most
        memory.now[m.HELD_LEAST] = memory.now[m.HELD] - spare
        self._number_keys(keep, most)

    def tidy_items(self) -> None:
        """Give up numbers of items that were forgotten."""
        used = int(self.memory.now[m.KEYS_USED])
        if self.bagger and self.bagger.tidy(self.memory.codes[:used], self.shed.in_bytes):
            self._number_keys(np.arange(used), len(self.memory.codes))

    def forget_keys(self, period: int) -> None:
        """Forget keys of nobody stored, the rarest first, where the policy allows it.

        For budgets in tuples. To forget takes a look at all keys, so not for every few new ones.
        """
        memory, used = self.memory, int(self.memory.now[m.KEYS_USED])
        held = memory.lists[:used, 1::2].sum(axis=1) > 0
        most = int(held.sum()) + max(_KEYS, int(memory.buffers[:, m.HEAPED].sum()))
        if used <= 2 * most or self.shed.policy.exact_keys:
            return
        seen = memory.stats[:used, : len(self.plan.streams)].sum(axis=1)
        seen[held] = np.inf
        keep = np.sort(np.argsort(-seen, kind="stable")[:most])
        self._number_keys(keep, 2 * most + most // 4 + period * len(self.plan.joins))

    def _number_keys(self, keep: NDArray[np.int64], wanted: int) -> None:
        """Number these keys anew, in tables with room for ``wanted``."""
        memory, used = self.memory, int(self.memory.now[m.KEYS_USED])
        table = np.full(1 << (wanted + wanted // 2).bit_length(), m.NONE, np.int64)
        codes = np.zeros((wanted, 2), np.uint64)
        lists = np.full((wanted, memory.lists.shape[1]), m.NONE, np.int64)
        lists[:, 1::2] = 0
        stats = np.zeros((wanted, self.stats))
        lists[: len(keep)], stats[: len(keep)] = memory.lists[keep], memory.stats[keep]
        renumbered = np.full(used + 1, m.NONE, np.int64)
        renumbered[keep] = np.arange(len(keep))
        for join in range(len(self.plan.joins)):
            at = m.LINKS + 3 * join
            if join not in self.bagger.joins:
                memory.whole[:, at] = renumbered[np.clip(memory.whole[:, at], -1, used)]
        if memory.sets is not None:
            memory.sets.posts[:, m.POST_KEY] = renumbered[memory.sets.posts[:, m.POST_KEY]]
        before = memory.codes
        self.memory = memory._replace(table=table, codes=codes, lists=lists, stats=stats)
        number_again(self.memory, keep, before)
