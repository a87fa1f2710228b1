"""Which stored tuples an arrival is compared with, under a budget of memory and of comparisons.

A sibling of ``probes/selection.py`` over slots, with the same plans, tallies and words. Lists of
slots are linked, because tuples leave their middle: they cannot be entered half-way. So the list of
a key is followed from its newest tuple down to the oldest one that is selected for the class of the
arrival, and what agrees on the way is a result whether it was selected or not, as in a hash chain
of the exact join. The list of an item passes over what is not selected, a basic window at a time
(``leaps.py``). A comparison is a tuple of the same key, or an entry of an item's list.

Tuples are known by their number in their own stream (``nth``). How many pairs there are is counted
by what was stored when the plan was made and what has come since: who left meanwhile is not
counted anew. Plans learn from the share of them that is in its window on average.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.bounded import selecting
from bankfull.kernels.bounded.matches import Arrivals, Output, in_window, place_of, write
from bankfull.kernels.bounded.memory import Memory, listed
from bankfull.kernels.compiler import Float64, Int64, Records, inlined, inner, kernel, rule
from bankfull.kernels.hashing import draw
from bankfull.kernels.probes.selection import (
    COMPARED,
    EXHAUSTED,
    FOUND,
    MOST,
    NOTED,
    PAIRS,
    SEARCHED,
    STEPS,
    WHOLE,
    WORTH,
    Tally,
    begin_as,
    settle_as,
)


class SlotSelection(NamedTuple):
    """What one join compares. Basic windows are ``basic`` units of time long.

    ``left`` has the comparisons that may still be made before the next plan, and those set aside
    for the sample; ``whole[j, z]`` is the chance to be compared with all of window j. ``first[j]``
    is the first tuple of the current basic window: of its tuples the newest part ``open[j, z]`` is
    compared. Of basic window a behind it those from ``cuts[j, z, a]`` on are. Where lists must be
    followed (``chained``), everything down to ``oldest[j, z]`` is, if that is not beyond the
    current one. ``held[j, a]`` tuples were stored in every basic window when the plan was made, and
    ``deeper[j, z]`` of them are compared; the share ``lasting[j, a]`` is in the window on average
    while the plan holds. ``now`` and ``state`` are room for the present tuple.
    """

    basic: int
    chained: bool
    left: Int64
    whole: Float64
    open: Float64
    first: Int64
    cuts: Int64
    oldest: Int64
    held: Int64
    lasting: Float64
    deeper: Int64
    seed: int
    tally: Tally
    now: Float64
    state: Int64


class SlotSelections(NamedTuple):
    """The selections of all joins, the class of every arrival, the chance of not being dropped.

    ``exhausted[join, i]``: there were not enough comparisons for arrival i. ``several`` has room
    for each join if there is one of more than two streams, and is None if there is none: then
    nothing of it is compiled.
    """

    each: tuple[SlotSelection, ...]
    classes: Int64
    exhausted: NDArray[np.bool_]
    kept: Float64
    seed: int
    several: Any


@kernel
def list_stored(slots: Records, newest: int, times: Int64, numbers: Int64) -> int:
    """Write the times and numbers of a stream's tuples down, newest first; returns how many."""
    count, x = 0, newest
    while x >= 0:
        times[count], numbers[count] = slots[x].time, slots[x].nth
        count += 1
        x = slots[x].older
    return count


