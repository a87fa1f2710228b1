"""The packets of one bucket and micro-batch as batches for the operator, always in one order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
#: Rows beyond this many bytes are handed on in several batches: Arrow counts the bytes of a
#: column of text in 32 bits.
_BATCH_BYTES = 256 << 20


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

    def batches(self) -> Iterator[dict[str, pa.RecordBatch]]:
        """Yield all rows: at once if they are not too many, otherwise stream by stream."""
        if sum(rows.nbytes for rows in self.rows.values()) <= _BATCH_BYTES:
            yield {name: rows.slice(0, rows.count) for name, rows in self.rows.items()}
            return
        for name, rows in self.rows.items():
            for start, stop in pairwise(rows.cuts(_BATCH_BYTES)):
                yield {name: rows.slice(start, stop - start)}


class Arranged:
    """Rows of one stream in several batches, in the order of their times.

    At equal times they are in the order of their content: how they travelled leaves no trace.
    """

    def __init__(self, stream: StreamPlan, batches: list[pa.RecordBatch]) -> None:
        self.nbytes = sum(rows.nbytes for rows in batches)
        self._batches = batches
        if self.nbytes <= _BATCH_BYTES:
            self._batches = [pa.concat_batches(batches) if len(batches) > 1 else batches[0]]
        times = [to_units(b.column(stream.time), stream.scale)[0] for b in self._batches]
        self.count = sum(map(len, times))
        self._order = content_order(self._take, np.concatenate(times))

    def cuts(self, most: int) -> list[int]:
        """Return where to cut so that pieces have about so many bytes, with 0 and the end.

        A row counts as the average of its batch: large rows often stand together.
        """
        each = [np.full(b.num_rows, b.nbytes / max(1, b.num_rows)) for b in self._batches]
        pieces = (np.cumsum(np.concatenate(each)[self._order]) // most).astype(np.int64)
        return [0, *(np.flatnonzero(np.diff(pieces)) + 1).tolist(), self.count]

    def slice(self, start: int, length: int) -> pa.RecordBatch:
        """Return some rows in order."""
        if len(self._batches) == 1 and self._is_ordered:
            return self._batches[0].slice(start, length)
        return self._take(self._order[start : start + length])

    @property
    def _is_ordered(self) -> bool:
        return bool((self._order[1:] > self._order[:-1]).all())

    def _take(self, numbers: NDArray[np.int64]) -> pa.RecordBatch:
        """Return rows by their numbers over all batches."""
        if len(self._batches) == 1:
            return self._batches[0].take(pa.array(numbers))
        bounds = np.cumsum([0, *(rows.num_rows for rows in self._batches)])
        order = np.argsort(numbers, kind="stable")
        cuts = np.searchsorted(numbers[order], bounds)
        pieces = [
            rows.take(pa.array(numbers[order[begin:end]] - first))
            for rows, first, (begin, end) in zip(
                self._batches, bounds[:-1], pairwise(cuts), strict=True
            )
        ]
        back = np.empty(len(numbers), np.int64)
        back[order] = np.arange(len(numbers))
        return pa.concat_batches(pieces).take(pa.array(back))
