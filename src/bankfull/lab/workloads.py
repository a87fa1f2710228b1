"""The workloads of the experiments, by name: a seed and a few options give streams and joins.

Sizes are a scale model of the papers' (a day of trades has a million rows): windows of a few
hundred tuples and streams of ten to twenty windows, so that the optimum can stand in every figure.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any
from zlib import crc32

import numpy as np

from bankfull.lab import generators as make
from bankfull.lab import onetime, real
from bankfull.lab.traces import Ints, JoinOn, Trace, Workload

#: GDJ, section 5.1.1: a day in minutes, and its tuples a minute here.
DAY_MIN, RATE = 1440, 4
SYMBOLS, TRADES_S = 500, 23

_KNOWN: dict[str, Callable[..., Workload]] = {}


def _named(name: str) -> Callable[[Callable[..., Workload]], Callable[..., Workload]]:
    def enter(function: Callable[..., Workload]) -> Callable[..., Workload]:
        _KNOWN[name] = function
        return function

    return enter


@lru_cache(maxsize=64)
def workload(
    name: str, seed: int, quick: bool, options: tuple[tuple[str, Any], ...] = ()
) -> Workload:
    """Make a workload; the same arguments give the same arrays."""
    rng = np.random.default_rng([seed, crc32(name.encode())])
    return _KNOWN[name](rng, quick, **dict(options))


def _pair(
    name: str,
    left: tuple[Ints, Ints],
    right: tuple[Ints, Ints],
    within: int,
    importance: tuple[Any, Any] = (None, None),
    since: int = 0,
) -> Workload:
    """Two streams ``a`` and ``b``, joined on ``k``."""
    streams = tuple(
        Trace(stream, times, {"k": keys}, worth)
        for stream, (times, keys), worth in zip("ab", (left, right), importance, strict=True)
    )
    return Workload(name, streams, (JoinOn((0, 1), "k", within),), since)


def _every_instant(keys: Ints) -> tuple[Ints, Ints]:
    return np.arange(len(keys), dtype=np.int64), keys


# ------------------------------------------------------------------------------ GDJ, synthetic


@_named("synthetic")
def synthetic(
    rng: np.random.Generator,
    quick: bool,
    window: int = 100,
    domain: int = 100,
    skew: float = 0.75,
    shape: float = 1.1,
) -> Workload:
    """Zipf popularity, which both streams share, Pareto gaps, drawn independently."""
    length = DAY_MIN // 4 if quick else DAY_MIN
    sides = [make.renewals(rng, RATE * length, domain, skew, shape, length) for _ in range(2)]
    return _pair("synthetic", sides[0], sides[1], window)


@_named("even gaps")
def even_gaps(rng: np.random.Generator, quick: bool) -> Workload:
    """Zipf popularity and gaps of Pareto shape 3: almost even."""
    return synthetic(rng, quick, shape=3.0)


@_named("stock-like")
def stock(
    rng: np.random.Generator,
    quick: bool,
    window: int = 20,
    streams: int = 2,
    seconds: int = 300,
    burst: float = 8.0,
    share: float = 0.5,
) -> Workload:
    """Trades of 500 symbols, Zipf 0.71, 23 a second and stream, half of them in bursts of news.

    A ``burst`` has so many trades in each stream on average, most within a few seconds; ``share``
    is the part of all trades that comes in bursts.
    """
    length = seconds // 3 if quick else seconds
    sides = make.bursts(
        rng,
        TRADES_S * length,
        SYMBOLS,
        0.71,
        length,
        streams=streams,
        share=share,
        size=burst,
        lasting=3.0,
    )
    traces = tuple(
        Trace(f"s{number}", times, {"k": keys}) for number, (times, keys) in enumerate(sides)
    )
    return Workload("stock-like", traces, (JoinOn(tuple(range(streams)), "k", window),))


@_named("bursts")
def bursty(rng: np.random.Generator, quick: bool) -> Workload:
    """Nearly everything in short bursts, which both streams share, on Zipf 0.71."""
    length = 1500 if quick else 6000
    sides = make.bursts(
        rng, length, SYMBOLS, 0.71, length, streams=2, share=0.9, size=10.0, lasting=20.0
    )
    return _pair("bursts", sides[0], sides[1], 400)


@_named("drift")
def drifting(rng: np.random.Generator, quick: bool) -> Workload:
    """Popularity that moves on: forty new favourites a window."""
    rows, window = (1500 if quick else 6000), 400
    sides = [make.drift(rng, rows, SYMBOLS, 1.0, window / 40) for _ in range(2)]
    return _pair("drift", _every_instant(sides[0]), _every_instant(sides[1]), window)


@_named("uniform")
def uniform(rng: np.random.Generator, quick: bool) -> Workload:
    """Nothing to know: every key is as likely as any other."""
    return _drawn(rng, quick, "uniform", (0.0, 0.0))


@_named("skewed-uniform")
def skewed_uniform(rng: np.random.Generator, quick: bool) -> Workload:
    """One stream Zipf 1.0, the other uniform."""
    return _drawn(rng, quick, "skewed-uniform", (1.0, 0.0))


def _drawn(
    rng: np.random.Generator, quick: bool, name: str, skews: tuple[float, float]
) -> Workload:
    rows = 1500 if quick else 6000
    left, right = (_every_instant(make.draws(rng, rows, 100, skew)) for skew in skews)
    return _pair(name, left, right, 400)


# ----------------------------------------------------------------------------------- real data


@_named("dew point")
def dew_point(rng: np.random.Generator, quick: bool, window: int = 240) -> Workload:
    """Hourly dew points of JFK and LGA within ten days: half of 2013 (quick: ten weeks) by seed."""
    return _sliced(rng, "dew point", real.dew_points(), 1680 if quick else 4380, window)


@_named("tail number")
def tail_number(rng: np.random.Generator, quick: bool, window: int = 48 * 60) -> Workload:
    """Aircraft that depart from JFK and LGA within 48 hours: four weeks (quick: one) by seed."""
    length = (7 if quick else 28) * 24 * 60
    return _sliced(rng, "tail number", real.tail_numbers(), length, window)


def _sliced(
    rng: np.random.Generator,
    name: str,
    found: dict[str, tuple[Ints, Ints]],
    length: int,
    window: int,
) -> Workload:
    """Take a stretch of the year; the seed says from when."""
    whole = max(int(times[-1]) for times, _ in found.values())
    begin = int(rng.integers(0, whole - length))
    sides = []
    for times, keys in found.values():
        inside = (times >= begin) & (times < begin + length)
        sides.append((times[inside] - begin, keys[inside]))
    return _pair(name, sides[0], sides[1], window)


@_named("departure and arrival")
def departure_and_arrival(rng: np.random.Generator, quick: bool, window: int = 8 * 60) -> Workload:
    """Aircraft that leave New York and where they land, within eight hours: a week by seed."""
    length = (3 if quick else 7) * 24 * 60
    return _sliced(rng, "departure and arrival", real.landings(), length, window)


@_named("flights and weather")
def flights_and_weather(rng: np.random.Generator, quick: bool, window: int = 90) -> Workload:
    """Reports of the weather at New York's airports and the flights that leave in that hour."""
    length = (7 if quick else 14) * 24 * 60
    return _sliced(rng, "flights and weather", real.reports(), length, window)


