"""Spark's progress reports as telemetry events."""

from __future__ import annotations

import atexit
import contextlib
import logging
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from bankfull.runtime.spark.report import counts_of, lateness_of, metrics_of, recall_of
from bankfull.telemetry import Event, EventLog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_LOG = logging.getLogger("bankfull")
#: How long the end of a program waits for Spark's last reports.
_LAST_WORDS_MS = 5_000


class Listener(StreamingQueryListener):
    """Hands every micro-batch of a join to ``on_event``; queries without one are left alone.

    A query with several joins gives an event for each.
    """

    def __init__(self, on_event: Callable[[Event], None]) -> None:
        self.on_event = on_event
        #: The last known counts and recall of every join, for micro-batches that bring no news.
        self._known: dict[tuple[str, str], tuple[dict[str, int], Any]] = {}

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Nothing to report yet."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Report one micro-batch."""
        progress = event.progress
        for metrics, observed in metrics_of(progress).items():
            self._report(progress, metrics, observed)

    def _report(self, progress: Any, metrics: str, observed: Any) -> None:
        name = progress.name or str(progress.id)
        before, recall = self._known.get((str(progress.runId), metrics), ({}, None))
        counts, recall = counts_of(observed, before), recall_of(observed) or recall
        self._known[str(progress.runId), metrics] = counts, recall
        told = Event.of(
            name,
            progress.batchId,
            progress.timestamp,
            progress.batchDuration / 1000,
            counts,
            None if recall is None else asdict(recall),
            metrics,
            {stream: about.as_dict() for stream, about in lateness_of(observed).items()},
        )
        self.on_event(told)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Nothing happened."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Forget a query that is over."""
        run = str(event.runId)
        self._known = {key: known for key, known in self._known.items() if key[0] != run}


class Warner(StreamingQueryListener):
    """Warns of rows that came too late, once a micro-batch; one for each session."""

    def __init__(self) -> None:
        self._begun: set[str] = set()

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Nothing to say yet."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Look at one micro-batch."""
        progress = event.progress
        name, run = progress.name or str(progress.id), str(progress.runId)
        for metrics, observed in metrics_of(progress).items():
            if run not in self._begun:
                self._begun.add(run)
                seconds = progress.batchDuration / 1000
                _LOG.info(
                    "query %s: the first micro-batch took %.1f s; it loads Spark's classes and the "
                    "kernels, starts Python workers and opens the state, the following ones do not",
                    name,
                    seconds,
                )
            for about in lateness_of(observed).values():
                _LOG.warning(
                    "query %s, %s, micro-batch %d: %s", name, metrics, progress.batchId, about
                )

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Nothing happened."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Forget a query that is over."""
        self._begun.discard(str(event.runId))


def warn_of_late_rows(spark: SparkSession) -> None:
    """Have the logger ``bankfull`` warn of late rows in all streaming joins of a session."""
    session: Any = spark
    if getattr(session, "_bankfull_warner", None) is None:
        session._bankfull_warner = Warner()
        session.streams.addListener(session._bankfull_warner)
        atexit.register(_hear_the_rest, session)


def _hear_the_rest(session: Any) -> None:
    """Let the warner hear what Spark still has to tell before the program ends.

    Spark reports progress from a thread of its own. A program may end before the last report,
    whose warning would be lost, and Spark would print a long error about a listener that is gone.
    """
    with contextlib.suppress(Exception):  # a session that was stopped has nothing to tell
        session.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(_LAST_WORDS_MS)
        session.streams.removeListener(session._bankfull_warner)


def listen(spark: SparkSession, to: str | Callable[[Event], None]) -> Listener:
    """Report every micro-batch of the session's joins.

    ``to`` is a file for lines of JSON, or a function that takes each
    :class:`bankfull.telemetry.Event`. Stop with ``spark.streams.removeListener``.
    """
    listener = Listener(EventLog(to).write if isinstance(to, str) else to)
    spark.streams.addListener(listener)
    return listener
