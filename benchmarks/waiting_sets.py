"""Shares of the exact result in joins on sets, where it matters who waits for whom (0010).

    python benchmarks/waiting_sets.py all gain,prob,fifo 2201,2202
    python benchmarks/waiting_sets.py "late; alerts, aligned" gain 2201

A tenth and three tenths of what is in the windows are stored, in one buffer for both streams. Each
shape, budget and policy has a line: the mean over the seeds, its standard error, and each seed.

*Pairs*: 6,000 sets of six of 2,000 items over three windows; each has one partner, with four of its
items, and three in common are asked for. ``a`` comes first; in shapes that say so *either* stream
does. The partner comes late (0.7 windows), varied (0.6 to 0.95), soon (up to half), exponentially
(mean 0.2), or early or late (0.03, 0.7). *Beside popular*: three of ten sets are of 300 others.
*Sizes*: ``rare_keys.py sets``. *Alerts*: ``both_budgets.py``, 12 s behind and aligned.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from both_budgets import alerts
from numpy.typing import NDArray
from rare_keys import sets

import bankfull as bf

WINDOW, MANY, SIZE, DOMAIN = 2000, 6000, 6, 2000
Tables = list[pa.Table]
#: Returns how much later partners come, in windows.
Lag = Callable[[np.random.Generator], NDArray[np.float64]]


def table(times: NDArray[Any], rows: list[Any], weighted: bool = False) -> pa.Table:
    """Return sets in the order of their times."""
    kind = pa.map_(pa.int64(), pa.float64()) if weighted else pa.list_(pa.int64())
    order = np.argsort(times, kind="stable")
    drawn = [sorted({int(item) for item in rows[i]}) for i in order]
    values = [[(item, 1.0) for item in row] for row in drawn] if weighted else drawn
    return pa.table({"t": times[order], "k": pa.array(values, kind)})


def pairs(lag: Lag, how: str = "", domain: int = DOMAIN) -> Callable[[int], Tables]:
    """Return what makes sets that have one partner each."""

    def make(seed: int) -> Tables:
        dice = np.random.default_rng(seed)
        first = np.sort(dice.integers(0, 3 * WINDOW, MANY))
        later = first + (lag(dice) * WINDOW).astype(int)
        one = [dice.choice(domain, SIZE, replace=False) for _ in range(MANY)]
        two = [items[:3] for items in one]
        if how != "subset":
            two = [
                [*dice.choice(items, 4, replace=False), *dice.choice(domain, 2)] for items in one
            ]
        swapped = dice.random(MANY) < (0.5 if how == "either" else 0.0)
        times = np.where(swapped, later, first), np.where(swapped, first, later)
        if how == "beside popular":
            chance = 1.0 / np.arange(1, 301) ** 0.8
            for rows in (one, two):
                for i in np.flatnonzero(dice.random(MANY) < 0.3):
                    rows[i] = 5000 + dice.choice(300, SIZE, p=chance / chance.sum())
        weighted = how == "weights"
        return [table(t, rows, weighted) for t, rows in zip(times, (one, two), strict=True)]

    return make


def late(dice: np.random.Generator) -> NDArray[np.float64]:
    """Partners come 0.7 to 0.72 windows later."""
    return 0.7 + dice.uniform(0, 0.02, MANY)


def early_or_late(dice: np.random.Generator) -> NDArray[np.float64]:
    """Half of them come after 0.03 to 0.05 windows already."""
    return np.where(dice.random(MANY) < 0.5, 0.03, 0.7) + dice.uniform(0, 0.02, MANY)


def networks(delay: int) -> Callable[[int], Tables]:
    """Return what makes the alerts of two networks; a window is 20 s."""

    def make(seed: int) -> Tables:
        made = [alerts(2 * seed, 0), alerts(2 * seed + 1, delay)]
        return [
            table(one["seen"].cast(pa.int64()).to_numpy() // 10_000, one["tags"].to_pylist())
            for one in made
        ]

    return make


THREE = bf.overlap("k", at_least=3)
SHAPES: dict[str, tuple[Callable[[int], Tables], Any]] = {
    "late": (pairs(late), THREE),
    "late, 300 items": (pairs(late, domain=300), THREE),
    "late, subset": (pairs(late, "subset"), bf.superset("k")),
    "late, similar": (pairs(late, "weights"), bf.similar("k", at_least=3.0)),
    "late, beside popular": (pairs(late, "beside popular"), THREE),
    "late, varied": (pairs(lambda dice: dice.uniform(0.6, 0.95, MANY)), THREE),
    "soon, b never pays": (pairs(lambda dice: dice.uniform(0.0, 0.5, MANY)), THREE),
    "either, exponential": (
        pairs(lambda dice: dice.exponential(0.2, MANY).clip(0, 0.95), "either"),
        THREE,
    ),
    "either, early or late": (pairs(early_or_late, "either"), THREE),
    "varied sizes": (sets, bf.overlap("k", at_least=2)),
    "alerts, 12 s behind": (networks(12), THREE),
    "alerts, aligned": (networks(0), THREE),
}


def results(given: Tables, on: Any, **options: Any) -> int:
    """Return how many results a join has."""
    named = zip(given, "ab", strict=True)
    streams = [bf.stream(one, time="t", name=name) for one, name in named]
    return sum(batch.num_rows for batch in bf.join(*streams, on=on, within=WINDOW, **options))


def main() -> None:
    """Print a line for every shape, budget and policy."""
    names = list(SHAPES) if sys.argv[1] == "all" else sys.argv[1].split("; ")
    policies, seeds = sys.argv[2].split(","), [int(one) for one in sys.argv[3].split(",")]
    for name in names:
        make, on = SHAPES[name]
        found: dict[tuple[float, str], list[float]] = {}
        for seed in seeds:
            given = make(seed)
            exact = results(given, on)
            rate = sum(len(one) / (one["t"][-1].as_py() - one["t"][0].as_py()) for one in given)
            for part in (0.1, 0.3):
                for policy in policies:
                    shed = bf.shed(bf.tuples(int(part * WINDOW * rate)), policy)
                    share = results(given, on, overload=shed) / exact
                    found.setdefault((part, policy), []).append(share)
        for (part, policy), shares in found.items():
            error = np.std(shares, ddof=1) / len(shares) ** 0.5 if len(shares) > 1 else 0.0
            each = " ".join(f"{share:.4f}" for share in shares)
            print(f"{name:24} {part} {policy:6} {np.mean(shares):.4f} +- {error:.4f}  {each}")


if __name__ == "__main__":
    main()
