"""The demo in this process: two tables in, pairs out as they are found."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import bankfull as bf
from bankfull.cli import flights
from bankfull.cli.demo_story import Delays, Story
from bankfull.runtime.embedded.files import open_sink

_BATCH_ROWS = 8_192
_SEEN_MAX = 1_000


class Telling:
    """The join while it runs; what :func:`bankfull.cli.progress.progress` shows."""

    def __init__(self, keep: Path | None) -> None:
        self._flights, self._weather = flights.departures(), flights.weather()
        self._keep = keep
        self.rows_in = self.rows_out = self._stored_max = 0
        self._delays = Delays()
        self._seen: list[dict[str, Any]] = []
        self._started = time.perf_counter()

    @property
    def elapsed_s(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self._started

    @property
    def fraction(self) -> float | None:
        """How much has been read."""
        return self.rows_in / int(self._flights.num_rows + self._weather.num_rows)

    def run(self) -> Story:
        """Join to the end."""
        self._started = time.perf_counter()
        joined = bf.join(
            bf.stream(self._streamed(self._flights), time="scheduled", name="flights"),
            bf.stream(self._streamed(self._weather), time="observed", name="weather"),
            on="origin",
            within="1 hour",
        )
        with contextlib.ExitStack() as stack:
            sink = None
            if self._keep is not None:
                path = flights.pairs_folder(self._keep) / "pairs.parquet"
                sink = stack.enter_context(open_sink(str(path), "parquet", joined.schema))
            for batch in joined:
                self._look(batch, joined.ledger.as_dict()["streams"])
                if sink is not None:
                    sink.write(batch)
        return Story(
            "embedded",
            self._flights.num_rows,
            self._weather.num_rows,
            joined.ledger,
            self.rows_out,
            self.elapsed_s,
            self._stored_max,
            self._delays,
            self._seen,
        )

    def _streamed(self, table: pa.Table) -> pa.RecordBatchReader:
        def batches() -> Iterator[pa.RecordBatch]:
            for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
                self.rows_in += batch.num_rows
                yield batch

        return pa.RecordBatchReader.from_batches(table.schema, batches())

    def _look(self, batch: pa.RecordBatch, streams: dict[str, dict[str, int]]) -> None:
        self.rows_out += batch.num_rows
        stored = sum(found["stored"] for found in streams.values())
        self._stored_max = max(self._stored_max, stored)
        self._delays.add(batch)
        if batch.num_rows and len(self._seen) < _SEEN_MAX:
            self._seen += batch.slice(batch.num_rows // 2, 1).to_pylist()
