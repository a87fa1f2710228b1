"""Sets under a budget of memory and of comparisons: lists of items, down to what is selected.

Lists are searched for a whole arrival or not at all: a set half of whose lists were read has no
result that could be trusted.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bankfull.kernels.bounded.matches import place_of
from bankfull.kernels.bounded.memory import Memory, SlotSets
from bankfull.kernels.bounded.selected import (
    SlotSelection,
    SlotSelections,
    look_at,
    oldest_compared,
)
from bankfull.kernels.bounded.slotsets import compare, listed_by, want
from bankfull.kernels.compiler import Records, inlined, inner, rule
from bankfull.kernels.probes import sets as probe
from bankfull.kernels.probes.selection import COMPARED, EXHAUSTED, STEPS, begin_as


class SlotPart(NamedTuple):
    """The newest part of the lists of one stream: tuples from ``oldest`` on, of time ``since``."""

    sets: SlotSets
    lists: Records
    slots: Records
    join: int
    stream: int
    oldest: int
    since: int


@inlined
def _entry(view: SlotPart, entry: int) -> Any:
    """Return an entry if its tuple is in the part; of those behind it none is."""
    if entry >= 0:
        x = view.slots[view.sets.posts[entry].slot]
        if x.nth < view.oldest or x.time < view.since:
            return np.int64(-1)
    return np.int64(entry)


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
def _count_entries(selection: SlotSelection, lists: SlotPart, size: int, t: int, notes: bool) -> Any:
    """Return how many entries the lists have; notes them by basic window if that is asked for."""
    entries = np.int64(0)
    for k in range(size):
        entry, end = probe.newest_entry(lists, lists.sets.wanted[k])
        while entry != end:
            entries += 1
            if notes:
                u = lists.slots[lists.sets.posts[entry].slot].time
                selection.now[STEPS, t // selection.basic - u // selection.basic] += 1.0
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
    whole = begin_as(selection, own, z, memory.streams[s].arrived, False)
    oldest = np.int64(0) if whole else oldest_compared(selection, j, z, cursor)
    lists = SlotPart(
        sets, memory.lists, memory.slots, join, stream, oldest, t - memory.joins[join].spans[j]
    )
    size = want(sets, memory, join, slot)
    most = np.int64(0)
    for k in range(size):
        most += memory.lists[sets.wanted[k], stream].held
    if whole or most > selection.left[0]:
        most = _count_entries(selection, lists, size, t, whole)
    if most > selection.left[0]:
        selection.state[EXHAUSTED] = 1
        look_at(selection, j, z, cursor, 0)
        return 0, 0
    found, compared = listed_by(sets, memory, lists, join, size, s)
    look_at(selection, j, z, cursor, selection.held.shape[1])
    selection.state[COMPARED] = compared
    return found, compared
