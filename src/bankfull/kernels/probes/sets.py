"""Which stored sets agree with one set: by items in common, by containment, by products of weights.

A store keeps, for every item, a list of the tuples that hold it. The accessors below walk such a
list from its newest entry to its oldest. The log gives contiguous lists (``exact/postings.py``),
the bounded store linked ones (``bounded/slotsets.py``), and so does the sample that recall is
estimated from (``recall/keptsets.py``), whose lists are by the hash of an item.

The empty set, where it can match (containment), is an item of its own: ``codes/sets.with_empty``
gives it to every set that may hold others, and to the empty ones that may be held. So no search
has to think of it.

Reference: Gedik, Wu, Yu, Liu, *CPU Load Shedding for Binary Stream Joins*, section 4.2 (inverted
lists). Deviations: a search adds up in an array over the stored tuples instead of merging the lists
with a heap, which visits the same entries without the heap.
Cost: the entries of the lists of the set's items.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bankfull.kernels.compiler import Float64, Int64, hook, inlined, inner
from bankfull.kernels.predicates import CONTAINS, PRODUCT


class SearchRoom(NamedTuple):
    """Room for a search: a mark and a sum for every stored tuple, and a list of who was found.

    Marks only grow from search to search, so that none has to be set back. They are integers of 32
    or 64 bits; who gives 32 sets them back before they are too large.
    """

    marks: Any
    sums: Float64
    found: Int64


class Agreement(NamedTuple):
    """When two sets agree. ``within``: the set that is searched for must lie in the stored one."""

    kind: int
    within: bool
    at_least: float


@inlined
def agrees(rule: Agreement, size: int, stored: int, score: float) -> bool:
    """Tell whether a set of ``size`` items agrees with a stored one that has ``stored``.

    ``score`` is the number of items in common, or the sum of the products of their weights; they
    have at least one.
    """
    if rule.kind == CONTAINS:
        return score == (size if rule.within else stored)
    return score >= rule.at_least


@hook
def newest_entry(lists: Any, item: Any) -> tuple[int, int]:
    """Return the newest entry of an item's list, and what follows its oldest."""
    return -1, -1


@hook
def older_entry(lists: Any, entry: int) -> Any:
    """Return the entry that was listed before one."""
    return -1


@hook
def is_entry_of(lists: Any, entry: int, item: Any) -> bool:
    """Tell whether an entry counts: a list may hold other items, or tuples not to be found."""
    return True


@hook
def holder(lists: Any, entry: int) -> Any:
    """Return the stored tuple of an entry."""
    return -1


@hook
def entry_weight(lists: Any, entry: int) -> Any:
    """Return the weight that the tuple of an entry gives to the item."""
    return 1.0


@hook
def items_held(lists: Any, x: int) -> Any:
    """Return how many items a stored tuple has."""
    return 0


@inner
def agreeing(
    lists: Any, items: Any, weights: Float64, start: int, size: int, rule: Agreement, zero: int,
    room: SearchRoom,
) -> tuple[int, int]:  # fmt: skip
    """List the stored tuples that agree with the ``size`` items from ``start`` on.

    All marks are at most ``zero``, and at most ``zero + size + 1`` afterwards. Returns how many
    were found (in ``room.found``, in no order) and how many entries were looked at. Windows are
    not looked at.
    """
    if rule.kind == PRODUCT:
        return _multiply(lists, items, weights, start, size, rule.at_least, zero, room)
    return _count(lists, items, start, size, rule, zero, room)


@inner
def _count(
    lists: Any, items: Any, start: int, size: int, rule: Agreement, zero: int, room: SearchRoom
) -> tuple[int, int]:
    """Count common items. A tuple is found at the moment it has enough, which is rare.

    All numbers in the inner loop are as wide as the marks: mixed, it takes half as long again.
    """
    marks, listed = room.marks, room.found
    base, one = marks.dtype.type(zero), marks.dtype.type(1)
    by_size = rule.kind == CONTAINS and not rule.within
    wanted = size if rule.kind == CONTAINS else min(int(rule.at_least), size + 1)
    enough = marks.dtype.type(zero + wanted)
    found, compared = 0, 0
    for k in range(start, start + size):
        item = items[k]
        entry, end = newest_entry(lists, item)
        while entry != end:
            compared += 1
            if is_entry_of(lists, entry, item):
                x = holder(lists, entry)
                shared = max(marks[x], base) + one
                marks[x] = shared
                if by_size:
                    enough = marks.dtype.type(zero + items_held(lists, x))
                if shared == enough:
                    listed[found] = x
                    found += 1
            entry = older_entry(lists, entry)
    return found, compared


@inner
def _multiply(
    lists: Any, items: Any, weights: Float64, start: int, size: int, at_least: float, zero: int,
    room: SearchRoom,
) -> tuple[int, int]:  # fmt: skip
    """Add up products of weights, in the order of the items' values, and keep the large sums."""
    marks, sums, listed = room.marks, room.sums, room.found
    sharing, compared = 0, 0
    for k in range(start, start + size):
        item, weight = items[k], weights[k]
        entry, end = newest_entry(lists, item)
        while entry != end:
            compared += 1
            if is_entry_of(lists, entry, item):
                x = holder(lists, entry)
                if marks[x] <= zero:
                    marks[x] = zero + 1
                    sums[x] = 0.0
                    listed[sharing] = x
                    sharing += 1
                sums[x] += weight * entry_weight(lists, entry)
            entry = older_entry(lists, entry)
    found = 0
    for k in range(sharing):
        x = listed[k]
        if sums[x] >= at_least:
            listed[found] = x
            found += 1
    return found, compared
