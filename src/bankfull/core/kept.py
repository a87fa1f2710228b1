"""What a stage keeps for good, without saying how it is stored.

Three kinds, all by name: plain data, small; arrays, of which a runtime may store what changed; and
lists of rows, each row under a number that it has for as long as it lives. A list only grows at
its end and loses rows anywhere, so a runtime may append what is new and drop what is gone. A
snapshot is all of it; Spark stores the difference since the last commit (``runtime/spark``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
#: Rows, and the numbers that they have, in ascending order.
Numbered = tuple[pa.RecordBatch, NDArray[np.int64]]


class RowList(Protocol):
    """Rows of one stream that a stage keeps, by ascending number."""

    schema: pa.Schema
    #: Whether rows may leave from the middle. Otherwise they leave from the front alone.
    scattered: bool

    @property
    def end(self) -> int:
        """One more than the largest number given so far."""

    def alive(self, first: int, end: int) -> int:
        """Return how many rows from number ``first`` to before ``end`` are still needed."""

    def since(self, first: int) -> Iterator[Numbered]:
        """Yield the rows from number ``first`` on that are still needed."""


@dataclass
class Kept:
    """What is to be stored.

    A runtime that brings a stage up to date may write into the arrays that the stage gave and load
    them again, so a stage gives a copy of what it compares with the loaded ones.
    """

    about: dict[str, Any] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)
    rows: dict[str, RowList] = field(default_factory=dict)


@dataclass
class Loaded:
    """What was stored, read again. Of a list of rows: those that a stage does not have yet."""

    about: dict[str, Any] = field(default_factory=dict)
    arrays: Arrays = field(default_factory=dict)
    rows: dict[str, Iterable[Numbered]] = field(default_factory=dict)


def merged(parts: dict[str, Kept]) -> Kept:
    """Put what several stages keep under one roof; names get the stage's name in front.

    >>> merged({"intake": Kept({"newest": 3}), "join": Kept({"bits": 4})}).about
    {'intake': {'newest': 3}, 'join': {'bits': 4}}
    """
    whole = Kept()
    for stage, part in parts.items():
        whole.about[stage] = part.about
        whole.arrays |= {f"{stage}.{name}": array for name, array in part.arrays.items()}
        whole.rows |= {f"{stage}.{name}": rows for name, rows in part.rows.items()}
    return whole


def part_of(loaded: Loaded, stage: str) -> Loaded:
    """Return what belongs to one stage."""
    lead = f"{stage}."
    return Loaded(
        loaded.about[stage],
        {n.removeprefix(lead): a for n, a in loaded.arrays.items() if n.startswith(lead)},
        {n.removeprefix(lead): r for n, r in loaded.rows.items() if n.startswith(lead)},
    )
