"""What is worth telling of the demo's join, on whichever engine it ran."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

from bankfull.cli.summary import streams_table
from bankfull.core import Ledger

if TYPE_CHECKING:
    from bankfull.cli.demo_burst import Burst

_SAMPLE_ROWS = 5
_POOR_MILES = 1.0


class Delays:
    """Mean delays in poor and in good sight, added up batch by batch."""

    def __init__(self) -> None:
        self._sums = {True: [0.0, 0], False: [0.0, 0]}  # by poor sight: sum, count

    def add(self, pairs: pa.RecordBatch) -> None:
        """Take pairs in."""
        poor = pc.less(pairs["visib"], _POOR_MILES)
        for wanted in (True, False):
            delays = pairs["dep_delay"].filter(poor if wanted else pc.invert(poor))
            self._sums[wanted][0] += pc.sum(delays).as_py() or 0
            self._sums[wanted][1] += pc.count(delays).as_py()

    def mean_min(self, poor_sight: bool) -> float:
        """Return the mean delay in minutes."""
        total, count = self._sums[poor_sight]
        return total / count if count else 0.0


@dataclass(slots=True)
class Story:
    """A join that ran. ``seen`` are joined rows in the order of time, to choose a sample from."""

    runtime: str
    flights: int
    weather: int
    ledger: Ledger
    rows_out: int
    seconds: float
    stored_max: int
    delays: Delays
    seen: list[dict[str, Any]]
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def sample(self) -> list[dict[str, Any]]:
        """A few rows, spread over the year."""
        return self.seen[:: max(1, len(self.seen) // _SAMPLE_ROWS)][:_SAMPLE_ROWS]

    @property
    def rows_per_s(self) -> int:
        """Rows taken in a second."""
        return round((self.flights + self.weather) / self.seconds)

    def report(self) -> dict[str, Any]:
        """Return everything as the object of ``--json``."""
        return {
            "runtime": self.runtime,
            "flights": self.flights,
            "weather": self.weather,
            "rows_out": self.rows_out,
            "seconds": round(self.seconds, 6),
            "rows_per_s": self.rows_per_s,
            "stored_max": self.stored_max,
            "mean_delay_min": {
                "visibility_poor": round(self.delays.mean_min(True), 2),
                "visibility_good": round(self.delays.mean_min(False), 2),
            },
            "ledger": self.ledger.as_dict(),
            **self.more,
            "sample": [
                {
                    key: value.isoformat() if isinstance(value, datetime) else value
                    for key, value in row.items()
                }
                for row in self.sample
            ],
        }

    def print(self, console: Console) -> None:
        """Print a sample, the ledger and what to make of them."""
        console.print(self._sample_table())
        console.print()
        console.print(streams_table(self.ledger.as_dict()["streams"]))
        console.print(f"\n{self._numbers()} {self._account()}\n")
        console.print(
            f"Near fog (sight under {_POOR_MILES:g} mile) flights left "
            f"{self.delays.mean_min(True):.0f} minutes late on average, otherwise "
            f"{self.delays.mean_min(False):.0f}.\n"
        )

    def _numbers(self) -> str:
        batches = self.more.get("micro_batches")
        if not batches:
            work, when = f"{self.seconds:.2f} s ({self.rows_per_s:,} rows/s in)", "at a time"
        else:
            first, *others = [one["seconds"] for one in batches]
            each = sum(others) / max(1, len(others))
            work = (
                f"{len(batches)} micro-batches, the first in {first:.0f} s because Spark's "
                f"classes were loaded and Python workers started, the others in {each:.1f} s each"
            )
            when = "from one micro-batch to the next"
        return (
            f"{self.rows_out:,} pairs in {work}. No more than {self.stored_max:,} rows were kept "
            f"{when}, because a row is forgotten when its hour has passed; the result is exact "
            "all the same."
        )

    def _account(self) -> str:
        streams = self.ledger.streams.values()
        arrived, stored = (sum(getattr(s, name) for s in streams) for name in ("arrived", "stored"))
        if self.ledger.lost:
            return f"Of {arrived:,} rows {self.ledger.lost:,} could not take part (see above)."
        waiting = f" ({stored:,} are still stored: their hour is not over)" if stored else ""
        return f"Nothing was lost: all {arrived:,} rows that arrived took part{waiting}."

    def _sample_table(self) -> Table:
        table = Table(box=None, header_style="bold", pad_edge=False)
        for heading in ("due (UTC)", "flight", "from", "to", "delay min", "weather at"):
            table.add_column(heading, no_wrap=heading != "weather at")
        for heading in ("°F", "wind mph", "sight miles"):
            table.add_column(heading, justify="right")
        for row in self.sample:
            table.add_row(
                f"{row['scheduled']:%d %b %H:%M}",
                f"{row['carrier']} {row['flight']}",
                row["flights_origin"],
                row["dest"],
                _shown(row["dep_delay"], "cancelled"),
                f"{row['observed']:%H:%M}",
                *(_shown(row[name], digits=0) for name in ("temp", "wind_speed")),
                _shown(row["visib"]),
            )
        return table


def burst_table(burst: Burst) -> Table:
    """Lay out what each policy found: the recall as estimated, beside the truth."""
    called = {"random": "random dropping", "gain": "bankfull (gain)"}
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("within a tenth", no_wrap=True)
    for heading in ("found", "true recall", "estimated recall (95 %)"):
        table.add_column(heading, justify="right")
    for name, outcome in burst.outcomes.items():
        told = outcome.estimate()
        table.add_row(
            called[name],
            f"{outcome.results:,}",
            f"{burst.true_recall(name):.3f}",
            f"{told['estimate']:.3f} ({told['low']:.3f} to {told['high']:.3f})",
        )
    return table


def _shown(value: float | None, missing: str = "-", digits: int | None = None) -> str:
    if value is None:
        return missing
    return f"{value:g}" if digits is None else f"{value:.{digits}f}"
