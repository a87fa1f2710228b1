"""How often the interval of recall covers the truth under a budget of comparisons; how wide it is.

Run: python benchmarks/recall_coverage.py [--seeds 60] [--rows 1500] [--how auto rate] [--streams 2]
Random streams in joins by hash, scan and inverted index, with 0.15, 0.3 and 0.6 of the comparisons
that the whole join takes. The interval's nominal rate is 95 %: of 60 runs 57 are to be covered, and
52 or fewer come once in 30 times if the rate is right. Prints how many were covered, how many had
the truth below and above the interval, and the interval's mean width.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pyarrow as pa

import bankfull as bf

SHARES = (0.15, 0.3, 0.6)


def tables(kind: str, seed: int, rows: int, streams: int) -> list[pa.Table]:
    """Return streams whose keys or items come with unequal chances."""
    made = []
    for side in range(streams):
        dice = np.random.default_rng([seed, side])
        times = np.sort(dice.integers(0, 600, rows))
        if kind == "inverted":
            items = np.minimum(dice.integers(0, 60, (rows, 4)), dice.integers(0, 60, (rows, 4)))
            made.append(pa.table({"t": times, "k": [sorted(set(own)) for own in items.tolist()]}))
        else:
            keys = np.minimum(dice.integers(0, 40, rows), dice.integers(0, 40, rows))
            made.append(pa.table({"t": times, "k": keys}))
    return made


def joined(kind: str, made: list[pa.Table], overload: Any) -> Any:
    """Return the join of all tables by the search of this kind."""
    streams = [
        bf.stream(table, time="t", name=name) for table, name in zip(made, "abcde", strict=False)
    ]
    on: Any = bf.overlap("k", at_least=2) if kind == "inverted" else "k"
    return bf.join(*streams, on=on, within=60, search=kind, basic_window=5, overload=overload)


def measure(kind: str, share: float, how: str, seeds: int, rows: int, streams: int) -> str:
    """Return how many intervals covered, and their width."""
    covered, below, above, width = 0, 0, 0, 0.0
    for seed in range(seeds):
        made = tables(kind, seed, rows, streams)
        whole = joined(kind, made, bf.shed(cpu=bf.comparisons(1e9)))
        exact = whole.read_all().num_rows
        per_unit = share * whole.ledger.joins["join"].compared / 600
        shed = bf.shed(cpu=bf.comparisons(per_unit), compare=how, seed=seed)
        part = joined(kind, made, shed)
        truth = part.read_all().num_rows / exact
        recall = part.recall
        covered += recall.low <= truth <= recall.high
        below += truth < recall.low
        above += truth > recall.high
        width += (recall.high - recall.low) / seeds
    return (
        f"{kind:8} {share:4} {how:11} covered {covered} of {seeds} "
        f"(truth below {below}, above {above}), mean width {width:.3f}"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seeds", type=int, default=60)
    options.add_argument("--rows", type=int, default=1500)
    options.add_argument("--how", nargs="+", default=["auto"])
    options.add_argument("--streams", type=int, default=2)
    options.add_argument("--kinds", nargs="+", default=["hash", "scan", "inverted"])
    given = options.parse_args()
    for kind in given.kinds:
        for share in SHARES:
            for how in given.how:
                told = measure(kind, share, how, given.seeds, given.rows, given.streams)
                print(told, flush=True)


if __name__ == "__main__":
    main()
