"""What the readers of text share: how a file is read, and who is told of what cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import pyarrow as pa

from bankfull.errors import SourceError
from bankfull.runtime.embedded.files import text

#: Read at a time; the first block of text decides the types of its columns.
BLOCK_BYTES = 4 << 20
BATCH_ROWS = 65_536


class Batches(NamedTuple):
    """A schema and how to begin reading batches of it.

    ``undecided`` are columns without a value so far: any type may be given to them in the schema
    that ``begin`` gets.
    """

    schema: pa.Schema
    begin: Callable[[pa.Schema], Iterator[pa.RecordBatch]]
    undecided: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read one file: ``complain(where, why)`` hears of every row that cannot be read.

    ``note`` collects remarks on how the file was understood; ``keys`` are the columns that rows are
    compared by.
    """

    label: str
    time: str
    complain: Callable[[str, str], None]
    types: Mapping[str, pa.DataType] = field(default_factory=dict)
    delimiter: str = ","
    note: Callable[[str], None] = lambda _: None
    keys: frozenset[str] = frozenset()

    def judged(self, names: Iterable[str]) -> dict[str, bool]:
        """Return the columns whose numbers must be exact, and whether rows are compared by them."""
        return {name: name in self.keys for name in names if name not in self.types}

    def failure(self, error: object, advice: str) -> SourceError:
        """Say that the file as a whole cannot be read on."""
        reason = str(error).strip().rstrip(".")
        return SourceError(f"{self.label} cannot be read: {reason}: {advice}")

    def typed(
        self, block: pa.RecordBatch, schema: pa.Schema, where: Callable[[int], str]
    ) -> pa.RecordBatch:
        """Give columns of text their types; rows that do not fit are told and left out.

        A time that does not fit becomes null instead: the join quarantines such rows itself.
        """
        columns, wrong = [], {}
        for column, target in zip(block.columns, schema, strict=True):
            given = target.name in self.types
            cells, misfits = text.convert(column, target.type, exactly=not given)
            columns.append(cells)
            if target.name != self.time:
                wrong.update({row: (target, column[row].as_py()) for row in misfits})
        for row, (target, cell) in sorted(wrong.items()):
            whole = [column[row].as_py() for column in block.columns]
            decided = "as types says" if target.name in self.types else "the type of its first rows"
            advice = "" if target.name in self.types else " (set it in types)"
            self.complain(
                where(row),
                f"{cell!r} in column {target.name!r} is not exactly {target.type}, "
                f"{decided}{advice}: {whole}",
            )
        return text.without(pa.RecordBatch.from_arrays(columns, schema=schema), sorted(wrong))
