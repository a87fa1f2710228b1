"""Results under a budget of memory, of comparisons, and of both: deterministic, over a few seeds.

Two networks see alerts, 50 a second each, with tags whose popularity moves on; the second sees them
``--delay`` seconds after the first. Alerts match if they have three tags in common, within 20 s.

    python benchmarks/both_budgets.py --delay 12 --keep gain
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pyarrow as pa

import bankfull as bf


def alerts(seed: int, delay: int) -> pa.Table:
    """Return the alerts of a network."""
    dice = np.random.default_rng(seed)
    times = np.sort(dice.integers(0, 60_000, 3000))
    popular = ((times / 1000 - delay) % 40 / 40 * 100).astype(int)
    tags = (dice.zipf(1.3, (3000, 5)) + popular[:, None]) % 100
    return pa.table({"seen": pa.array(times * 1000, pa.timestamp("us")), "tags": tags.tolist()})


def join(seed: int, delay: int, **options: Any) -> tuple[int, int]:
    """Return how many results there are, and the comparisons that they took."""
    joined = bf.join(
        bf.stream(alerts(2 * seed, 0), time="seen", name="first"),
        bf.stream(alerts(2 * seed + 1, delay), time="seen", name="second"),
        on=bf.overlap("tags", at_least=3),
        within="20 seconds",
        **options,
    )
    return joined.read_all().num_rows, joined.ledger.joins["join"].compared


def main() -> None:
    """Print a line for every way to shed: results of all seeds, and comparisons."""
    read = argparse.ArgumentParser(description=__doc__)
    read.add_argument("--delay", type=int, default=12)
    read.add_argument("--keep", default="gain")
    read.add_argument("--tuples", type=int, default=600)
    read.add_argument("--comparisons", type=int, default=4000)
    read.add_argument("--seeds", type=int, default=5)
    given = read.parse_args()
    memory: Any = {"memory": bf.tuples(given.tuples), "keep": given.keep}
    cpu: Any = {"cpu": bf.comparisons(given.comparisons)}
    ways: dict[str, Any] = {"exact": None, "memory": memory, "cpu, auto": cpu}
    for how in ("auto", "rate", "drop"):
        ways[f"both, {how}"] = memory | cpu | {"compare": how}
    for name, shed in ways.items():
        options = {} if shed is None else {"overload": bf.shed(**shed)}
        found = [join(seed, given.delay, **options) for seed in range(1, 1 + given.seeds)]
        results, compared = (sum(some) for some in zip(*found, strict=True))
        print(f"{name:11} {results:6} results of {compared:8} comparisons", flush=True)


if __name__ == "__main__":
    main()
