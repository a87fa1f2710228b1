"""The public face: streams in, one call, record batches out.

Every function here only reads what a person wrote and hands a spec to the layers below.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import isfunction
from os import PathLike
from typing import Any

from bankfull.assemble import assemble
from bankfull.errors import PlanError, SpecError
from bankfull.policies import Policy, resolve
from bankfull.policies.own import as_policy
from bankfull.runtime.embedded import Joined, Source, as_source, shareable
from bankfull.runtime.embedded.run import OnQuarantine
from bankfull.spec import (
    Equal,
    Join,
    Keep,
    Overlap,
    Predicate,
    Query,
    Rows,
    Shed,
    Similar,
    Stream,
    Subset,
    Superset,
    Tuples,
    as_predicate,
    checks,
    span,
    window,
    windows,
)
from bankfull.spec.overload import size


@dataclass
class BoundStream:
    """A source together with what is known about it; made by :func:`stream`."""

    source: object = field(repr=False)
    time: str
    name: str | None = None
    late: object = 0
    importance: str | None = None
    unique: tuple[str, ...] = ()
    idle: object = None

    def spec(self, name: str) -> Stream:
        """Return the spec of this stream under its own or the given name."""
        late = span(self.late, "late bound")
        idle = None if self.idle is None else span(self.idle, "idle")
        given = name if self.name is None else self.name
        return Stream(given, self.time, late, self.importance, self.unique, idle)


def stream(
    source: object,
    *,
    time: str,
    name: str | None = None,
    late: object = 0,
    importance: str | None = None,
    unique: str | Sequence[str] | None = None,
    idle: object = None,
) -> BoundStream:
    """Describe one input.

    ``source`` is a Spark DataFrame, an Arrow table, a pandas or Polars frame (whatever has the
    Arrow stream interface), a list of dictionaries, a pyarrow dataset, a record batch reader, or
    an iterator of record batches; the last two can be read by one join.
    ``time`` names its time column (timestamp, date or integer). ``late`` is how far time may go
    back: disorder within it is exact, a row beyond it is counted late. ``idle`` is how far the
    stream may fall behind the others before they stop waiting for it; its rows from before then
    are late. ``importance`` names a column of positive numbers that a budget goes by. ``unique``
    names columns without duplicates: it is kept with the stream and not used in this version.
    """
    columns = () if unique is None else checks.texts("unique", unique)
    bound = BoundStream(source, time, name, late, importance, columns, idle)
    bound.spec("stream")  # complain now about what can be judged now
    return bound


def join(
    *streams: BoundStream,
    on: str | Sequence[str] | Predicate,
    within: object = None,
    name: str = "join",
    search: str = "auto",
    basic_window: object = None,
    strict: bool = False,
    overload: str | Shed = "block",
    order: str | None = None,
    on_quarantine: OnQuarantine | None = None,
    buckets: int | None = None,
    quarantine: str | None = None,
) -> Any:
    """Join two or more streams.

    ``on`` is a column name, several, or a predicate (:func:`equal`, :func:`overlap`,
    :func:`subset`, :func:`superset`, :func:`similar`). ``within`` is how long a tuple stays
    joinable: one window for all streams or a tuple of one each; a duration, a whole number for
    integer times, or :func:`rows`. Arrow in: an iterator of record batches (:class:`Joined`) out.
    Spark DataFrames in, streaming or batch: a DataFrame out; ``buckets`` is over how many
    operators the work is divided there, ``quarantine`` a folder where bad and late rows go.

    >>> import pyarrow as pa
    >>> orders = stream(pa.table({"t": [1, 5], "id": [7, 8]}), time="t", name="orders")
    >>> paid = stream(pa.table({"t": [3, 90], "id": [7, 8]}), time="t", name="paid")
    >>> join(orders, paid, on="id", within=10).read_all().to_pylist()
    [{'orders_t': 1, 'orders_id': 7, 'paid_t': 3, 'paid_id': 7, 'joined_at': 3}]
    """
    shed_to = _shed_to(overload)
    if order is not None:
        raise SpecError(f"order={checks.said(order)} is not in this version: leave it out")
    for given in streams:
        if not isinstance(given, BoundStream):
            raise SpecError(
                f"join() got a {type(given).__name__}: wrap it in bf.stream(..., time=...) first"
            )
    if len({id(given) for given in streams}) < len(streams):
        raise SpecError(
            "join() got the same stream twice: to join a stream with itself make two streams of "
            "its source, with different names"
        )
    specs = _name_streams(streams)
    described = Join(
        name,
        tuple(spec.name for spec in specs),
        as_predicate(on),
        windows(within, len(streams)),
        search,
    )
    basic = None if basic_window is None else window(basic_window)
    query = Query(specs, (described,), basic, strict, shed_to)
    return _plan(query, streams, on_quarantine, buckets=buckets, quarantine=quarantine)


def joins(
    *planned: Any,
    overload: str | Shed | None = None,
    on_quarantine: OnQuarantine | None = None,
    buckets: int | None = None,
    quarantine: str | None = None,
) -> Any:
    """Run several joins over shared streams in one operator that stores each tuple once.

    Give unstarted joins with different names, made from the same :func:`stream` objects. Every
    result says in its column ``join`` which one it belongs to. ``overload`` is for all of them:
    they share one budget, and a ``split`` names the streams of all. Without it, it is what the
    joins themselves were given, if they agree.
    """
    if not planned:
        raise SpecError("joins() got no join: give at least one bf.join(...)")
    bound: dict[str, BoundStream] = {}
    specs: list[Stream] = []
    queries: list[Query] = []
    for one in planned:
        query, streams = _recipe(one)
        queries.append(query)
        for spec, given in zip(query.streams, streams, strict=True):
            if spec.name not in bound:
                bound[spec.name] = given
                specs.append(spec)
            elif bound[spec.name] is not given:
                raise SpecError(
                    f"two different streams are called {spec.name!r}: pass the same bf.stream "
                    "object to both joins, or name them differently"
                )
    basics = {query.basic_window for query in queries}
    if len(basics) > 1:
        raise SpecError("the joins have different basic windows: give all of them the same")
    together = Query(
        tuple(specs),
        tuple(described for query in queries for described in query.joins),
        basics.pop(),
        any(query.strict for query in queries),
        _one_overload(queries, overload),
    )
    settings = {"buckets": buckets, "quarantine": quarantine}
    return _plan(together, tuple(bound.values()), on_quarantine, **settings)


def shed(
    memory: object = None,
    keep: str | Policy | Callable[[Any, int, int], float] = "gain",
    split: str | Mapping[str, float] = "unified",
    importance: str = "min",
    sample: float | str = 0.0,
    seed: int = 0,
    recall: float | None = None,
) -> Shed:
    """Approximate within a budget: ``overload=bf.shed(memory="64 MB")``.

    ``memory`` is a size or :func:`tuples`, and bounds what is stored after every tuple, index and
    payload included. ``keep`` is a policy by name, an instance of one from ``bf.policies``, or a
    function ``(memory, slot, time)`` of your own that returns what a stored tuple is worth.
    ``split``: "unified" (one buffer for all streams), "proportional" to their rates, or a share
    of the budget for each by name. ``importance`` is how a result's importance follows from its
    members'. ``sample`` drops arrivals at random ahead of the policy: a share, or "unbiased".
    ``recall=0.95`` asks for a share of the exact results instead: memory grows and shrinks until
    it just suffices, up to ``memory`` if that is given too. ``Joined.recall`` is what was reached.
    """
    if isinstance(keep, str):
        policy = Keep(keep)
    elif isinstance(keep, Policy) or isfunction(getattr(keep, "py_func", keep)):
        policy = as_policy(keep).keep()
    else:
        raise SpecError(
            f"keep={checks.said(keep)} is no policy: give a name (`bankfull policies` lists them), "
            "an instance from bf.policies such as gdj(), or a function (memory, slot, time)"
        )
    resolve(policy)  # complain now about what can be judged now
    shares = split if isinstance(split, str) else checks.shares("split", split)
    budget = None if memory is None else size(memory)
    return Shed(budget, policy, shares, importance, sample, seed, recall)


def tuples(count: int) -> Tuples:
    """A budget counted in stored tuples."""
    return Tuples(count)


def equal(*sides: str | Sequence[str]) -> Equal:
    """Equality: one column (or list of columns) for all streams, or one for each."""
    return Equal(tuple(checks.texts("equal", side) for side in sides))


def overlap(*sides: str, at_least: int) -> Overlap:
    """At least so many distinct items in common."""
    return Overlap(sides, at_least)


def subset(*sides: str) -> Subset:
    """Every item of the first stream's set is in the second's."""
    return Subset(sides)


def superset(*sides: str) -> Superset:
    """Every item of the second stream's set is in the first's."""
    return Superset(sides)


def similar(*sides: str, at_least: float) -> Similar:
    """Inner product of weighted sets of at least this much."""
    return Similar(sides, at_least)


def session(name: str = "bankfull", master: str | None = None, **config: object) -> Any:
    """Return a Spark session set up for the join; see ``bankfull.runtime.spark``."""
    from bankfull.runtime.spark.session import session as make

    return make(name, master, **config)


def listen(spark: Any, to: Any) -> Any:
    """Report every micro-batch of a session's joins to a file (lines of JSON) or a function."""
    from bankfull.runtime.spark import listen as add

    return add(spark, to)


