"""Which bucket a row goes to, such that every pair of partners meets exactly once.

Equality: the hash of the key. Sets: a grid, a row of the first stream goes to one row of buckets
and a row of the second to one column, and the two meet where they cross. Count windows need one
order of all tuples, hence one bucket. With several joins a row goes wherever one of them needs
it, with a mask that says which joins may see it there; of its copies one is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core import JoinPlan, Plan
from bankfull.core.codes.keys import spread
from bankfull.core.intake.content import row_codes
from bankfull.core.intake.useless import null_keys
from bankfull.core.plan import HOME, NEVER
from bankfull.spec import Equal


@dataclass(frozen=True)
class Routing:
    """Rows of one piece of input in the order of their buckets.

    ``rows[k]`` goes to ``buckets[k]``; ``masks[k]`` says which joins may see it there, and marks
    one copy of every row as the one that is counted.
    """

    rows: NDArray[np.int64]
    buckets: NDArray[np.int64]
    masks: NDArray[np.int64]


def bucket_count(plan: Plan, wanted: int) -> int:
    """Return how many buckets this query can use."""
    counted = any(rows < NEVER for join in plan.joins for rows in join.rows)
    return 1 if counted else max(1, wanted)


def grid(buckets: int) -> tuple[int, int]:
    """Return rows and columns of the grid, as square as the number of buckets allows.

    >>> grid(12), grid(7), grid(1)
    ((3, 4), (1, 7), (1, 1))
    """
    rows = next(size for size in range(isqrt(buckets), 0, -1) if buckets % size == 0)
    return rows, buckets // rows


def route(plan: Plan, position: int, rows: pa.RecordBatch, buckets: int) -> Routing:
    """Send the rows of one stream to their buckets.

    A row whose key is null meets nobody. It goes to one bucket, where it is counted and forgotten:
    one that follows from its content, so that many such rows are spread over all buckets.
    """
    count = rows.num_rows
    alone = np.ones(count, np.bool_)
    where, which, bits = [], [], []
    for join in plan.joins:
        if position not in join.streams:
            continue
        targets = _targets(join, join.streams.index(position), rows, buckets)
        keyed = np.flatnonzero(~null_keys(join, position, rows))
        alone[keyed] = False
        for column in targets.T:
            where.append(column[keyed])
            which.append(keyed)
            bits.append(np.full(len(keyed), 1 << join.bit, np.int64))
    lonely = np.flatnonzero(alone)
    codes = row_codes(rows.take(pa.array(lonely))) if len(lonely) else np.zeros(0, np.uint64)
    where.append((codes % np.uint64(buckets)).astype(np.int64))
    which.append(lonely)
    bits.append(np.zeros(len(lonely), np.int64))
    routing = Routing(np.concatenate(which), np.concatenate(where), np.concatenate(bits))
    return _merged(routing, count, buckets)


def most_copies(plan: Plan, position: int, buckets: int) -> int:
    """Return to how many buckets a row of a stream may go."""
    copies = 0
    for join in plan.joins:
        if position in join.streams:
            equality = isinstance(join.predicate, Equal)
            copies += 1 if equality else grid(buckets)[1 - min(1, join.streams.index(position))]
    return copies


def _targets(join: JoinPlan, side: int, rows: pa.RecordBatch, buckets: int) -> NDArray[np.int64]:
    """Return the buckets of every row for one join, a column for each copy."""
    if buckets == 1:
        return np.zeros((rows.num_rows, 1), np.int64)
    columns = [rows.column(column) for column in join.columns[side]]
    if isinstance(join.predicate, Equal):
        return spread(columns, join.types, buckets)[:, None]
    down, across = grid(buckets)
    place = (row_codes(rows) % np.uint64(down if side == 0 else across)).astype(np.int64)
    if side == 0:
        return place[:, None] * across + np.arange(across)
    return place[:, None] + np.arange(down) * across


def _merged(routing: Routing, count: int, buckets: int) -> Routing:
    """Send a row to a bucket once, for all joins that need it there."""
    if len(routing.rows) == count:  # every row goes to one place
        # Small integers are sorted in linear time.
        small = routing.buckets.astype(np.min_scalar_type(buckets))
        order = np.argsort(small, kind="stable")
        return Routing(routing.rows[order], routing.buckets[order], routing.masks[order] | HOME)
    order = np.lexsort((routing.rows, routing.buckets))
    rows, places, masks = routing.rows[order], routing.buckets[order], routing.masks[order]
    first = np.ones(len(rows), np.bool_)
    first[1:] = (rows[1:] != rows[:-1]) | (places[1:] != places[:-1])
    starts = np.flatnonzero(first)
    masks = np.bitwise_or.reduceat(masks, starts) if len(starts) else masks
    rows, places = rows[starts], places[starts]
    masks[np.unique(rows, return_index=True)[1]] |= HOME
    return Routing(rows, places, masks)


def spread_keys(buckets: int, partitions: int) -> list[int]:
    """Return a grouping key for every bucket such that Spark spreads them over its partitions.

    Bucket 0 always has key 0, so that a checkpoint made with other buckets is noticed.
    """
    keys, taken, candidate = [0], {_partition(0, partitions): 1}, 0
    while len(keys) < buckets:
        candidate += 1
        place = _partition(candidate, partitions)
        if taken.get(place, 0) <= len(keys) // partitions:
            taken[place] = taken.get(place, 0) + 1
            keys.append(candidate)
    return keys


def _partition(key: int, partitions: int) -> int:
    """Return the shuffle partition of an integer key (Spark hashes with Murmur3, seed 42)."""
    low = 0xFFFFFFFF

    def rotated(word: int, bits: int) -> int:
        return ((word << bits) | (word >> (32 - bits))) & low

    mixed = rotated(key * 0xCC9E2D51 & low, 15) * 0x1B873593 & low
    state = (rotated(42 ^ mixed, 13) * 5 + 0xE6546B64) & low
    state ^= 4
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        state = (state ^ (state >> shift)) * factor & low
    signed = state - (1 << 32) if state >> 31 else state
    return signed % partitions