@inlined
def window_of(selection: SlotSelection, t: int, u: int) -> Any:
    """Return in which basic window a tuple of time u lies for one of time t.

    Of a window of rows the last has all that is older.
    """
    return min(t // selection.basic - u // selection.basic, selection.held.shape[1] - 1)


@inlined
def oldest_compared(selection: SlotSelection, j: int, z: int, cursor: int) -> Any:
    """Return the oldest tuple that one of class z is compared with."""
    if selection.oldest[j, z] <= selection.first[j]:
        return selection.oldest[j, z]
    return first_open(selection, j, z, cursor)


@inlined
def first_open(selection: SlotSelection, j: int, z: int, cursor: int) -> Any:
    """Return the first tuple of the current basic window that one of class z is compared with."""
    if selection.open[j, z] >= 1.0:
        return selection.first[j]
    return cursor - np.int64(selection.open[j, z] * (cursor - selection.first[j]))


@inlined
def pairs_of_window(selection: SlotSelection, j: int, cursor: int) -> Any:
    """Return how many pairs there are with the whole window."""
    pairs = cursor - selection.first[j]
    for a in range(1, selection.held.shape[1]):
        pairs += selection.held[j, a]
    return pairs


@inlined
def look_at(selection: SlotSelection, j: int, z: int, cursor: int, windows: int) -> None:
    """Count the pairs that the present tuple looks at: those of its part, or of ``windows``."""
    state, now = selection.state, selection.now
    newest = cursor - selection.first[j]
    if windows < selection.held.shape[1] or state[WHOLE]:
        looked = newest if windows > 0 else 0
        for a in range(1, windows):
            looked += selection.held[j, a]
    elif selection.chained and selection.oldest[j, z] <= selection.first[j]:
        looked = newest + selection.deeper[j, z]
    else:
        looked = cursor - first_open(selection, j, z, cursor) + selection.deeper[j, z]
    state[SEARCHED] = looked
    if state[WHOLE]:
        for a in range(windows):
            now[PAIRS, a] = newest if a == 0 else selection.held[j, a] * selection.lasting[j, a]


@rule(selecting.is_dropped, SlotSelections)
def _is_dropped(selections: SlotSelections, s: int, number: int) -> bool:
    kept = selections.kept[0]
    return bool(kept < 1.0 and draw(selections.seed + 7 + s, number) >= kept)


@rule(selecting.find, SlotSelections)
def _find(
    selections: SlotSelections, memory: Memory, join: int, key: int, i: int, s: int, t: int,
    row: int, importance: float, combine: int, out: Output, count: int,
) -> tuple[int, int]:  # fmt: skip
    if selections.several is not None:
        if memory.joins[join].width > 2:
            return selecting.find_several(
                selections.several[join], selections.each[join], memory, join, key,
                selections.classes[i], s, t, row, importance, combine, out, count,
            )  # fmt: skip
    return find_selected(
        selections.each[join], memory, join, key, selections.classes[i], s, t, row, importance,
        combine, out, count,
    )  # fmt: skip


@inner
def find_selected(
    selection: SlotSelection, memory: Memory, join: int, key: int, z: int, s: int, t: int, row: int,
    importance: float, combine: int, out: Output, count: int,
) -> tuple[int, int]:  # fmt: skip
    """Join an arrival of class z with tuples of its key, newest first, as far as is selected."""
    own = place_of(memory, join, s)
    j = 1 - own
    stream = memory.joins[join].members[j]
    cursor = memory.streams[stream].arrived
    whole = begin_as(selection, own, z, memory.streams[s].arrived, False)
    state = selection.state
    oldest = np.int64(0) if whole else oldest_compared(selection, j, z, cursor)
    compared, reached = 0, selection.held.shape[1]
    x = listed(memory, key, stream)
    while x >= 0 and memory.slots[x].nth >= oldest and in_window(memory, join, j, x, t):
        a = window_of(selection, t, memory.slots[x].time)
        if compared >= state[MOST]:
            state[EXHAUSTED] = 1
            reached = a
            break
        compared += 1
        if count == out.times.size:
            return -1, compared
        out.at[j] = x
        write(memory, join, own, t, row, importance, combine, out, count)
        if whole:
            selection.now[STEPS, a] += 1.0
            count_result(selection, a, out.importance[count])
        count += 1
        x = memory.links[x, join].older
    look_at(selection, j, z, cursor, reached)
    state[COMPARED] = compared
    return count, compared


@inlined
def count_result(selection: SlotSelection, a: int, worth: float) -> None:
    """Count a result in a basic window."""
    selection.now[FOUND, a] += 1.0
    selection.now[WORTH, a] += worth


@rule(selecting.note, SlotSelections)
def _note(selections: SlotSelections, join: int, t: int, u: int, worth: float) -> None:
    selection = selections.each[join]
    if selection.state[NOTED]:
        count_result(selection, window_of(selection, t, u), worth)


@rule(selecting.settle, SlotSelections)
def _settle(selections: SlotSelections, memory: Memory, arrivals: Arrivals, i: int) -> None:
    s = arrivals.streams[i]
    for join in range(memory.joins.shape[0]):
        if arrivals.keyed[join, i]:
            own = place_of(memory, join, s)
            if selections.several is not None:
                if memory.joins[join].width > 2:
                    z, selection = selections.classes[i], selections.each[join]
                    selections.exhausted[join, i] = selection.state[EXHAUSTED] == 1
                    room = selections.several[join]
                    selecting.settle_several(room, selection, memory, join, own, z)
                    continue
            other = memory.streams[memory.joins[join].members[1 - own]]
            selection = selections.each[join]
            window = pairs_of_window(selection, 1 - own, other.arrived)
            selections.exhausted[join, i] = selection.state[EXHAUSTED] == 1
            settle_as(selection, own, selections.classes[i], window)


@rule(selecting.meets, SlotSelections)
def _meets(
    selections: SlotSelections, join: int, own: int, j: int, s: int, i: int, t: int, number: int,
    other: Records, cursor: int,
) -> bool:  # fmt: skip
    if selections.exhausted[join, i] or selecting.is_dropped(selections, s, number):
        return False
    selection, z = selections.each[join], selections.classes[i]
    if draw(selection.seed + own, number) < selection.whole[j, z]:
        return True
    if selection.chained:
        return bool(other.nth >= oldest_compared(selection, j, z, cursor))
    a = window_of(selection, t, other.time)
    first = first_open(selection, j, z, cursor) if a == 0 else selection.cuts[j, z, a]
    return bool(other.nth >= first)