def metrics(progress: Any) -> dict[str, Any]:
    """Return the observed metrics of all joins in a query on Spark, by name, from its progress."""
    from bankfull.runtime.spark.report import counted_metrics

    if not isinstance(progress, Mapping) and not hasattr(progress, "observedMetrics"):
        raise SpecError(
            f"metrics() got a {type(progress).__name__}: give a query's progress, e.g. "
            "query.lastProgress"
        )
    return counted_metrics(progress)


def recall(metrics: Any) -> Any:
    """Return the recall of a join on Spark, from its observed metrics; None where it is unknown.

    ``metrics`` is ``bf.metrics(query.lastProgress)["bankfull"]`` of a streaming query, or
    ``joined.ledger.get`` of a batch join after its first action.
    """
    from bankfull.runtime.spark.report import recall_of

    found = metrics.asDict() if hasattr(metrics, "asDict") else metrics
    if not isinstance(found, Mapping):
        raise SpecError(
            f"recall() got a {type(metrics).__name__}: give the observed metrics called bankfull, "
            'e.g. bf.metrics(query.lastProgress)["bankfull"]'
        )
    return recall_of(found)


def finish(joined: Any, checkpoint: str | PathLike[str]) -> Any:
    """Return what a streaming join on Spark would still give if its input ended here.

    Rows wait for their turn under a memory budget and with count windows, and the last ones still
    wait when a run with ``trigger(availableNow=True)`` is over: the next run may bring rows that
    come before them. When nothing more will come, this is the rest, as a batch DataFrame with its
    counts in ``ledger``. ``joined`` is what :func:`join` returned, ``checkpoint`` the query's
    ``checkpointLocation``. The checkpoint stays as it is: a query that goes on from there gives
    these rows itself, so keep the rest only if the input has ended.
    """
    from bankfull.runtime.spark import finish_frames

    folder = checkpoint if isinstance(checkpoint, str) else str(checkpoint)
    return finish_frames(joined, checks.text("checkpoint", folder))


