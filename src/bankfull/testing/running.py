"""Run a case on the embedded runtime, its streams cut into batches in any way."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

import bankfull as bf
from bankfull.oracle import plain
from bankfull.spec import Join, Query, Stream
from bankfull.testing.cases import Case, row_column

#: Rows a batch, for every stream alike or one list a stream; ``None`` is all in one batch.
Splits = int | Mapping[str, Sequence[int]] | None


@dataclass(frozen=True)
class Result:
    """All that a run gave."""

    query: Query
    schema: pa.Schema
    batches: tuple[pa.RecordBatch, ...]
    ledger: dict[str, Any]
    quarantined: dict[str, pa.Table]

    @cached_property
    def table(self) -> pa.Table:
        """The whole output."""
        return pa.Table.from_batches(self.batches, self.schema)

    @cached_property
    def combinations(self) -> dict[str, list[tuple[int, ...]]]:
        """For every join the sorted combinations of row numbers, as the oracle gives them."""
        rows = rows_emitted(self.table, self.query)
        return {name: sorted(combinations) for name, combinations in rows.items()}

    @cached_property
    def bytes(self) -> bytes:
        """The output batches as they would go over a wire."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.schema) as writer:
            for batch in self.batches:
                writer.write_batch(batch)
        return bytes(sink.getvalue())

    @property
    def totals(self) -> dict[str, dict[str, int]]:
        """The counts that no batch split may change."""
        kept = ("arrived", "quarantined", "late", "inserted", "emitted")
        owners = {
            **self.ledger["streams"],
            **{f"join {k}": v for k, v in self.ledger["joins"].items()},
        }
        return {
            owner: {name: count for name, count in counts.items() if name in kept}
            for owner, counts in owners.items()
        }


def run(
    case: Case,
    splits: Splits = None,
    seed: int | None = None,
    each: Callable[[Any], None] | None = None,
) -> Result:
    """Execute a case; ``seed`` cuts at random places, ``each`` looks on after every batch."""
    joined = start(case, splits, seed)
    batches = []
    for batch in joined:
        batch.validate(full=True)
        assert batch.schema == joined.schema, f"{batch.schema} is not the promised {joined.schema}"
        batches.append(batch)
        if each is not None:
            each(joined)
    if each is not None:
        each(joined)
    return Result(
        joined.query,
        joined.schema,
        tuple(batches),
        joined.ledger.as_dict(),
        dict(joined.quarantined),
    )


def start(case: Case, splits: Splits = None, seed: int | None = None) -> Any:
    """Return the case's join, not yet read."""
    dice = None if seed is None else random.Random(seed)
    sources = {
        stream.name: _source(case.tables[stream.name], _lengths(stream, case, splits, dice))
        for stream in case.query.streams
    }
    return bf.run(case.query, sources)


def cut(table: pa.Table, lengths: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """Cut a table into batches of the given lengths (zero too), the rest in the last one.

    Batches are slices, which do not begin where their buffers begin; each has dictionaries of its
    own, as batches from different files have, and every other one says that columns without a null
    cannot have any.
    """
    whole = pa.RecordBatch.from_arrays(
        [column.combine_chunks() for column in table.columns], schema=table.schema
    )
    begin, sure = 0, False
    for length in [*lengths, max(0, len(table) - sum(lengths))]:
        columns = [_own_dictionary(column, begin) for column in whole.slice(begin, length).columns]
        fields = [
            field.with_nullable(not sure or None in plain(column))
            for field, column in zip(table.schema, columns, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=pa.schema(fields))
        begin, sure = begin + length, not sure


#: Values of a batch's dictionary that no row has: those of a few batches outgrow eight bits.
_UNUSED = 60


def _own_dictionary(column: pa.Array, number: int) -> pa.Array:
    """Give a column a dictionary like no other batch's, with values that none of its rows has."""
    if not pa.types.is_dictionary(column.type):
        return column
    own = column.dictionary_decode().dictionary_encode()
    if not pa.types.is_string(own.dictionary.type):
        return own.cast(column.type)
    unused = pa.array([f"unused {number} {k}" for k in range(_UNUSED)])
    return pa.DictionaryArray.from_arrays(
        own.indices.cast(column.type.index_type), pa.concat_arrays([own.dictionary, unused])
    )


def random_lengths(total: int, dice: random.Random) -> list[int]:
    """Draw batch lengths for so many rows: short, empty, and sometimes half of all."""
    lengths: list[int] = []
    while sum(lengths) < total:
        lengths.append(dice.choice((0, 1, 1, 2, 3, 5, 8, 1 + total // 2)))
    return lengths


def rows_emitted(table: pa.Table, query: Query) -> dict[str, list[tuple[int, ...]]]:
    """Read off an output which rows were combined, join by join, in the order of the output."""
    emitted: dict[str, list[tuple[int, ...]]] = {}
    for join in query.joins:
        part = output_of(table, query, join)
        columns = [part[row_column(name)].to_pylist() for name in join.streams]
        emitted[join.name] = list(zip(*columns, strict=True))
    return emitted


def output_of(table: pa.Table, query: Query, join: Join) -> pa.Table:
    """Return one join's part of an output."""
    if len(query.joins) == 1:
        return table
    parts, start = [table.slice(0, 0)], 0
    for name, run in itertools.groupby(table["join"].to_pylist()):  # Arrow cannot take all types
        length = len(list(run))
        if name == join.name:
            parts.append(table.slice(start, length))
        start += length
    return pa.concat_tables(parts)


def _lengths(
    stream: Stream, case: Case, splits: Splits, dice: random.Random | None
) -> list[int] | None:
    total = len(case.tables[stream.name])
    if isinstance(splits, Mapping):
        return list(splits[stream.name])
    if isinstance(splits, int):
        return [splits] * (total // splits)
    return None if dice is None else random_lengths(total, dice)


def _source(table: pa.Table, lengths: list[int] | None) -> Any:
    if lengths is None:
        return table
    batches = list(cut(table, lengths))
    # Both ways to bring batches: an iterator must have one to tell its schema from.
    if batches and len(batches) % 2 == 0:
        return iter(batches)
    return pa.RecordBatchReader.from_batches(table.schema, batches)
