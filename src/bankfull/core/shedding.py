"""The join stage under a memory budget: bounded memory, a policy, payload only of what is stored.

The kernel works on slots (``kernels/memory.py``); payload lies in a log a stream, which is
rewritten with the stored tuples alone when a quarter of it is of others. Everything that decides
lives in arrays that are written down whole, so a restored operator decides as it would have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bankfull.core import keys
from bankfull.core.emit import emit
from bankfull.core.index import Found
from bankfull.core.ledger import JoinLedger, StreamLedger
from bankfull.core.log import Log
from bankfull.core.plan import NEVER, JoinPlan, Plan, ShedPlan
from bankfull.kernels import memory as m
from bankfull.kernels.shedjoin import (
    OUTPUT_FULL,
    Arrivals,
    Output,
    Rules,
    fit_budget,
    shed_join,
)

#: Tuples given to the kernel at a time, results it may return at once.
_ARRIVALS, _RESULTS = 1 << 13, 1 << 15
#: Keys remembered beyond twice the stored tuples, for policies that may forget.
_KEYS = 1 << 12
#: What a stored tuple costs beside its slot: hash table, key, statistics, room to grow.
_BESIDE = 96


@dataclass
class Work:
    """Tuples taken in and not processed yet, in canonical order."""

    arrivals: Arrivals
    next: int = 0

    @property
    def left(self) -> NDArray[np.int64]:
        """Return the streams of the tuples still to be processed."""
        streams: NDArray[np.int64] = self.arrivals.streams[self.next :]
        return streams


class Shedding:
    """The bounded store of a query and its policy."""

    def __init__(self, plan: Plan) -> None:
        assert plan.shed is not None
        self.plan, self.shed = plan, plan.shed
        self.logs = [Log(stream) for stream in plan.streams]
        streams, joins = len(plan.streams), len(plan.joins)
        own = self.shed.shares is not None or self.shed.proportional
        self.words = m.LINKS + 3 * joins
        self.stats = streams * (1 + self.shed.policy.key_stats)
        self.overhead = 8 * (self.words + m.NOTE + m.NOTES + 1) + _BESIDE + 16 * streams
        self.policy = self.shed.policy.start(self.shed.shape)
        self.memory = m.Memory(
            whole=np.full((0, self.words), m.NONE, np.int64),
            real=np.zeros((0, m.NOTE + m.NOTES)),
            heap=np.zeros((streams if own else 1, 0), np.int64),
            codes=np.zeros((0, 2), np.uint64),
            lists=np.zeros((0, 2 * streams), np.int64),
            stats=np.zeros((0, self.stats)),
            table=np.zeros(0, np.int64),
            streams=_about_streams(plan, own),
            buffers=np.zeros((streams if own else 1, 3), np.int64),
            joins=_about_joins(plan),
            now=np.array([m.NONE, 0, -NEVER, 0, 0], np.int64),
        )
        self._divide()
        self.rules = Rules(
            self.shed.seed,
            self.shed.combine,
            self.shed.budget,
            self.shed.proportional,
            self.shed.unbiased,
            np.full(streams, self.shed.sample),
            np.zeros(streams + 1),
            np.zeros(streams + 1, np.int64),
        )
        self.exact = [keys.is_exact(join.types) for join in plan.joins]
        self.work = Work(_no_arrivals(joins))
        self._room(64, 64)

    # ------------------------------------------------------------------------------ taking in

    def take(self, rows: dict[int, tuple[pa.RecordBatch, NDArray[np.int64]]]) -> None:
        """Take in rows of some streams, all of them to be processed now."""
        assert not len(self.work.left)
        pieces = [self._piece(position, *rows[position]) for position in sorted(rows)]
        merged = _concatenate(pieces, len(self.plan.joins))
        order = np.lexsort((merged.streams, merged.times))
        self.work = Work(_each(merged, lambda values: np.ascontiguousarray(values[..., order])))

    def _piece(self, position: int, rows: pa.RecordBatch, times: NDArray[np.int64]) -> Arrivals:
        log = self.logs[position]
        first, count = log.lanes.end, len(times)
        log.append(rows, times)
        joins = self.plan.joins
        codes = np.zeros((len(joins), count), np.uint64)
        keyed = np.zeros((len(joins), count), np.bool_)
        for number, join in enumerate(joins):
            if position in join.streams:
                columns = join.columns[join.streams.index(position)]
                coded, absent = keys.encode([rows.column(c) for c in columns], join.types)
                codes[number], keyed[number] = coded, ~absent
        return Arrivals(
            np.full(count, position, np.int64),
            times,
            np.arange(first, first + count, dtype=np.int64),
            self._sizes(rows),
            _importance(rows, self.shed.importance[position]),
            codes,
            keyed,
        )

    def _sizes(self, rows: pa.RecordBatch) -> NDArray[np.int64]:
        """Return what storing each row costs, in the budget's unit."""
        sizes = np.ones(rows.num_rows, np.int64)
        if not self.shed.in_bytes:
            return sizes
        payload = np.zeros(rows.num_rows, np.int64)
        for column in rows.columns:
            payload += row_bytes(column)
        return self.overhead + payload * 13 // 8

    # ------------------------------------------------------------------------------ processing

    def advance(
        self, most: int, counts: dict[str, JoinLedger]
    ) -> tuple[list[pa.RecordBatch], bool]:
        """Process what was taken in until done or ``most`` results are found; is there more?"""
        output: list[pa.RecordBatch] = []
        room = _RESULTS
        while len(self.work.left) and most > 0:
            stop = min(self.work.next + _ARRIVALS, len(self.work.arrivals.times))
            self._make_room(stop - self.work.next)
            part = _each(self.work.arrivals, itemgetter((..., slice(stop))))
            found = _output(room)
            before = self.work.next
            self.work.next, count, compared, why = shed_join(
                part, self.memory, self.policy, self.rules, found, before
            )
            if why == OUTPUT_FULL and self.work.next == before:
                room *= 2  # one tuple has more results than fit
                continue
            most -= count
            for join, rows in self._results(found, count):
                counts[join.name].emitted += rows.num_rows
                output.append(rows)
            counts[self.plan.joins[0].name].compared += compared
        if not len(self.work.left):
            self.work = Work(_no_arrivals(len(self.plan.joins)))
            for position in range(len(self.logs)):
                self._compact(position)
        return output, bool(len(self.work.left))

    def _results(self, found: Output, count: int) -> list[tuple[JoinPlan, pa.RecordBatch]]:
        results = []
        for number, join in enumerate(self.plan.joins):
            which = np.flatnonzero(found.joins[:count] == number)
            if not which.size:
                continue
            numbers = found.rows[: len(join.streams), which]
            logs = [self.logs[k] for k in join.streams]
            if not self.exact[number]:
                same = _same_keys(join, logs, numbers)
                which, numbers = which[same], numbers[:, same]
            chosen = Found(numbers, found.times[which], 0, more=False)
            results.append((join, emit(self.plan, join, logs, chosen, found.importance[which])))
        return results

    def count(self, position: int, ledger: StreamLedger, waiting: int) -> None:
        """Write into a stream's ledger what became of its tuples."""
        about = self.memory.streams[position]
        queued = int(np.count_nonzero(self.work.left == position))
        ledger.waiting = waiting + queued
        ledger.shed, ledger.evicted = int(about[m.SHED]), int(about[m.EVICTED])
        ledger.expired, ledger.stored = int(about[m.EXPIRED]), int(about[m.STORED])
        ledger.inserted = ledger.stored + ledger.evicted + ledger.expired

    def tidy(self) -> None:
        """Keep payload of stored tuples only."""
        for position in range(len(self.logs)):
            self._compact(position, slack=0)

    def arrays(self) -> list[NDArray[Any]]:
        """Return everything that decides, in one order."""
        own = [value for value in self.policy if isinstance(value, np.ndarray)]
        return [*self.memory, *self.rules[-3:], np.array([self.rules.budget]), *own]

    def load(self, arrays: list[NDArray[Any]]) -> None:
        """Take over what :meth:`arrays` gave."""
        count = len(self.memory)
        self.memory = m.Memory(*arrays[:count])
        self.rules = Rules(*self.rules[:-3], *arrays[count : count + 3])
        self.rules = self.rules._replace(budget=int(arrays[count + 3][0]))
        own = iter(arrays[count + 4 :])
        values = [next(own) if isinstance(v, np.ndarray) else v for v in self.policy]
        self.policy = type(self.policy)(*values)

    def nbytes(self) -> int:
        """Bytes of payload, slots, keys and the policy's own arrays."""
        arrays = [*self.memory, *(v for v in self.policy if isinstance(v, np.ndarray))]
        return sum(log.nbytes() for log in self.logs) + sum(a.nbytes for a in arrays)

    # ------------------------------------------------------------------------------- the arrays

    def _divide(self) -> None:
        """Give every buffer its part of the budget."""
        shares = self.shed.shares
        if shares is None:
            buffers = len(self.memory.buffers)
            shares = (1.0 / buffers,) * buffers
        for buffer, share in enumerate(shares):
            self.memory.buffers[buffer, m.CAPACITY] = max(1, int(self.shed.budget * share + 1e-9))

    def resize(self, share: float) -> None:
        """Use this part of the query's budget; what no longer fits is evicted now."""
        budget = max(1, int(self.shed.budget * share))
        if budget == self.rules.budget:
            return
        before, buffers = self.rules.budget, self.memory.buffers
        for buffer in range(len(buffers)):
            capacity = int(buffers[buffer, m.CAPACITY]) * budget // before
            buffers[buffer, m.CAPACITY] = max(1, capacity)
        self.rules = self.rules._replace(budget=budget)
        fit_budget(self.memory, self.policy, self.rules)

    def _make_room(self, arrivals: int) -> None:
        stored = int(self.memory.streams[:, m.STORED].sum())
        slots = stored + arrivals
        if not self.shed.in_bytes:
            slots = min(slots, self.shed.budget)
        self._room(slots + 1, int(self.memory.now[m.KEYS_USED]) + arrivals * len(self.plan.joins))

    def _room(self, slots: int, numbers: int) -> None:
        """Have so many slots and numbers for keys."""
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
        self.memory = memory
        if numbers > len(memory.codes):
            self._number_keys(numbers)

    def _number_keys(self, numbers: int) -> None:
        """Make room for keys; those of nobody stored are forgotten where a policy allows it."""
        memory, used = self.memory, int(self.memory.now[m.KEYS_USED])
        keep = np.arange(used)
        fresh = numbers - used
        if not self.shed.policy.exact_keys:
            held = memory.lists[:used, 1::2].sum(axis=1) > 0
            most = 2 * int(held.sum()) + _KEYS
            if used > most:
                seen = memory.stats[:used, : len(self.plan.streams)].sum(axis=1)
                seen[held] = np.inf
                keep = np.sort(np.argsort(-seen, kind="stable")[:most])
        wanted = 2 * (len(keep) + fresh) + 64
        table = np.full(1 << (2 * wanted).bit_length(), m.NONE, np.int64)
        codes = np.zeros((wanted, 2), np.uint64)
        lists = np.full((wanted, memory.lists.shape[1]), m.NONE, np.int64)
        lists[:, 1::2] = 0
        stats = np.zeros((wanted, self.stats))
        lists[: len(keep)], stats[: len(keep)] = memory.lists[keep], memory.stats[keep]
        renumbered = np.full(used + 1, m.NONE, np.int64)
        renumbered[keep] = np.arange(len(keep))
        for join in range(len(self.plan.joins)):
            at = m.LINKS + 3 * join
            memory.whole[:, at] = renumbered[np.clip(memory.whole[:, at], -1, used)]
        before = memory.codes
        self.memory = memory._replace(table=table, codes=codes, lists=lists, stats=stats)
        m.number_again(self.memory, keep, before)

    def _compact(self, position: int, slack: int = 64) -> None:
        """Rewrite a log with the stored tuples alone, when a quarter of it is of others."""
        log, whole = self.logs[position], self.memory.whole
        slots = np.flatnonzero(whole[:, m.STREAM] == position)
        if log.stored <= slots.size + (slots.size // 4 + slack if slack else 0):
            return
        numbers = whole[slots, m.ROW]
        order = np.argsort(numbers)
        rows = log.gather(numbers[order])
        fresh = Log(log.plan, log.lanes.end)
        fresh.append(rows, whole[slots[order], m.TIME])
        whole[slots[order], m.ROW] = np.arange(log.lanes.end, fresh.lanes.end)
        self.logs[position] = fresh


def row_bytes(values: pa.Array) -> NDArray[np.int64]:
    """Return the bytes that each value of a column takes; of nested values, their mean."""
    kind, count = values.type, len(values)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        lengths = pc.binary_length(values).fill_null(0).to_numpy(zero_copy_only=False)
        return lengths.astype(np.int64) + 4  # type: ignore[no-any-return]
    try:
        width = -(-kind.bit_width // 8)
    except ValueError:
        width = -(-values.nbytes // max(1, count))
    return np.full(count, width, np.int64)


def _importance(rows: pa.RecordBatch, column: int) -> NDArray[np.float64]:
    if column < 0:
        return np.ones(rows.num_rows)
    values = rows.column(column).cast(pa.float64(), safe=False)
    return values.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def bad_importance(values: pa.Array) -> NDArray[np.bool_]:
    """Return which values are no importance: null, not finite, or not above zero."""
    numbers = values.cast(pa.float64(), safe=False).fill_null(float("nan"))
    worth = numbers.to_numpy(zero_copy_only=False)
    return ~(np.isfinite(worth) & (worth > 0.0))  # type: ignore[no-any-return]


def _same_keys(join: JoinPlan, logs: list[Log], numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Compare the real keys: 64 bits may agree by chance."""

    def columns(side: int) -> list[pa.Array]:
        rows = np.ascontiguousarray(numbers[side])
        return [logs[side].columns[position].gather(rows) for position in join.columns[side]]

    first, same = columns(0), np.ones(numbers.shape[1], np.bool_)
    for side in range(1, len(logs)):
        same &= keys.equal(first, columns(side), join.types)
    return same


def _about_streams(plan: Plan, own: bool) -> NDArray[np.int64]:
    about = np.zeros((len(plan.streams), m.STREAM_WORDS), np.int64)
    about[:, [m.OLDEST, m.NEWEST]] = m.NONE
    for position in range(len(plan.streams)):
        sides = [(j, j.streams.index(position)) for j in plan.joins if position in j.streams]
        about[position, m.SPAN] = max(join.span[side] for join, side in sides)
        about[position, m.ROWS] = max(join.rows[side] for join, side in sides)
        about[position, m.OWN_BUFFER] = position if own else 0
    return about


def _about_joins(plan: Plan) -> NDArray[np.int64]:
    about = np.zeros((len(plan.joins), m.JOIN_WORDS), np.int64)
    for number, join in enumerate(plan.joins):
        width = len(join.streams)
        about[number, m.WIDTH] = width
        about[number, m.MEMBER : m.MEMBER + width] = join.streams
        about[number, m.MEMBER_SPAN : m.MEMBER_SPAN + width] = join.span
        about[number, m.MEMBER_ROWS : m.MEMBER_ROWS + width] = join.rows
    return about


def _each(arrivals: Arrivals, change: Callable[[Any], Any]) -> Arrivals:
    """Do the same to all arrays."""
    return Arrivals(*map(change, arrivals))


def _no_arrivals(joins: int) -> Arrivals:
    none = np.zeros(0, np.int64)
    codes, keyed = np.zeros((joins, 0), np.uint64), np.zeros((joins, 0), np.bool_)
    return Arrivals(none, none, none, none, np.zeros(0), codes, keyed)


def _concatenate(pieces: list[Arrivals], joins: int) -> Arrivals:
    together = zip(*[_no_arrivals(joins), *pieces], strict=True)
    return Arrivals(*(np.concatenate(values, axis=-1) for values in together))


def _output(room: int) -> Output:
    members = np.empty((2, 5, room), np.int64)
    joins, times = np.empty((2, room), np.int64)
    return Output(joins, members[0], members[1], times, np.empty(room))


__all__: list[str] = ["ShedPlan", "Shedding", "bad_importance", "row_bytes"]
