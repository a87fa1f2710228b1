"""What is for Spark alone: a session that fits, and what a query there reports."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from os import PathLike, fspath
from typing import Any

from bankfull.errors import SpecError
from bankfull.spec import checks


def session(name: str = "bankfull", master: str | None = None, **config: object) -> Any:
    """Return a Spark session set up for the join; see ``bankfull.runtime.spark``."""
    from bankfull.runtime.spark.session import session as make

    checks.text("name", name)
    if master is not None:
        checks.text("master", master)
    return make(name, master, **config)


def listen(spark: Any, to: Any) -> Any:
    """Report every micro-batch of a session's joins to a file (lines of JSON) or a function."""
    from bankfull.runtime.spark import listen as add

    if not hasattr(getattr(spark, "streams", None), "addListener"):
        raise SpecError(f"listen() got a {type(spark).__name__}: give a Spark session")
    if isinstance(to, PathLike):
        to = fspath(to)
    if not isinstance(to, str):
        checks.function("to", to)
    return add(spark, to)


def metrics(progress: Any) -> dict[str, Any]:
    """Return the observed metrics of all joins in a query on Spark, by name, from its progress."""
    from bankfull.runtime.spark.report import counted_metrics

    if not isinstance(progress, Mapping) and not hasattr(progress, "observedMetrics"):
        raise SpecError(
            f"metrics() got a {type(progress).__name__}: give a query's progress, e.g. "
            "query.lastProgress"
        )
    with _read_as("metrics", "a query's progress"):
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
    with _read_as("recall", "the observed metrics of a join"):
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

    folder = str(checkpoint) if isinstance(checkpoint, PathLike) else checkpoint
    return finish_frames(joined, checks.text("checkpoint", folder))


@contextmanager
def _read_as(function: str, what: str) -> Iterator[None]:
    """Say in words that something has another shape than Spark gives it."""
    try:
        yield
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise SpecError(
            f"{function}() got what is not {what} ({error!r}): give it as Spark returned it"
        ) from error
