"""Workloads under every reading of a paper, by name; what has one reading is in ``workloads.py``.

Where a paper leaves open how its streams were made, an experiment takes the reading as one of its
parameters (``gaps``, ``kind``) or in the name of a workload ("synthetic, unstretched"), and shows
all readings side by side. This file turns such a name and its settings into streams; a name that it
does not know is one of ``workloads.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any
from zlib import crc32

import numpy as np

from bankfull.lab import generators as make
from bankfull.lab import workloads
from bankfull.lab.traces import Ints, JoinOn, Trace, Workload
from bankfull.lab.workloads import DAY_MIN, RATE

#: How a synthetic stream's gaps are read (GDJ, section 5.1.1).
STRETCHED, UNSTRETCHED = "stretched", "unstretched"
#: Unstretched, and attributes called uniform come from the same generator, with a skew of nothing.
UNIFORM_TOO = "unstretched, uniform too"
#: Importance as a function of the key; the other kinds are in ``generators.IMPORTANCES``.
BY_KEY = "by key"

Settings = tuple[tuple[str, Any], ...]


@lru_cache(maxsize=64)
def workload(name: str, seed: int, quick: bool, settings: Settings = ()) -> Workload:
    """Make a workload; the same arguments give the same arrays."""
    options = dict(settings)
    kind, _, reading = name.partition(", ")
    gaps = options.pop("gaps", reading or STRETCHED)
    by_key = options.get("kind") == BY_KEY
    if not by_key and gaps == STRETCHED:
        return workloads.workload(kind, seed, quick, tuple(options.items()))
    rng = np.random.default_rng([seed, crc32(f"{kind}, {BY_KEY if by_key else gaps}".encode())])
    if by_key:
        options.pop("kind")
        return _importance_by_key(rng, **options)
    return _KNOWN[kind](rng, quick, gaps, **options)


def _synthetic(
    rng: np.random.Generator,
    quick: bool,
    gaps: str,
    window: int = 100,
    domain: int = 100,
    skew: float = 0.75,
) -> Workload:
    """Zipf popularity, which both streams share; trains that are drawn independently."""
    length = _length(quick)
    sides = [make.trains(rng, RATE * length, domain, skew, 1.1, length) for _ in range(2)]
    traces = tuple(Trace(name, times, {"k": keys}) for name, (times, keys) in _zip("ab", sides))
    return Workload(f"synthetic, {gaps}", traces, (JoinOn((0, 1), "k", window),))


def _two_joins(rng: np.random.Generator, quick: bool, gaps: str, window: int = 100) -> Workload:
    """Four streams of the same skew: a and b share their favourites, those of c are d's rarest."""
    length, domain = _length(quick), 100
    sides = [make.trains(rng, 2 * length, domain, 0.75, 1.1, length) for _ in range(4)]
    sides[3] = (sides[3][0], make.inverse(sides[3][1], domain))
    traces = tuple(Trace(name, times, {"k": keys}) for name, (times, keys) in _zip("abcd", sides))
    joins = (JoinOn((0, 1), "k", window), JoinOn((2, 3), "k", window))
    return Workload(f"two joins, {gaps}", traces, joins)


def _attributes(rng: np.random.Generator, quick: bool, gaps: str, attributes: int = 2) -> Workload:
    """A join for every attribute: in one stream of growing skew, in the other uniform."""
    steps = range(int(attributes))
    sides = (
        {f"k{n}": _train(rng, quick, 0.5 * (n + 1)) for n in steps},
        {f"k{n}": _uniform(rng, quick, gaps) for n in steps},
    )
    return _over(f"attributes, {gaps}", sides)


def _second_attribute(
    rng: np.random.Generator, quick: bool, gaps: str, skew_a: float = 0.8, skew_b: float = 0.8
) -> Workload:
    """Two attributes: the first uniform in both streams, the second of a skew in each."""
    first, second = (
        {"k0": _uniform(rng, quick, gaps), "k1": _train(rng, quick, skew)}
        for skew in (skew_a, skew_b)
    )
    return _over(f"second attribute, {gaps}", (first, second))


_KNOWN: dict[str, Callable[..., Workload]] = {
    "synthetic": _synthetic,
    "two joins": _two_joins,
    "attributes": _attributes,
    "second attribute": _second_attribute,
}


def _importance_by_key(
    rng: np.random.Generator,
    rows: int = 5600,
    window: int = 400,
    domain: int = 100,
    skew_a: float = 1.0,
    skew_b: float = 0.0,
    since: int | None = None,
) -> Workload:
    """One tuple a stream and instant; what a tuple is worth follows from its key."""
    worth = make.importances_of_keys(rng, domain)
    times = np.arange(rows, dtype=np.int64)
    keys = [make.draws(rng, rows, domain, skew) for skew in (skew_a, skew_b)]
    traces = tuple(Trace(name, times, {"k": mine}, worth[mine]) for name, mine in _zip("ab", keys))
    begin = 2 * window if since is None else since
    return Workload(f"importance, {BY_KEY}", traces, (JoinOn((0, 1), "k", window - 1),), begin)


def _length(quick: bool) -> int:
    return DAY_MIN // 4 if quick else DAY_MIN


def _rows(quick: bool) -> int:
    return 1000 if quick else 4000


def _train(rng: np.random.Generator, quick: bool, skew: float) -> Ints:
    """Return an attribute in the order in which unstretched trains bring its values."""
    return make.trains(rng, _rows(quick), 100, skew, 1.1, _rows(quick))[1]


def _uniform(rng: np.random.Generator, quick: bool, gaps: str) -> Ints:
    """Return an attribute whose values are equally frequent, in trains or independently."""
    if gaps == UNIFORM_TOO:
        return _train(rng, quick, 0.0)
    return make.draws(rng, _rows(quick), 100, 0.0)


def _over(name: str, sides: tuple[dict[str, Ints], dict[str, Ints]], within: int = 200) -> Workload:
    rows = len(sides[0]["k0"])
    times = np.arange(rows, dtype=np.int64)
    traces = tuple(Trace(stream, times, columns) for stream, columns in _zip("ab", sides))
    return Workload(name, traces, tuple(JoinOn((0, 1), column, within) for column in sides[0]))


def _zip(names: str, sides: Any) -> Any:
    return zip(names, sides, strict=True)
