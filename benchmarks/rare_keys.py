"""What policies make of keys that hardly come twice, and of sets of varied sizes (0010, 0017).

    python benchmarks/rare_keys.py keys gain,prob 400 3,4,5,6       # tuples
    python benchmarks/rare_keys.py keys gain,prob "400 KB" 3,4,5,6
    python benchmarks/rare_keys.py sets gain,prob "1 MB" 1,2        # two items in common

Keys: two streams of 30,000 tuples, a million keys, Zipf 0.5, window 8,000. Sets: two streams of
6,000 sets of 2 to 30 items, seven on average, of 2,000 with Zipf 0.9, window 2,000. Each seed has a
line: results of each policy, and tuples stored at the end.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa

import bankfull as bf


def keys(seed: int) -> list[pa.Table]:
    """Return two streams whose keys hardly come twice."""
    dice = np.random.default_rng(seed)
    chance = 1.0 / np.arange(1, 1_000_001) ** 0.5
    chance /= chance.sum()
    return [
        pa.table({"t": np.arange(30_000), "k": dice.choice(1_000_000, 30_000, p=chance)})
        for _ in "ab"
    ]


def sets(seed: int) -> list[pa.Table]:
    """Return two streams of sets of varied sizes."""
    dice = np.random.default_rng(seed)
    chance = 1.0 / np.arange(1, 2001) ** 0.9
    chance /= chance.sum()
    made = []
    for _ in "ab":
        sizes = np.minimum(1 + dice.geometric(1 / 6, 6000), 30)
        items = [dice.choice(2000, size, p=chance).tolist() for size in sizes]
        made.append(pa.table({"t": np.arange(6000), "k": pa.array(items, pa.list_(pa.int64()))}))
    return made


def main() -> None:
    """Print a line for every seed."""
    kind, policies, budget, seeds = sys.argv[1:5]
    memory = bf.tuples(int(budget)) if budget.isdigit() else budget
    on: Any = "k" if kind == "keys" else bf.overlap("k", at_least=2)
    for seed in map(int, seeds.split(",")):
        given = keys(seed) if kind == "keys" else sets(seed)
        line = [f"{kind} {budget} seed {seed}:"]
        for policy in policies.split(","):
            streams = [
                bf.stream(table, time="t", name=name)
                for name, table in zip("ab", given, strict=True)
            ]
            within = 8000 if kind == "keys" else 2000
            joined = bf.join(*streams, on=on, within=within, overload=bf.shed(memory, policy))
            results = sum(batch.num_rows for batch in joined)
            stored = sum(counts.stored for counts in joined.ledger.streams.values())
            line.append(f"{policy} {results} results, {stored} stored;")
        print(*line, flush=True)


if __name__ == "__main__":
    main()
