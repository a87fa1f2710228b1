"""What choosing comparisons costs when nothing is left out, beside the exact join.

Run: python benchmarks/comparing_overhead.py
Each join is run three times in turn with each of two overloads: block (exact), and comparisons that
are never used up (tuples wait for their order, everything is compared, basic windows are counted).
Prints processor seconds, the best of three, and the share of them spent in plans.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa

import bankfull as bf
from bankfull.core.comparing.comparing import Comparing

ROWS, SPAN = 1_000_000, 60_000


def tables(kind: str) -> list[pa.Table]:
    made = []
    for number in range(2):
        dice = np.random.default_rng(number)
        rows = ROWS if kind == "keys" else ROWS // 20
        times = np.sort(dice.integers(0, 10 * SPAN, rows))
        if kind == "keys":
            made.append(pa.table({"t": times, "k": dice.integers(0, 100_000, rows)}))
        else:
            items = dice.integers(0, 400, 5 * rows)
            offsets = np.arange(0, 5 * rows + 1, 5, dtype=np.int32)
            made.append(pa.table({"t": times, "k": pa.ListArray.from_arrays(offsets, items)}))
    return made


def run(kind: str, overload: Any) -> tuple[float, int]:
    streams = [bf.stream(t, time="t", name=n) for t, n in zip(tables(kind), "ab", strict=True)]
    on: Any = "k" if kind == "keys" else bf.overlap("k", at_least=2)
    joined = bf.join(*streams, on=on, within=SPAN, overload=overload, threads=1)
    began = time.process_time()
    results = sum(batch.num_rows for batch in joined)
    return time.process_time() - began, results


def main() -> None:
    planning = [0.0]
    look = Comparing.look

    def timed(self: Comparing, *given: Any) -> None:
        began = time.process_time()
        look(self, *given)
        planning[0] += time.process_time() - began

    Comparing.look = timed  # type: ignore[method-assign]
    ample = bf.shed(cpu=bf.comparisons(1e12))
    for kind in ("keys", "sets"):
        best: dict[str, float] = {}
        for _ in range(4):  # the first compiles
            for name, overload in (("exact", "block"), ("all compared", ample)):
                planning[0] = 0.0
                seconds, results = run(kind, overload)
                best[name] = min(best.get(name, 1e9), seconds)
                if name != "exact":
                    share = planning[0] / seconds
        ratio = best["all compared"] / best["exact"]
        print(
            f"{kind}: {results:,} results, exact {best['exact']:.2f} s, all compared "
            f"{best['all compared']:.2f} s ({ratio:.3f} x), plans {100 * share:.2f} %"
        )


if __name__ == "__main__":
    main()