def rows(count: int) -> Rows:
    """A count window: the most recent ``count`` tuples of a stream are joinable."""
    return Rows(count)


def _plan(
    query: Query, streams: tuple[BoundStream, ...], on_quarantine: OnQuarantine | None, **spark: Any
) -> Any:
    """Hand the query to the runtime of its sources, and remember it for :func:`joins`."""
    if on_quarantine is not None:
        checks.function("on_quarantine", on_quarantine)
    if spark.get("buckets") is not None:
        checks.count("buckets", spark["buckets"])
    frames = [_is_frame(given.source) for given in streams]
    if any(frames) and not all(frames):
        raise PlanError("some streams are Spark DataFrames and others Arrow: give all of one kind")
    if all(frames) and on_quarantine is not None:
        raise PlanError("on_quarantine= is for Arrow streams: on Spark give quarantine=")
    if not all(frames) and spark["quarantine"] is not None:
        raise PlanError("quarantine= is for Spark: on Arrow streams give on_quarantine=")
    make: Any = _plan_spark if all(frames) else _plan_embedded
    planned = make(query, streams, spark if all(frames) else on_quarantine)
    planned._bankfull = (query, streams)
    return planned


def _is_frame(source: object) -> bool:
    """Tell whether a source is a Spark DataFrame, or a class of our own that is one."""
    return any(base.__module__.startswith("pyspark.") for base in type(source).__mro__)


