"""Two streams with keys of some skew, their exact results, and a run under a budget."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import bankfull as bf
from bankfull.spec import Shed

Row = dict[str, Any]


def pair(seed: int, count: int, keys: int, skew: float) -> list[pa.Table]:
    """Return two streams of so many tuples with uniform or Zipf keys and Pareto importance."""
    dice = np.random.default_rng(seed)
    chance = 1.0 / np.arange(1, keys + 1) ** skew
    drawn = dice.choice(keys, (2, count), p=chance / chance.sum())
    times = np.sort(dice.integers(0, count, (2, count)))
    worth = dice.pareto(1.5, (2, count)) + 1.0
    return [pa.table({"t": times[s], "k": drawn[s], "v": worth[s]}) for s in range(2)]


def exact_pairs(tables: list[pa.Table], window: int) -> tuple[int, float, NDArray[np.int64]]:
    """Return how many results there are, their importance (min), and when each is made."""
    (ta, ka, va), (tb, kb, vb) = ([one[c].to_numpy() for c in "tkv"] for one in tables)
    order = np.lexsort((tb, kb))
    place = {int(key): at for key, at in zip(*np.unique(kb[order], return_index=True), strict=True)}
    ends = {int(key): n for key, n in zip(*np.unique(kb, return_counts=True), strict=True)}
    total, worth, times = 0, 0.0, []
    for t, key, v in zip(ta, ka, va, strict=True):
        if int(key) not in place:
            continue
        mine = order[place[int(key)] : place[int(key)] + ends[int(key)]]
        low, high = np.searchsorted(tb[mine], [t - window, t + window + 1])
        found = mine[low:high]
        total += found.size
        worth += float(np.minimum(vb[found], v).sum())
        times.append(np.maximum(tb[found], t))
    return total, worth, np.concatenate(times)


def exact_worths(
    rows: dict[str, list[dict[str, Any]]],
    pair: str,
    within: tuple[int, bool],
    holds: Any,
    worth: Any,
) -> list[float]:
    """Return the importance of every exact result of two streams: each pair is compared.

    ``within`` is the window, and whether it counts tuples.
    """
    order = sorted(
        (row["t"], "abc".index(name), n, name, row)
        for name in pair
        for n, row in enumerate(rows[name])
    )
    worths = []
    for place, (t, _, _, name, row) in enumerate(order):
        older = [one for one in order[:place] if one[3] != name]
        for rank, (before, _, _, _, other) in enumerate(reversed(older)):
            fits = rank < within[0] if within[1] else t - before <= within[0]
            a, b = (row, other) if name == pair[0] else (other, row)
            if fits and holds(a, b):
                worths.append(worth(row["v"], other["v"]))
    return worths


def run(tables: list[pa.Table], window: int, shed: Shed) -> tuple[bf.api.Joined, pa.Table]:
    """Join two tables under a budget."""
    a, b = (bf.stream(one, time="t", importance="v", name=n)
            for n, one in zip("ab", tables, strict=True))  # fmt: skip
    joined = bf.join(a, b, on="k", within=window, overload=shed)
    return joined, joined.read_all()
