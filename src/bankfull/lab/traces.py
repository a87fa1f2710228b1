"""What an experiment joins: recorded or generated streams, and the joins between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trace:
    """One stream: whole-numbered times that never decrease, and a column of keys an attribute."""

    name: str
    times: Ints
    columns: Mapping[str, Ints]
    importance: Floats | None = None

    def __post_init__(self) -> None:
        assert not len(self.times) or bool(np.all(np.diff(self.times) >= 0)), self.name
        assert all(len(column) == len(self.times) for column in self.columns.values())

    def __len__(self) -> int:
        return len(self.times)

    def table(self) -> pa.Table:
        """Return the rows as Arrow: the time ``t``, the attributes, the importance ``v``."""
        import pyarrow as pa

        columns: dict[str, Ints | Floats] = {"t": self.times, **self.columns}
        if self.importance is not None:
            columns["v"] = self.importance
        return pa.table(columns)


@dataclass(frozen=True)
class JoinOn:
    """Streams, by position, joined on an attribute while at most ``within`` ticks lie between."""

    streams: tuple[int, ...]
    column: str
    within: int


@dataclass(frozen=True, eq=False)
class Workload:
    """Streams and joins; what is joined before the instant ``since`` does not count.

    Equality is identity, so a workload can be the key of a cache.
    """

    name: str
    streams: tuple[Trace, ...]
    joins: tuple[JoinOn, ...]
    since: int = 0

    def windows(self) -> tuple[int, ...]:
        """Return how long a tuple of each stream is of use: its longest window."""
        return tuple(
            max(join.within for join in self.joins if place in join.streams)
            for place in range(len(self.streams))
        )

    def budgets(self, share: float) -> tuple[int, ...]:
        """Return so large a part of what each stream's window holds at its average rate.

        A window of w ticks covers w + 1 instants, since both ends belong to it.
        """
        first = min(int(trace.times[0]) for trace in self.streams)
        last = max(int(trace.times[-1]) for trace in self.streams)
        instants = last - first + 1
        return tuple(
            max(1, ceil(share * len(trace) * min(window + 1, instants) / instants - 1e-9))
            for trace, window in zip(self.streams, self.windows(), strict=True)
        )
