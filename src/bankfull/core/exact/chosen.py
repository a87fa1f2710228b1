"""Three and more streams of which a part is compared: the loop, and the room that it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bankfull.core.exact.index import Room
from bankfull.kernels.exact.chains import Keyed, Table
from bankfull.kernels.exact.merge import Clock
from bankfull.kernels.exact.selectedmany import (
    OUTPUT_FULL,
    PARTNERS_FULL,
    join_many_selected,
)
from bankfull.kernels.probes.selection import Selection
from bankfull.kernels.probes.several import Partners

#: Partners of a tuple in one window that there is room for at first.
_FEW = 1 << 8


class Advanced(NamedTuple):
    """Results, comparisons, and whether there was no room for more."""

    results: int
    compared: int
    full: bool


class ChosenParts:
    """Searches of one join on keys of three and more streams."""

    def __init__(self) -> None:
        self._most = _FEW

    def advance(
        self, sides: Sequence[Keyed], clock: Clock, table: Table, selection: Selection, room: Room
    ) -> Advanced:
        """Process tuples until none is left or the room is full; at least one tuple's results."""
        times, codes, links = (tuple(arrays) for arrays in zip(*sides, strict=True))
        compared = 0
        while True:
            count, steps, why = join_many_selected(
                times, codes, links, clock, table, selection, self._partners(selection),
                room.numbers, room.joined,
            )  # fmt: skip
            compared += int(steps)
            if why == PARTNERS_FULL:
                self._most *= 2
            elif why == OUTPUT_FULL and count == 0:
                room.room(2 * room.joined.size)
            if count or why not in (PARTNERS_FULL, OUTPUT_FULL):
                return Advanced(int(count), compared, why in (PARTNERS_FULL, OUTPUT_FULL))

    def _partners(self, selection: Selection) -> Partners:
        streams, windows = len(selection.classes), selection.edges.shape[1]
        shape = streams, self._most
        count, at, window, looked = np.zeros((4, streams), np.int64)
        return Partners(
            count, np.empty(shape, np.int64), np.empty(shape, np.int64), np.empty(shape, np.bool_),
            at, window, looked, np.zeros((streams, 4, windows)), np.zeros(2),
        )  # fmt: skip
