"""Running a job: files are opened, the join is planned, batches flow from sources to sinks."""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import bankfull as bf
from bankfull.cli.folder import Folder
from bankfull.cli.jobfile import File, Input, Job
from bankfull.errors import PlanError, SpecError
from bankfull.runtime.embedded.files import STANDARD, Sink, Source, open_sink, open_source
from bankfull.spec import Ticks

_PENDING_MAX = 10_000
_DECIMAL = re.compile(r"decimal128\(\s*(\d+)\s*,\s*(\d+)\s*\)")


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
    def notes(self) -> list[str]:
        """Remarks on how the files were understood."""
        return [note for source in self.sources.values() for note in source.notes]

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

    def __init__(self, file: File | None, overwrite: bool) -> None:
        self._file = file
        self._overwrite = overwrite
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
            path, form = self._file.path, self._file.format
            opened = open_sink(path, form, pa.schema(columns), self._overwrite)
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
def opened(job: Job, overwrite: bool = False) -> Iterator[Execution]:
    """Open a job's sources and quarantines and plan its join."""
    # Arrow's readers catch signals while they work, and lose one that comes when they are nearly
    # done. Their calls are short, so Python's own handlers are soon enough.
    pa.enable_signal_handlers(False)
    with contextlib.ExitStack() as stack:
        sources: dict[str, Source | Folder] = {}
        quarantines: dict[str, Quarantine] = {}
        for name, taken in job.inputs.items():
            quarantine = quarantines[name] = Quarantine(job.quarantine_of(name), overwrite)
            source = sources[name] = _open(job, name, taken, quarantine)
            stack.callback(source.close)
        _settle(job, sources)
        for name, quarantine in quarantines.items():
            quarantine.attach(sources[name].schema, stack)

        def set_aside(name: str, rows: pa.RecordBatch) -> None:
            quarantines[name].take(rows)

        readers = {name: source.reader for name, source in sources.items()}
        with _advised(job, sources):
            joined = plan(job, readers, on_quarantine=set_aside)
        yield Execution(joined, sources, set_aside)


def _open(job: Job, name: str, taken: Input, quarantine: Quarantine) -> Source | Folder:
    types = {column: _type(name, column, kind) for column, kind in taken.types.items()}
    keys = {column for columns in _compared(job) for stream, column in columns if stream == name}

    def open_file(path: str) -> Source:
        return open_source(
            path,
            taken.file.format,
            time=job.query.stream(name).time,
            types=types,
            delimiter=taken.delimiter,
            keys=keys,
            on_unreadable=None if job.query.strict else quarantine.unreadable,
        )

    path = taken.file.path
    if path != STANDARD and os.path.isdir(path):
        return Folder(path, taken.file.format, open_file)
    return open_file(path)


def _settle(job: Job, sources: dict[str, Source | Folder]) -> None:
    """Give times and keys without a value the type of those they are compared with."""
    times = [(stream.name, stream.time) for stream in job.query.streams]
    for columns in (times, *_compared(job)):
        known = [
            sources[name].schema.field(column).type
            for name, column in columns
            if column in sources[name].schema.names and column not in sources[name].undecided
        ]
        if columns is times and not known and _counts_ticks(job):
            known = [pa.int64()]
        for name, column in columns:
            if known:
                sources[name].settle({column: known[0]})


def _counts_ticks(job: Job) -> bool:
    """Whether a window or a bound is a number, so that times are numbers too."""
    lengths = [length for join in job.query.joins for length in join.windows]
    lengths += [stream.late for stream in job.query.streams]
    return any(isinstance(length, Ticks) and length.count > 0 for length in lengths)


def _compared(job: Job) -> list[list[tuple[str, str]]]:
    """Return the columns that are compared with each other, each with its stream."""
    return [
        list(zip(join.streams, sides, strict=True))
        for join in job.query.joins
        for sides in zip(*map(_columns, join.predicate.sides), strict=True)
    ]


def _columns(side: str | tuple[str, ...]) -> tuple[str, ...]:
    return (side,) if isinstance(side, str) else side


@contextlib.contextmanager
def _advised(job: Job, sources: dict[str, Source | Folder]) -> Iterator[None]:
    """Add to a refusal by type how the types of text files came about, and how to set them."""
    try:
        yield
    except PlanError as error:
        texts = [
            name for name, taken in job.inputs.items() if taken.file.format in ("csv", "jsonl")
        ]
        if not texts or not ("type" in str(error) or "compared" in str(error)):
            raise
        notes = "".join(f"; {note}" for name in texts for note in sources[name].notes)
        columns = {
            column
            for join in job.query.joins
            for side in join.predicate.sides
            for column in _columns(side)
        }
        example = f'types = {{{min(columns)} = "string"}}'
        raise PlanError(
            f"{error}; of text files under [streams.{texts[0]}] with e.g. {example}{notes}"
        ) from error


def plan(job: Job, sources: dict[str, Any], on_quarantine: Any = None) -> Any:
    """Plan a job's join over what ``bf.stream`` takes: Arrow readers or Spark DataFrames."""
    if job.order is not None:
        raise SpecError(f"order={job.order!r} is not in this version: leave it out")
    return bf.run(
        job.query,
        sources,
        on_quarantine=on_quarantine,
        buckets=job.buckets,
        threads=job.threads,
    )


def _type(stream: str, column: str, kind: str) -> pa.DataType:
    zoned = kind.removesuffix(", tz=UTC]")
    decimal = _DECIMAL.fullmatch(kind)
    try:
        if decimal:
            return pa.decimal128(int(decimal[1]), int(decimal[2]))
        if zoned != kind:
            return pa.timestamp(pa.type_for_alias(zoned + "]").unit, "UTC")
        return pa.type_for_alias(kind)
    except (ValueError, AttributeError):
        raise SpecError(
            f"[streams.{stream}] types: {column} = {kind!r} is not an Arrow type: write e.g. "
            "'int64', 'float64', 'decimal128(38, 2)', 'string', 'bool', 'timestamp[us]', "
            "'timestamp[us, tz=UTC]'"
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
