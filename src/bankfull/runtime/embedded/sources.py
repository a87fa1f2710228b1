"""Where rows come from: anything that gives record batches, cut into pieces of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from bankfull.errors import BankfullError, PlanError, SourceError


class Source:
    """Record batches of one stream.

    A live source gives ``None`` while it has nothing: ``is_quiet`` until it gives a batch again.
    """

    def __init__(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
        self.schema = schema
        self._batches: Iterator[pa.RecordBatch] = iter(batches)
        self._rest: pa.RecordBatch | None = None
        self.is_quiet = False

    def read(self, rows_max: int) -> pa.RecordBatch | None:
        """Return the next batch of at most ``rows_max`` rows, or None at the end."""
        batch = self._rest if self._rest is not None else self._next()
        if batch is None:
            return None
        self._rest = batch.slice(rows_max) if batch.num_rows > rows_max else None
        return batch.slice(0, rows_max)

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
    """Accept a table, a reader, a record batch, or an iterable of record batches."""
    if isinstance(given, pa.Table):
        return Source(given.schema, given.to_batches())
    if isinstance(given, pa.RecordBatch):
        return Source(given.schema, [given])
    if isinstance(given, pa.RecordBatchReader):
        return Source(given.schema, given)
    if isinstance(given, Source):
        return given
    if isinstance(given, Iterable):
        return _from_iterable(given, name)
    raise PlanError(
        f"stream {name!r} is a {type(given).__name__}: give an Arrow table, a record batch reader, "
        "or an iterator of record batches"
    )


def _from_iterable(given: Iterable[object], name: str) -> Source:
    """Take the schema of the first batch as the stream's."""
    batches = iter(given)
    first = next(batches, None)
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

    return Source(first.schema, all_batches())
