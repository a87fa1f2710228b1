"""The sets of arrivals as item numbers, for joins on sets under a memory budget.

Items are numbered exactly (``kernels/intern.py``), a numbering for each join; a number is all that
the kernel knows of an item. Numbers of items that nobody remembers are given up between batches,
which changes no decision: such an item comes back as a new one, with no statistics, as a key does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.bounded.named import named, refilled
from bankfull.core.codes import sets
from bankfull.core.exact.index import unseen
from bankfull.core.kept import Arrays
from bankfull.core.plan import JoinPlan, Plan
from bankfull.core.store.log import Log
from bankfull.core.store.sizes import row_bytes
from bankfull.kernels.bounded.records import POST
from bankfull.kernels.bounded.slotsets import Bags
from bankfull.kernels.intern import Items
from bankfull.kernels.predicates import EMPTY
from bankfull.spec import Equal
from bankfull.spec.predicates import is_weighted

#: What an item's number takes at most, in bytes, and how much room its text may take.
ITEM_BYTES, TEXT_ROOM = 96, 3
#: Bytes that a numbering may take beside those of its items before it is made anew; the second
#: under a budget in tuples.
_LEAST_BYTES, _EASY_BYTES = 4096, 1 << 20
NO_BAGS = Bags(
    np.zeros((0, 0), np.int64),
    np.zeros((0, 0), np.int64),
    np.zeros(0, np.int32),
    np.zeros(0),
    np.zeros(0, np.uint64),
)


class Bagger:
    """Numbers the items of a query's joins on sets."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.joins: dict[int, JoinPlan] = {
            number: join
            for number, join in enumerate(plan.joins)
            if not isinstance(join.predicate, Equal)
        }
        self.interners = {number: sets.Interner() for number in self.joins}
        self.weighted = any(is_weighted(join.predicate) for join in self.joins.values())
        leap = 4 if plan.compare is not None else 0
        #: What a posting takes, with a quarter to spare.
        self.post_bytes = (POST.itemsize + leap + 8 * self.weighted) * 5 // 4

    def __bool__(self) -> bool:
        return bool(self.joins)

    def describe(self, about: Any, counted: bool) -> NDArray[np.float64]:
        """Write into the joins how they compare; returns the thresholds."""
        at_least = np.zeros(len(about))
        for number, join in self.joins.items():
            how = sets.comparison(join.predicate)
            about[number].kind, at_least[number] = how.kind, how.at_least
            about[number].contained = join.streams[how.contained]
            about[number].counted = counted
        return at_least

    def encode(self, position: int, rows: pa.RecordBatch, log: Log) -> Bags:
        """Return the sets of rows of one stream."""
        if not self.joins:
            return NO_BAGS
        starts, sizes = np.zeros((2, len(self.plan.joins), rows.num_rows), np.int64)
        items, weights, used = [np.zeros(0, np.int32)], [np.zeros(0)], 0
        codes = [np.zeros(0, np.uint64)]
        for number, join in self.joins.items():
            if position not in join.streams:
                continue
            side = join.streams.index(position)
            encoded = self._encode(number, join, side, rows, unseen(log, rows, join))
            lengths = np.maximum(encoded.sizes, 0)
            sizes[number] = lengths
            starts[number] = used + np.cumsum(lengths) - lengths
            items.append(encoded.items)
            codes.append(self.interners[number].items.hashes[encoded.items])
            used += len(encoded.items)
            if self.weighted:
                plain = encoded.weights if encoded.weights.size else np.ones(len(encoded.items))
                weights.append(plain)
        together = [np.concatenate(pieces) for pieces in (items, weights, codes)]
        return Bags._make([starts, sizes, *together])

    def _encode(
        self,
        number: int,
        join: JoinPlan,
        side: int,
        rows: pa.RecordBatch,
        hidden: NDArray[np.bool_],
    ) -> sets.EncodedSets:
        """Number items; the empty set becomes an item where it can match."""
        weighted = is_weighted(join.predicate)
        values = rows.column(join.columns[side][0])
        encoded = sets.encode(values, join.types[0], weighted, self.interners[number])
        if hidden.any():
            encoded = sets.without(encoded, hidden)
        return sets.with_empty(encoded, sets.comparison(join.predicate), side)

    def merge(self, pieces: list[Bags], order: NDArray[np.int64]) -> Bags:
        """Put the sets of several streams together, their tuples in this order."""
        if not self.joins or not pieces:
            return NO_BAGS
        starts, used = [], 0
        for piece in pieces:
            starts.append(piece.starts + used)
            used += len(piece.items)
        return Bags(
            np.ascontiguousarray(np.concatenate(starts, axis=-1)[:, order]),
            np.ascontiguousarray(np.concatenate([p.sizes for p in pieces], axis=-1)[:, order]),
            np.concatenate([piece.items for piece in pieces]),
            np.concatenate([piece.weights for piece in pieces]),
            np.concatenate([piece.codes for piece in pieces]),
        )

    def row_bytes(self, position: int, rows: pa.RecordBatch, bags: Bags) -> NDArray[np.int64]:
        """Return what the postings of rows and the text of their items take."""
        taken: NDArray[np.int64] = bags.sizes.sum(axis=0) * self.post_bytes
        for join in self.joins.values():
            if position in join.streams and not pa.types.is_integer(join.types[0]):
                column = join.columns[join.streams.index(position)][0]
                taken = taken + TEXT_ROOM * row_bytes(rows.column(column))
        return taken

    def tidy(self, codes: NDArray[np.uint64], in_bytes: bool) -> bool:
        """Give up numbers that are not among the keys ``codes``, where there are many of them.

        Keys that stay are written with their new numbers. Returns whether there were any.
        """
        changed = False
        for number, interner in self.interners.items():
            mine = codes[:, 1] == number
            kept = codes[mine, 0].astype(np.int64)
            kept = kept[kept != EMPTY]
            lengths = interner.items.bounds[kept] - interner.items.bounds[kept - 1]
            most = ITEM_BYTES * len(kept) + TEXT_ROOM * int(lengths.sum()) + _LEAST_BYTES
            if interner.nbytes() <= (most if in_bytes else 4 * most + _EASY_BYTES):
                continue
            self.interners[number], renumbered = interner.keep(kept)
            codes[mine, 0] = renumbered[codes[mine, 0].astype(np.int64)].astype(np.uint64)
            changed = True
        return changed

    def numbers(self) -> tuple[Items, ...] | None:
        """Return the numberings of all joins, of those on keys an empty one; None without sets."""
        if not self.joins:
            return None
        none = sets.Interner()
        return tuple(
            self.interners.get(number, none).items for number in range(len(self.plan.joins))
        )

    def arrays(self) -> Arrays:
        """Return the numberings by name."""
        found: Arrays = {}
        for number, interner in self.interners.items():
            found |= named(f"items.{number}", interner.items)
        return found

    def load(self, arrays: Arrays) -> None:
        """Take over what :meth:`arrays` gave."""
        for number, interner in self.interners.items():
            interner.items = refilled(f"items.{number}", interner.items, arrays)

    def nbytes(self) -> int:
        """Bytes of the numberings."""
        return sum(interner.nbytes() for interner in self.interners.values())


def set_codes(bags: Bags, number: int) -> NDArray[np.uint64]:
    """Return a code of every set of a join, for draws that depend on what a tuple holds."""
    added = np.append(np.uint64(0), np.cumsum(bags.codes))
    start = bags.starts[number]
    codes: NDArray[np.uint64] = added[start + bags.sizes[number]] - added[start]
    return codes
