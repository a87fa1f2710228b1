"""What goes into a step and what comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bankfull.core.ledger import Ledger

if TYPE_CHECKING:
    from bankfull.core.operator import State


@dataclass(frozen=True)
class Batch:
    """New rows by stream, in arrival order, and what is known about the rows still to come.

    ``frontiers`` promises, in the plan's units, that neither these rows nor later ones of a
    stream have a smaller time: those that do are late. The operator also concludes a frontier
    from the rows and the stream's late bound. ``then`` promises the same of later rows only: these
    may have smaller times. ``ended`` names streams without further rows.

    ``quiet`` names streams whose source had nothing to give when this batch was made. Only they
    can be idle: a stream that is merely read later than another is not.

    ``loads`` says how much all operators of the query got, where there are several: rows of
    (period, rows of this operator, rows of all), see :class:`bankfull.core.bounded.share.Shares`.

    ``validated``: the runtime has found the rows sound, and all text UTF-8.
    """

    rows: Mapping[str, pa.RecordBatch] = field(default_factory=dict)
    frontiers: Mapping[str, int] = field(default_factory=dict)
    ended: frozenset[str] = frozenset()
    quiet: frozenset[str] = frozenset()
    loads: NDArray[np.int64] | None = None
    validated: bool = False
    then: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Budget:
    """What one step may give out; results beyond these rows or bytes wait for the next step.

    Results are the part of a step whose size nobody can foresee: a popular key has many, and each
    repeats the payload of its members. A few megabytes at a time keep what the process holds near
    what the state holds, at no cost in speed (``docs/decisions/0018``).
    """

    output_rows: int = 1 << 15
    output_bytes: int = 4 << 20


@dataclass(frozen=True)
class Step:
    """The outcome of a step. ``pending``: call again with an empty batch before new rows."""

    state: State
    output: list[pa.RecordBatch]
    ledger: Ledger
    quarantine: dict[str, list[pa.RecordBatch]]
    pending: bool
