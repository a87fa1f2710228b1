"""The ledger as columns: what each micro-batch adds, for Spark's observed metrics."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from bankfull.core import JoinLedger, Ledger, StreamLedger
from bankfull.spec import Query

if TYPE_CHECKING:
    from pyspark.sql import Column

#: Counts that say how much there is now, not how much was added.
_LEVELS = {"stored", "waiting", "copies"}


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


def observed(query: Query, counts: str) -> list[Column]:
    """Return the sums over a column of counts, one for every name."""
    from pyspark.sql import functions

    parts = functions.split(functions.col(counts), ",")
    return [
        functions.sum(parts[index].cast("long")).alias(name)
        for index, name in enumerate(metric_names(query))
    ]
