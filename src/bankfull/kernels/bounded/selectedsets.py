"""Sets under a budget of memory and of comparisons: the entries of lists that are selected.

Lists are searched for a whole arrival or not at all: a set half of whose lists were read has no
result that could be trusted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bankfull.kernels.bounded import leaps  # noqa: F401  its rules are compiled with these
from bankfull.kernels.bounded.matches import place_of
from bankfull.kernels.bounded.memory import Memory, SlotSets
from bankfull.kernels.bounded.selected import (
    SlotSelection,
    SlotSelections,
    first_open,
    look_at,
    window_of,
)
from bankfull.kernels.bounded.slotsets import compare, listed_by, want
from bankfull.kernels.compiler import Records, inlined, inner, rule
from bankfull.kernels.probes import sets as probe
from bankfull.kernels.probes.selection import COMPARED, EXHAUSTED, MOST, STEPS, begin_as


class SlotPart(NamedTuple):
    """The lists of one stream, as far as an arrival of class z at time ``t`` is compared with them.

    If it is compared with everything, ``whole``, that is what is not older than ``since``, nor than
    tuple ``least``.
    """

    sets: SlotSets
    lists: Records
    slots: Records
    selection: SlotSelection
    join: int
    stream: int
    j: int
    z: int
    cursor: int
    window: int
    since: int
    least: int
    whole: bool


@inlined
def _entry(view: SlotPart, entry: Any) -> Any:
    """Return an entry if its tuple is selected, or the next older one that is, or -1."""
    while entry >= 0:
        x = view.slots[view.sets.posts[entry].slot]
        if x.time < view.since or x.nth < view.least:
            break
        if view.whole:
            return np.int64(entry)
        a = min(view.window - x.time // view.selection.basic, view.selection.held.shape[1] - 1)
        first = view.selection.cuts[view.j, view.z, a]
        if a == 0:
            first = first_open(view.selection, view.j, view.z, view.cursor)
        if x.nth >= first:
            return np.int64(entry)
        entry = np.int64(view.sets.leaps.older[entry])
    return np.int64(-1)


@rule(probe.newest_entry, SlotPart)
def _newest_entry(view: SlotPart, item: int) -> tuple[int, int]:
    return _entry(view, view.lists[item, view.stream].newest), -1


@rule(probe.older_entry, SlotPart)
def _older_entry(view: SlotPart, entry: int) -> Any:
    return _entry(view, np.int64(view.sets.posts[entry].older))


@rule(probe.holder, SlotPart)
def _holder(view: SlotPart, entry: int) -> Any:
    return view.sets.posts[entry].slot


@rule(probe.entry_weight, SlotPart)
def _entry_weight(view: SlotPart, entry: int) -> Any:
    return view.sets.weights[entry]


@rule(probe.items_held, SlotPart)
def _items_held(view: SlotPart, x: int) -> Any:
    return view.sets.held[x, view.join].items


@inner
def _count_entries(selection: SlotSelection, lists: SlotPart, size: int, t: int) -> Any:
    """Return how many entries the lists have; notes them by basic window if that is asked for."""
    entries = np.int64(0)
    for k in range(size):
        entry, end = probe.newest_entry(lists, lists.sets.wanted[k])
        while entry != end:
            entries += 1
            if lists.whole:
                u = lists.slots[lists.sets.posts[entry].slot].time
                selection.now[STEPS, window_of(selection, t, u)] += 1.0
            entry = probe.older_entry(lists, entry)
    return entries


@rule(compare, SlotSelections)
def _compare(
    selections: SlotSelections, sets: SlotSets, memory: Memory, join: int, i: int, slot: int,
    s: int, t: int,
) -> tuple[int, int]:  # fmt: skip
    return compare_selected(
        selections.each[join], sets, memory, join, selections.classes[i], slot, s, t
    )


@inner
def compare_selected(
    selection: SlotSelection, sets: SlotSets, memory: Memory, join: int, z: int, slot: int, s: int,
    t: int,
) -> tuple[int, int]:  # fmt: skip
    """List who agrees with an arrival of class z, as far as is selected."""
    own = place_of(memory, join, s)
    j = 1 - own
    stream = memory.joins[join].members[j]
    cursor = memory.streams[stream].arrived
    whole = begin_as(selection, own, z, memory.streams[s].arrived, True)
    lists = SlotPart(
        sets, memory.lists, memory.slots, selection, join, stream, j, z, cursor,
        t // selection.basic, t - memory.joins[join].spans[j],
        cursor - memory.joins[join].rows[j], whole,
    )  # fmt: skip
    size = want(sets, memory, join, slot)
    most = np.int64(0)
    for k in range(size):
        most += memory.lists[sets.wanted[k], stream].held
    if whole or most > selection.state[MOST]:
        most = _count_entries(selection, lists, size, t)
    if most > selection.state[MOST]:
        selection.state[EXHAUSTED] = 1
        look_at(selection, j, z, cursor, 0)
        return 0, 0
    found, compared = listed_by(sets, memory, lists, join, size, s)
    look_at(selection, j, z, cursor, selection.held.shape[1])
    selection.state[COMPARED] = compared
    return found, compared
