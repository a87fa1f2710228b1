"""What choosing comparisons costs when nothing is left out, beside the exact join.

Run: python benchmarks/comparing_overhead.py
Each join is run seven times in turn with each of two overloads: block (exact), and comparisons that
are never used up (tuples wait for their order, everything is compared, basic windows are counted).
Prints processor seconds, the best of seven. Plans are made inside compiled loops, where nobody
times them; so the same is run with so few tuples that most have a basic window to themselves. All
that this takes, divided by the basic windows that have a tuple, is more than what a plan takes.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa

import bankfull as bf

#: Tuples of a stream; a window, in basic windows; windows in all.
ROWS, WINDOW, WINDOWS = 1_000_000, 20, 10
#: Tuples of a stream, of which most have a basic window to themselves.
SPARSE = 40_000


def tables(kind: str, rows: int, basic_windows: int) -> list[pa.Table]:
    """Return two streams of so many basic windows of 3,000 units."""
    made = []
    for number in range(2):
        dice = np.random.default_rng(number)
        times = np.sort(dice.integers(0, 3_000 * basic_windows, rows))
        if kind == "keys":
            made.append(pa.table({"t": times, "k": dice.integers(0, 100_000, rows)}))
        else:
            items = dice.integers(0, 400, 5 * rows)
            offsets = np.arange(0, 5 * rows + 1, 5, dtype=np.int32)
            made.append(pa.table({"t": times, "k": pa.ListArray.from_arrays(offsets, items)}))
    return made


def run(kind: str, given: list[pa.Table], overload: Any) -> tuple[float, int]:
    streams = [bf.stream(t, time="t", name=n) for t, n in zip(given, "ab", strict=True)]
    on: Any = "k" if kind == "keys" else bf.overlap("k", at_least=2)
    joined = bf.join(*streams, on=on, within=3_000 * WINDOW, overload=overload, threads=1)
    began = time.process_time()
    results = sum(batch.num_rows for batch in joined)
    return time.process_time() - began, results


def measure(kind: str, given: list[pa.Table]) -> tuple[float, float, int]:
    """Return the seconds of the exact join, those with ample comparisons, and the results."""
    ways = {"exact": "block", "compared": bf.shed(cpu=bf.comparisons(1e12))}
    best: dict[str, float] = {}
    for _ in range(8):  # the first compiles
        for name, overload in ways.items():
            seconds, results = run(kind, given, overload)
            best[name] = min(best.get(name, 1e9), seconds)
    return best["exact"], best["compared"], results


def main() -> None:
    for kind in ("keys", "sets"):
        rows = ROWS if kind == "keys" else ROWS // 20
        exact, compared, results = measure(kind, tables(kind, rows, WINDOW * WINDOWS))
        sparse = tables(kind, SPARSE, SPARSE)
        plans = len(np.unique(np.concatenate([table["t"].to_numpy() // 3_000 for table in sparse])))
        plan = measure(kind, sparse)[1] / plans
        print(
            f"{kind}: {results:,} results, exact {exact:.3f} s, all compared {compared:.3f} s "
            f"({compared / exact:.3f} x); a plan takes less than {1e6 * plan:.1f} us, "
            f"{WINDOW * WINDOWS} of them {WINDOW * WINDOWS * plan / compared:.2%} of that"
        )


if __name__ == "__main__":
    main()
