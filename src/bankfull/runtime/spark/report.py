"""The ledger as columns: what each micro-batch adds, for Spark's observed metrics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING

from bankfull.core import JoinLedger, Ledger, StreamLedger
from bankfull.core.interval import Recall, Watched
from bankfull.spec import Query

if TYPE_CHECKING:
    from pyspark.sql import Column

#: Counts that say how much there is now, not how much was added.
_LEVELS = {"stored", "waiting", "copies"}
#: In front of what recall is estimated from. No dot: these belong to no stream and no join.
_RECALL = "recall_"
#: What an operator reports as ``dropped`` where recall cannot be estimated.
_UNKNOWN = Watched(dropped=-1.0)


def metric_names(query: Query) -> list[str]:
    """Return the names of all counts: ``stream.count`` and ``join.count``."""
    names = [f"{s.name}.{f.name}" for s in query.streams for f in fields(StreamLedger)]
    names += [f"{j.name}.{f.name}" for j in query.joins for f in fields(JoinLedger)]
    return names + ([] if query.shed is None else [_RECALL + f.name for f in fields(Watched)])


def metric_values(query: Query, before: Ledger, after: Ledger) -> dict[str, float]:
    """Return what one micro-batch added to every count; of levels, what they are now."""
    values: dict[str, float] = {}
    for earlier, later in ((before.streams, after.streams), (before.joins, after.joins)):
        for name, counts in later.items():
            for field in fields(counts):
                now = getattr(counts, field.name)
                was = 0 if field.name in _LEVELS else getattr(earlier[name], field.name)
                values[f"{name}.{field.name}"] = now - was
    if query.shed is not None:
        watched = asdict(after.watched or _UNKNOWN)
        values |= {_RECALL + name: value for name, value in watched.items()}
    return values


def recall_of(metrics: Mapping[str, float | None]) -> Recall | None:
    """Return the recall of the whole query from the observed metrics of a micro-batch."""
    found = {name: metrics.get(_RECALL + name) for name in asdict(_UNKNOWN)}
    known = {name: float(value) for name, value in found.items() if value is not None}
    if len(known) < len(found) or known["dropped"] < 0:
        return None
    return Watched(**known).recall()


def counts_of(metrics: Mapping[str, float | None]) -> dict[str, int]:
    """Return the counts among the observed metrics of a micro-batch."""
    return {name: int(value or 0) for name, value in metrics.items() if "." in name}


def observed(query: Query, counts: str) -> list[Column]:
    """Return the sums over a column of counts, one for every name."""
    from pyspark.sql import functions

    parts = functions.split(functions.col(counts), ",")
    return [
        functions.sum(parts[index].cast("long" if "." in name else "double")).alias(name)
        for index, name in enumerate(metric_names(query))
    ]
