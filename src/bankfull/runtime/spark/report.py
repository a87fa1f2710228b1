"""The ledger as one column: what each micro-batch adds, for Spark's observed metrics."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from bankfull.core import JoinLedger, Ledger, StreamLedger
from bankfull.spec import Query

if TYPE_CHECKING:
    from pyspark.sql import Column

#: Counts that say how much there is now, not how much was added.
_LEVELS = {"stored", "waiting"}


def metric_names(query: Query) -> list[str]:
    """Return the names of all counts: ``stream.count`` and ``join.count``."""
    names = [f"{s.name}.{f.name}" for s in query.streams for f in fields(StreamLedger)]
    return names + [f"{j.name}.{f.name}" for j in query.joins for f in fields(JoinLedger)]


def metric_values(before: Ledger, after: Ledger) -> dict[str, int]:
    """Return what one micro-batch added to every count; of levels, what they are now."""
    values: dict[str, int] = {}
    for earlier, later in ((before.streams, after.streams), (before.joins, after.joins)):
        for name, counts in later.items():
            for field in fields(counts):
                now = getattr(counts, field.name)
                was = 0 if field.name in _LEVELS else getattr(earlier[name], field.name)
                values[f"{name}.{field.name}"] = now - was
    return values


def observed(query: Query, counts: str) -> Column:
    """Return the sums over a column of counts as one map, from names to sums.

    One aggregate and not one for every name: Spark updates each of them for each row of results.
    A micro-batch without counts has no sums, which is not the same as zeros.
    """
    from pyspark.sql import functions as f

    def added(sums: Column, row: Column) -> Column:
        return f.zip_with(
            sums, f.split(row, ","), lambda a, b: f.coalesce(a, f.lit(0)) + b.cast("long")
        )

    names = f.array(*map(f.lit, metric_names(query)))
    sums = f.aggregate(f.collect_list(counts), f.array().cast("array<long>"), added)
    return f.map_from_entries(f.arrays_zip(names, sums)).alias("ledger")
