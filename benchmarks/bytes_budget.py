"""What policies make of a budget in bytes: results, tuples stored, bytes held (decision 0017).

    python benchmarks/bytes_budget.py gain,prob,fifo

Two streams of 30,000 tuples with a window of 10,000; keys of several numbers and skews, with and
without a payload of 200 bytes. Bytes are the most that were held after a batch of results.
"""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa

import bankfull as bf

ROWS, WITHIN = 30_000, 10_000


def tables(keys: int, skew: float, payload: int) -> list[pa.Table]:
    """Return two streams with Zipf keys."""
    dice = np.random.default_rng(1)
    chance = 1.0 / np.arange(1, keys + 1) ** skew
    made = []
    for _ in "ab":
        columns = {
            "t": pa.array(np.arange(ROWS)),
            "k": pa.array(dice.choice(keys, ROWS, p=chance / chance.sum())),
        }
        if payload:
            columns["p"] = pa.array(["x" * payload] * ROWS)
        made.append(pa.table(columns))
    return made


def run(given: list[pa.Table], policy: str, memory: str) -> tuple[int, int, int]:
    """Return the results, the tuples stored at the end and the most bytes held."""
    sides = [
        bf.stream(iter(one.to_batches(max_chunksize=1000)), time="t", name=name)
        for name, one in zip("ab", given, strict=True)
    ]
    joined = bf.join(*sides, on="k", within=WITHIN, overload=bf.shed(memory, policy))
    results, most = 0, 0
    for batch in joined:
        results += batch.num_rows
        most = max(most, joined.stored_bytes())
    return results, sum(counts.stored for counts in joined.ledger.streams.values()), most


def main() -> None:
    """Print a line for every setting and policy."""
    policies = sys.argv[1].split(",") if len(sys.argv) > 1 else ["gain", "prob", "fifo"]
    print(f"{'keys':>9} {'skew':>4} {'payload':>7} {'budget':>7} {'policy':>8} "
          f"{'results':>10} {'stored':>7} {'bytes':>9}")  # fmt: skip
    for keys, skew in ((1000, 0.0), (1000, 1.0), (20_000, 0.8), (1_000_000, 0.5)):
        for payload in (0, 200):
            given = tables(keys, skew, payload)
            for memory in ("300 KB", "2 MB"):
                for policy in policies:
                    results, stored, most = run(given, policy, memory)
                    print(f"{keys:9} {skew:4} {payload:7} {memory:>7} {policy:>8} "
                          f"{results:10} {stored:7} {most:9}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
