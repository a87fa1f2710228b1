"""The second part of the demo: a burst, and a tenth of the memory that an exact join would need.

Two streams of real departures, from JFK and from LaGuardia, are joined on the destination: who
misses a flight at one airport could take which one at the other, within twelve hours? Eight weeks
of 2013 are replayed, two of them at five times their speed: the burst. The same rows are joined
exactly (which is the truth), then within a tenth of the memory, once with random dropping and once
as bankfull does by default.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import bankfull as bf
from bankfull.cli import flights

if TYPE_CHECKING:
    from bankfull.core.recall.interval import Recall

FIRST, LAST = datetime(2013, 6, 3, tzinfo=UTC), datetime(2013, 7, 29, tzinfo=UTC)
#: Two weeks in the middle, played at this speed.
_FAST_FROM, _FAST_TO, SPEED = FIRST + timedelta(weeks=3), FIRST + timedelta(weeks=5), 5
BURST = (_FAST_FROM, _FAST_FROM + (_FAST_TO - _FAST_FROM) / SPEED)
WITHIN, _WITHIN_US = "12 hours", 12 * 3_600_000_000
SHARE = 10
#: Random dropping, and the default of ``bf.shed``.
POLICIES = ("random", "gain")
_BATCH_ROWS = 2_048
_DAY_US = 86_400_000_000


@dataclass(slots=True)
class Outcome:
    """What one policy found: results by day, and how the recall was estimated as it went on."""

    policy: str
    results: int = 0
    by_day: dict[int, int] = field(default_factory=dict)
    recall: Recall | None = None

    def add(self, joined_at: Any) -> None:
        """Take results in, by the day of their later row."""
        days = pc.divide(joined_at.cast(pa.timestamp("us", "UTC")).cast(pa.int64()), _DAY_US)
        for one in pc.value_counts(days).to_pylist():
            self.by_day[one["values"]] = self.by_day.get(one["values"], 0) + one["counts"]
        self.results += len(joined_at)

    def estimate(self) -> dict[str, float]:
        """Return the estimated recall with its interval."""
        assert self.recall is not None
        return {name: round(getattr(self.recall, name), 4) for name in ("estimate", "low", "high")}


@dataclass(slots=True)
class Burst:
    """The second part as it ran: the truth, what it needed, and what each policy found."""

    truth: Outcome
    window_max: int
    outcomes: dict[str, Outcome]
    rows: int
    picture: str | None = None

    @property
    def budget(self) -> int:
        """How many rows may be kept: a tenth of what the windows hold at most."""
        return budget_of(self.window_max)

    def true_recall(self, policy: str) -> float:
        """Return which share of the exact results a policy found."""
        return self.outcomes[policy].results / self.truth.results

    def report(self) -> dict[str, Any]:
        """Return everything as part of the object of ``--json``."""
        return {
            "rows": self.rows,
            "within": WITHIN,
            "exact_results": self.truth.results,
            "window_rows_max": self.window_max,
            "budget_tuples": self.budget,
            "policies": {
                name: {
                    "results": found.results,
                    "recall_true": round(self.true_recall(name), 4),
                    "recall": found.estimate(),
                }
                for name, found in self.outcomes.items()
            },
            "picture": self.picture,
        }


def budget_of(rows: int) -> int:
    """Return a tenth."""
    return max(1, rows // SHARE)


def streams() -> dict[str, pa.Table]:
    """Return the departures of both airports, the burst in the middle."""
    return {
        name: _replayed(flights.departures_from(origin, FIRST, LAST))
        for name, origin in (("jfk", "JFK"), ("lga", "LGA"))
    }


def _replayed(table: pa.Table) -> pa.Table:
    """Play two weeks at five times their speed, and what follows at once after them."""
    times = table["scheduled"].cast(pa.timestamp("us", "UTC")).cast(pa.int64()).to_numpy().copy()
    begin, end = (int(one.timestamp() * 1e6) for one in (_FAST_FROM, _FAST_TO))
    saved = (end - begin) - (end - begin) // SPEED
    fast, after = (times >= begin) & (times < end), times >= end
    times[fast] = begin + (times[fast] - begin) // SPEED
    times[after] -= saved
    at = pa.array(times, pa.timestamp("us", "UTC"))
    return table.set_column(0, "scheduled", at)


def join(sources: dict[str, Any], overload: Any = "block") -> Any:
    """Join two streams, whatever they are, on the destination."""
    return bf.join(
        *(bf.stream(source, time="scheduled", name=name) for name, source in sources.items()),
        on="dest",
        within=WITHIN,
        overload=overload,
    )


def find_truth(tables: dict[str, pa.Table]) -> Outcome:
    """Join exactly, in this process."""
    truth = Outcome("exact")
    for batch in join(_in_batches(tables)):
        truth.add(batch["joined_at"])
    return truth


def window_max(tables: dict[str, pa.Table]) -> int:
    """Return how many rows lie in the windows of both streams at once, at most.

    An exact join must keep so many. What it really keeps is more, and depends on the batches.
    """
    columns = [table["scheduled"].cast(pa.int64()).to_numpy() for table in tables.values()]
    times = np.sort(np.concatenate(columns))
    upto = np.searchsorted(times, times, side="right")
    return int((upto - np.searchsorted(times, times - _WITHIN_US)).max())


def run_embedded(tables: dict[str, pa.Table]) -> Burst:
    """Run the second part in this process."""
    truth, most = find_truth(tables), window_max(tables)
    outcomes = {}
    for policy in POLICIES:
        shed = bf.shed(memory=bf.tuples(budget_of(most)), keep=policy)
        joined, found = join(_in_batches(tables), shed), Outcome(policy)
        for batch in joined:
            found.add(batch["joined_at"])
        found.recall = joined.recall
        outcomes[policy] = found
    return Burst(truth, most, outcomes, sum(table.num_rows for table in tables.values()))


def _in_batches(tables: dict[str, pa.Table]) -> dict[str, pa.RecordBatchReader]:
    return {
        name: pa.RecordBatchReader.from_batches(
            table.schema, table.to_batches(max_chunksize=_BATCH_ROWS)
        )
        for name, table in tables.items()
    }
