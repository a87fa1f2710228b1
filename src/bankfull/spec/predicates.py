"""When two tuples belong together: equality, or a comparison of sets.

``sides`` names the columns compared, one entry a stream. A predicate written with a single side
(``overlap("tags", at_least=3)``) means that every stream calls the column the same. To add one,
write a class here and enter it in :data:`PREDICATES`; ARCHITECTURE.md has the walk.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from bankfull.errors import SpecError
from bankfull.spec.checks import said


@dataclass(frozen=True, slots=True)
class Equal:
    """All key columns equal, value by value; null equals nothing, NaN equals NaN."""

    sides: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        if not self.sides or not all(self.sides):
            raise SpecError("equal() without a column compares nothing: name at least one column")
        widths = {len(side) for side in self.sides}
        if len(widths) > 1:
            counts = ", ".join(str(len(side)) for side in self.sides)
            raise SpecError(f"equal() got {counts} columns a side: give the same number on each")
        for side in self.sides:
            _check_names(side)

    def __str__(self) -> str:
        return "equal(" + " = ".join("+".join(side) for side in self.sides) + ")"


@dataclass(frozen=True, slots=True)
class Overlap:
    """At least ``at_least`` distinct items in common."""

    sides: tuple[str, ...]
    at_least: int

    def __post_init__(self) -> None:
        _check_names(self.sides)
        if isinstance(self.at_least, bool) or not isinstance(self.at_least, int):
            raise SpecError(
                f"overlap at_least={self.at_least!r} is not a whole number: give k >= 1"
            )
        if self.at_least < 1:
            raise SpecError(
                f"overlap at_least={self.at_least} matches every pair: give a threshold above zero"
            )

    def __str__(self) -> str:
        return f"overlap({', '.join(self.sides)}; at least {self.at_least})"


@dataclass(frozen=True, slots=True)
class Subset:
    """Every item of the first side is in the second; the empty set is within any set."""

    sides: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_names(self.sides)

    def __str__(self) -> str:
        return f"subset({' within '.join(self.sides)})"


@dataclass(frozen=True, slots=True)
class Superset:
    """Every item of the second side is in the first; any set holds the empty set."""

    sides: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_names(self.sides)

    def __str__(self) -> str:
        return f"superset({' holds '.join(self.sides)})"


@dataclass(frozen=True, slots=True)
class Similar:
    """Inner product of two weighted sets of at least ``at_least`` (above zero)."""

    #: Whether items carry weights.
    weighted: ClassVar[bool] = True

    sides: tuple[str, ...]
    at_least: float

    def __post_init__(self) -> None:
        _check_names(self.sides)
        if isinstance(self.at_least, bool) or not isinstance(self.at_least, int | float):
            raise SpecError(f"similar at_least={self.at_least!r} is not a number: give one above 0")
        if not self.at_least > 0 or math.isinf(self.at_least):
            raise SpecError(
                f"similar at_least={self.at_least} would match sets with nothing in common, "
                "or nothing at all: give a finite threshold above zero"
            )
        object.__setattr__(self, "at_least", float(self.at_least))

    def __str__(self) -> str:
        return f"similar({', '.join(self.sides)}; at least {self.at_least:g})"


Predicate = Equal | Overlap | Subset | Superset | Similar
#: All predicates, by the word that a person writes.
PREDICATES: dict[str, type[Predicate]] = {
    "equal": Equal,
    "overlap": Overlap,
    "subset": Subset,
    "superset": Superset,
    "similar": Similar,
}


def is_weighted(predicate: Predicate) -> bool:
    """Tell whether a predicate compares sets whose items carry weights."""
    return getattr(predicate, "weighted", False)


def as_predicate(on: object) -> Predicate:
    """Read what to join on from what a person would write: columns mean equality.

    >>> str(as_predicate(["order_id", "shop"]))
    'equal(order_id+shop)'
    """
    if isinstance(on, Predicate):
        return on
    if isinstance(on, str):
        return Equal(((on,),))
    if isinstance(on, Sequence) and on and all(isinstance(column, str) for column in on):
        return Equal((tuple(on),))
    raise SpecError(
        f"on={said(on)} is no predicate: give a column name, a list of names, or e.g. "
        "bf.overlap('tags', at_least=3)"
    )


def spread(predicate: Predicate, streams: int) -> Predicate:
    """Give every stream its side.

    >>> spread(Overlap(("tags",), 3), 2).sides
    ('tags', 'tags')
    """
    if not isinstance(predicate, Equal) and streams != 2:
        raise SpecError(f"{predicate} compares two streams, not {streams}: join them in pairs")
    if len(predicate.sides) == 1:
        return replace(predicate, sides=predicate.sides * streams)  # type: ignore[arg-type]
    if len(predicate.sides) != streams:
        raise SpecError(
            f"{predicate} names columns of {len(predicate.sides)} streams, but {streams} are "
            "joined: name one column for all, or one for each"
        )
    return predicate


def _check_names(names: tuple[str, ...]) -> None:
    if not names:
        raise SpecError("a predicate without a column compares nothing: name at least one column")
    for name in names:
        if not isinstance(name, str) or not name:
            raise SpecError(f"{said(name)} is not a column name: give its name as text")
