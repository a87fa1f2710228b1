"""The ledger in Spark's observed metrics: what each micro-batch adds, and how recall stands.

Operators write counts as one line of text, ``1,0,7;0.5,2.0;3,0``: first the ledger's, whole numbers
in the order of :func:`count_names`, then, of a query that sheds, the fields of ``Watched`` with the
tuples that wait and that were processed, and the tuples lost by importance in the order of
:func:`_loss_names`. The last part is for late rows: empty, or how late they were, as JSON, a line
for each stream (``telemetry/lateness.py``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, fields
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from bankfull.assemble.times import query_unit
from bankfull.core import JoinLedger, Ledger, State, StreamLedger
from bankfull.core.intake.admit import LATE as LATE_REASON
from bankfull.core.intake.times import to_units
from bankfull.core.ledger import IMPORTANCE
from bankfull.core.plan import HOME, MASK
from bankfull.core.recall.interval import Recall, Watched
from bankfull.runtime.spark.naming import told_names
from bankfull.spec import Query
from bankfull.telemetry.lateness import SORT_FOR_SPARK, LateCounts, Lateness

if TYPE_CHECKING:
    from pyspark.sql import Column

#: The names of the metrics: a map each.
LEDGER, WATCHED, LOST = "ledger", "watched", "lost"
#: A list of texts: how late the late rows of each operator were.
LATE = "late"
#: Counts that say how much there is now, not how much was added.
_LEVELS = {"stored", "waiting", "copies"}
#: What an operator reports where recall cannot be estimated.
_UNKNOWN = Watched(dropped=-1.0)
#: What recall follows from: the last two are tuples that wait and that were processed.
_WATCHED_NAMES = [*(field.name for field in fields(Watched)), "waiting", "processed"]


def count_names(query: Query) -> list[str]:
    """Return the names of all counts: ``stream.count`` and ``join.count``."""
    names = [f"{s.name}.{f.name}" for s in query.streams for f in fields(StreamLedger)]
    return names + [f"{j.name}.{f.name}" for j in query.joins for f in fields(JoinLedger)]


def _loss_names(query: Query) -> list[tuple[str, str, str]]:
    """Return stream, "shed" or "evicted", and class of importance; then join, "skipped", stream."""
    lost = [
        (s.name, what, c) for s in query.streams for what in ("shed", "evicted") for c in IMPORTANCE
    ]
    return [*lost, *((j.name, "skipped", stream) for j in query.joins for stream in j.streams)]


def _losses(query: Query, ledger: Ledger) -> list[int]:
    known: dict[str, Any] = {**ledger.lost_by_importance}
    for join, skipped in ledger.skipped_by_stream.items():
        known[join] = {**known.get(join, {}), "skipped": skipped}
    return [known.get(s, {}).get(what, {}).get(c, 0) for s, what, c in _loss_names(query)]


def counts_line(query: Query, before: Ledger, after: Ledger, late: str = "") -> str:
    """Return what one micro-batch added to every count; of levels, what they are now.

    ``late`` says how late the late rows were (:class:`LateRows`).
    """
    values: list[int] = []
    for earlier, later in ((before.streams, after.streams), (before.joins, after.joins)):
        for name, counts in later.items():
            for field in fields(counts):
                was = 0 if field.name in _LEVELS else getattr(earlier[name], field.name)
                values.append(getattr(counts, field.name) - was)
    parts: list[Sequence[float]] = [values]
    if query.shed is not None:
        watched = after.watched or _UNKNOWN
        parts.append((*astuple(watched), float(after.waiting), float(after.processed)))
        both = zip(_losses(query, before), _losses(query, after), strict=True)
        parts.append([later - earlier for earlier, later in both])
    return ";".join([*(",".join(map(repr, part)) for part in parts), late])


class LateRows:
    """How late the late rows of one bucket and micro-batch were, seen among those set aside."""

    def __init__(self, state: State) -> None:
        schemas = {stream.name: stream.given for stream in state.plan.streams}
        self._unit = query_unit(state.plan.query, schemas)
        #: A micro-batch has no order: rows are late against those before it.
        self._streams = {s.plan.name: (s.plan, s.reached) for s in state.inputs}
        self._found: dict[str, LateCounts] = {}

    def note(self, aside: Mapping[str, Sequence[pa.RecordBatch]]) -> None:
        """Take what a step has set aside (``Step.quarantine``)."""
        for name, batches in aside.items():
            plan, reached = self._streams[name]
            for rows in batches:
                late = pc.equal(rows.columns[-1], LATE_REASON)
                if MASK in rows.schema.names:
                    home = pc.not_equal(pc.bit_wise_and(rows.column(MASK), pa.scalar(HOME)), 0)
                    late = pc.and_(late, home)
                rows = rows.filter(late)
                if rows.num_rows:
                    new = LateCounts(name, self._unit, plan.late)
                    times = to_units(rows.column(plan.time), plan.scale)[0]
                    self._found.setdefault(name, new).add(reached - times)

    def __str__(self) -> str:
        return "\n".join(found.to_json() for found in self._found.values())


def lateness_of(metrics: Any) -> dict[str, Lateness]:
    """Return how late the late rows of a micro-batch were, of the streams that had any."""
    metrics = _as_dict(metrics)
    lines = [line for text in metrics.get(LATE) or () for line in text.splitlines()]
    arrived = counts_of(metrics)
    return {
        name: found.about(arrived[f"{name}.arrived"], SORT_FOR_SPARK)
        for name, found in LateCounts.merged(lines).items()
    }


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

    parts = 1 if query.shed is None else 3
    texts = f.transform(f.collect_list(lines), lambda line: f.split(line, ";", parts + 1)[parts])
    late = f.filter(texts, lambda text: text != "").alias(LATE)
    ledger = sums(0, "long", count_names(query)).alias(LEDGER)
    if query.shed is None:
        return [ledger, late]
    watched = sums(1, "double", _WATCHED_NAMES).alias(WATCHED)
    lost = sums(2, "long", [".".join(name) for name in _loss_names(query)]).alias(LOST)
    return [ledger, watched, lost, late]


def metrics_of(progress: Any) -> dict[str, Any]:
    """Return the observed metrics of all joins of a query, by their names (``naming.py``).

    ``progress`` is one of ``query.recentProgress``, as an object or as a dictionary.
    """
    read = progress.get if isinstance(progress, dict) else progress.__getattribute__
    observed: Mapping[str, Any] = read("observedMetrics") or {}
    return {told: _as_dict(observed[name]) for name, told in told_names(observed).items()}


def counted_metrics(progress: Any) -> dict[str, Any]:
    """Return the same for people to read.

    A micro-batch without rows adds 0 and knows no level; only classes of importance of which
    something was lost are listed, and only streams that had late rows.
    """
    told = {}
    for name, found in metrics_of(progress).items():
        late = {stream: about.as_dict() for stream, about in lateness_of(found).items()}
        told[name] = {**found, LEDGER: counts_of(found), LATE: late}
        if LOST in found:
            told[name][LOST] = {what: n for what, n in (found[LOST] or {}).items() if n}
    return told


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
    found = [value for name in _WATCHED_NAMES if (value := known.get(name)) is not None]
    if len(found) < len(_WATCHED_NAMES) or found[0] < 0:
        return None
    *watched, waiting, processed = found
    return Watched(*watched).recall().while_waiting(int(waiting), int(processed))
