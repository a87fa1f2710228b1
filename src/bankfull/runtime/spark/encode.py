"""The first stage: input rows become packets, a packet a bucket."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from bankfull.assemble import assemble
from bankfull.core import Plan
from bankfull.core.plan import MASK, NEVER
from bankfull.core.times import null_times, to_units
from bankfull.runtime.spark.buckets import route
from bankfull.runtime.spark.packets import conform, pack
from bankfull.spec import Equal, Query

_PACKET = pa.schema(
    [
        ("bucket", pa.int32()),
        ("stream", pa.int32()),
        ("newest", pa.int64()),
        ("loads", pa.list_(pa.int64())),
        ("rows", pa.binary()),
    ]
)


@dataclass(frozen=True)
class Layout:
    """What every worker needs to know: the query, its streams' schemas, the buckets' keys."""

    query: Query
    schemas: dict[str, pa.Schema]
    keys: tuple[int, ...]

    def plan(self) -> Plan:
        """Resolve the query; where a row may go to several buckets, rows carry a mask."""
        equality = all(isinstance(join.predicate, Equal) for join in self.query.joins)
        copies = len(self.keys) > 1 and (len(self.query.joins) > 1 or not equality)
        return assemble(self.query, self.schemas, masked=copies)

    def columns(self) -> dict[str, list[str]]:
        """Return the columns of every stream, in words."""
        return {
            name: [f"{field.name} {field.type}" for field in schema]
            for name, schema in self.schemas.items()
        }


class Encode:
    """Packs the rows of one stream, called by Spark with an iterator of record batches."""

    def __init__(self, layout: Layout, position: int) -> None:
        self.layout = layout
        self.position = position

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        plan = self.layout.plan()
        for rows in batches:
            if rows.num_rows:
                yield self._packets(plan, rows)

    def _packets(self, plan: Plan, rows: pa.RecordBatch) -> pa.RecordBatch:
        stream = plan.streams[self.position]
        schema = self.layout.schemas[stream.name]
        rows = conform(rows, schema)
        keys = self.layout.keys
        routing = route(plan, self.position, rows, len(keys))
        sent = rows.take(pa.array(routing.rows))
        if stream.masked:
            sent = sent.append_column(MASK, pa.array(routing.masks))
        bounds = np.searchsorted(routing.buckets, np.arange(len(keys) + 1))
        cells = [
            pack(sent.slice(start, stop - start)) if stop > start else None
            for start, stop in pairwise(bounds)
        ]
        newest = _newest(rows.column(stream.time), stream.scale)
        return pa.RecordBatch.from_arrays(
            [
                pa.array(keys, pa.int32()),
                pa.array([self.position] * len(keys), pa.int32()),
                pa.array([newest] * len(keys), pa.int64()),
                pa.array([np.diff(bounds)] * len(keys), pa.list_(pa.int64())),
                pa.array(cells, pa.binary()),
            ],
            schema=_PACKET,
        )


def _newest(values: pa.Array, scale: int) -> int:
    """Return the largest usable time, or a time before all others."""
    times, outside = to_units(values, scale)
    usable = times[~(outside | null_times(values))]
    return int(usable.max()) if len(usable) else -NEVER
