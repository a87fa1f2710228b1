"""The last stage: packed results become columns."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from bankfull.runtime.spark.columns import is_large, to_wire
from bankfull.runtime.spark.packets import unpack


class Decode:
    """Unpacks results of this schema, called by Spark with an iterator of record batches."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for cells in batches:
            large = is_large(cells.schema.types[0])
            for cell in cells.column(0):
                if cell.is_valid:
                    yield to_wire(unpack(cell.as_buffer(), self.schema), large)
