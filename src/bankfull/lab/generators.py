"""Streams as the papers generate them: every function takes a generator and returns arrays.

Reference: GDJ, section 5.1.1 (Zipf popularity, Pareto gaps between arrivals of a value); section
5.1.2 (profile of the stock trace); 5.3.3 (correlated and inversely correlated pairs); 5.3.4
(attributes of growing skew). Importance, section 5 (normal importance dominates, high is rare).

Deviations: a value has its Zipf share of the tuples exactly. What the smallest Pareto gap is, the
paper does not say, and there are two readings. ``renewals`` scales the gaps of a value to the
length of the stream, because at a shape near one the mean gap says nothing about a finite stream;
then every value is there all day, and counting is enough. ``trains`` takes one mean inter-arrival
for every value; then a value comes, stays for a while and is gone.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bankfull.lab.traces import Floats, Ints

#: Named importance distributions; ``rare`` is the default of every experiment.
IMPORTANCES: dict[str, Callable[[np.random.Generator, int], Floats]] = {}


def zipf(domain: int, skew: float) -> Floats:
    """Return the share of each rank, most popular first: proportional to rank ** -skew.

    >>> zipf(4, 0.0).tolist()
    [0.25, 0.25, 0.25, 0.25]
    >>> round(float(zipf(100, 1.0)[0] / zipf(100, 1.0)[9]), 6)
    10.0
    """
    weights = np.arange(1, domain + 1, dtype=np.float64) ** -skew
    return np.asarray(weights / weights.sum(), dtype=np.float64)


def draws(rng: np.random.Generator, rows: int, domain: int, skew: float) -> Ints:
    """Return independent ranks, 0 the most popular: no locality beyond popularity."""
    return rng.choice(domain, size=rows, p=zipf(domain, skew)).astype(np.int64)


def shares(rows: int, domain: int, skew: float) -> Ints:
    """Return how many of ``rows`` tuples each rank gets: its Zipf share, remainders by size."""
    wanted = rows * zipf(domain, skew)
    counts = np.floor(wanted).astype(np.int64)
    missing = rows - int(counts.sum())
    counts[np.argsort(counts - wanted, kind="stable")[:missing]] += 1
    return counts


def renewals(
    rng: np.random.Generator, rows: int, domain: int, skew: float, shape: float, length: int
) -> tuple[Ints, Ints]:
    """Return times and ranks: Zipf popularity, Pareto gaps between arrivals of one value.

    The smaller ``shape``, the more a value's arrivals come in trains; at 3 they are almost even.
    """
    times, ranks = [], []
    for rank, count in enumerate(shares(rows, domain, skew)):
        gaps = 1.0 + rng.pareto(shape, size=count + 1)
        ends = np.cumsum(gaps)
        turned = (ends[:-1] / ends[-1] + rng.random()) % 1.0  # any value may begin in mid-train
        times.append(turned * length)
        ranks.append(np.full(count, rank, dtype=np.int64))
    return in_order(np.concatenate(times), np.concatenate(ranks))


def trains(
    rng: np.random.Generator, rows: int, domain: int, skew: float, shape: float, length: int
) -> tuple[Ints, Ints]:
    """Return times and ranks as :func:`renewals` does, with Pareto gaps that are not stretched.

    The smallest gap is one mean inter-arrival of the stream, whatever the value. So the arrivals of
    a rare value come close together and then no more, and those of a popular one fill a large part
    of the stream. A train begins anywhere and goes on at the beginning when it passes the end.
    """
    smallest = length / rows
    times, ranks = [], []
    for rank, count in enumerate(shares(rows, domain, skew)):
        gaps = smallest * (1.0 + rng.pareto(shape, size=count))
        times.append((rng.random() * length + np.cumsum(gaps)) % length)
        ranks.append(np.full(count, rank, dtype=np.int64))
    return in_order(np.concatenate(times), np.concatenate(ranks))


def bursts(
    rng: np.random.Generator,
    rows: int,
    domain: int,
    skew: float,
    length: int,
    *,
    streams: int,
    share: float,
    size: float,
    lasting: float,
) -> list[tuple[Ints, Ints]]:
    """Return times and ranks of streams that share the news.

    Every symbol has its Zipf share of all tuples. A ``share`` of them comes in bursts: trades
    spread over all streams, ``size`` of them on average in each, falling off after ``lasting``
    ticks. The rest come at any time. Rates are bursty because the bursts are.
    """
    times: list[Floats] = []
    counts = shares(rows * streams, domain, skew)
    for count in counts.tolist():
        in_bursts = round(count * share)
        times.append(rng.random(count - in_bursts) * length)
        while in_bursts > 0:
            trades = min(in_bursts, int(rng.geometric(1.0 / (size * streams))))
            at = rng.random() * length + rng.exponential(lasting, size=trades)
            times.append(at % length)
            in_bursts -= trades
    ends, ranks = np.concatenate(times), np.repeat(np.arange(domain, dtype=np.int64), counts)
    which = rng.permutation(np.arange(len(ends)) % streams)
    return [in_order(ends[which == k], ranks[which == k]) for k in range(streams)]


def drift(rng: np.random.Generator, rows: int, domain: int, skew: float, step: float) -> Ints:
    """Return keys whose popularity moves on: every ``step`` rows a new key is the most popular.

    The others fall by one rank, and the last one comes back first.
    """
    newest = np.floor(np.arange(rows) / step).astype(np.int64)
    return np.asarray((newest - draws(rng, rows, domain, skew)) % domain, dtype=np.int64)


def inverse(ranks: Ints, domain: int) -> Ints:
    """Turn popularity over: the rarest value becomes the most popular.

    >>> inverse(np.array([0, 1, 9]), 10).tolist()
    [9, 8, 0]
    """
    return np.asarray(domain - 1 - ranks, dtype=np.int64)


def shuffled(rng: np.random.Generator, ranks: Ints) -> Ints:
    """Return the same values in a random order: popularity stays, locality goes."""
    return np.asarray(rng.permutation(ranks), dtype=np.int64)


def in_order(times: Floats, keys: Ints) -> tuple[Ints, Ints]:
    """Return whole-numbered times in order, with their keys."""
    order = np.argsort(times, kind="stable")
    return np.floor(times[order]).astype(np.int64), keys[order].astype(np.int64)


def importances(rng: np.random.Generator, rows: int, kind: str = "rare") -> Floats:
    """Draw the importance of tuples from one of :data:`IMPORTANCES`."""
    return IMPORTANCES[kind](rng, rows)


def importances_of_keys(rng: np.random.Generator, domain: int) -> Floats:
    """Draw the importance of every key: it is a function of the key, the same in both streams.

    Importance, section 5: high importance belongs to special values and occurs infrequently. One
    value in twenty, at least one, is worth 100; these are taken from the less popular half of the
    values, so that they are infrequent where popularity is skewed too. Others are worth 1 to 10.
    """
    values = rng.integers(1, 11, size=domain).astype(np.float64)
    special = domain // 2 + rng.permutation(domain - domain // 2)[: max(1, domain // 20)]
    values[special] = 100.0
    return values


def _rare(rng: np.random.Generator, rows: int) -> Floats:
    values = rng.integers(1, 11, size=rows).astype(np.float64)
    return np.where(rng.random(rows) < 0.05, 100.0, values)


def _rarer(rng: np.random.Generator, rows: int) -> Floats:
    values = rng.integers(1, 11, size=rows).astype(np.float64)
    return np.where(rng.random(rows) < 0.01, 1000.0, values)


def _flat(rng: np.random.Generator, rows: int) -> Floats:
    return rng.integers(1, 11, size=rows).astype(np.float64)


def _heavy(rng: np.random.Generator, rows: int) -> Floats:
    return np.minimum(np.floor(1.0 + rng.pareto(1.5, size=rows)), 1000.0)


IMPORTANCES |= {
    "rare": _rare,  # 1 to 10, and 5 % of 100
    "rarer": _rarer,  # 1 to 10, and 1 % of 1000
    "flat": _flat,  # 1 to 10
    "heavy": _heavy,  # Pareto 1.5, at most 1000
}
