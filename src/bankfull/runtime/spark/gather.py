"""The packets of one bucket and micro-batch as batches for the operator, always in one order."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core import Plan, StreamPlan
from bankfull.core.intake.reorder import content_order
from bankfull.core.intake.times import to_units
from bankfull.runtime.spark.packets import unpack

#: Stream, its largest usable time, whether its rows are sound, loads, rows.
Packet = tuple[int, int, bool, bytes | None, bytes | None]
#: Some rows of each stream, by their places in canonical order: the first, and behind the last.
Piece = dict[str, tuple[int, int]]
#: About the bytes of the rows that enter the operator at a time. On its way through the stages a
#: row is copied several times, and the copies should not be those of the whole micro-batch.
_STEP_BYTES = 8 << 20
#: The same where rows should enter at once: Arrow counts the bytes of a column of text in 32 bits.
_WHOLE_BYTES = 256 << 20


class Gathered:
    """Rows by stream in canonical order; the largest time of each stream, anywhere.

    ``loads`` says how many rows this bucket got and how many all did (``core.share``);
    ``sound`` whether all rows were validated.
    """

    def __init__(self, plan: Plan, packets: Iterable[Packet]) -> None:
        pieces: dict[int, list[pa.RecordBatch]] = {}
        loads = [np.zeros((0, 3), np.int64)]
        self.newest: dict[str, int] = {}
        self.sound = True
        for position, newest, sound, counted, data in packets:
            stream = plan.streams[position]
            self.newest[stream.name] = max(newest, self.newest.get(stream.name, newest))
            self.sound &= bool(sound)
            if counted is not None:
                loads.append(np.frombuffer(counted, np.int64).reshape(-1, 3))
            if data is not None:
                pieces.setdefault(position, []).append(unpack(data, stream.schema))
        self.loads: NDArray[np.int64] = np.concatenate(loads)
        self.rows = {
            plan.streams[position].name: Arranged(plan.streams[position], batches)
            for position, batches in sorted(pieces.items())
        }

    def pieces(self, whole: bool = False) -> list[Piece]:
        """Divide all rows into pieces of a few megabytes, those with smaller times first.

        Rows of equal time may lie in two pieces. ``whole``: one piece, if they are not too many.
        """
        cuts = self._cuts(_WHOLE_BYTES if whole else _STEP_BYTES)
        return [
            {
                name: (bounds[number], bounds[number + 1])
                for name, bounds in zip(self.rows, cuts, strict=True)
                if bounds[number] < bounds[number + 1]
            }
            for number in range(max(map(len, cuts), default=2) - 1)
        ]

    def take(self, piece: Piece, last: bool = False) -> dict[str, pa.RecordBatch]:
        """Return the rows of a piece; after the last one the packets are forgotten."""
        taken = {name: self.rows[name].slice(*span) for name, span in piece.items()}
        if last:
            self.rows.clear()
        return taken

    def _cuts(self, most: int) -> list[list[int]]:
        """Return where to cut each stream, with 0 and its end, such that pieces are of one size."""
        arranged = list(self.rows.values())
        total = sum(rows.nbytes for rows in arranged)
        pieces = 1 + total // most
        if pieces == 1:
            return [[0, rows.count] for rows in arranged]
        order = np.argsort(np.concatenate([rows.times for rows in arranged]), kind="stable")
        sums = np.cumsum(np.concatenate([rows.row_bytes() for rows in arranged])[order])
        numbers = np.empty(len(order), np.int64)
        numbers[order] = np.minimum(sums * pieces / max(1.0, sums[-1]), pieces - 1)
        ends = np.cumsum([rows.count for rows in arranged])
        return [
            np.searchsorted(own, np.arange(pieces + 1)).tolist()
            for own in np.split(numbers, ends[:-1])
        ]


class Arranged:
    """Rows of one stream in several batches, in the order of their times.

    At equal times they are in the order of their content: how they travelled leaves no trace.
    """

    def __init__(self, stream: StreamPlan, batches: list[pa.RecordBatch]) -> None:
        self.nbytes = sum(rows.nbytes for rows in batches)
        self._batches = batches
        times = np.concatenate([to_units(b.column(stream.time), stream.scale)[0] for b in batches])
        self.count = len(times)
        self._order = content_order(self._take, times)
        self.times: NDArray[np.int64] = times[self._order]

    def row_bytes(self) -> NDArray[np.float64]:
        """Return about the bytes of each row, in order.

        A row counts as the average of its batch: large rows often stand together.
        """
        each = [np.full(b.num_rows, b.nbytes / max(1, b.num_rows)) for b in self._batches]
        return np.concatenate(each)[self._order]

    def slice(self, start: int, stop: int) -> pa.RecordBatch:
        """Return some rows in order."""
        return self._take(self._order[start:stop])

    def _take(self, numbers: NDArray[np.int64]) -> pa.RecordBatch:
        """Return rows by their numbers over all batches."""
        bounds = np.cumsum([0, *(rows.num_rows for rows in self._batches)])
        where = np.searchsorted(bounds, numbers, side="right") - 1
        order = np.argsort(where, kind="stable")
        used = np.unique(where)
        pieces = [
            _some(self._batches[batch], numbers[order[begin:end]] - bounds[batch])
            for batch, (begin, end) in zip(
                used, pairwise(np.searchsorted(where[order], [*used, len(bounds)])), strict=True
            )
        ]
        if len(pieces) == 1:
            return pieces[0]
        rows = pa.concat_batches(pieces)
        if (order[1:] > order[:-1]).all():
            return rows
        back = np.empty(len(numbers), np.int64)
        back[order] = np.arange(len(numbers))
        return rows.take(pa.array(back))


def _some(rows: pa.RecordBatch, numbers: NDArray[np.int64]) -> pa.RecordBatch:
    """Return rows by their numbers; not a copy if they lie side by side."""
    if (np.diff(numbers) == 1).all():
        return rows.slice(numbers[0], len(numbers))
    return rows.take(pa.array(numbers))
