"""Spark's progress reports as telemetry events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from bankfull.runtime.spark.report import counts_of, recall_of
from bankfull.telemetry import Event, EventLog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Listener(StreamingQueryListener):
    """Hands every micro-batch of a bankfull query to ``on_event``; other queries are left alone."""

    def __init__(self, on_event: Callable[[Event], None]) -> None:
        self.on_event = on_event

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Nothing to report yet."""

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Report one micro-batch."""
        progress = event.progress
        observed = progress.observedMetrics.get("bankfull")
        if observed is None:
            return
        name = progress.name or str(progress.id)
        seconds = progress.batchDuration / 1000
        recall = recall_of(observed)
        self.on_event(
            Event.of(
                name,
                progress.batchId,
                progress.timestamp,
                seconds,
                counts_of(observed),
                None if recall is None else asdict(recall),
            )
        )

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """Nothing happened."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 - Spark's name
        """The query is over."""


def listen(spark: SparkSession, to: str | Callable[[Event], None]) -> Listener:
    """Report every micro-batch of the session's bankfull queries.

    ``to`` is a file for lines of JSON, or a function that takes each
    :class:`bankfull.telemetry.Event`. Stop with ``spark.streams.removeListener``.
    """
    listener = Listener(EventLog(to).write if isinstance(to, str) else to)
    spark.streams.addListener(listener)
    return listener
