"""Opening a file as a reader of record batches, whatever its format."""

from __future__ import annotations

import io
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from bankfull.errors import BankfullError, DataError, SourceError
from bankfull.runtime.embedded.files.csvrows import open_csv
from bankfull.runtime.embedded.files.formats import STANDARD, compression_of
from bankfull.runtime.embedded.files.jsonlines import open_jsonl
from bankfull.runtime.embedded.files.reading import BATCH_ROWS, Batches, Reading

#: Hears the reason for every row of a text file that cannot be read.
Unreadable = Callable[[str], None]

_ARROW_FILE_MAGIC = b"ARROW1"


class Source:
    """An open file: hand ``reader`` to ``bf.stream``, watch the counts while the join runs."""

    def __init__(self, label: str, file: _Counted, on_unreadable: Unreadable | None) -> None:
        self.label = label
        self.rows = 0
        self.unreadable = 0
        self.notes: list[str] = []
        self.undecided: frozenset[str] = frozenset()
        self._opened: Batches | None = None
        self._reader: pa.RecordBatchReader | None = None
        self._file = file
        self._on_unreadable = on_unreadable

    @property
    def schema(self) -> pa.Schema:
        """The columns; those that are ``undecided`` may still be settled."""
        assert self._opened is not None
        return self._opened.schema

    @property
    def reader(self) -> pa.RecordBatchReader:
        """The batches; once this was asked for, nothing can be settled any more."""
        if self._reader is None:
            assert self._opened is not None
            batches = self._counted(self._opened.begin(self.schema))
            self._reader = pa.RecordBatchReader.from_batches(self.schema, batches)
        return self._reader

    def settle(self, types: Mapping[str, pa.DataType]) -> None:
        """Give types to columns of text that have no value by which to tell."""
        assert self._opened is not None
        settled = [
            field.with_type(types.get(field.name, field.type))
            if field.name in self.undecided
            else field
            for field in self.schema
        ]
        self._opened = self._opened._replace(schema=pa.schema(settled))

    @property
    def fraction(self) -> float | None:
        """How much of the file has been read, from 0 to 1; None where its size is unknown."""
        return min(1.0, self._file.bytes_read / self._file.size) if self._file.size else None

    def complain(self, where: str, why: str) -> None:
        """Count a row that cannot be read and tell whoever wants to know."""
        self.unreadable += 1
        if self._on_unreadable is None:
            raise DataError(f"{self.label}, {where}: {why}: repair it, or run without strict")
        self._on_unreadable(f"{where}: {why}")

    def attach(self, opened: Batches) -> None:
        """Make ``reader`` yield ``opened``, counted and with failures told by file name."""
        self._opened, self.undecided = opened, opened.undecided

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _counted(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            for batch in batches:
                self.rows += batch.num_rows
                yield batch
        except BankfullError:
            raise
        except (pa.ArrowException, OSError, ValueError) as error:
            raise SourceError(
                f"{self.label} cannot be read beyond row {self.rows}: {error}: "
                "it is damaged or was cut short; write it again"
            ) from error


def open_source(
    path: str,
    form: str,
    *,
    time: str,
    types: Mapping[str, pa.DataType] | None = None,
    delimiter: str = ",",
    keys: Iterable[str] = (),
    on_unreadable: Unreadable | None = None,
) -> Source:
    """Open ``path`` (``-`` for standard input) in one of ``FORMATS``.

    Rows of text that cannot be read are counted and handed to ``on_unreadable``; without it the
    first one raises ``DataError``. Rows are compared by the columns ``keys``: different numbers
    stay different there within lists and objects, too.
    """
    label = "standard input" if path == STANDARD else path
    try:
        file = _Counted.open(path)
        source = Source(label, file, on_unreadable)
        reading = Reading(
            label,
            time,
            source.complain,
            types or {},
            delimiter,
            source.notes.append,
            frozenset(keys),
        )
        source.attach(_OPENERS[form](_unpacked(file, path, form), reading))
    except BankfullError:
        raise
    except FileNotFoundError as error:
        raise SourceError(f"{label} does not exist: check the path") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SourceError(
            f"{label} cannot be read as {form}: {reason}: check the file, or set its format"
        ) from error
    return source


class _Counted(io.RawIOBase):
    """A binary file that counts what was read of it; pyarrow reads it like any other."""

    def __init__(self, raw: BinaryIO, size: int | None, seekable: bool) -> None:
        self._raw = raw
        self._seekable = seekable
        self.size = size
        self.bytes_read = 0

    @classmethod
    def open(cls, path: str) -> _Counted:
        if path == STANDARD:
            if sys.stdin is None:
                raise SourceError("standard input is closed: open it, or name a file")
            return cls(sys.stdin.buffer, None, seekable=False)
        regular = os.path.isfile(path)
        return cls(open(path, "rb"), os.path.getsize(path) if regular else None, seekable=regular)

    def spooled(self) -> _Counted:
        """Return a copy on disk, for formats that must seek."""
        if self._seekable:
            return self
        copy = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as its reader
        shutil.copyfileobj(self._raw, copy)
        size = copy.tell()
        copy.seek(0)
        return _Counted(copy, size, seekable=True)

    def peek(self, count: int) -> bytes:
        return self._raw.peek(count)[:count]  # type: ignore[attr-defined,no-any-return]

    def read(self, size: int | None = -1) -> bytes:
        found = self._raw.read(-1 if size is None else size)
        self.bytes_read += len(found)
        return found

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._seekable

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        return self._raw.tell()

    def close(self) -> None:
        if sys.stdin is None or self._raw is not sys.stdin.buffer:
            self._raw.close()
        super().close()


def _unpacked(file: _Counted, path: str, form: str) -> Any:
    compression = compression_of(path)
    if compression is None:
        return file
    if form in ("parquet", "arrow"):
        raise SourceError(
            f"{path} is compressed as a whole: {form} files compress their inside, unpack it first"
        )
    return pa.CompressedInputStream(pa.PythonFile(file, mode="r"), compression)


def _open_parquet(file: _Counted, reading: Reading) -> Batches:
    parquet = pyarrow.parquet.ParquetFile(file.spooled(), pre_buffer=False)
    batches = parquet.iter_batches(batch_size=BATCH_ROWS, use_threads=False)
    return Batches(parquet.schema_arrow, lambda _: batches)


def _open_arrow(file: _Counted, reading: Reading) -> Batches:
    if file.peek(len(_ARROW_FILE_MAGIC)) == _ARROW_FILE_MAGIC:
        opened = pyarrow.ipc.open_file(file.spooled())
        return Batches(opened.schema, lambda _: _whole_batches(opened, reading))
    stream = pyarrow.ipc.open_stream(file)
    return Batches(stream.schema, lambda _: iter(stream))


def _whole_batches(opened: Any, reading: Reading) -> Iterator[pa.RecordBatch]:
    """Skip damaged batches: the file's index shows where the next one begins."""
    for index in range(opened.num_record_batches):
        try:
            batch = opened.get_batch(index)
        except (pa.ArrowException, OSError) as error:
            reading.complain(f"record batch {index + 1}", str(error))
        else:
            yield batch


_OPENERS: dict[str, Callable[[Any, Reading], Batches]] = {
    "parquet": _open_parquet,
    "arrow": _open_arrow,
    "csv": open_csv,
    "jsonl": open_jsonl,
}
