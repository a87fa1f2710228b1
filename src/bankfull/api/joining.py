"""The public face: streams in, one call, record batches out.

Every function here only reads what a person wrote and hands a spec to the layers below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bankfull.assemble import assemble
from bankfull.errors import PlanError, SpecError
from bankfull.runtime.embedded import Joined, Source, as_source, shareable
from bankfull.runtime.embedded.run import OnQuarantine
from bankfull.spec import (
    Join,
    Predicate,
    Query,
    Shed,
    Stream,
    Utility,
    as_predicate,
    checks,
    span,
    window,
    windows,
)


@dataclass
class BoundStream:
    """A source together with what is known about it; made by :func:`stream`."""

    source: object = field(repr=False)
    time: str
    name: str | None = None
    late: object = 0
    importance: str | Utility | None = None
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
    importance: str | Utility | None = None,
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
    are late. ``importance`` names a column of positive numbers that a budget goes by, or is a
    :func:`utility`. ``unique``
    names columns without duplicates: under a budget ``gain`` then knows that a tuple of the other
    stream, joined on all of them, has one partner at most and is of no use afterwards.
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
    threads: int | None = None,
) -> Any:
    """Join two or more streams.

    ``on`` is a column name, several, or a predicate (:func:`equal`, :func:`overlap`,
    :func:`subset`, :func:`superset`, :func:`similar`). ``within`` is how long a tuple stays
    joinable: one window for all streams or a tuple of one each; a duration, a whole number for
    integer times, or :func:`rows`. Arrow in: an iterator of record batches (:class:`Joined`) out.
    Spark DataFrames in, streaming or batch: a DataFrame out; ``buckets`` is over how many
    operators the work is divided there, ``quarantine`` a folder where bad and late rows go.
    ``threads`` is over how many threads the keys of Arrow streams are divided (all cores without
    it); results and ledger are the same with any number, the order of results is not.

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
            "its source, with different names; what can be read once, such as a reader, make twice"
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
    settings = {"buckets": buckets, "quarantine": quarantine}
    return _plan(query, streams, on_quarantine, threads, **settings)


def joins(
    *planned: Any,
    overload: str | Shed | None = None,
    on_quarantine: OnQuarantine | None = None,
    buckets: int | None = None,
    quarantine: str | None = None,
    threads: int | None = None,
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
    return _plan(together, tuple(bound.values()), on_quarantine, threads, **settings)


def run(
    query: Query,
    sources: Mapping[str, object],
    *,
    on_quarantine: OnQuarantine | None = None,
    buckets: int | None = None,
    quarantine: str | None = None,
    threads: int | None = None,
) -> Any:
    """Run a query over its sources, by the names of their streams: what :func:`join` comes to.

    Every way to write a query (Python, a job file) makes a ``bankfull.spec.Query`` of it; this is
    the one way from there to a result, so that none of them can forget an option.

    >>> import pyarrow as pa
    >>> table = pa.table({"t": [1, 5], "id": [7, 8]})
    >>> written = join(stream(table, time="t"), stream(table, time="t"), on="id", within=10).query
    >>> run(written, {"left": table, "right": table}).read_all().num_rows
    2
    """
    if not isinstance(query, Query):
        raise SpecError(
            f"run() got a {type(query).__name__}: give a bankfull.spec.Query, or call bf.join"
        )
    if not isinstance(sources, Mapping):
        raise SpecError(
            f"sources={checks.said(sources)} names no streams: give a dictionary of their sources"
        )
    names = [spec.name for spec in query.streams]
    for name in names:
        if name not in sources:
            raise SpecError(f"stream {name!r} has no source: give one in sources=")
    for name in sources:
        if name not in names:
            raise SpecError(f"sources= has {name!r}, which is no stream of the query")
    streams = tuple(_bound(spec, sources[spec.name]) for spec in query.streams)
    settings = {"buckets": buckets, "quarantine": quarantine}
    return _plan(query, streams, on_quarantine, threads, **settings)


def _bound(spec: Stream, source: object) -> BoundStream:
    return BoundStream(
        source, spec.time, spec.name, spec.late, spec.importance, spec.unique, spec.idle
    )


def _plan(
    query: Query,
    streams: tuple[BoundStream, ...],
    on_quarantine: OnQuarantine | None,
    threads: int | None,
    **spark: Any,
) -> Any:
    """Hand the query to the runtime of its sources, and remember it for :func:`joins`."""
    if on_quarantine is not None:
        checks.function("on_quarantine", on_quarantine)
    for what, given in (("buckets", spark["buckets"]), ("threads", threads)):
        if given is not None:
            checks.count(what, given)
    frames = [_is_frame(given.source) for given in streams]
    if any(frames) and not all(frames):
        raise PlanError("some streams are Spark DataFrames and others Arrow: give all of one kind")
    if all(frames) and on_quarantine is not None:
        raise PlanError("on_quarantine= is for Arrow streams: on Spark give quarantine=")
    if not all(frames) and spark["quarantine"] is not None:
        raise PlanError("quarantine= is for Spark: on Arrow streams give on_quarantine=")
    planned: Any
    if all(frames):
        planned = _plan_spark(query, streams, spark)
    else:
        planned = _plan_embedded(query, streams, on_quarantine, threads)
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
    query: Query,
    streams: tuple[BoundStream, ...],
    on_quarantine: OnQuarantine | None,
    threads: int | None,
) -> Joined:
    sources: dict[str, Source] = {}
    for spec, given in zip(query.streams, streams, strict=True):
        given.source = shareable(given.source, spec.name)
        sources[spec.name] = as_source(given.source, spec.name)
    plan = assemble(query, {name: source.schema for name, source in sources.items()})
    return Joined(plan, sources, on_quarantine, threads=threads)


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
