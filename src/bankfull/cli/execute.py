"""Running a job: files are opened, the join is planned, batches flow from sources to sinks."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

import bankfull as bf
from bankfull.cli.jobfile import File, Input, Job
from bankfull.errors import SourceError, SpecError
from bankfull.runtime.embedded.files import STANDARD, Sink, Source, open_sink, open_source

_PENDING_MAX = 10_000
#: Formats of which the files of a folder can be read as one stream: each tells its own types.
_FOLDERS = ("parquet", "arrow")


class Folder:
    """The files of a folder as one source, in the order of their names."""

    def __init__(self, path: str, form: str, open_file: Callable[[str], Source]) -> None:
        self.label = path
        self._open_file = open_file
        self._paths = _files(path, form)
        self._sizes = [os.path.getsize(file) for file in self._paths]
        self._rows = self._unreadable = self._done = 0
        self._current = open_file(self._paths[0])
        schema = self._current.reader.schema
        self.reader = pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    @property
    def rows(self) -> int:
        """Rows read so far."""
        return self._rows + self._current.rows

    @property
    def unreadable(self) -> int:
        """Rows that could not be read so far."""
        return self._unreadable + self._current.unreadable

    @property
    def fraction(self) -> float | None:
        """How much of the files has been read, from 0 to 1."""
        current = (self._current.fraction or 0.0) * self._sizes[self._done]
        return (sum(self._sizes[: self._done]) + current) / max(1, sum(self._sizes))

    def close(self) -> None:
        """Let go of the file that is open."""
        self._current.close()

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        yield from self._current.reader
        for number, path in enumerate(self._paths[1:], start=1):
            self._next(number, path)
            if not self._current.reader.schema.equals(schema):
                raise SourceError(
                    f"{path} has other columns or types than {self._paths[0]}: the files of a "
                    "folder are one stream; move it elsewhere"
                )
            yield from self._current.reader

    def _next(self, number: int, path: str) -> None:
        self._current.close()
        self._rows, self._unreadable = self.rows, self.unreadable
        self._done, self._current = number, self._open_file(path)


def _files(path: str, form: str) -> list[str]:
    """List the files of a folder; those named with a dot or an underscore in front are not data."""
    if form not in _FOLDERS:
        raise SourceError(
            f"{path} is a folder, and {form} files are read one by one: name a file, or write the "
            "folder's files as Parquet"
        )
    found = sorted(entry for entry in Path(path).iterdir() if entry.name[0] not in "._")
    inner = [entry for entry in found if entry.is_dir()]
    if inner:
        raise SourceError(
            f"{path} has a folder {inner[0].name!r} inside: only files side by side are read"
        )
    if not found:
        raise SourceError(f"{path} is a folder without files: check the path")
    return [str(entry) for entry in found]


@dataclass(slots=True)
class Execution:
    """A planned join over open files, and what has happened so far.

    ``set_aside`` takes rows of a stream that were read but cannot be joined.
    """

    joined: Any
    sources: dict[str, Source | Folder]
    set_aside: Callable[[str, pa.RecordBatch], None]
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
        sources: dict[str, Source | Folder] = {}
        quarantines: dict[str, Quarantine] = {}
        for name, taken in job.inputs.items():
            quarantine = quarantines[name] = Quarantine(job.quarantine_of(name))
            source = sources[name] = _open(job, name, taken, quarantine)
            stack.callback(source.close)
        for name, quarantine in quarantines.items():
            quarantine.attach(sources[name].reader.schema, stack)

        def set_aside(name: str, rows: pa.RecordBatch) -> None:
            quarantines[name].take(rows)

        readers = {name: source.reader for name, source in sources.items()}
        joined = plan(job, readers, on_quarantine=set_aside)
        yield Execution(joined, sources, set_aside)


def _open(job: Job, name: str, taken: Input, quarantine: Quarantine) -> Source | Folder:
    types = {column: _type(name, column, kind) for column, kind in taken.types.items()}

    def open_file(path: str) -> Source:
        return open_source(
            path,
            taken.file.format,
            time=job.query.stream(name).time,
            types=types,
            delimiter=taken.delimiter,
            on_unreadable=None if job.query.strict else quarantine.unreadable,
        )

    path = taken.file.path
    if path != STANDARD and Path(path).is_dir():
        return Folder(path, taken.file.format, open_file)
    return open_file(path)


def plan(job: Job, sources: dict[str, Any], on_quarantine: Any = None) -> Any:
    """Plan a job's join over what ``bf.stream`` takes: Arrow readers or Spark DataFrames."""
    query = job.query
    streams = {
        stream.name: bf.stream(
            sources[stream.name],
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
