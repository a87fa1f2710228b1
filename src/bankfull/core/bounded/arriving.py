"""The rows of a step as arrivals of the bounded join: merged once, in canonical order.

Rows enter the logs here; everything after this speaks of arrivals.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.bounded.arrays import concatenate, each, importance_of
from bankfull.core.bounded.bags import NO_BAGS, Bagger, set_codes
from bankfull.core.codes import keys
from bankfull.core.exact.index import unseen
from bankfull.core.plan import Plan
from bankfull.core.stage import Rows
from bankfull.core.store.log import Log, uncounted
from bankfull.core.store.sizes import row_bytes
from bankfull.kernels.bounded.matches import Arrivals
from bankfull.kernels.bounded.slotsets import Bags


@dataclass
class Work:
    """Tuples taken in and not processed yet, in canonical order.

    ``classes`` are those that a budget of comparisons tells apart; without one there are none.
    """

    arrivals: Arrivals
    bags: Bags = NO_BAGS
    next: int = 0
    classes: NDArray[np.int64] | None = None

    @property
    def left(self) -> NDArray[np.int64]:
        """Return the streams of the tuples still to be processed."""
        streams: NDArray[np.int64] = self.arrivals.streams[self.next :]
        return streams


def merged(
    plan: Plan, logs: list[Log], bagger: Bagger, overhead: int, released: Mapping[int, Rows]
) -> Work:
    """Store rows of some streams in their logs, and put them in the order (time, stream, arrival).

    ``overhead`` is what storing any tuple costs in bytes, beside its payload.
    """
    pieces, bags = [], []
    for position in sorted(released):
        rows, times = released[position]
        bags.append(bagger.encode(position, rows, logs[position]))
        sizes = _sizes(plan, bagger, overhead, position, rows, bags[-1])
        pieces.append(_piece(plan, logs[position], bagger, position, rows, times, bags[-1], sizes))
    together = concatenate(pieces, len(plan.joins))
    # Streams lie one behind the other, each in order: a stable sort merges them.
    order = np.argsort(together.times, kind="stable")
    return Work(
        each(together, lambda values: np.ascontiguousarray(values[..., order])),
        bagger.merge(bags, order),
    )


def _piece(
    plan: Plan,
    log: Log,
    bagger: Bagger,
    position: int,
    rows: pa.RecordBatch,
    times: NDArray[np.int64],
    bags: Bags,
    sizes: NDArray[np.int64],
) -> Arrivals:
    """Store the rows of one stream; returns them as arrivals."""
    assert plan.shed is not None
    first, count = log.lanes.end, len(times)
    log.append(rows, times)
    codes = np.zeros((len(plan.joins), count), np.uint64)
    keyed = np.zeros((len(plan.joins), count), np.bool_)
    for number, join in enumerate(plan.joins):
        if number in bagger.joins:
            keyed[number], codes[number] = bags.sizes[number] > 0, set_codes(bags, number)
        elif position in join.streams:
            columns = join.columns[join.streams.index(position)]
            coded, absent = keys.encode([rows.column(c) for c in columns], join.types)
            codes[number], keyed[number] = coded, ~(absent | unseen(log, rows, join))
    return Arrivals(
        np.full(count, position, np.int64),
        times,
        np.arange(first, first + count, dtype=np.int64),
        sizes,
        importance_of(rows, plan.shed.importance[position], plan.streams[position].worth),
        codes,
        keyed,
        uncounted(log.plan, rows),
    )


def _sizes(
    plan: Plan, bagger: Bagger, overhead: int, position: int, rows: pa.RecordBatch, bags: Bags
) -> NDArray[np.int64]:
    """Return what storing each row costs, in the budget's unit."""
    assert plan.shed is not None
    sizes = np.ones(rows.num_rows, np.int64)
    if not plan.shed.in_bytes:
        return sizes
    payload = np.zeros(rows.num_rows, np.int64)
    for column in rows.columns:
        payload += row_bytes(column)
    sizes = overhead + payload * 13 // 8
    return sizes + bagger.row_bytes(position, rows, bags) if bagger else sizes