def _plan_spark(query: Query, streams: tuple[BoundStream, ...], settings: dict[str, Any]) -> Any:
    from bankfull.runtime.spark import join_frames

    frames: dict[str, Any] = {s.name: b.source for s, b in zip(query.streams, streams, strict=True)}
    return join_frames(query, frames, **settings)


def _plan_embedded(
    query: Query, streams: tuple[BoundStream, ...], on_quarantine: OnQuarantine | None
) -> Joined:
    sources: dict[str, Source] = {}
    for spec, given in zip(query.streams, streams, strict=True):
        given.source = shareable(given.source, spec.name)
        sources[spec.name] = as_source(given.source, spec.name)
    plan = assemble(query, {name: source.schema for name, source in sources.items()})
    return Joined(plan, sources, on_quarantine)


def _shed_to(overload: str | Shed) -> Shed | None:
    """Return the budget that an overload= asks for."""
    if isinstance(overload, Shed):
        return overload
    if not isinstance(overload, str) or overload != "block":
        raise SpecError(
            f'overload={checks.said(overload)} is not in this version: give "block", or '
            'bf.shed(memory="64 MB")'
        )
    return None


def _one_overload(queries: list[Query], overload: str | Shed | None) -> Shed | None:
    """Return what all joins do under overload; one operator has one budget."""
    given = {query.shed for query in queries}
    if overload is not None:
        given = (given - {None}) | {_shed_to(overload)}
    if len(given) > 1:
        raise SpecError(
            "the joins shed differently: pass overload= to bf.joins alone, it is the budget of "
            "the operator they share"
        )
    return given.pop()


def _recipe(planned: Any) -> tuple[Query, tuple[BoundStream, ...]]:
    """Return from what an unstarted join was made."""
    if not hasattr(planned, "_bankfull"):
        raise SpecError(f"joins() got a {type(planned).__name__}: give unstarted bf.join(...)")
    if isinstance(planned, Joined) and planned.started:
        raise SpecError(
            f"join {planned.query.joins[0].name!r} has been read already: give joins() a join that "
            "nobody has read from, over streams of its own"
        )
    recipe: tuple[Query, tuple[BoundStream, ...]] = planned._bankfull
    return recipe


def _name_streams(streams: Sequence[BoundStream]) -> tuple[Stream, ...]:
    defaults = (
        ["left", "right"] if len(streams) == 2 else [f"s{k + 1}" for k in range(len(streams))]
    )
    return tuple(given.spec(default) for given, default in zip(streams, defaults, strict=True))


__all__ = [
    "BoundStream",
    "Joined",
    "equal",
    "join",
    "joins",
    "listen",
    "metrics",
    "overlap",
    "recall",
    "rows",
    "session",
    "shed",
    "similar",
    "stream",
    "subset",
    "superset",
    "tuples",
]