# ------------------------------------------------------------- keys that come once or for a while


def _once(name: str, rng: np.random.Generator, quick: bool, weighed: bool = False) -> Workload:
    """Make one of the shapes of ``onetime.py``; ``weighed``: tuples have an importance.

    Those of ``b`` are at least as important as any of ``a``, so a result has that of its order.
    """
    sides = onetime.SHAPES[name](rng, 2000 if quick else 6000)
    worth: tuple[Any, Any] = (None, None)
    if weighed:
        mine = make.importances(rng, len(sides[0][0]), "heavy")
        worth = (mine, np.full(len(sides[1][0]), 1000.0))
    return _pair(name, sides[0], sides[1], onetime.WINDOW, worth)


_KNOWN |= {name: partial(_once, name) for name in onetime.SHAPES}


# -------------------------------------------------------------------- GDJ, many joins or keys


@_named("two joins")
def two_joins(rng: np.random.Generator, quick: bool, window: int = 100) -> Workload:
    """Four streams of the same skew: a and b share their favourites, those of c are d's rarest."""
    length = DAY_MIN // 4 if quick else DAY_MIN
    domain = 100
    sides = [make.renewals(rng, 2 * length, domain, 0.75, 1.1, length) for _ in range(4)]
    sides[3] = (sides[3][0], make.inverse(sides[3][1], domain))
    traces = tuple(
        Trace(name, times, {"k": keys}) for name, (times, keys) in zip("abcd", sides, strict=True)
    )
    return Workload("two joins", traces, (JoinOn((0, 1), "k", window), JoinOn((2, 3), "k", window)))


