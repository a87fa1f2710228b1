"""Rows that the join could not use, as Parquet files, each row with the reason.

They arise in the workers, so the workers write them: a file for each stream, bucket and
micro-batch in a folder for each stream. Its name follows from the query, the micro-batch and the
bucket, and it appears under that name only when it is complete, so a repeated micro-batch replaces
a file instead of adding one. Until then it is in memory, packed: no larger than the rows that a
bucket is given at a time.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from bankfull.core.plan import HOME, MASK
from bankfull.errors import PlanError

#: The column with the number of the micro-batch; a batch join has none.
_BATCH = "batch"


@dataclass(frozen=True)
class Quarantine:
    """Where rows are set aside, and what tells this join from others that write there.

    ``join`` is the name of a streaming join's metrics, which is one of its own in its query.
    """

    path: str
    join: str
    making: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        """Say now what would go wrong in a worker."""
        try:
            system, root = _place(self.path)
            system.create_dir(root, recursive=True)
        except (OSError, pa.ArrowException, ValueError) as error:
            raise PlanError(
                f"quarantine={self.path!r} is no folder that can be written ({error}): give one "
                "that the driver and all executors share, as a path or a URI"
            ) from error

    def open(self, bucket: int) -> Aside:
        """Begin to set rows of one bucket and one micro-batch aside."""
        from pyspark import TaskContext

        task = TaskContext.get()
        assert task is not None, "rows are set aside by tasks"
        query = task.getLocalProperty("sql.streaming.queryId")
        number = task.getLocalProperty("streaming.sql.batchId")
        batch = None if number is None else int(number)
        # A batch join has no name; whichever query calls it, its actions replace each other.
        identity = f"{self.join}/{query}" if self.join else self.making
        code = hashlib.sha256(identity.encode()).hexdigest()[:16]
        turn = "" if batch is None else f"{batch:09}-"
        name = f"{code}-{turn}{bucket:05}.parquet"
        return Aside(self.path, name, batch)


class Aside:
    """The files of one bucket and micro-batch."""

    def __init__(self, path: str, name: str, batch: int | None) -> None:
        self._path, self._name, self._batch = path, name, batch
        self._open: dict[str, tuple[pa.BufferOutputStream, pq.ParquetWriter]] = {}

    def add(self, rows: Mapping[str, Iterable[pa.RecordBatch]]) -> None:
        """Take what a step has set aside, by stream (``Step.quarantine``)."""
        for stream, batches in rows.items():
            for batch in batches:
                told = self._told(batch)
                if told.num_rows:
                    writer = self._writer(stream, told.schema)
                    writer.write_batch(_alike(told, writer.schema))

    def close(self) -> None:
        """Write the files: under hidden names, then they are given their own at once."""
        if not self._open:
            return
        system, root = _place(self._path)
        for stream, (packed, writer) in self._open.items():
            writer.close()
            folder = f"{root}/{_folder(stream)}"
            system.create_dir(folder, recursive=True)
            # Spark and Arrow skip names that begin with a dot when they read a folder.
            hidden = f"{folder}/.{uuid.uuid4().hex}"
            with system.open_output_stream(hidden) as file:
                file.write(packed.getvalue())
            system.move(hidden, f"{folder}/{self._name}")
        self._open = {}

    def _writer(self, stream: str, schema: pa.Schema) -> pq.ParquetWriter:
        if stream not in self._open:
            packed = pa.BufferOutputStream()
            self._open[stream] = packed, pq.ParquetWriter(packed, schema)
        return self._open[stream][1]

    def _told(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Return each row once, without what the runtime added, and with its micro-batch."""
        if MASK in rows.schema.names:
            home = pc.not_equal(pc.bit_wise_and(rows.column(MASK), pa.scalar(HOME)), 0)
            rows = rows.filter(home).drop_columns([MASK])
        if self._batch is None:
            return rows
        name = _BATCH
        while name in rows.schema.names:
            name += "_"
        return rows.append_column(name, pa.array([self._batch] * rows.num_rows, pa.int64()))


def _alike(rows: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return rows with the types of those before: text that is not UTF-8 comes as bytes."""
    columns = [
        values if values.type == field.type else values.view(field.type)
        for values, field in zip(rows.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _folder(stream: str) -> str:
    """Return the name of a stream's folder, which is always one below the quarantine's.

    >>> _folder("orders"), _folder("a/b"), _folder("..")
    ('orders', 'a%2Fb', '%2E.')
    """
    name = quote(stream, safe=" ")
    return "%2E" + name[1:] if name.startswith(".") else name


def _place(path: str) -> tuple[fs.FileSystem, str]:
    """Return the file system and the folder in it; Spark writes ``file:/x`` for ``/x``."""
    if path.startswith("file:"):
        path = re.sub(r"^file:(//)?", "", path)
    if re.match(r"^[a-z][a-z0-9+.-]+://", path):
        found: tuple[Any, str] = fs.FileSystem.from_uri(path)
        return found
    return fs.LocalFileSystem(), str(Path(path).absolute())
