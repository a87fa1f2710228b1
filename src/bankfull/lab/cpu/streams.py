"""The streams of the paper's section 6.1: items whose popularity moves round a cycle.

At time T the most popular item is ``1 + floor(L * ((T - shift) mod cycle) / cycle)``, the next one
follows it, and so on round the L items. One stream is shifted against the other, so that a tuple's
partners have arrived some time before it, or come after it. Times are in milliseconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SECOND = 1000
ITEMS, KEYS = 100, 5000
#: Lengths in seconds and tuples a second: the steps of Figures 8 and 11.
STEPS = ((60.0, 100.0), (15.0, 500.0), (30.0, 300.0), (15.0, 100.0))


@dataclass(frozen=True)
class Side:
    """One stream: times in milliseconds, items of every tuple, one after the other, and worth."""

    times: Ints
    sizes: Ints
    items: Ints
    worth: Floats | None = None

    def __len__(self) -> int:
        return len(self.times)

    def batch(self) -> pa.RecordBatch:
        """Return the stream as rows: ``t``, ``s`` (a set) or ``k`` (a key), ``id``, ``worth``."""
        import pyarrow as pa

        columns: dict[str, pa.Array] = {"t": pa.array(self.times)}
        if (self.sizes == 1).all():
            columns["k"] = pa.array(self.items)
        else:
            offsets = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int32)
            columns["s"] = pa.ListArray.from_arrays(pa.array(offsets), pa.array(self.items))
        columns["id"] = pa.array(np.arange(len(self.times)))
        if self.worth is not None:
            columns["worth"] = pa.array(self.worth)
        return pa.RecordBatch.from_pydict(columns)


def arrivals(rng: np.random.Generator, steps: Sequence[tuple[float, float]]) -> Ints:
    """Return times of arrival, spread at random over every step of the rate.

    >>> len(arrivals(np.random.default_rng(1), ((2.0, 10.0), (1.0, 50.0))))
    70
    """
    found, begin = [], 0.0
    for length, rate in steps:
        found.append(begin + rng.random(round(length * rate)) * length)
        begin += length
    return np.sort(np.floor(np.concatenate(found) * SECOND).astype(np.int64))


def ranks(rng: np.random.Generator, many: int, domain: int, skew: float) -> Ints:
    """Draw ranks by Zipf's law; with a skew of 0 all are equally likely."""
    weights = np.arange(1, domain + 1, dtype=np.float64) ** -skew
    bounds = np.cumsum(weights / weights.sum())
    return np.minimum(np.searchsorted(bounds, rng.random(many)), domain - 1).astype(np.int64)


def sizes_of_sets(rng: np.random.Generator, many: int, mean: float, deviation: float) -> Ints:
    """Draw numbers of items, normal and rounded, at least one."""
    drawn = np.rint(rng.normal(mean, deviation, many)).astype(np.int64)
    return np.maximum(drawn, 1)


def popular(times: Ints, cycle_s: float, shift_s: Floats, domain: int) -> Ints:
    """Return the most popular item, from 0 on, at each time.

    >>> popular(np.array([0, 10_000, 25_000]), 40.0, np.zeros(3), 100).tolist()
    [0, 25, 62]
    """
    phase = np.mod(times / SECOND - shift_s, cycle_s) / cycle_s
    return np.minimum(np.floor(domain * phase), domain - 1).astype(np.int64)


def rotating_sets(
    rng: np.random.Generator, times: Ints, cycle_s: float, shift_s: Floats, skew: float
) -> Side:
    """Return sets of about five of a hundred items; the items of one set are different.

    Items are drawn one by one and those that a set already has are drawn again, as far as a few
    rounds do; a set that still lacks one is smaller by it.
    """
    sizes = np.minimum(sizes_of_sets(rng, len(times), 5.0, 1.0), ITEMS)
    width = int(sizes.max())
    drawn = ranks(rng, len(times) * width, ITEMS, skew).reshape(len(times), width)
    for _ in range(12):
        again = _repeated(drawn)
        if not again.any():
            break
        drawn[again] = ranks(rng, int(again.sum()), ITEMS, skew)
    wanted = (np.arange(width) < sizes[:, None]) & ~_repeated(drawn)
    first = popular(times, cycle_s, shift_s, ITEMS)
    items = (drawn + first[:, None]) % ITEMS + 1
    return Side(times, wanted.sum(axis=1).astype(np.int64), items[wanted])


def _repeated(drawn: Ints) -> NDArray[np.bool_]:
    """Tell which entries of every row were in it before."""
    again = np.zeros(drawn.shape, np.bool_)
    for place in range(1, drawn.shape[1]):
        again[:, place] = (drawn[:, :place] == drawn[:, place : place + 1]).any(axis=1)
    return again


def rotating_keys(
    rng: np.random.Generator, times: Ints, cycle_s: float, shift_s: Floats, skew: float
) -> Side:
    """Return single values out of five thousand."""
    drawn = ranks(rng, len(times), KEYS, skew)
    items = (drawn + popular(times, cycle_s, shift_s, KEYS)) % KEYS + 1
    return Side(times, np.ones(len(times), np.int64), items)


def typed(rng: np.random.Generator, side: Side, utilities: Floats, frequencies: Floats) -> Side:
    """Give every tuple a type, by frequency, and so a worth."""
    bounds = np.cumsum(frequencies / frequencies.sum())
    kinds = np.minimum(np.searchsorted(bounds, rng.random(len(side))), len(utilities) - 1)
    return Side(side.times, side.sizes, side.items, utilities[kinds])
