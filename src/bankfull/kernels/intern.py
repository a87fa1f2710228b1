"""Items as small numbers: every distinct value gets one, exactly (bytes are compared).

An open-addressing table of item numbers over an arena of bytes. Integers are interned as their
eight bytes. Numbers start at 1; 0 stands for the empty set (``predicates.EMPTY``).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.compiler import Int64, inlined, inner, kernel
from bankfull.kernels.hashing import hash_bytes
from bankfull.kernels.predicates import EMPTY

#: Sets up to this size are put in order by insertion.
SHORT = 32


class Items(NamedTuple):
    """``slots`` holds item numbers or 0; item k is ``data[bounds[k - 1]:bounds[k]]``.

    ``known[0]`` is how many items there are; ``hashes[k]`` their hashes.
    """

    slots: NDArray[np.int32]
    hashes: NDArray[np.uint64]
    bounds: Int64
    data: NDArray[np.uint8]
    known: Int64


@inner
def _same(items: Items, k: int, data: NDArray[np.uint8], start: int, stop: int) -> bool:
    """Whether item k has exactly the bytes ``data[start:stop]``."""
    begin = items.bounds[k - 1]
    if items.bounds[k] - begin != stop - start:
        return False
    for n in range(stop - start):
        if items.data[begin + n] != data[start + n]:
            return False
    return True


@inlined
def number_of(items: Items, code: np.uint64) -> Any:
    """Return the number of the item with this hash, or -1 if there is none; 0 is the empty set's.

    (Items whose hashes are equal are taken for one.)
    """
    if code == items.hashes[EMPTY]:
        return np.int64(EMPTY)
    mask = items.slots.size - 1
    at = np.int64(code & np.uint64(mask))
    while items.slots[at] != 0:
        k = items.slots[at]
        if items.hashes[k] == code:
            return np.int64(k)
        at = (at + 1) & mask
    return np.int64(-1)


@kernel
def intern(items: Items, offsets: Int64, data: NDArray[np.uint8], out: NDArray[np.int32]) -> None:
    """Number every value ``data[offsets[i]:offsets[i + 1]]``; the caller made room for all."""
    mask = items.slots.size - 1
    for i in range(out.size):
        start, stop = offsets[i], offsets[i + 1]
        hashed = hash_bytes(data, start, stop)
        at = np.int64(hashed & np.uint64(mask))
        while True:
            k = items.slots[at]
            if k == 0:
                items.known[0] += 1
                k = np.int32(items.known[0])
                begin = items.bounds[k - 1]
                for n in range(stop - start):
                    items.data[begin + n] = data[start + n]
                items.bounds[k] = begin + stop - start
                items.hashes[k] = hashed
                items.slots[at] = k
                break
            if items.hashes[k] == hashed and _same(items, k, data, start, stop):
                break
            at = (at + 1) & mask
        out[i] = k


@kernel
def rehash(items: Items) -> None:
    """Enter all known items in fresh ``slots``."""
    mask = items.slots.size - 1
    for k in range(1, items.known[0] + 1):
        at = np.int64(items.hashes[k] & np.uint64(mask))
        while items.slots[at] != 0:
            at = (at + 1) & mask
        items.slots[at] = k


@kernel
def tidy_sets(
    offsets: Int64,
    items: NDArray[np.int32],
    ranks: Int64,
    weights: NDArray[np.float64],
    keep: NDArray[np.bool_],
    sizes: Int64,
) -> int:
    """Bring every row's items into the order of their values, each once, in place.

    Row i holds positions ``offsets[i]`` to ``offsets[i + 1]``; afterwards the rows are packed
    one behind the other and ``sizes[i]`` says how many items row i kept. ``keep`` leaves out null
    items. Weights of equal items are added in order of occurrence. Returns the items kept.

    Items are inserted one by one: the caller has sorted the rows with more than SHORT of them.
    """
    used = 0
    for i in range(sizes.size):
        first = used
        for p in range(offsets[i], offsets[i + 1]):
            if not keep[p]:
                continue
            rank, item = ranks[p], items[p]
            weight = weights[p] if weights.size > 0 else 0.0
            at = used
            while at > first and ranks[at - 1] > rank:
                at -= 1
            if at > first and ranks[at - 1] == rank:
                if weights.size > 0:
                    weights[at - 1] += weight
                continue
            for k in range(used, at, -1):
                ranks[k] = ranks[k - 1]
                items[k] = items[k - 1]
                if weights.size > 0:
                    weights[k] = weights[k - 1]
            ranks[at] = rank
            items[at] = item
            if weights.size > 0:
                weights[at] = weight
            used += 1
        sizes[i] = used - first
    return used
