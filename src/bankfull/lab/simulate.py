"""One run of the real operator under a memory budget: the only place where the lab meets it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bankfull.lab.traces import JoinOn, Trace
from bankfull.policies.registry import find
from bankfull.spec import Join, Query, Stream, as_predicate, span, windows

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Outcome:
    """What came out: counts, summed importance, comparisons, and results by key if asked."""

    results: int
    importance: float
    compared: int
    seconds: float
    histogram: dict[int, int] | None = None


def simulate(
    streams: Sequence[Trace],
    joins: Sequence[JoinOn],
    budget: int | Sequence[int],
    policy: str,
    params: Mapping[str, Any],
    *,
    since: int = 0,
    unified: bool = False,
    sample: float = 0.0,
    seed: int = 0,
    histogram: bool = False,
) -> Outcome:
    """Join the streams with ``budget`` tuples of memory and count what comes out.

    A budget is one number for all streams, or one for each of them; ``unified`` makes it one
    buffer that they compete for. Results completed before ``since`` do not count. A newcomer is
    dropped with probability ``sample`` after it was joined.
    """
    import bankfull as bf

    whole = budget if isinstance(budget, int) else sum(budget)
    overload = bf.shed(
        memory=bf.tuples(whole),
        keep=find(policy)(**params),
        split=_split(streams, joins, budget, unified),
        sample=sample,
        seed=seed,
    )
    query = Query(
        tuple(
            Stream(trace.name, "t", span(0), None if trace.importance is None else "v")
            for trace in streams
        ),
        tuple(
            Join(
                f"join{number}",
                tuple(streams[place].name for place in one.streams),
                as_predicate(one.column),
                windows(one.within, len(one.streams)),
            )
            for number, one in enumerate(joins)
        ),
        shed=overload,
    )
    joined = bf.run(query, {trace.name: trace.table() for trace in streams})
    began = time.perf_counter()
    counted = _Counted(since, _key_columns(streams, joins) if histogram else ())
    for batch in joined:
        counted.add(batch)
    seconds = time.perf_counter() - began
    compared = sum(one.compared for one in joined.ledger.joins.values())
    return Outcome(
        counted.results,
        counted.importance,
        compared,
        seconds,
        dict(counted.keys) if histogram else None,
    )


def _split(
    streams: Sequence[Trace], joins: Sequence[JoinOn], budget: int | Sequence[int], unified: bool
) -> str | dict[str, float]:
    """Return how the budget is divided.

    Joins that do not share all their streams cannot be given shares by name, since each of them
    is asked about streams that it does not have; there, shares follow the streams' rates.
    """
    if unified:
        return "unified"
    if isinstance(budget, int) or any(len(one.streams) < len(streams) for one in joins):
        return "proportional"
    whole = sum(budget)
    return {trace.name: mine / whole for trace, mine in zip(streams, budget, strict=True)}


def _key_columns(streams: Sequence[Trace], joins: Sequence[JoinOn]) -> tuple[str, ...]:
    """Name the output column that holds the key of each join: that of its first stream."""
    return tuple(f"{streams[one.streams[0]].name}_{one.column}" for one in joins)


class _Counted:
    """Results added up batch by batch, as columns."""

    def __init__(self, since: int, columns: Sequence[str]) -> None:
        self._since, self._columns = since, columns
        self.results, self.importance = 0, 0.0
        self.keys: Counter[int] = Counter()

    def add(self, batch: pa.RecordBatch) -> None:
        import pyarrow.compute as pc

        if self._since > 0:
            batch = batch.filter(pc.greater_equal(batch.column("joined_at"), self._since))
        self.results += batch.num_rows
        if "importance" in batch.schema.names:
            self.importance += pc.sum(batch.column("importance")).as_py() or 0.0
        else:
            self.importance += batch.num_rows
        for column in self._columns:
            for found in pc.value_counts(batch.column(column).drop_null()).to_pylist():
                self.keys[found["values"]] += found["counts"]
