"""A part of several windows: what a tuple of a join of three and more streams is compared with.

Such a tuple searches the other streams one after the other, each of them once. What it finds is
listed, stream by stream, and results are all combinations of what was listed; to combine them
takes no comparison. Who finds nothing in one stream has no result and searches no further.

Every pair of an arriving stream and a window is a *direction* with a selection of its own, and in
all arrays of :class:`Selection` and :class:`Tally` a direction stands where a window stands for two
streams. A result is noted in every direction in which one of its members was found.

Whoever is of the sample is counted with the pairs of all windows, also of those that it had no
reason to search: the comparisons that a pair takes say how often it gets there. Windows that were
not searched for that reason do not count as skipped.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.compiler import Float64, Int64, inlined
from bankfull.kernels.hashing import draw
from bankfull.kernels.importance import worth_of
from bankfull.kernels.probes.selection import (
    AFFORDED,
    ANY,
    COMPARED,
    EXHAUSTED,
    FLOOR,
    FOUND,
    MOST,
    OTHERS,
    PAIRS,
    SAMPLE,
    SKIPPED,
    STEPS,
    UNAFFORDED,
    UNSEEN,
    WHOLE,
    WORTH,
    Selection,
    Tally,
    miss,
    pay,
)


class Partners(NamedTuple):
    """Room for what the present tuple finds in every other stream.

    ``found[j]`` partners of stream j have ``numbers[j]`` and lie in the basic ``windows[j]``;
    ``by_others``: a tuple of the same class that is not of the sample would have found them too.
    ``at[j]`` is which of them a combination has. ``window[j]`` pairs there are with stream j, and
    ``looked[j]`` of them were looked at, or needed not be. ``now[j]`` notes, like
    ``Selection.now``, comparisons and results by basic window, and ``missed`` the results that
    others would not have found, and their worth.
    """

    found: Int64
    numbers: Int64
    windows: Int64
    by_others: NDArray[np.bool_]
    at: Int64
    window: Int64
    looked: Int64
    now: Float64
    missed: Float64


@inlined
def direction(j: int, s: int, streams: int) -> int:
    """Return the number of the direction in which tuples of stream s search window j."""
    return j * (streams - 1) + (s if s < j else s - 1)


@inlined
def begin_several(selection: Selection, partners: Partners, s: int, z: int, number: int) -> None:
    """Begin with a tuple of class z of stream s: nothing was found."""
    state = selection.state
    first = direction(1 if s == 0 else 0, s, partners.found.size)
    chance = selection.whole[first, z]  # the same in all directions
    whole = draw(selection.seed + s, number) < chance
    state[WHOLE], state[COMPARED], state[EXHAUSTED] = whole, 0, 0
    left = selection.left[OTHERS]
    state[MOST], state[FLOOR], state[AFFORDED] = left, ANY, left
    if whole and chance < 1.0:
        state[MOST] += selection.left[SAMPLE]
    partners.missed[0], partners.missed[1] = 0.0, 0.0
    for j in range(partners.found.size):
        partners.found[j] = 0
        partners.looked[j] = partners.window[j]
        if whole:
            for what in range(partners.now.shape[1]):
                for a in range(partners.now.shape[2]):
                    partners.now[j, what, a] = 0.0


@inlined
def list_partner(
    selection: Selection, partners: Partners, j: int, x: int, a: int, oldest: int
) -> None:
    """List tuple x of stream j, in basic window a of which others have those from ``oldest``."""
    state, n = selection.state, partners.found[j]
    partners.numbers[j, n] = x
    partners.windows[j, n] = a
    # Others follow a chain down to a floor, as far as they can afford it.
    found = x >= min(oldest, state[FLOOR]) and state[AFFORDED] > 0
    if found:
        state[AFFORDED] -= 1
    partners.by_others[j, n] = found
    partners.found[j] = n + 1


@inlined
def combinations(partners: Partners, s: int) -> int:
    """Return the number of results of a tuple of stream s."""
    number = 1
    for j in range(partners.found.size):
        if j != s:
            number *= partners.found[j]
    return number


@inlined
def next_combination(partners: Partners, s: int) -> bool:
    """Go on to the next combination of partners; False after the last one."""
    for j in range(partners.found.size - 1, -1, -1):
        if j == s:
            continue
        partners.at[j] += 1
        if partners.at[j] < partners.found[j]:
            return True
        partners.at[j] = 0
    return False


@inlined
def worth_of_combination(
    selection: Selection, partners: Partners, s: int, i: int, base: Int64
) -> float:
    """Return the worth of row i of stream s with the present combination of partners.

    A stream without any is left out.
    """
    low, high, total, product, weighed = np.inf, -np.inf, 0.0, 1.0, 0
    for k in range(partners.found.size):
        if selection.weighed[k] and (k == s or partners.found[k] > 0):
            row = i if k == s else partners.numbers[k, partners.at[k]] - base[k]
            each = selection.worth[k][row]
            low, high = min(low, each), max(high, each)
            total += each
            product *= each
            weighed += 1
    return worth_of(selection.combine, total, product, low, high, weighed)


@inlined
def note_combination(partners: Partners, s: int, worth: float) -> None:
    """Note a result of a tuple of the sample in every direction that led to it."""
    by_others = True
    for j in range(partners.found.size):
        if j != s:
            a = partners.windows[j, partners.at[j]]
            partners.now[j, FOUND, a] += 1.0
            partners.now[j, WORTH, a] += worth
            by_others &= partners.by_others[j, partners.at[j]]
    if not by_others:
        partners.missed[0] += 1.0
        partners.missed[1] += worth


@inlined
def settle_several(selection: Selection, partners: Partners, s: int, i: int, clock: Any) -> None:
    """Count what the present tuple, row i of stream s, found; it will not come again."""
    state, tally, streams = selection.state, selection.tally, partners.found.size
    z = selection.classes[s][i]
    chance = selection.whole[direction(1 if s == 0 else 0, s, streams), z]
    pay(selection, state[WHOLE] and chance < 1.0, state[COMPARED])
    spared = UNAFFORDED if state[EXHAUSTED] else SKIPPED
    for j in range(streams):
        if j != s:
            d = direction(j, s, streams)
            tally.arrived[d, z] += 1
            tally.pairs[d, spared] += partners.window[j] - partners.looked[j]
    if state[EXHAUSTED]:
        if state[WHOLE]:
            _guess_several(selection, partners, s, i, clock.base, chance)
        else:
            # From now on nobody but the sample is compared, whatever few comparisons are left.
            selection.left[SAMPLE] += selection.left[OTHERS]
            selection.left[OTHERS] = 0
        return
    if not state[WHOLE]:
        return
    for j in range(streams):
        if j != s:
            d = direction(j, s, streams)
            _add_seen(selection, partners, j, d, z, clock.low[j], clock.cursor[j])
    for kind in range(2):
        miss(selection, kind, partners.missed[kind], chance, 1.0)


@inlined
def _add_seen(
    selection: Selection, partners: Partners, j: int, d: int, z: int, low: int, cursor: int
) -> None:
    """Add what a tuple of the sample saw in one direction, and all pairs that there were."""
    tally: Tally = selection.tally
    tally.sampled[d, z] += 1
    last = cursor
    for a in range(selection.edges.shape[1]):
        first = max(selection.edges[d, a], low)
        if first < last:
            tally.seen[d, z, a, PAIRS] += last - first
        last = min(last, selection.edges[d, a])
        for what in (STEPS, FOUND, WORTH):
            tally.seen[d, z, a, what] += partners.now[j, what, a]


@inlined
def _guess_several(selection: Selection, partners: Partners, s: int, i: int, base: Int64,
                   chance: float) -> None:  # fmt: skip
    """Count what others miss by a tuple of the sample for which comparisons did not suffice.

    The rest of a window is taken to have as many partners as the part that was looked at, and a
    window that was not as many a pair as the others: who has many in one has many in the next.
    Results are taken to be worth what the newest are. Who was compared with nothing is left to
    :attr:`Tally.pairs`.
    """
    streams, seen, found, expected = partners.found.size, 0, 0.0, 1.0
    for j in range(streams):
        if j != s and partners.looked[j] > 0:
            seen += partners.looked[j]
            found += partners.found[j]
    if seen == 0:
        for j in range(streams):
            if j != s:
                pairs = selection.tally.pairs[direction(j, s, streams)]
                pairs[UNSEEN] += partners.window[j]
        return
    for j in range(streams):
        partners.at[j] = 0
        if j != s:
            each = found / seen
            if partners.looked[j] > 0:
                each = partners.found[j] / partners.looked[j]
            expected *= each * partners.window[j]
    worth = worth_of_combination(selection, partners, s, i, base)
    for kind in range(2):
        done = combinations(partners, s) - partners.missed[0]
        amount = max(0.0, expected - done) * (1.0 if kind == 0 else worth)
        miss(selection, kind, amount, chance, 2.0)
