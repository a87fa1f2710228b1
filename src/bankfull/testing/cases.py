"""A case: a query, and all that its streams will ever bring."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from bankfull.oracle import plain
from bankfull.spec import Query


def row_column(stream: str) -> str:
    """Return the name of the column that numbers a stream's rows.

    >>> row_column("left")
    'row_left'
    """
    return f"row_{stream}"


@dataclass(frozen=True)
class Case:
    """A query and one table a stream, rows in the order in which they arrive."""

    query: Query
    tables: Mapping[str, pa.Table]

    def __post_init__(self) -> None:
        for stream in self.query.streams:
            table = self.tables[stream.name]
            numbers = table[row_column(stream.name)].to_pylist()
            assert numbers == list(range(len(table))), f"{stream.name}: rows are not numbered"

    @classmethod
    def of(cls, query: Query, **tables: pa.Table) -> Case:
        """Make a case of tables that do not number their rows yet.

        >>> from bankfull.spec import Equal, Join, Stream, Ticks
        >>> query = Query(
        ...     (Stream("a", "t"), Stream("b", "t")),
        ...     (Join("join", ("a", "b"), Equal((("k",),)), (Ticks(2),)),),
        ... )
        >>> rows = pa.table({"t": [1, 2], "k": ["x", "y"]})
        >>> Case.of(query, a=rows, b=rows).tables["b"].column_names
        ['t', 'k', 'row_b']
        """
        return cls(query, {name: _numbered(name, table) for name, table in tables.items()})

    def __repr__(self) -> str:
        """Write the case so that a failure can be read: the query, then the rows."""
        lines = [f"Case({self.query}"]
        for name, table in self.tables.items():
            fields = ", ".join(f"{field.name}: {field.type}" for field in table.schema)
            lines.append(f"  {name} ({fields})")
            columns = [map(str, plain(column)) for column in table.columns]
            lines += [f"    {' | '.join(row)}" for row in zip(*columns, strict=True)]
        return "\n".join([*lines, ")"]).encode(errors="backslashreplace").decode()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the same under Hypothesis, which would list the fields."""
        printer.text(repr(self))


def _numbered(name: str, table: pa.Table) -> pa.Table:
    numbers = pa.array(range(len(table)), pa.int64())
    return table.append_column(row_column(name), numbers)
