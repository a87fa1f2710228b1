"""List and map columns as sets of small item numbers.

Duplicate items count once (weights of duplicates are added, in order of occurrence), null items
are ignored, a null list is no set at all. Items of a tuple are kept in the order of their values,
so that weights are added in the same order whatever the history of the index.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bankfull.core.codes.keys import binary_parts
from bankfull.kernels.exact.postings import NO_SET
from bankfull.kernels.intern import SHORT, Items, intern, rehash, tidy_sets
from bankfull.kernels.predicates import CONTAINS, EMPTY, OVERLAP, PRODUCT
from bankfull.spec import Overlap, Predicate, Similar, Subset


@dataclass(frozen=True)
class EncodedSets:
    """Rows of sets: ``sizes[i]`` items each (NO_SET: null), one row behind the other."""

    sizes: NDArray[np.int64]
    items: NDArray[np.int32]
    weights: NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """How a join compares sets. ``contained``: the side whose sets must lie in the other's, or -1.

    ``kind`` is one of ``kernels/predicates.py``.
    """

    kind: int
    contained: int
    at_least: float


def comparison(predicate: Predicate) -> Comparison:
    """Return what a predicate on sets means to the kernels."""
    if isinstance(predicate, Overlap):
        return Comparison(OVERLAP, -1, float(predicate.at_least))
    if isinstance(predicate, Similar):
        return Comparison(PRODUCT, -1, predicate.at_least)
    return Comparison(CONTAINS, 0 if isinstance(predicate, Subset) else 1, 0.0)


class Interner:
    """Numbers for distinct items, growing as needed."""

    def __init__(self) -> None:
        self.items = Items(
            np.zeros(64, np.int32),
            np.zeros(33, np.uint64),
            np.zeros(34, np.int64),
            np.zeros(256, np.uint8),
            np.zeros(1, np.int64),
        )

    @property
    def known(self) -> int:
        """Number of distinct items so far."""
        return int(self.items.known[0])

    def number(self, values: pa.Array) -> NDArray[np.int32]:
        """Return the item numbers of integers or strings without nulls."""
        if pa.types.is_integer(values.type):
            data = values.to_numpy(zero_copy_only=False).astype(np.int64, copy=False).view(np.uint8)
            offsets = np.arange(len(values) + 1) * 8
        else:
            offsets, data = binary_parts(values)
        self._make_room(len(values), int(offsets[-1] - offsets[0]))
        out = np.empty(len(values), np.int32)
        intern(self.items, offsets, data, out)
        return out

    def _make_room(self, count: int, data_bytes: int) -> None:
        items, total = self.items, self.known + count
        if total + 2 > items.bounds.size:
            items = items._replace(
                hashes=_longer(items.hashes, 2 * total + 1),
                bounds=_longer(items.bounds, 2 * total + 2),
            )
        used = int(items.bounds[self.known])
        if used + data_bytes > items.data.size:
            items = items._replace(data=_longer(items.data, 2 * (used + data_bytes)))
        if 2 * total > items.slots.size:
            slots = np.zeros(1 << (4 * total).bit_length(), np.int32)
            items = items._replace(slots=slots)
            rehash(items)
        self.items = items

    def keep(self, numbers: NDArray[np.int64]) -> tuple[Interner, NDArray[np.int64]]:
        """Return an interner of these items alone, and what each old number has become (or 0)."""
        fresh, items = Interner(), self.items
        begin, stop = items.bounds[numbers - 1], items.bounds[numbers]
        offsets = np.append(0, np.cumsum(stop - begin))
        where = np.arange(offsets[-1]) + np.repeat(begin - offsets[:-1], stop - begin)
        fresh._make_room(len(numbers), int(offsets[-1]))
        out = np.empty(len(numbers), np.int32)
        intern(fresh.items, offsets, items.data[where], out)
        renumbered = np.zeros(self.known + 1, np.int64)
        renumbered[numbers] = out
        return fresh, renumbered

    def nbytes(self) -> int:
        """Bytes held."""
        return sum(array.nbytes for array in self.items)


def _longer(values: NDArray[Any], size: int) -> NDArray[Any]:
    longer = np.zeros(size, values.dtype)
    longer[: values.size] = values
    return longer


def encode(
    values: pa.Array, item_type: pa.DataType, weighted: bool, interner: Interner
) -> EncodedSets:
    """Turn a column of sets into item numbers."""
    offsets, items, weights = _parts(values, weighted)
    keep = np.ones(len(items), np.bool_)
    if items.null_count:
        keep = pc.is_valid(items).to_numpy(zero_copy_only=False)
    encoded = items.cast(item_type).dictionary_encode()
    distinct = encoded.dictionary
    numbers = interner.number(distinct)
    ranks = np.empty(len(distinct), np.int64)
    ranks[pc.sort_indices(distinct).to_numpy()] = np.arange(len(distinct))
    where = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
    if len(distinct) == 0:
        numbers, ranks = np.zeros(1, np.int32), np.zeros(1, np.int64)
    sizes = np.empty(len(values), np.int64)
    numbered, ranked = numbers[where], ranks[where]
    keep, added = np.array(keep), np.array(weights, np.float64)
    _sort_long(offsets, ranked, (numbered, keep, added))
    used = tidy_sets(offsets, numbered, ranked, added, keep, sizes)
    if values.null_count:
        sizes[pc.is_null(values).to_numpy(zero_copy_only=False)] = NO_SET
    return EncodedSets(sizes, numbered[:used], added[:used])


def _sort_long(
    offsets: NDArray[np.int64], ranks: NDArray[np.int64], others: tuple[NDArray[Any], ...]
) -> None:
    """Sort the long rows by rank, in place; equal ones stay in order, and empty arrays empty."""
    lengths = np.diff(offsets)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    at = np.flatnonzero(lengths[rows] > SHORT)
    if at.size:
        order = at[np.lexsort((ranks[at], rows[at]))]
        for array in (*others, ranks):
            if array.size:
                array[at] = array[order]


def without(encoded: EncodedSets, hidden: NDArray[np.bool_]) -> EncodedSets:
    """Take the sets of some rows away."""
    lengths = np.maximum(encoded.sizes, 0)
    keep = ~np.repeat(hidden, lengths)
    weights = encoded.weights[keep] if encoded.weights.size else encoded.weights
    return EncodedSets(np.where(hidden, NO_SET, encoded.sizes), encoded.items[keep], weights)


def with_empty(encoded: EncodedSets, how: Comparison, side: int) -> EncodedSets:
    """Give the sets of a join by containment the item that stands for the empty set.

    Every set that may hold others gets it, and of those that may be held the empty ones: two sets
    that hold one another then always have items in common. Other joins match no empty sets.
    """
    if how.kind != CONTAINS:
        return encoded
    contained = how.contained == side
    more = encoded.sizes == 0 if contained else encoded.sizes >= 0
    lengths = np.maximum(encoded.sizes, 0)
    begin = (np.cumsum(lengths) - lengths)[more]
    items = np.insert(encoded.items, begin, EMPTY)
    return EncodedSets(encoded.sizes + more, items, encoded.weights)


def bad_weights(values: pa.Array) -> NDArray[np.bool_]:
    """Return which rows hold an item whose weight is null, NaN or infinite."""
    offsets, items, weights = _parts(values, weighted=True)
    bad = ~np.isfinite(weights)
    if items.null_count:
        bad &= pc.is_valid(items).to_numpy(zero_copy_only=False)
    rows = np.zeros(len(values), np.bool_)
    if bad.any():
        lengths = np.diff(offsets)
        rows[np.repeat(np.arange(len(values)), lengths)[bad]] = True
    return rows


def _parts(
    values: pa.Array, weighted: bool
) -> tuple[NDArray[np.int64], pa.Array, NDArray[np.float64]]:
    """Return offsets into items, the items, and their weights (or none); null lists are empty."""
    kind = values.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_map(kind)):
        values = values.cast(pa.list_(kind.value_type))
        kind = values.type
    starts = values.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    if values.null_count:
        lengths = np.diff(starts)
        absent = pc.is_null(values).to_numpy(zero_copy_only=False)
        if (lengths[absent] > 0).any():  # legal in Arrow: a null list over a stretch of items
            values = pc.if_else(pc.is_valid(values), values, pa.scalar(None, kind))
            return _parts(values, weighted)
    if pa.types.is_map(kind):
        items, weights = values.keys, values.items
    elif weighted:
        pairs = values.values
        items, weights = (pc.struct_field(pairs, child) for child in (0, 1))
    else:
        items, weights = values.values, None
    first, stop = (int(starts[0]), int(starts[-1])) if len(starts) else (0, 0)
    numbers = np.zeros(0, np.float64)
    if weights is not None:
        used = weights.slice(first, stop - first).cast(pa.float64())
        numbers = used.fill_null(float("nan")).to_numpy(zero_copy_only=False)
    return starts - first, items.slice(first, stop - first), numbers
