"""Streams drawn as timelines, and what a twin of a policy does with them, in the names drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bankfull.oracle.shedding import (
    Arrival,
    JoinSpec,
    Policy,
    simulate,
)

PLENTY = 99
PAIR = JoinSpec((0, 1), (PLENTY, PLENTY))

# ----------------------------------------------------------------------------------- how to draw
# One line a stream, one column an instant, a tuple is key or key*importance, "." is no tuple. The
# tuple of stream R at instant 3 is called R3. Keys of several joins are written a/b; "-" is null.


class Told(NamedTuple):
    """A trace in the names of the drawing: "R0 S1" a result, "R3>R0" R3 cost R0 its place."""

    results: str
    drops: str
    stored: str


class Drawing:
    def __init__(self, text: str, joins: Sequence[JoinSpec] = (PAIR,)) -> None:
        rows = [line.split() for line in text.strip().splitlines()]
        cells = sorted(
            (time, stream, f"{row[0].rstrip(':')}{time}", cell)
            for stream, row in enumerate(rows)
            for time, cell in enumerate(row[1:])
            if cell != "."
        )
        self.joins = joins
        self.names = [name for _, _, name, _ in cells]
        self.arrivals = [
            Arrival(stream, time, self._keys(cell), float((cell + "*1").split("*")[1]), seq)
            for seq, (time, stream, _, cell) in enumerate(cells)
        ]

    def _keys(self, cell: str) -> tuple[int | None, ...]:
        keys = [None if key == "-" else ord(key) for key in cell.split("*")[0].split("/")]
        return tuple(keys * len(self.joins) if len(keys) == 1 else keys)

    def tell(
        self, policy: Policy, capacity: Sequence[int] | int, *, seed: int = 0, sample: float = 0.0
    ) -> Told:
        trace = simulate(self.arrivals, self.joins, capacity, policy, seed=seed, sample=sample)
        return Told(
            ", ".join(" ".join(self.names[u] for u in members) for _, members in trace.results),
            ", ".join(f"{self.names[x]}>{self.names[u]}" for x, u in trace.decisions),
            " ".join(self.names[u] for u in trace.stored),
        )

    def named(self, notes: Mapping[int, object], *names: str) -> list[object]:
        """What a policy noted about some tuples."""
        return [notes[self.names.index(name)] for name in names]
