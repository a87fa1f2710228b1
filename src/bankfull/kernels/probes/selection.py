"""Which part of a window an arriving tuple is compared with: all of it, or what pays.

A window is cut into *basic windows* by the tuples' own times; basic window 0 is the current one.
A plan (``core/comparing``) says of each how large a part is compared, newest tuples first, for
every class of arriving tuples. Some tuples, drawn at random, are compared with the whole window,
and what they find in each basic window is what plans are made from, and what tells how many results
the others miss.

Words of the arrays: ``j`` is the stream whose window is searched, ``z`` the class of the arriving
tuple, ``a`` a basic window.

Reference: Gedik, Wu, Yu, Liu, *CPU Load Shedding for Binary Stream Joins*, Algorithm 3.
Deviations: basic windows are cut by time alone, so that they do not depend on when the first tuple
came; how much of each is compared is planned once for a basic window of time and not for every
tuple.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bankfull.kernels.compiler import Float64, Int64, hook, inlined, kernel, rule
from bankfull.kernels.hashing import draw
from bankfull.kernels.importance import worth_of_pair

#: Rows of ``Tally.seen`` and ``Selection.now``, a number for every basic window: pairs looked at,
#: comparisons that took, results found, what these are worth.
PAIRS, STEPS, FOUND, WORTH = range(4)
#: Entries of ``Tally.missed``: what tuples compared with their whole window found beyond what their
#: class is compared with, weighted to stand for the others; the variance of that; the largest
#: weight. First of results, then of their worth.
MISSED, VARIANCE, LARGEST = range(3)
#: Entries of ``Selection.state`` for the present tuple: whether it is compared with the whole
#: window, pairs looked at, comparisons made, whether the budget ended before it was done, whether
#: its results were noted.
WHOLE, SEARCHED, COMPARED, EXHAUSTED, NOTED = range(5)
#: Entries of ``Tally.pairs[j]``: pairs looked at (over the log nobody asks, and they are not
#: counted), skipped by the plan, skipped for want of budget.
LOOKED_AT, SKIPPED, UNAFFORDED = range(3)
#: The class of a tuple that was dropped on arrival.
DROPPED = -1


class Everything(NamedTuple):
    """Compare with the whole window."""

    nothing: int = 0


class Tally(NamedTuple):
    """What was seen since the last plan, and in all (``missed``, ``pairs``).

    ``arrived[j, z]`` counts tuples compared with window j, ``sampled`` those of them that were
    compared with all of it, and ``seen`` is what these saw. ``tried[j, z, a]`` are results of the
    others, and what these are worth.
    """

    arrived: Int64
    sampled: Int64
    seen: Float64
    tried: Float64
    missed: Float64
    pairs: Int64


class Selection(NamedTuple):
    """Compare with a part. Basic windows are ``basic`` units of time long.

    ``left[0]`` comparisons may still be made before the next period. ``whole[j, z]`` is the chance
    to be compared with all of window j, ``kept[0]`` that of not being dropped. Basic window a of
    stream j begins with tuple ``edges[j, a]``; ``cuts[j, z, a]``
    is the first of its tuples that are compared. Of the current one the newest part ``open[j, z]``
    is, and if that is all of it, everything down to tuple ``deep[j, z]``. ``ranges[j, z, k]`` are
    the further parts, ``counts[j, z]`` of them. ``classes`` and ``worth`` are of every row of
    either stream; ``dropped`` counts by the streams' place in the query, which ``streams`` has.
    ``now`` and ``state`` are room for the present tuple.
    """

    basic: int
    left: Int64
    whole: Float64
    kept: Float64
    edges: Int64
    cuts: Int64
    open: Float64
    deep: Int64
    ranges: Int64
    counts: Int64
    classes: tuple[Int64, Int64]
    worth: tuple[Float64, Float64]
    weighed: Any
    streams: Int64
    dropped: Int64
    combine: int
    seed: int
    tally: Tally
    now: Float64
    state: Int64


@hook
def counts_places(selection: Any) -> bool:
    """Tell whether a search must know how many tuples of the other stream came before."""
    return False


@rule(counts_places, Selection)
def _counts_places(selection: Selection) -> bool:
    return True


@hook
def is_dropped(selection: Any, s: int, i: int, number: int) -> bool:
    """Tell whether an arriving tuple (row i of stream s) is dropped."""
    return False


@rule(is_dropped, Selection)
def _is_dropped(selection: Selection, s: int, i: int, number: int) -> bool:
    if selection.classes[s][i] == DROPPED:  # by another join
        return True
    stream = selection.streams[s]
    if selection.kept[0] >= 1.0 or draw(selection.seed + 7 + stream, number) < selection.kept[0]:
        return False
    selection.classes[s][i] = DROPPED
    selection.dropped[stream] += 1
    return True


@hook
def settle(selection: Any, s: int, i: int, window: int) -> None:
    """Count what the present tuple found; its results are written, so it will not come again."""


@inlined
def first_open(selection: Selection, j: int, z: int, cursor: int) -> Any:
    """Return the first tuple that is compared of the current basic window, or of all down to it."""
    part = selection.open[j, z]
    if part >= 1.0:
        return selection.deep[j, z]
    return cursor - np.int64(part * (cursor - selection.edges[j, 0]))


@inlined
def part(selection: Selection, j: int, z: int, k: int, cursor: int) -> tuple[int, int]:
    """Return the k-th part of a window that a tuple of class z is compared with, newest first."""
    if k == 0:
        return first_open(selection, j, z, cursor), cursor
    return selection.ranges[j, z, k - 1, 0], selection.ranges[j, z, k - 1, 1]


@inlined
def oldest_selected(selection: Selection, j: int, z: int, cursor: int) -> Any:
    """Return the oldest tuple that one of class z is compared with."""
    count = selection.counts[j, z]
    if count == 0:
        return first_open(selection, j, z, cursor)
    return selection.ranges[j, z, count - 1, 0]


@inlined
def basic_window(selection: Selection, j: int, a: int, cursor: int) -> tuple[int, int]:
    """Return the tuples of a basic window."""
    return selection.edges[j, a], cursor if a == 0 else selection.edges[j, a - 1]


@inlined
def forget(selection: Any) -> None:
    """Set back what was noted of the tuple before."""
    for what in range(selection.now.shape[0]):
        for a in range(selection.now.shape[1]):
            selection.now[what, a] = 0.0


@inlined
def begin(selection: Selection, s: int, i: int, number: int, notes: bool) -> Any:
    """Begin with a tuple; returns whether it is compared with the whole window.

    ``notes``: its results are noted also if it is not.
    """
    return begin_as(selection, s, selection.classes[s][i], number, notes)


@inlined
def begin_as(selection: Any, s: int, z: int, number: int, notes: bool) -> Any:
    """Begin with a tuple of class z, in a selection over whatever store."""
    whole = draw(selection.seed + s, number) < selection.whole[1 - s, z]
    state = selection.state
    state[WHOLE], state[SEARCHED], state[COMPARED], state[EXHAUSTED] = whole, 0, 0, 0
    state[NOTED] = whole or notes
    if state[NOTED]:
        forget(selection)
    return whole


@inlined
def note(
    selection: Selection, s: int, i: int, t: int, x: int, row: int, u: int, cursor: int
) -> None:
    """Note a result of the present tuple, of time t, with tuple x (row ``row``), of time u."""
    j = 1 - s
    z = selection.classes[s][i]
    a = t // selection.basic - u // selection.basic
    worth = worth_of_pair(
        selection.combine, selection.worth[s][i], selection.weighed[s],
        selection.worth[j][row], selection.weighed[j],
    )  # fmt: skip
    selection.now[FOUND, a] += 1.0
    selection.now[WORTH, a] += worth
    if selection.state[WHOLE]:
        first = first_open(selection, j, z, cursor) if a == 0 else selection.cuts[j, z, a]
        if x < first:
            last = selection.now.shape[1] - 1
            selection.now[FOUND, last] += 1.0
            selection.now[WORTH, last] += worth


@rule(settle, Selection)
def _settle(selection: Selection, s: int, i: int, window: int) -> None:
    settle_as(selection, s, selection.classes[s][i], window)


@inlined
def settle_as(selection: Any, s: int, z: int, window: int) -> None:
    """Count what the present tuple, of class z, found, in a selection over whatever store."""
    j = 1 - s
    tally, state, now = selection.tally, selection.state, selection.now
    selection.left[0] -= state[COMPARED]
    tally.arrived[j, z] += 1
    spared = UNAFFORDED if state[EXHAUSTED] else SKIPPED
    tally.pairs[j, spared] += window - state[SEARCHED]
    if state[EXHAUSTED]:
        return
    last = now.shape[1] - 1
    if not state[WHOLE]:
        if state[NOTED]:
            for a in range(last):
                tally.tried[j, z, a, 0] += now[FOUND, a]
                tally.tried[j, z, a, 1] += now[WORTH, a]
        return
    tally.sampled[j, z] += 1
    for a in range(last):
        for what in range(4):
            tally.seen[j, z, a, what] += now[what, a]
    chance = selection.whole[j, z]
    for kind in range(2):
        amount = now[FOUND if kind == 0 else WORTH, last]
        if amount > 0.0 and chance < 1.0:
            weight = (1.0 - chance) / chance
            missed = tally.missed[kind]
            missed[MISSED] += amount * weight
            missed[VARIANCE] += amount * amount * weight / chance
            missed[LARGEST] = max(missed[LARGEST], amount * weight)


@kernel
def place_ranges(
    edges: Int64, cuts: Int64, newest: Float64, deep: Int64, ranges: Int64, counts: Int64
) -> None:
    """Write which tuples a class is compared with behind the current basic window, newest first.

    Parts that touch become one; what touches the current basic window, if that is compared whole,
    is reached from there (``deep``).
    """
    for j in range(edges.shape[0]):
        for z in range(cuts.shape[1]):
            count = 0
            deep[j, z] = edges[j, 0]
            touches = newest[j, z] >= 1.0
            low = edges[j, 0]
            for a in range(1, edges.shape[1]):
                first, last = cuts[j, z, a], edges[j, a - 1]
                if first == last:
                    continue
                if touches and low == last:
                    deep[j, z] = first
                elif count > 0 and low == last:
                    ranges[j, z, count - 1, 0] = first
                else:
                    ranges[j, z, count, 0], ranges[j, z, count, 1] = first, last
                    count += 1
                    touches = False
                low = first
            counts[j, z] = count
