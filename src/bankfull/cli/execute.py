"""Running a job: files are opened, the join is planned, batches flow from sources to sinks."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import bankfull as bf
from bankfull.cli.jobfile import File, Input, Job
from bankfull.errors import SpecError
from bankfull.runtime.embedded.files import Sink, Source, open_sink, open_source

_PENDING_MAX = 10_000


@dataclass(slots=True)
class Execution:
    """A planned join over open files, and what has happened so far."""

    joined: Any
    sources: dict[str, Source]
    rows_out: int = 0
    seconds: float = 0.0
    _started: float = field(default_factory=time.perf_counter)

    @property
    def rows_in(self) -> int:
        """Rows read so far, over all streams."""
        return sum(source.rows for source in self.sources.values())

    @property
    def fraction(self) -> float | None:
        """How much of all files has been read, where every size is known."""
        parts = [source.fraction for source in self.sources.values()]
        known = [part for part in parts if part is not None]
        return sum(known) / len(known) if known and len(known) == len(parts) else None

    def run(self, sink: Sink) -> None:
        """Join until the sources end."""
        self._started = time.perf_counter()
        for batch in self.joined:
            sink.write(batch)
            self.rows_out += batch.num_rows
        self.seconds = time.perf_counter() - self._started

    @property
    def elapsed_s(self) -> float:
        """Seconds since the join began."""
        return time.perf_counter() - self._started


class Quarantine:
    """Where the bad rows of one stream go: its columns, null where unknown, and the reason."""

    def __init__(self, file: File | None) -> None:
        self._file = file
        self._sink: Sink | None = None
        self._column = "reason"
        self._reasons: list[str] = []

    def attach(self, schema: pa.Schema, stack: contextlib.ExitStack) -> None:
        """Open the file; what could not be read before its columns were known follows now."""
        if self._file is not None:
            while self._column in schema.names:
                self._column += "_"  # as the operator names it
            columns = [column.with_nullable(True) for column in schema]
            columns.append(pa.field(self._column, pa.string()))
            opened = open_sink(self._file.path, self._file.format, pa.schema(columns))
            stack.push(opened)
            stack.callback(self._flush)  # unwound before the sink
            self._sink = opened

    def unreadable(self, reason: str) -> None:
        """Take a row of which there is only text."""
        if self._file is not None:
            self._reasons.append(reason)
            if self._sink is not None and len(self._reasons) >= _PENDING_MAX:
                self._flush()

    def take(self, batch: pa.RecordBatch) -> None:
        """Take rows that were read but cannot be joined."""
        if self._sink is not None:
            self._sink.write(_conformed(batch, self._sink.schema))

    def _flush(self) -> None:
        if self._sink is not None and self._reasons:
            reasons = pa.record_batch({self._column: pa.array(self._reasons, pa.string())})
            self._sink.write(_conformed(reasons, self._sink.schema))
            self._reasons.clear()


@contextlib.contextmanager
def opened(job: Job) -> Iterator[Execution]:
    """Open a job's sources and quarantines and plan its join."""
    with contextlib.ExitStack() as stack:
        sources, quarantines = {}, {}
        for name, taken in job.inputs.items():
            quarantine = quarantines[name] = Quarantine(job.quarantine_of(name))
            source = sources[name] = _open(job, name, taken, quarantine)
            stack.callback(source.close)
        for name, quarantine in quarantines.items():
            quarantine.attach(sources[name].reader.schema, stack)
        joined = _plan(job, sources, lambda name, batch: quarantines[name].take(batch))
        yield Execution(joined, sources)


def _open(job: Job, name: str, taken: Input, quarantine: Quarantine) -> Source:
    return open_source(
        taken.file.path,
        taken.file.format,
        time=job.query.stream(name).time,
        types={column: _type(name, column, kind) for column, kind in taken.types.items()},
        delimiter=taken.delimiter,
        on_unreadable=None if job.query.strict else quarantine.unreadable,
    )


def _plan(job: Job, sources: dict[str, Source], on_quarantine: Any) -> Any:
    query = job.query
    streams = {
        stream.name: bf.stream(
            sources[stream.name].reader,
            time=stream.time,
            name=stream.name,
            late=stream.late,
            importance=stream.importance,
            unique=stream.unique or None,
        )
        for stream in query.streams
    }
    options = {"basic_window": query.basic_window, "strict": query.strict}
    several = len(query.joins) > 1
    final = options | {"on_quarantine": on_quarantine}
    joins = [
        bf.join(
            *(streams[name] for name in join.streams),
            on=join.predicate,
            within=join.windows,
            name=join.name,
            search=join.search,
            **(options if several else final),
        )
        for join in query.joins
    ]
    return bf.joins(*joins, on_quarantine=on_quarantine) if several else joins[0]


def _type(stream: str, column: str, kind: str) -> pa.DataType:
    zoned = kind.removesuffix(", tz=UTC]")
    try:
        if zoned != kind:
            return pa.timestamp(pa.type_for_alias(zoned + "]").unit, "UTC")
        return pa.type_for_alias(kind)
    except (ValueError, AttributeError):
        raise SpecError(
            f"[streams.{stream}] types: {column} = {kind!r} is not an Arrow type: write e.g. "
            "'int64', 'float64', 'string', 'bool', 'timestamp[us]', 'timestamp[us, tz=UTC]'"
        ) from None


def _conformed(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Bring a batch to the columns of its quarantine; what is missing is null."""
    columns = []
    for target in schema:
        index = batch.schema.get_field_index(target.name)
        if index >= 0 and batch.schema.field(index).type == target.type:
            columns.append(batch.column(index))
        else:
            columns.append(pa.nulls(batch.num_rows, target.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)
