"""The first stage: input rows become packets, a packet a bucket."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core import Plan
from bankfull.core.bounded.share import share_period
from bankfull.core.intake.admit import Check, bad_rows, checks_of, text_checks
from bankfull.core.intake.text import is_sound
from bankfull.core.plan import HOME, MASK, NEVER
from bankfull.runtime.spark.buckets import most_copies, route
from bankfull.runtime.spark.layout import Layout
from bankfull.runtime.spark.packets import conform, cut_by_bytes, pack_cells

_PACKET = pa.schema(
    [
        ("bucket", pa.int32()),
        ("stream", pa.int32()),
        ("newest", pa.int64()),
        ("sound", pa.bool_()),
        ("loads", pa.binary()),
        ("rows", pa.binary()),
    ]
)
#: Bytes that leave at a time, all copies counted.
_PIECE_BYTES = 4 << 20


class Encode:
    """Packs the rows of one stream, called by Spark with an iterator of record batches."""

    def __init__(self, layout: Layout, position: int) -> None:
        self.layout = layout
        self.position = position

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        plan = self.layout.plan()
        checks = checks_of(plan, self.position)
        copies = most_copies(plan, self.position, len(self.layout.keys))
        for batch in batches:
            for rows in cut_by_bytes(batch, _PIECE_BYTES // copies):
                yield self._packets(plan, checks, rows)

    def _packets(self, plan: Plan, checks: list[Check], rows: pa.RecordBatch) -> pa.RecordBatch:
        stream, keys = plan.streams[self.position], self.layout.keys
        rows = conform(rows, self.layout.schemas[stream.name])
        sound = all(pa.types.is_primitive(c.type) or is_sound(c) for c in rows.columns)
        if not sound:
            checks = [*checks, *text_checks(stream)]
        times, bad = bad_rows(stream, rows, checks)
        usable = ~np.logical_or.reduce([np.zeros(len(times), np.bool_), *(mask for _, mask in bad)])
        routing = route(plan, self.position, rows, len(keys))
        sent = rows.take(pa.array(routing.rows))
        if stream.masked:
            sent = sent.append_column(MASK, pa.array(routing.masks))
        bounds = np.searchsorted(routing.buckets, np.arange(len(keys) + 1))
        cells = pack_cells([sent.slice(a, b - a) for a, b in pairwise(bounds)])
        newest = int(times[usable].max(initial=-NEVER))
        loads: list[bytes | None] = [None] * len(keys)
        if plan.shares_budget and len(keys) > 1:
            counted = usable[routing.rows] & (routing.masks != HOME)
            loads = _loads(plan, times[routing.rows], routing.buckets, counted, len(keys))
        return pa.RecordBatch.from_arrays(
            [
                pa.array(keys, pa.int32()),
                pa.array([self.position] * len(keys), pa.int32()),
                pa.array([newest] * len(keys), pa.int64()),
                pa.array([sound] * len(keys), pa.bool_()),
                pa.array(loads, pa.binary()),
                cells,
            ],
            schema=_PACKET,
        )


def _loads(
    plan: Plan,
    times: NDArray[np.int64],
    buckets: NDArray[np.int64],
    counted: NDArray[np.bool_],
    count: int,
) -> list[bytes | None]:
    """Return for each bucket rows of (period, its rows, rows of all), as bytes.

    Every bucket gets the sums over all, and of the others nothing more: to send what each of them
    got would cost the square of their number.
    """
    periods, places = np.unique(times[counted] // share_period(plan), return_inverse=True)
    own = np.zeros((count, len(periods)), np.int64)
    np.add.at(own, (buckets[counted], places), 1)
    total = own.sum(axis=0)
    return [np.stack([periods, mine, total], axis=1).tobytes() for mine in own]
