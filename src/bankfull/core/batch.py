"""What goes into a step and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from bankfull.core.ledger import Ledger

if TYPE_CHECKING:
    from bankfull.core.operator import State


@dataclass(frozen=True)
class Batch:
    """New rows by stream, in arrival order, and what is known about the rows still to come.

    ``frontiers`` promises, in the plan's units, that neither these rows nor later ones of a
    stream have a smaller time: those that do are late. The operator also concludes a frontier
    from the rows and the stream's late bound. ``ended`` names streams without further rows.
    """

    rows: Mapping[str, pa.RecordBatch] = field(default_factory=dict)
    frontiers: Mapping[str, int] = field(default_factory=dict)
    ended: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Budget:
    """What one step may do; results beyond ``output_rows`` wait for the next step."""

    output_rows: int = 1 << 20


class Share(NamedTuple):
    """What an operator has of its query's memory budget, where there are others beside it.

    ``memory`` is its part of the budget, ``even`` an even part as a multiple of that. ``alike`` is
    how much of its part it can fill if all operators draw their samples with the same chance.
    """

    memory: float = 1.0
    even: float = 1.0
    alike: float = 1.0


@dataclass(frozen=True)
class Step:
    """The outcome of a step. ``pending``: call again with an empty batch before new rows.

    ``stored`` are the rows that entered each stream's log, in its order, for runtimes that keep
    state elsewhere too.
    """

    state: State
    output: list[pa.RecordBatch]
    ledger: Ledger
    quarantine: dict[str, list[pa.RecordBatch]]
    pending: bool
    stored: dict[str, pa.RecordBatch]
