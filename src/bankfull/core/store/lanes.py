"""Arrays that slide along a stream: one element a stored tuple, addressed by sequence number.

Element ``q - base`` belongs to tuple ``q``. Tuples enter at the end and leave at the front; when
the arrays are full the live part moves to the front, or to larger arrays, with an eighth of it to
spare. A tuple is copied a bounded number of times whatever the window (amortised), and memory
follows the window up and down.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from bankfull.core.workers import Workers

Scalar = TypeVar("Scalar", bound=np.generic)

_SMALLEST = 64


class Lane(Generic[Scalar]):
    """One array of a :class:`Lanes` group; ``blank``: of zeros, which nobody writes or moves."""

    def __init__(
        self, lanes: Lanes, dtype: np.dtype[Any], words: int, fill: int | None, blank: bool
    ) -> None:
        self._lanes = lanes
        self._words = words
        self.blank = blank
        self.data: NDArray[Scalar] = np.zeros(self._shape(lanes.capacity), dtype)
        if fill is not None:
            self.data[:] = fill

    def tail(self, count: int) -> NDArray[Scalar]:
        """Return the elements of the newest ``count`` tuples."""
        stop = self._lanes.end - self._lanes.base
        return self.data[stop - count : stop]

    def live(self) -> NDArray[Scalar]:
        """Return the elements of all stored tuples."""
        lanes = self._lanes
        return self.data[lanes.start - lanes.base : lanes.end - lanes.base]

    def move(self, capacity: int) -> None:
        """Bring the live elements to the front of an array of ``capacity`` elements."""
        if self.blank:  # what is not written takes no memory
            self.data = np.zeros(self._shape(capacity), self.data.dtype)
            return
        live = self.live()
        if capacity == len(self.data):
            self.data[: len(live)] = live
            return
        data = np.empty(self._shape(capacity), self.data.dtype)
        data[: len(live)] = live
        self.data = data

    def _shape(self, capacity: int) -> tuple[int, ...]:
        return (capacity,) if self._words == 1 else (capacity, self._words)


class Lanes:
    """The lanes of one stream. Stored tuples have the numbers ``start`` to ``end``."""

    def __init__(self, first: int = 0, workers: Workers | None = None) -> None:
        self.base = self.start = self.end = first
        self._workers = workers or Workers()
        self.capacity = _SMALLEST
        self._lanes: list[Lane[Any]] = []

    def add(
        self, dtype: np.dtype[Any], words: int = 1, fill: int | None = None, blank: bool = False
    ) -> Lane[Any]:
        """Open a further lane; ``fill`` is what tuples already stored get."""
        lane: Lane[Any] = Lane(self, dtype, words, fill, blank)
        self._lanes.append(lane)
        return lane

    def extend(self, count: int) -> None:
        """Make room for ``count`` further tuples; their elements are to be written next."""
        if self.end + count - self.base > self.capacity:
            needed = self.end - self.start + count
            roomy = needed + needed // 8
            self._move(roomy if needed > self.capacity - self.capacity // 8 else self.capacity)
        self.end += count

    def expire(self, start: int) -> None:
        """Forget the tuples before ``start``."""
        assert self.start <= start <= self.end
        self.start = start

    def shrink(self) -> None:
        """Give memory back when the window has become much smaller than the arrays."""
        live = self.end - self.start
        if self.capacity > _SMALLEST and live < self.capacity // 4:
            self._move(max(_SMALLEST, live + live // 2))

    def release(self) -> None:
        """Give all memory back; nothing may be read any more.

        Lanes and their group know each other, so that memory would otherwise wait for Python's
        collector of cycles, which counts objects and not bytes.
        """
        for lane in self._lanes:
            lane.data = lane.data[:0].copy()

    def check(self) -> None:
        """Assert that every lane has an element for each tuple: compiled, kernels do not look."""
        assert all(len(lane.data) == self.capacity for lane in self._lanes)

    def nbytes(self) -> int:
        """Bytes of all lanes."""
        return sum(lane.data.nbytes for lane in self._lanes)

    def _move(self, capacity: int) -> None:
        capacity = max(capacity, _SMALLEST)
        live = self.end - self.start
        self._workers.each(lambda lane: lane.move(capacity), self._lanes, live)
        self.capacity = capacity
        self.base = self.start
