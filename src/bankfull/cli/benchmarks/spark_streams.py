"""Streams for Spark: Parquet files, one a stream and micro-batch, and what a join must find."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

_SEED = 17
_GAP_US = 1_000  # a thousand rows a second of event time
_SIDES = ("left", "right")


@dataclass(frozen=True, slots=True)
class Shape:
    """Two streams that are alike: row counts are those of one stream.

    The first micro-batch has ``fill_rows``, every one of the ``batches`` after it ``batch_rows``.
    """

    window_s: float
    keys: int
    batch_rows: int
    batches: int
    fill_rows: int = 0

    @property
    def sizes(self) -> list[int]:
        """Return the rows of every micro-batch."""
        return [self.fill_rows] * bool(self.fill_rows) + [self.batch_rows] * self.batches

    def tenth(self, batches: int) -> Shape:
        """Return a tenth of it: as many partners a row, a tenth of the rows a micro-batch."""
        return replace(
            self,
            window_s=self.window_s / 10,
            keys=self.keys // 10,
            batch_rows=self.batch_rows // 10,
            fill_rows=self.fill_rows // 10,
            batches=batches,
        )


def write_keys(folder: Path, shape: Shape) -> int:
    """Write two streams of keys, times and numbers; return how many pairs a join must find."""
    random = np.random.default_rng(_SEED)
    made: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []
    for side in _SIDES:
        times = _times(random, sum(shape.sizes))
        keys = random.integers(0, shape.keys, len(times))
        made.append((keys, times))
        payload = {"x" if side == "left" else "y": random.random(len(times))}
        _write(folder / side, pa.table({"k": keys, "t": _stamps(times), **payload}), shape.sizes)
    return _pairs(made[0], made[1], round(shape.window_s * 1e6))


def write_sets(folder: Path, shape: Shape, size_mean: float) -> None:
    """Write two streams of sets drawn from ``shape.keys`` items, all equally popular.

    A last micro-batch of one row a stream, far in the future and without partners, lets time pass
    for those who hold results back until their watermark has passed them.
    """
    random = np.random.default_rng(_SEED)
    rows, items = sum(shape.sizes), shape.keys
    for lonely, side in enumerate(_SIDES, items):
        sizes = np.maximum(1, np.rint(random.normal(size_mean, 1.0, rows))).astype(np.int64)
        drawn = np.argsort(random.random((rows, items)), axis=1)
        tags = np.append(drawn[np.arange(items) < sizes[:, None]], lonely)
        offsets = np.concatenate(([0], np.cumsum(sizes), [len(tags)])).astype(np.int32)
        times = _times(random, rows)
        columns = {
            "id": np.arange(rows + 1),
            "t": _stamps(np.append(times, times[-1] + 3_600_000_000)),
            "tags": pa.ListArray.from_arrays(offsets, tags),
        }
        _write(folder / side, pa.table(columns), [*shape.sizes, 1])


def _times(random: np.random.Generator, rows: int) -> NDArray[np.int64]:
    """Return rising times in microseconds, no two within the same millisecond.

    Spark's watermark counts milliseconds and drops rows equal to it: here it need drop none.
    """
    return np.arange(rows) * _GAP_US + random.integers(0, _GAP_US, rows)


def _stamps(times: NDArray[np.int64]) -> pa.Array:
    return pa.array(times).cast(pa.timestamp("us", "UTC"))


def _write(folder: Path, table: pa.Table, sizes: list[int]) -> None:
    folder.mkdir(parents=True)
    for index, (start, stop) in enumerate(pairwise(accumulate(sizes, initial=0))):
        path = folder / f"{index:04}.parquet"
        pq.write_table(table.slice(start, stop - start), path)
        os.utime(path, (1e9 + index, 1e9 + index))  # Spark reads the oldest first


def _pairs(
    left: tuple[NDArray[np.int64], NDArray[np.int64]],
    right: tuple[NDArray[np.int64], NDArray[np.int64]],
    window_us: int,
) -> int:
    """Count the pairs of equal keys within the window by bisection: no code shared with the join.

    >>> _pairs((np.array([1, 1, 2]), np.array([0, 50, 0])), (np.array([1]), np.array([10])), 10)
    1
    """
    span = int(max(left[1].max(), right[1].max())) + 2 * window_us + 1
    codes = [keys * span + times + window_us for keys, times in (left, right)]
    codes[1].sort()
    upto = np.searchsorted(codes[1], codes[0] + window_us, side="right")
    below = np.searchsorted(codes[1], codes[0] - window_us, side="left")
    return int((upto - below).sum())


def rows_in(folder: Path) -> int:
    """Count the rows of all Parquet files in a folder."""
    return sum(pq.read_metadata(path).num_rows for path in folder.glob("*.parquet"))
