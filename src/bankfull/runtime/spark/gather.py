"""The packets of one bucket and micro-batch as a batch for the operator, always in one order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core import Plan, StreamPlan
from bankfull.core.keys import row_codes
from bankfull.core.times import to_units
from bankfull.runtime.spark.packets import unpack

Packet = tuple[int, int, Sequence[int], bytes | None]


class Gathered:
    """Rows by stream in canonical order; the largest time of each stream and all rows, anywhere.

    ``loads`` are the rows that every bucket got, the same for all of them to see.
    """

    def __init__(self, plan: Plan, packets: Iterable[Packet]) -> None:
        pieces: dict[int, list[pa.RecordBatch]] = {}
        self.newest: dict[str, int] = {}
        self.loads: NDArray[np.float64] = np.zeros(0)
        for position, newest, loads, data in packets:
            stream = plan.streams[position]
            self.loads = np.asarray(loads, np.float64) + (self.loads if self.loads.size else 0.0)
            self.newest[stream.name] = max(newest, self.newest.get(stream.name, newest))
            if data is not None:
                pieces.setdefault(position, []).append(unpack(data, stream.schema))
        self.rows = {
            plan.streams[position].name: _canonical(plan.streams[position], batches)
            for position, batches in sorted(pieces.items())
        }


def _canonical(stream: StreamPlan, batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Order rows by time and, at equal times, by content: how they travelled leaves no trace."""
    rows = pa.concat_batches(batches) if len(batches) > 1 else batches[0]
    times, _ = to_units(rows.column(stream.time), stream.scale)
    order = np.argsort(times, kind="stable")
    arranged = times[order]
    equal = np.flatnonzero(arranged[1:] == arranged[:-1])
    if len(equal):
        tied = np.unique(np.concatenate([equal, equal + 1]))
        codes = row_codes(rows.take(pa.array(order[tied])))
        order[tied] = order[tied][np.lexsort((codes, arranged[tied]))]
    return rows.take(pa.array(order))
