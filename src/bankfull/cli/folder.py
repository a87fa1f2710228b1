"""The files of a folder as one source."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from bankfull.errors import SourceError
from bankfull.runtime.embedded.files import Source

#: Formats of which the files of a folder can be read as one stream: each tells its own types.
_FOLDERS = ("parquet", "arrow")


class Folder:
    """The files of a folder as one source, in the order of their names."""

    undecided: frozenset[str] = frozenset()

    def __init__(self, path: str, form: str, open_file: Callable[[str], Source]) -> None:
        self.label = path
        self._open_file = open_file
        try:
            self._paths = _files(path, form)
            self._sizes = [os.path.getsize(file) for file in self._paths]
        except OSError as error:
            raise SourceError(
                f"{path} is a folder that cannot be read: {error.strerror}: check its files and "
                "that you may read them"
            ) from error
        self._rows = self._unreadable = self._done = 0
        self._current = open_file(self._paths[0])
        self.schema = self._current.schema
        self.notes = self._current.notes
        self.reader = pa.RecordBatchReader.from_batches(self.schema, self._batches(self.schema))

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

    def settle(self, types: Mapping[str, pa.DataType]) -> None:
        """Do nothing: these files tell their own types."""

    def close(self) -> None:
        """Let go of the file that is open."""
        self._current.close()

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        yield from self._current.reader
        for number, path in enumerate(self._paths[1:], start=1):
            self._next(number, path)
            if not self._current.schema.equals(schema):
                raise SourceError(
                    f"{path} has other columns or types than {self._paths[0]}: the files of a "
                    "folder are one stream; move it elsewhere"
                )
            yield from self._current.reader

    def _next(self, number: int, path: str) -> None:
        opened = self._open_file(path)
        self._current.close()
        self._rows, self._unreadable = self.rows, self.unreadable
        self._done, self._current = number, opened


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
