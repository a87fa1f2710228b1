"""What the operator needs to know: a query resolved against the schemas of its streams.

Times are 64-bit integers in one unit for the whole query. ``bankfull.assemble`` writes plans.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import pyarrow as pa

from bankfull.spec import Predicate, Query

#: Beyond any time and any window, with room left to add the two.
NEVER = 2**62
#: The column that says which joins may see a row, and whether this copy of it counts.
MASK = "__joins"
#: The bit of the one copy of a row that is counted in the ledger.
HOME = 1 << 62
#: Times must lie within plus or minus this many units.
TIME_MAX = NEVER - 1


@dataclass(frozen=True)
class StreamPlan:
    """One input: the schema given and the one stored (``forms.py``), how to read its times.

    ``scale`` units make one unit of the time column; ``late`` and ``idle`` are in units.
    ``masked``: the last column is not payload but says, bit by bit, which joins may see a row; a
    runtime that brings a row to several operators adds it (:data:`MASK`).
    """

    name: str
    given: pa.Schema
    schema: pa.Schema
    time: int
    scale: int
    late: int
    pane_span: int
    pane_rows: int
    idle: int = NEVER
    masked: bool = False
    #: What a tuple is worth for each value of the column that its importance follows from.
    worth: tuple[tuple[str | int, float], ...] | None = None


@dataclass(frozen=True)
class JoinPlan:
    """One join: positions of its streams, its windows, and the columns it compares.

    ``bit`` is its place in the query, hence in the mask of joins that may see a row.

    ``columns[k]`` are the compared columns of the k-th stream, ``types`` the types in which they
    are compared. A window is a ``span`` of time or a number of ``rows``; the other is NEVER.
    """

    name: str
    streams: tuple[int, ...]
    predicate: Predicate
    search: str
    columns: tuple[tuple[int, ...], ...]
    types: tuple[pa.DataType, ...]
    span: tuple[int, ...]
    rows: tuple[int, ...]
    schema: pa.Schema
    bit: int = 0


class Policy(Protocol):
    """What the operator needs of a policy; ``bankfull.policies`` has them."""

    key_stats: ClassVar[int]
    key_times: ClassVar[int]
    key_notes: ClassVar[int]
    exact_keys: ClassVar[bool]
    counts_keys: ClassVar[bool]
    counts_partners: ClassVar[bool]

    def start(self, shape: Any) -> Any:
        """Return what the kernel runs, before the first tuple."""

    def learns_every(self, shape: Any, number: int) -> int:
        """Return after how many tuples the policy learns, once ``number`` came; 0: never."""

    def feed(self, state: Any) -> Any:
        """Return the ``Feed`` that the sample writes for it."""

    def learn(self, state: Any, memory: Any, watch: Any, items: Any) -> None:
        """Learn from the sample; ``items``: how those of joins on sets are numbered."""


@dataclass(frozen=True)
class ShedPlan:
    """A memory budget, resolved. ``importance[k]`` is the column of stream k, or -1.

    With a ``recall`` to reach, the budget is the most that may be used for it.
    """

    policy: Policy
    shape: Any
    budget: int
    in_bytes: bool
    shares: tuple[float, ...] | None
    proportional: bool
    importance: tuple[int, ...]
    combine: int
    sample: float
    unbiased: bool
    seed: int
    recall: float | None = None


class Algorithm(Protocol):
    """What the operator needs of a way to choose comparisons; ``bankfull.adapt`` has them.

    ``by_size`` and ``by_importance``: which classes of tuples it tells apart. ``drops``: it drops
    arriving tuples instead of comparisons. ``foresees``: where the clock decides, its plans follow
    from how many comparisons can be made, not from which part of them. ``remembers``: what was
    learned is of so many results a basic window at the least, however long ago; 0: it fades with
    time alone.
    """

    by_size: ClassVar[bool]
    by_importance: ClassVar[bool]
    drops: ClassVar[bool]
    foresees: ClassVar[bool]
    remembers: ClassVar[float]

    def choose(self, works: list[Any], budget: float) -> list[Any]:
        """Return the share that is compared of every basic window, ``[j, z, a]`` for each join."""


@runtime_checkable
class Pricing(Algorithm, Protocol):
    """A way that can leave out what returns too little, though there are comparisons for it."""

    def choose_above(
        self, works: list[Any], budget: float, least: float
    ) -> tuple[list[Any], float]:
        """Choose, but only what returns at least so much a comparison.

        Also returns the price of a comparison: what the best unit returns that the budget did not
        pay for, or 0.
        """


@dataclass(frozen=True)
class ComparePlan:
    """How much may be compared, resolved; lengths of time are in units.

    ``per_unit`` comparisons a unit of time, or 0 where the runtime's clock decides: the join may
    use this ``share`` of it. Budgets hold for a ``period``, plans for a ``basic`` window.
    """

    algorithm: Algorithm
    per_unit: float
    share: float
    sample: float
    boost: float
    basic: int
    period: int
    importance: tuple[int, ...]
    combine: int
    seed: int

    @property
    def fade(self) -> float:
        """What is left after a basic window of what was seen: a period is its mean age."""
        return 1.0 - self.basic / max(self.period, 2 * self.basic)


@dataclass(frozen=True)
class Plan:
    """A whole query. ``ordered``: tuples must be processed in canonical order across streams.

    ``by_content``: rows of one stream and time are ordered by what they contain, because the
    runtime brings them in any order. ``operators`` share the budget of the query.
    """

    query: Query
    streams: tuple[StreamPlan, ...]
    joins: tuple[JoinPlan, ...]
    schema: pa.Schema
    joined_scale: int
    ordered: bool
    shed: ShedPlan | None = None
    compare: ComparePlan | None = None
    by_content: bool = False
    operators: int = 1

    @property
    def shares_budget(self) -> bool:
        """Whether there is a budget of which every operator of the query has a part."""
        return self.shed is not None or (self.compare is not None and self.compare.per_unit > 0.0)

    def importance(self, position: int) -> int:
        """Return the column that holds the importance of a stream's tuples, or -1."""
        budget = self.shed if self.shed is not None else self.compare
        return -1 if budget is None else budget.importance[position]
