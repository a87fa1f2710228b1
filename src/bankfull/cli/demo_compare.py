"""The third part of the demo: a tenth of the comparisons that the exact join makes.

Four weeks of departures from New York are joined with landings of the same aircraft within eight
hours, by comparing each with everything in the other window. The same rows are joined with a tenth
of the comparisons, once by dropping rows at random and once as bankfull does by default: it learns
after how long aircraft land, and looks there.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pyarrow as pa

import bankfull as bf
from bankfull.cli import flights
from bankfull.cli.demo_burst import FIRST

LAST = FIRST + timedelta(weeks=4)
WITHIN, SHARE = "8 hours", 10
#: More comparisons a second than there are to make: nothing is left out.
_AMPLE = 1e9
#: Random dropping, and the default of ``compare=``.
WAYS = ("drop", "auto")


@dataclass(frozen=True, slots=True)
class Compared:
    """What was found with a tenth of the comparisons, by way: results and comparisons."""

    exact: tuple[int, int]
    found: dict[str, tuple[int, int]]

    def report(self) -> dict[str, Any]:
        """Return everything as part of the object of ``--json``."""
        results, comparisons = self.exact
        return {
            "within": WITHIN,
            "exact_results": results,
            "exact_comparisons": comparisons,
            "ways": {
                name: {
                    "results": found,
                    "comparisons": made,
                    "recall_true": round(found / results, 4),
                }
                for name, (found, made) in self.found.items()
            },
        }

    def sentence(self) -> str:
        """Return what is worth telling."""
        results, comparisons = self.exact
        dropped, ours = (self.found[name] for name in WAYS)
        return (
            f"The exact join made {comparisons:,} comparisons for {results:,} results. With "
            f"{dropped[1]:,} of them random dropping found {dropped[0] / results:.2f} of the "
            f"results; with {ours[1]:,} bankfull found {ours[0] / results:.2f}."
        )


def compare() -> Compared:
    """Join with all comparisons, then with a tenth of them in each way; takes about a second."""
    tables = flights.flown(FIRST, LAST)
    exact = _join(tables, _AMPLE, "auto")
    each = exact[1] / SHARE / (LAST - FIRST).total_seconds()
    return Compared(exact, {way: _join(tables, each, way) for way in WAYS})


def _join(tables: dict[str, pa.Table], each: float, way: str) -> tuple[int, int]:
    """Return how many results and comparisons there were, with so many of the latter a second."""
    joined = bf.join(
        *(bf.stream(table, time="at", name=name) for name, table in tables.items()),
        on="tailnum",
        within=WITHIN,
        search="scan",
        overload=bf.shed(cpu=bf.comparisons(each), compare=way),
    )
    results = sum(batch.num_rows for batch in joined)
    return results, joined.ledger.joins["join"].compared
