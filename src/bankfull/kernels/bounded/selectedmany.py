"""Joins of three and more streams, under a budget of memory and of comparisons.

As in the exact join (``probes/several.py``) an arrival searches the other streams one after the
other, each once, and stops where it finds nothing; its results are all combinations of what it
found. What it finds in a list are the first entries of it, as many as it could be compared with, so
that nothing but their number need be noted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bankfull.kernels.bounded import selecting
from bankfull.kernels.bounded.matches import Output, in_window, place_of, write
from bankfull.kernels.bounded.memory import Memory, listed
from bankfull.kernels.bounded.selected import (
    SlotSelection,
    first_open,
    oldest_compared,
    pairs_of_window,
    window_of,
)
from bankfull.kernels.compiler import Float64, Int64, inlined, inner, rule
from bankfull.kernels.hashing import draw
from bankfull.kernels.probes.selection import (
    COMPARED,
    EXHAUSTED,
    FOUND,
    MOST,
    OTHERS,
    PAIRS,
    SAMPLE,
    SKIPPED,
    STEPS,
    UNAFFORDED,
    WHOLE,
    WORTH,
    pay,
)
from bankfull.kernels.probes.several import direction


class SlotPartners(NamedTuple):
    """What the present tuple found in the window of every other member of a join.

    ``found[j]`` partners; ``at[j]`` is which of them a combination has. ``looked[j]`` pairs were
    looked at, or needed not be; ``now[j]`` notes comparisons and results by basic window.
    """

    found: Int64
    at: Int64
    looked: Int64
    now: Float64


@inlined
def _begin(selection: SlotSelection, partners: SlotPartners, own: int, z: int, number: int) -> Any:
    """Begin with a tuple of class z; returns whether it is compared with everything."""
    state, width = selection.state, partners.found.size
    chance = selection.whole[direction(1 if own == 0 else 0, own, width), z]
    whole = draw(selection.seed + own, number) < chance
    state[WHOLE], state[COMPARED], state[EXHAUSTED] = whole, 0, 0
    state[MOST] = selection.left[OTHERS]
    if whole and chance < 1.0:
        state[MOST] += selection.left[SAMPLE]
    for j in range(width):
        partners.found[j] = 0
        if whole:
            for what in range(partners.now.shape[1]):
                for a in range(partners.now.shape[2]):
                    partners.now[j, what, a] = 0.0
    return whole


@inlined
def _looked_at(selection: SlotSelection, d: int, z: int, cursor: int, windows: int) -> Any:
    """Return the pairs that a search looks at: those that are chosen, or of so many windows."""
    newest = cursor - selection.first[d]
    if windows < selection.held.shape[1] or selection.state[WHOLE]:
        looked = newest if windows > 0 else 0
        for a in range(1, windows):
            looked += selection.held[d, a]
        return looked
    if selection.oldest[d, z] <= selection.first[d]:
        return newest + selection.deeper[d, z]
    return cursor - first_open(selection, d, z, cursor) + selection.deeper[d, z]


@inlined
def _search(
    selection: SlotSelection, partners: SlotPartners, memory: Memory, join: int, key: int, z: int,
    own: int, j: int, t: int, compared: int,
) -> int:  # fmt: skip
    """Count the partners of a tuple in the window of member j; returns its comparisons so far."""
    d, state = direction(j, own, partners.found.size), selection.state
    stream = memory.joins[join].members[j]
    cursor = memory.streams[stream].arrived
    oldest = oldest_compared(selection, d, z, cursor)
    if state[WHOLE]:
        oldest = cursor - cursor
    reached = selection.held.shape[1]
    x = listed(memory, key, stream)
    while x >= 0 and memory.slots[x].nth >= oldest and in_window(memory, join, j, x, t):
        a = window_of(selection, t, memory.slots[x].time)
        if compared >= state[MOST]:
            state[EXHAUSTED] = 1
            reached = a
            break
        compared += 1
        partners.found[j] += 1
        if state[WHOLE]:
            partners.now[j, STEPS, a] += 1.0
        x = memory.links[x, join].older
    partners.looked[j] = _looked_at(selection, d, z, cursor, reached)
    return compared


@inlined
def _next(partners: SlotPartners, memory: Memory, join: int, key: int, own: int, at: Int64) -> bool:
    """Let ``at`` be the next combination of partners; False after the last one."""
    for j in range(partners.found.size - 1, -1, -1):
        if j == own:
            continue
        partners.at[j] += 1
        if partners.at[j] < partners.found[j]:
            at[j] = memory.links[at[j], join].older
            return True
        partners.at[j] = 0
        at[j] = listed(memory, key, memory.joins[join].members[j])
    return False


@rule(selecting.find_several, SlotPartners)
def _find(
    partners: SlotPartners, selection: SlotSelection, memory: Memory, join: int, key: int, z: int,
    s: int, t: int, row: int, importance: float, combine: int, out: Output, count: int,
) -> tuple[int, int]:  # fmt: skip
    return find_several(
        selection, partners, memory, join, key, z, s, t, row, importance, combine, out, count
    )


@rule(selecting.settle_several, SlotPartners)
def _settle(
    partners: SlotPartners, selection: SlotSelection, memory: Memory, join: int, own: int, z: int
) -> None:
    settle_several(selection, partners, memory, join, own, z)


@inner
def find_several(
    selection: SlotSelection, partners: SlotPartners, memory: Memory, join: int, key: int, z: int,
    s: int, t: int, row: int, importance: float, combine: int, out: Output, count: int,
) -> tuple[int, int]:  # fmt: skip
    """Join an arrival of class z with tuples of its key, as far as is selected in every window."""
    about, state = memory.joins[join], selection.state
    width, own = about.width, place_of(memory, join, s)
    whole = _begin(selection, partners, own, z, memory.streams[s].arrived)
    compared, total, searching = 0, 1, True
    for j in range(width):
        if j == own:
            continue
        if searching:
            compared = _search(selection, partners, memory, join, key, z, own, j, t, compared)
            searching = partners.found[j] > 0 and not state[EXHAUSTED]
        else:  # it need not be looked at, unless comparisons have run out
            cursor = memory.streams[about.members[j]].arrived
            d = direction(j, own, width)
            pairs = pairs_of_window(selection, d, cursor)
            partners.looked[j] = 0 if state[EXHAUSTED] else pairs
        total *= partners.found[j]
    state[COMPARED] = compared
    if total > out.times.size - count:
        return -1, compared
    if total == 0:
        return count, compared
    for j in range(width):
        partners.at[j] = 0
        if j != own:
            out.at[j] = listed(memory, key, about.members[j])
    while True:
        write(memory, join, own, t, row, importance, combine, out, count)
        if whole:
            for j in range(width):
                if j != own:
                    a = window_of(selection, t, memory.slots[out.at[j]].time)
                    partners.now[j, FOUND, a] += 1.0
                    partners.now[j, WORTH, a] += out.importance[count]
        count += 1
        if not _next(partners, memory, join, key, own, out.at):
            return count, compared


@inner
def settle_several(
    selection: SlotSelection, partners: SlotPartners, memory: Memory, join: int, own: int, z: int
) -> None:
    """Count what an arrival found in the windows of a join."""
    state, tally, width = selection.state, selection.tally, partners.found.size
    chance = selection.whole[direction(1 if own == 0 else 0, own, width), z]
    pay(selection, state[WHOLE] and chance < 1.0, state[COMPARED])
    spared = UNAFFORDED if state[EXHAUSTED] else SKIPPED
    for j in range(width):
        if j == own:
            continue
        d = direction(j, own, width)
        cursor = memory.streams[memory.joins[join].members[j]].arrived
        tally.arrived[d, z] += 1
        tally.pairs[d, spared] += pairs_of_window(selection, d, cursor) - partners.looked[j]
        if state[EXHAUSTED] or not state[WHOLE]:
            continue
        tally.sampled[d, z] += 1
        for a in range(selection.held.shape[1]):
            pairs = selection.held[d, a] * selection.lasting[d, a]
            tally.seen[d, z, a, PAIRS] += pairs if a > 0 else cursor - selection.first[d]
            for what in (STEPS, FOUND, WORTH):
                tally.seen[d, z, a, what] += partners.now[j, what, a]
    if state[EXHAUSTED] and not state[WHOLE]:
        # From now on nobody but the sample is compared, whatever few comparisons are left.
        selection.left[SAMPLE] += selection.left[OTHERS]
        selection.left[OTHERS] = 0
