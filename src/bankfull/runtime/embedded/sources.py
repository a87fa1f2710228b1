"""Where rows come from: anything that gives record batches, cut into pieces of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from typing import Any
from weakref import WeakValueDictionary

import pyarrow as pa

from bankfull.errors import BankfullError, PlanError, SourceError

_KINDS = (
    "give an Arrow table, a data frame, a list of dictionaries, a pyarrow dataset, a record batch "
    "reader, or an iterator of record batches"
)


#: Readers and iterators that a join reads, by identity, as long as they are there; what cannot be
#: referred to weakly is there as long as its source.
_READ: WeakValueDictionary[int, object] = WeakValueDictionary()


class Source:
    """Record batches of one stream, to be read by one join.

    A live source gives ``None`` while it has nothing: ``is_quiet`` until it gives a batch again.
    ``origin`` is what the batches come from if that can be read once.
    """

    def __init__(
        self, schema: pa.Schema, batches: Iterable[pa.RecordBatch], origin: object = None
    ) -> None:
        self.schema = schema
        self._origin = origin
        self._batches: Iterator[pa.RecordBatch] = iter(batches)
        self._rest: pa.RecordBatch | None = None
        self.is_quiet = False
        self._reader: object = None

    @property
    def is_read_once(self) -> bool:
        """Whether the rows come from something that can be read once, such as an iterator."""
        return self._origin is not None

    def claim(self, reader: object, name: str, goes_on: bool = False) -> None:
        """Belong to a join; a second one would find nothing left to read, unless it ``goes_on``."""
        if self._reader is not None and self._reader is not reader:
            raise PlanError(
                f"stream {name!r} is already read by another join, and can be read once: give "
                "each join a stream of its own, or run them together with bf.joins(...)"
            )
        self._reader = reader
        if self._origin is None:
            return
        if id(self._origin) in _READ and not goes_on:
            raise PlanError(
                f"stream {name!r} has a {type(self._origin).__name__} that another stream reads, "
                "and it can be read once: give each stream one of its own, or a table"
            )
        try:
            _READ[id(self._origin)] = self._origin
        except TypeError:
            _READ[id(self._origin)] = self

    def read(self, rows_max: int) -> pa.RecordBatch | None:
        """Return the next batch of at most ``rows_max`` rows, or None at the end.

        A longer one is cut into pieces of equal length: a short one would cost as much as any.
        """
        batch = self._rest if self._rest is not None else self._next()
        if batch is None:
            return None
        if batch.num_rows <= rows_max:
            self._rest = None
            return batch
        pieces = -(-batch.num_rows // rows_max)
        rows = -(-batch.num_rows // pieces)
        self._rest = batch.slice(rows)
        return batch.slice(0, rows)

    def _next(self) -> pa.RecordBatch | None:
        try:
            batch = next(self._batches)
        except StopIteration:
            return None
        except BankfullError:
            raise
        except Exception as error:
            raise SourceError(f"a source failed while it was read: {error!r}") from error
        self.is_quiet = batch is None
        if batch is None:
            nothing = [pa.nulls(0, field.type) for field in self.schema]
            return pa.RecordBatch.from_arrays(nothing, schema=self.schema)
        if isinstance(batch, pa.RecordBatch):
            return batch
        raise SourceError(
            f"a source gave a {type(batch).__name__} instead of a record batch: "
            "yield pyarrow.RecordBatch objects, or None while there is nothing"
        )


def as_source(given: object, name: str) -> Source:
    """Open whatever Arrow can read as record batches."""
    given = as_table(given, name)
    if isinstance(given, Source):
        return given
    if isinstance(given, pa.Table):
        return Source(given.schema, given.to_batches())
    if isinstance(given, pa.RecordBatchReader):
        return Source(given.schema, given, given)
    if _is_dataset(given):
        dataset: Any = given
        return Source(dataset.schema, dataset.to_batches())
    if hasattr(given, "__arrow_c_stream__"):
        reader = _converted(pa.RecordBatchReader.from_stream, given, name)
        return Source(reader.schema, reader)
    if isinstance(given, Iterable) and not isinstance(given, str | bytes):
        return _from_iterable(given, name)
    raise PlanError(f"stream {name!r} is a {type(given).__name__}: {_KINDS}")


def shareable(given: object, name: str) -> object:
    """Return what several joins may plan with: what can be read once is opened once."""
    given = as_table(given, name)
    return given if isinstance(given, pa.Table) or _is_dataset(given) else as_source(given, name)


def as_table(given: object, name: str) -> object:
    """Return what lies in memory as an Arrow table, which can be read often; the rest as it is."""
    if isinstance(given, str | PathLike):
        raise PlanError(
            f"stream {name!r} is the path {str(given)!r}, and a stream takes rows: read it first, "
            "e.g. with pyarrow.dataset.dataset(path), pyarrow.csv.open_csv(path) or "
            "pyarrow.json.read_json(path); the command `bankfull run` reads files by itself"
        )
    if isinstance(given, pa.RecordBatch):
        return pa.Table.from_batches([given])
    if type(given).__module__.partition(".")[0] == "pandas":
        return _converted(_from_pandas, given, name)
    if isinstance(given, Mapping):
        return _converted(lambda columns: pa.table(dict(columns)), given, name)
    if isinstance(given, list | tuple) and given and all(isinstance(row, Mapping) for row in given):
        return _converted(_from_rows, given, name)
    if hasattr(given, "__arrow_c_array__") and not hasattr(given, "__arrow_c_stream__"):
        return as_table(_converted(pa.record_batch, given, name), name)
    return given


def _from_pandas(frame: Any) -> pa.Table:
    """Convert a data frame; an index is one of its columns if it has a name."""
    named = any(name is not None for name in frame.index.names)
    return pa.Table.from_pandas(frame, preserve_index=named).replace_schema_metadata(None)


def _from_rows(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Convert rows of which some may lack a column, which is then null."""
    rows = [dict(row) for row in rows]
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def _converted(convert: Any, given: object, name: str) -> Any:
    try:
        return convert(given)
    except (pa.ArrowException, TypeError, ValueError, AttributeError) as error:
        raise PlanError(
            f"stream {name!r} is a {type(given).__name__} that Arrow cannot convert ({error}): "
            f"give every column one type, or {_KINDS}"
        ) from error


def _is_dataset(given: object) -> bool:
    """Recognise a pyarrow dataset without loading the module that it is from."""
    return type(given).__module__ == "pyarrow._dataset" and hasattr(given, "to_batches")


def _from_iterable(given: Iterable[object], name: str) -> Source:
    """Take the schema of the first batch as the stream's."""
    try:
        batches = iter(given)
        first = next(batches, None)
    except BankfullError:
        raise
    except Exception as error:
        raise SourceError(f"stream {name!r} failed at its first batch: {error!r}") from error
    if first is None:
        raise PlanError(
            f"stream {name!r} gave no batch, so its columns are unknown: give a reader or a table, "
            "which have a schema even when they are empty"
        )
    if not isinstance(first, pa.RecordBatch):
        raise PlanError(
            f"stream {name!r} gave a {type(first).__name__} instead of a record batch: "
            "yield pyarrow.RecordBatch objects"
        )

    def all_batches() -> Iterator[pa.RecordBatch]:
        yield first
        yield from batches

    return Source(first.schema, all_batches(), given if batches is given else None)
