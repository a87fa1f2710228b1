"""Writing record batches to a file that appears under its name only when it is complete."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet

from bankfull.errors import BankfullError
from bankfull.runtime.embedded.files.encode import json_lines
from bankfull.runtime.embedded.files.formats import STANDARD

#: Small batches are gathered up to this where each becomes a row group or a message.
_GATHER_ROWS = 131_072
_GATHER_BYTES = 64 << 20
#: Text is made of so many rows at a time: Arrow's texts end at two gigabytes.
_ENCODE_ROWS = 8_192


class SinkError(BankfullError):
    """A sink cannot hold what it is given, or failed while it was written."""


class Writer(Protocol):
    """What a format needs to know to be written."""

    def write_table(self, table: pa.Table) -> None:
        """Append rows."""

    def close(self) -> None:
        """Write what ends the file; the file itself is closed by the sink."""


class Sink:
    """A context manager: leaving it well shows the file, leaving it by an error removes it."""

    def __init__(self, path: str, form: str, schema: pa.Schema, overwrite: bool = False) -> None:
        self.label = "standard output" if path == STANDARD else path
        self.schema = schema
        self.rows = 0
        self._gathers = form in ("parquet", "arrow")
        self._gathered: list[pa.RecordBatch] = []
        self._gathered_rows = self._gathered_bytes = 0
        self._target = _Target(path, overwrite)
        try:
            self._writer = _writer(form, self._target, schema, self.label, path)
        except BaseException:
            self._target.discard()
            raise

    def write(self, batch: pa.RecordBatch) -> None:
        """Append a batch."""
        self.rows += batch.num_rows
        self._gathered.append(batch)
        self._gathered_rows += batch.num_rows
        self._gathered_bytes += batch.nbytes
        full = self._gathered_rows >= _GATHER_ROWS or self._gathered_bytes >= _GATHER_BYTES
        if full or not self._gathers:
            self._flush()

    def _flush(self) -> None:
        if self._gathered_rows:
            table = pa.Table.from_batches(self._gathered, self.schema)
            with self._told():
                self._writer.write_table(table)
        self._gathered.clear()
        self._gathered_rows = self._gathered_bytes = 0

    def close(self) -> None:
        """Write the end of the file and give it its name."""
        self._flush()
        with self._told():
            self._writer.close()
            self._target.show()

    def discard(self) -> None:
        """Leave nothing behind."""
        self._target.discard()
        with contextlib.suppress(pa.ArrowException, OSError, ValueError):
            self._writer.close()  # its last words go nowhere; unclosed it would speak up later

    def __enter__(self) -> Sink:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:
            self.discard()
            return
        try:
            self.close()
        except BaseException:
            self.discard()
            raise

    @contextlib.contextmanager
    def _told(self) -> Any:
        try:
            yield
        except BrokenPipeError:
            raise  # whoever read standard output has seen enough; not a failure of ours
        except (pa.ArrowException, OSError) as error:
            raise SinkError(f"{self.label} cannot be written: {error}: nothing was kept") from error


def open_sink(path: str, form: str, schema: pa.Schema, overwrite: bool = False) -> Sink:
    """Open ``path`` (``-`` for standard output) for batches of ``schema`` in one of ``FORMATS``.

    A file that exists is refused unless ``overwrite``; then it is replaced when the new one is
    complete.
    """
    return Sink(path, form, schema, overwrite)


class _Target(io.RawIOBase):
    """A file written under a temporary name in its own folder, then renamed.

    What is not a regular file (standard output, a pipe, ``/dev/null``) is written in place. What
    is written after it was discarded is dropped.
    """

    def __init__(self, path: str, overwrite: bool) -> None:
        self._final: Path | None = None
        self._partial: Path | None = None
        self._finished = False
        self._overwrite = overwrite
        self._is_standard = path == STANDARD
        if self._is_standard:
            if sys.stdout is None:
                raise SinkError("standard output is closed: open it, or write to a file")
            self._file: BinaryIO = sys.stdout.buffer
            return
        final = Path(os.path.realpath(path))
        try:
            found = _stat(final)
            if found is not None and not stat.S_ISREG(found.st_mode):
                self._file = final.open("wb")
                return
            self._check_free(final)
            # The name is cut so that what is added to it does not make it too long.
            name = final.name.encode(errors="surrogateescape")[:150].decode(errors="ignore")
            partial = final.with_name(f".{name}.{os.getpid()}.partial")
            self._file = partial.open("wb")
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise SinkError(
                f"{path} cannot be written: {reason}: check that its folder exists "
                "and that you may write there"
            ) from error
        self._final, self._partial = final, partial

    def _check_free(self, final: Path) -> None:
        if not self._overwrite and _stat(final) is not None:
            raise SinkError(
                f"{final} exists already: name another file, remove it, or allow to overwrite it "
                "(on the command line with --overwrite)"
            )

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if not self._finished:
            self._file.write(data)
        return len(data)

    def flush(self) -> None:
        if not self._finished:
            self._file.flush()

    def show(self) -> None:
        self._file.flush()
        if not self._is_standard:
            self._file.close()
        self._finished = True
        if self._partial is not None and self._final is not None:
            self._check_free(self._final)  # it may have come into being meanwhile
            self._partial.replace(self._final)

    def discard(self) -> None:
        self._finished = True
        if self._is_standard:
            return
        with contextlib.suppress(OSError):
            self._file.close()
        if self._partial is not None:
            self._partial.unlink(missing_ok=True)


def _stat(path: Path) -> os.stat_result | None:
    """Return what is known of a file; None if there is none, an error if that cannot be told."""
    try:
        return path.stat()
    except FileNotFoundError:
        return None


class _JsonLines:
    def __init__(self, file: _Target) -> None:
        self._file = file

    def write_table(self, table: pa.Table) -> None:
        for batch in table.to_batches(max_chunksize=_ENCODE_ROWS):
            self._file.write(json_lines(batch))

    def close(self) -> None:
        pass


class _ArrowFile:
    """An Arrow file, in which a dictionary may grow from batch to batch but not be replaced."""

    def __init__(self, file: _Target, schema: pa.Schema) -> None:
        options = pyarrow.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
        self._file = pyarrow.ipc.new_file(file, schema, options=options)
        self._known: dict[int, pa.Array] = {}

    def write_table(self, table: pa.Table) -> None:
        for batch in table.to_batches():
            columns = [
                self._renumbered(place, column) if pa.types.is_dictionary(column.type) else column
                for place, column in enumerate(batch.columns)
            ]
            self._file.write_batch(pa.RecordBatch.from_arrays(columns, schema=batch.schema))

    def _renumbered(self, place: int, column: pa.DictionaryArray) -> pa.DictionaryArray:
        """Write a column in the dictionary of the batches before, with what is new behind it."""
        kind, fresh = column.type, column.dictionary
        if pa.types.is_nested(kind.value_type):
            return column
        known = self._known.get(place, fresh.slice(0, 0))
        new = fresh.filter(pc.invert(pc.is_in(fresh, value_set=known)))
        self._known[place] = known = pa.concat_arrays([known, pc.unique(new)])
        places = pc.index_in(fresh, value_set=known)
        numbers = places.take(column.indices).cast(kind.index_type)
        return pa.DictionaryArray.from_arrays(numbers, known, ordered=kind.ordered)

    def close(self) -> None:
        self._file.close()


def _writer(form: str, file: _Target, schema: pa.Schema, label: str, path: str) -> Writer:
    if form == "jsonl":
        return _JsonLines(file)
    if form == "csv":
        _check_flat(schema, label)
        return pyarrow.csv.CSVWriter(file, schema)  # type: ignore[no-any-return]
    try:
        if form == "parquet":
            return pyarrow.parquet.ParquetWriter(file, schema)  # type: ignore[no-any-return]
        if path == STANDARD:
            return pyarrow.ipc.new_stream(file, schema)  # type: ignore[no-any-return]
        return _ArrowFile(file, schema)
    except pa.ArrowException as error:
        raise SinkError(f"{label} cannot be {form}: {error}: write arrow or jsonl") from error


def _check_flat(schema: pa.Schema, label: str) -> None:
    """Refuse before the join runs what CSV cannot hold."""
    for column in schema:
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if pa.types.is_nested(kind):
            raise SinkError(
                f"{label} is CSV, which cannot hold column {column.name!r} of type {kind}: "
                "write parquet, arrow or jsonl"
            )