@_named("attributes")
def attributes(rng: np.random.Generator, quick: bool, attributes: int = 2) -> Workload:
    """A join for every attribute: in one stream of growing skew, in the other uniform."""
    rows, domain = (1000 if quick else 4000), 100
    steps = range(int(attributes))
    growing = {f"k{n}": _locality(rng, rows, domain, 0.5 * (n + 1)) for n in steps}
    even = {f"k{n}": make.draws(rng, rows, domain, 0.0) for n in steps}
    return _over(rng, "attributes", growing, even, 200)


@_named("second attribute")
def second_attribute(
    rng: np.random.Generator, quick: bool, skew_a: float = 0.8, skew_b: float = 0.8
) -> Workload:
    """Two attributes: the first uniform in both streams, the second of a skew in each."""
    rows, domain = (1000 if quick else 4000), 100
    sides = [
        {
            "k0": make.draws(rng, rows, domain, 0.0),
            "k1": _locality(rng, rows, domain, skew),
        }
        for skew in (skew_a, skew_b)
    ]
    return _over(rng, "second attribute", sides[0], sides[1], 200)


def _locality(rng: np.random.Generator, rows: int, domain: int, skew: float) -> Ints:
    """Values in the order of the synthetic generator: popular by Zipf, in trains by Pareto."""
    return make.renewals(rng, rows, domain, skew, 1.1, rows)[1]


def _over(
    rng: np.random.Generator, name: str, left: dict[str, Ints], right: dict[str, Ints], within: int
) -> Workload:
    rows = len(left["k0"])
    traces = tuple(
        Trace(stream, np.arange(rows, dtype=np.int64), columns)
        for stream, columns in (("a", left), ("b", right))
    )
    return Workload(name, traces, tuple(JoinOn((0, 1), column, within) for column in left))


# ----------------------------------------------------------------------------------- importance


@_named("importance")
def importance(
    rng: np.random.Generator,
    quick: bool,
    rows: int = 5600,
    window: int = 400,
    domain: int = 100,
    skew_a: float = 1.0,
    skew_b: float = 0.0,
    kind: str = "rare",
    since: int | None = None,
) -> Workload:
    """One tuple a stream and instant, each with an importance; counted from twice the window on.

    The paper's window of w instants joins tuples at most w - 1 apart.
    """
    sides = [_every_instant(make.draws(rng, rows, domain, skew)) for skew in (skew_a, skew_b)]
    worth = tuple(make.importances(rng, rows, kind) for _ in range(2))
    begin = 2 * window if since is None else since
    return _pair("importance", sides[0], sides[1], window - 1, (worth[0], worth[1]), begin)


#: Importance, Figure 1: (time, key, importance) of both streams.
EXAMPLE = (
    ((0, 1, 1), (1, 9, 20), (2, 1, 1), (3, 3, 5), (4, 4, 5), (5, 2, 1)),
    ((0, 3, 5), (1, 1, 1), (2, 1, 1), (3, 1, 1), (4, 9, 20), (5, 1, 1)),
)


@_named("example")
def example(rng: np.random.Generator, quick: bool) -> Workload:
    """The worked example of the importance paper: w = 4."""
    sides = [np.array(rows, dtype=np.int64) for rows in EXAMPLE]
    return _pair(
        "example",
        (sides[0][:, 0], sides[0][:, 1]),
        (sides[1][:, 0], sides[1][:, 1]),
        3,
        (sides[0][:, 2].astype(float), sides[1][:, 2].astype(float)),
    )
