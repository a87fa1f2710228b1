"""Which part of a window an arriving tuple is compared with: all of it, or what pays.

A window is cut into *basic windows* by the tuples' own times; basic window 0 is the current one.
That is so for windows of rows too, whose oldest basic window has all that is older than the others.
A plan (``core/comparing``) says of each how large a part is compared, newest tuples first, for
every class of arriving tuples. Some tuples, drawn at random, are compared with the whole window,
and what they find in each basic window is what plans are made from, and what tells how many results
the others miss.

Words of the arrays: ``j`` is the stream whose window is searched, ``z`` the class of the arriving
tuple, ``a`` a basic window. Of three and more streams see ``several.py``.

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
#: its results were noted, how many comparisons it may make; and of what it would find were it not
#: of the sample: from which tuple on a chain would be followed, how many results could be afforded.
WHOLE, SEARCHED, COMPARED, EXHAUSTED, NOTED, MOST, FLOOR, AFFORDED = range(8)
#: More tuples and results than there are.
ANY = 1 << 60
#: Entries of ``Tally.pairs[j]``: pairs looked at (over the log nobody asks, and they are not
#: counted), skipped by the plan, skipped for want of budget, and those of the latter that a tuple
#: of the sample should have looked at.
LOOKED_AT, SKIPPED, UNAFFORDED, UNSEEN = range(4)
#: Entries of ``Selection.left``: what tuples may still compare that are not of the sample, and what
#: is set aside for those of the sample, which may use either.
OTHERS, SAMPLE = range(2)
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

    ``left`` has the comparisons that may still be made before the next plan: when those of others
    have run out, tuples of the sample are still compared, and so say what the others miss.
    ``whole[j, z]`` is the chance to be compared with all of window j, ``kept[0]`` that of not being
    dropped. Basic window a of stream j begins with tuple ``edges[j, a]``; ``cuts[j, z, a]`` is the
    first of its tuples that are compared. Of the current one the newest part ``open[j, z]``
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
    classes: tuple[Int64, ...]
    worth: tuple[Float64, ...]
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
def pieces(selection: Selection, j: int, z: int, chained: bool) -> Any:
    """Return in how many pieces the present tuple, of class z, searches window j.

    A chain cannot be entered half-way: it is followed in one piece, but by the sample, for whom
    every basic window is a piece.
    """
    if selection.state[WHOLE]:
        return selection.edges.shape[1]
    return 1 if chained else selection.counts[j, z] + 1


@inlined
def piece(
    selection: Selection, j: int, z: int, k: int, cursor: int, chained: bool
) -> tuple[int, int]:
    """Return the k-th piece of window j that the present tuple searches, newest first."""
    if selection.state[WHOLE]:
        return basic_window(selection, j, k, cursor)
    if chained:
        return oldest_selected(selection, j, z, cursor), cursor
    return part(selection, j, z, k, cursor)


@inlined
def forget(selection: Any) -> None:
    """Set back what was noted of the tuple before."""
    for what in range(selection.now.shape[0]):
        for a in range(selection.now.shape[1]):
            selection.now[what, a] = 0.0


@inlined
def begin(selection: Selection, s: int, i: int, number: int, notes: bool) -> Any:
    """Begin with a tuple; returns whether it is compared with the whole window.

    ``notes``: its results are noted also if it is not. That is so but for hash chains, in which a
    comparison is a result.
    """
    return begin_as(selection, s, selection.classes[s][i], number, notes)


@inlined
def begin_as(selection: Any, s: int, z: int, number: int, notes: bool) -> Any:
    """Begin with a tuple of class z, in a selection over whatever store."""
    whole = draw(selection.seed + s, number) < selection.whole[1 - s, z]
    state = selection.state
    state[WHOLE], state[SEARCHED], state[COMPARED], state[EXHAUSTED] = whole, 0, 0, 0
    state[NOTED] = whole or notes
    left = selection.left[OTHERS]
    state[MOST], state[FLOOR], state[AFFORDED] = left, ANY, left
    if notes and left > 0:
        state[AFFORDED] = ANY
    if whole and selection.whole[1 - s, z] < 1.0:
        state[MOST] += selection.left[SAMPLE]
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
    # Of a window of rows the last basic window has all that is older.
    a = min(t // selection.basic - u // selection.basic, selection.now.shape[1] - 2)
    worth = worth_of_pair(
        selection.combine, selection.worth[s][i], selection.weighed[s],
        selection.worth[j][row], selection.weighed[j],
    )  # fmt: skip
    selection.now[FOUND, a] += 1.0
    selection.now[WORTH, a] += worth
    if selection.state[WHOLE]:
        state = selection.state
        first = first_open(selection, j, z, cursor) if a == 0 else selection.cuts[j, z, a]
        if x >= min(first, state[FLOOR]) and state[AFFORDED] > 0:
            state[AFFORDED] -= 1
        else:
            last = selection.now.shape[1] - 1
            selection.now[FOUND, last] += 1.0
            selection.now[WORTH, last] += worth


@inlined
def selected_share(selection: Selection, j: int, z: int, a: int) -> float:
    """Return which part of a basic window tuples of class z are compared with."""
    if a == 0:
        return float(selection.open[j, z])
    first, last = selection.edges[j, a], selection.edges[j, a - 1]
    return (last - selection.cuts[j, z, a]) / (last - first) if first < last else 0.0


@inlined
def miss_all(selection: Selection) -> None:
    """Count all results of the present tuple, which is of the sample, as missed by others."""
    last = selection.now.shape[1] - 1
    for what in (FOUND, WORTH):
        selection.now[what, last] = selection.now[what, :last].sum()


@inlined
def pay(selection: Any, of_sample: bool, compared: int) -> None:
    """Take comparisons from what is left: those of the sample from what is set aside, first."""
    aside = min(compared, selection.left[SAMPLE]) if of_sample else 0
    selection.left[SAMPLE] -= aside
    selection.left[OTHERS] -= compared - aside


@inlined
def miss(selection: Selection, kind: int, amount: float, chance: float, doubt: float) -> None:
    """Count what others miss of which the present tuple, drawn with a chance, is an example."""
    if amount > 0.0 and chance < 1.0:
        weight = (1.0 - chance) / chance
        missed = selection.tally.missed[kind]
        missed[MISSED] += amount * weight
        missed[VARIANCE] += doubt * amount * amount * weight / chance
        missed[LARGEST] = max(missed[LARGEST], amount * weight)


@inlined
def _guess(selection: Selection, j: int, z: int, window: int) -> None:
    """Count what others miss by a tuple of the sample for which there were not enough comparisons.

    The rest of the window is taken to have as many results as the part it was compared with; who
    was compared with nothing is left to :attr:`Tally.pairs`.
    """
    state, now = selection.state, selection.now
    last, rest = now.shape[1] - 1, window - state[SEARCHED]
    if state[SEARCHED] <= 0:
        selection.tally.pairs[j, UNSEEN] += rest
        return
    for kind in range(2):
        what = FOUND if kind == 0 else WORTH
        found = now[what, :last].sum()
        amount = now[what, last] + found * rest / state[SEARCHED]
        miss(selection, kind, amount, selection.whole[j, z], 2.0)


@rule(settle, Selection)
def _settle(selection: Selection, s: int, i: int, window: int) -> None:
    settle_as(selection, s, selection.classes[s][i], window)


@inlined
def settle_as(selection: Any, s: int, z: int, window: int) -> None:
    """Count what the present tuple, of class z, found, in a selection over whatever store."""
    j = 1 - s
    tally, state, now = selection.tally, selection.state, selection.now
    chance = selection.whole[j, z]
    pay(selection, state[WHOLE] and chance < 1.0, state[COMPARED])
    tally.arrived[j, z] += 1
    spared = UNAFFORDED if state[EXHAUSTED] else SKIPPED
    tally.pairs[j, spared] += window - state[SEARCHED]
    if state[EXHAUSTED]:
        if state[WHOLE]:
            _guess(selection, j, z, window)
        else:
            # From now on nobody but the sample is compared, whatever few comparisons are left.
            selection.left[SAMPLE] += selection.left[OTHERS]
            selection.left[OTHERS] = 0
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
    for kind in range(2):
        miss(selection, kind, now[FOUND if kind == 0 else WORTH, last], chance, 1.0)


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
