"""The ledger in Spark's observed metrics: what each micro-batch adds, and how recall stands.

Operators write counts as one line of text, ``1,0,7;0.5,2.0;3,0``: first the ledger's, whole numbers
in the order of :func:`count_names`, then, of a query that sheds, the fields of ``Watched`` and the
tuples lost by importance in the order of :func:`_loss_names`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, fields
from typing import TYPE_CHECKING, Any

from bankfull.core import JoinLedger, Ledger, StreamLedger
from bankfull.core.interval import Recall, Watched
from bankfull.core.ledger import IMPORTANCE
from bankfull.runtime.spark.naming import is_ours
from bankfull.spec import Query

if TYPE_CHECKING:
    from pyspark.sql import Column

#: The names of the metrics: a map each.
LEDGER, WATCHED, LOST = "ledger", "watched", "lost"
#: Counts that say how much there is now, not how much was added.
_LEVELS = {"stored", "waiting", "copies"}
#: What an operator reports where recall cannot be estimated.
_UNKNOWN = Watched(dropped=-1.0)


def count_names(query: Query) -> list[str]:
    """Return the names of all counts: ``stream.count`` and ``join.count``."""
    names = [f"{s.name}.{f.name}" for s in query.streams for f in fields(StreamLedger)]
    return names + [f"{j.name}.{f.name}" for j in query.joins for f in fields(JoinLedger)]


def _loss_names(query: Query) -> list[tuple[str, str, str]]:
    """Return stream, "shed" or "evicted", and class of importance, in one order."""
    return [
        (s.name, what, c) for s in query.streams for what in ("shed", "evicted") for c in IMPORTANCE
    ]


def _losses(query: Query, ledger: Ledger) -> list[int]:
    known = ledger.lost_by_importance
    return [known.get(s, {}).get(what, {}).get(c, 0) for s, what, c in _loss_names(query)]


def counts_line(query: Query, before: Ledger, after: Ledger) -> str:
    """Return what one micro-batch added to every count; of levels, what they are now."""
    values: list[int] = []
    for earlier, later in ((before.streams, after.streams), (before.joins, after.joins)):
        for name, counts in later.items():
            for field in fields(counts):
                was = 0 if field.name in _LEVELS else getattr(earlier[name], field.name)
                values.append(getattr(counts, field.name) - was)
    parts: list[Sequence[float]] = [values]
    if query.shed is not None:
        parts.append(astuple(after.watched or _UNKNOWN))
        both = zip(_losses(query, before), _losses(query, after), strict=True)
        parts.append([later - earlier for earlier, later in both])
    return ";".join(",".join(map(repr, part)) for part in parts)


def observed(query: Query, lines: str) -> list[Column]:
    """Return the sums over a column of lines: a map from names to sums for each part of them.

    One aggregate a part and not one a name: Spark updates each of them for each row of results.
    A micro-batch without lines has no sums, which is not the same as zeros.
    """
    from pyspark.sql import functions as f

    def sums(part: int, kind: str, names: Sequence[str]) -> Column:
        def added(so_far: Column, line: Column) -> Column:
            values = f.split(f.split(line, ";")[part], ",")
            return f.zip_with(
                so_far, values, lambda a, b: f.coalesce(a, f.lit(0).cast(kind)) + b.cast(kind)
            )

        found = f.aggregate(f.collect_list(lines), f.array().cast(f"array<{kind}>"), added)
        return f.map_from_entries(f.arrays_zip(f.array(*map(f.lit, names)), found))

    ledger = sums(0, "long", count_names(query)).alias(LEDGER)
    if query.shed is None:
        return [ledger]
    watched = sums(1, "double", [f.name for f in fields(Watched)]).alias(WATCHED)
    lost = sums(2, "long", [".".join(name) for name in _loss_names(query)]).alias(LOST)
    return [ledger, watched, lost]


def metrics_of(progress: Any) -> dict[str, Any]:
    """Return the observed metrics of all joins of a query, by their names (``naming.py``).

    ``progress`` is one of ``query.recentProgress``, as an object or as a dictionary.
    """
    read = progress.get if isinstance(progress, dict) else progress.__getattribute__
    observed: Mapping[str, Any] = read("observedMetrics") or {}
    return {name: _as_dict(found) for name, found in observed.items() if is_ours(name)}


def counted_metrics(progress: Any) -> dict[str, Any]:
    """Return the same for people to read: a micro-batch without rows adds 0 and knows no level."""
    return {
        name: {**found, LEDGER: counts_of(found)} for name, found in metrics_of(progress).items()
    }


def _as_dict(metrics: Any) -> Any:
    return metrics.asDict() if hasattr(metrics, "asDict") else metrics


def counts_of(metrics: Any, before: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return the counts among the observed metrics of a micro-batch.

    A micro-batch without packets has no counts: it adds nothing, and levels are what they were
    ``before``. Levels that nobody knows are left out.

    >>> nothing = {"ledger": {"a.stored": None, "a.late": None, "b.stored": None}}
    >>> counts_of(nothing, {"a.stored": 7})
    {'a.stored': 7, 'a.late': 0}
    """
    found: dict[str, int] = {}
    for name, value in metrics[LEDGER].items():
        if value is not None:
            found[name] = int(value)
        elif name.rpartition(".")[2] not in _LEVELS:
            found[name] = 0
        elif before is not None and name in before:
            found[name] = before[name]
    return found


def recall_of(metrics: Any) -> Recall | None:
    """Return the recall of one join from its observed metrics of a micro-batch."""
    metrics = _as_dict(metrics)
    known: Mapping[str, float | None] = metrics.get(WATCHED, {})
    values = [known.get(field.name) for field in fields(Watched)]
    found = [value for value in values if value is not None]
    if len(found) < len(values) or found[0] < 0:
        return None
    return Watched(*found).recall()
