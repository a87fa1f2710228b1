"""A budget of comparisons beside one of memory: the same plans, over slots instead of logs.

What is not stored is not compared, and a policy is credited with what is really compared: a tuple
in a basic window that nobody looks at earns nothing there. Recall is estimated by the sample that
is kept aside for memory: it counts every result that is missing, for whichever reason, once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.core.bounded.arriving import Work as Coming
from bankfull.core.comparing.comparing import Comparing
from bankfull.core.comparing.selector import Selector
from bankfull.core.comparing.work import Work
from bankfull.core.kept import Arrays
from bankfull.core.plan import NEVER, JoinPlan, Plan
from bankfull.kernels.bounded.memory import Memory
from bankfull.kernels.bounded.selected import SlotSelection, SlotSelections, list_stored
from bankfull.kernels.bounded.selectedmany import SlotPartners
from bankfull.kernels.probes.selection import SKIPPED, UNAFFORDED
from bankfull.spec import Equal


class Stored(NamedTuple):
    """The stored tuples of one stream, oldest first: times and numbers; how many ever came."""

    times: NDArray[np.int64]
    numbers: NDArray[np.int64]
    came: int


def stored_of(memory: Memory, position: int) -> Stored:
    """Return the stored tuples of a stream."""
    about = memory.streams[position]
    times, numbers = np.empty((2, len(memory.slots)), np.int64)
    count = list_stored(memory.slots, int(about.newest), times, numbers)
    return Stored(times[:count][::-1], numbers[:count][::-1], int(about.arrived))


class SlotSelector(Selector):
    """What one join compares of the slots; see ``kernels/bounded/selected.py``."""

    kept: ClassVar[tuple[str, ...]] = (
        *Selector.kept, "meant", "first", "cuts", "oldest", "held", "deeper",
    )  # fmt: skip

    def __init__(
        self, plan: Plan, join: JoinPlan, left: NDArray[np.int64], kept: NDArray[np.float64],
        kinds: int,
    ) -> None:  # fmt: skip
        assert plan.compare is not None
        dropped = np.zeros(len(plan.streams), np.int64)
        super().__init__(plan.compare, join, [], [], [], left, kept, dropped, kinds)
        ways, width = len(self.ways.arriving), len(join.streams)
        self.first = np.zeros(ways, np.int64)
        self.cuts = np.zeros((ways, kinds, self.windows), np.int64)
        self.oldest = np.zeros((ways, kinds), np.int64)
        self.chained = isinstance(join.predicate, Equal)
        self.held = np.zeros((ways, self.windows), np.int64)
        self.deeper = np.zeros((ways, kinds), np.int64)
        #: Room for what a tuple finds in several windows.
        count, at, looked = np.zeros((3, width), np.int64)
        self.partners = SlotPartners(count, at, looked, np.zeros((width, 4, self.windows)))
        self.stored: list[Stored] = []

    def work(self, time: int, clock: Any) -> Work:
        """Return what there is to compare from ``time`` on; ``clock`` has all that is stored."""
        basic = self.plan.basic
        self.stored = [clock[k] for k in self.join.streams]
        begin = time // basic * basic - basic * np.arange(self.windows, dtype=np.int64)
        for j, side in enumerate(self.ways.searched):
            stored = self.stored[side]
            reached = np.maximum(begin, time - self.join.span[side])
            self.edges[j] = np.searchsorted(stored.times, reached)
            if self.join.rows[side] < NEVER:
                oldest = np.searchsorted(stored.numbers, stored.came - self.join.rows[side])
                self.edges[j] = np.maximum(self.edges[j], oldest)
                self.edges[j, -1] = oldest
            here = int(self.edges[j, 0])
            self.first[j] = stored.numbers[here] if here < len(stored.numbers) else stored.came
        self.held[:] = self._counts()
        tuples = self.lasting.tuples(self.held)
        tuples[:, 0] = self._half_full()  # it is empty now
        return self._work(tuples, self.chained, False)

    def place(self) -> None:
        """Find the tuples that the choice means, of those that :meth:`work` looked at."""
        taken = self.lasting.newest(self.choice, self.held)
        self.meant[:, :, 1:] = self.lasting.compared(taken, self.held)[:, :, 1:]
        places, classes = np.arange(1, self.windows), np.arange(self.kinds)
        for j, side in enumerate(self.ways.searched):
            stored = self.stored[side]
            meant = taken[j, :, 1:]
            numbers = np.append(stored.numbers, stored.came)
            cuts = numbers[self.edges[j, :-1] - meant]
            self.cuts[j, :, 1:] = np.where(meant > 0, cuts, NEVER)
            self.deeper[j] = meant.sum(axis=1)
            deepest = (places * (meant > 0)).max(axis=1, initial=0)
            nothing = np.where(self.choice[j, :, 0] >= 1.0, self.first[j], NEVER)
            self.oldest[j] = np.where(deepest > 0, self.cuts[j, classes, deepest], nothing)
            if self.chained:  # all that is newer is looked at on the way
                newer = np.cumsum(self.held[j]) - self.held[j]
                down_to = newer[deepest] + taken[j, classes, deepest]
                self.deeper[j] = np.where(deepest > 0, down_to, 0)
        self.stored = []

    def selection(self) -> SlotSelection:
        """Return the arrays for the kernels."""
        newest = np.ascontiguousarray(self.choice[:, :, 0])
        return SlotSelection(
            self.plan.basic, self.chained, self._left, self.whole, newest,
            self.first, self.cuts, self.oldest, self.held, self.lasting.share, self.deeper,
            self.plan.seed, self.tally,
            np.zeros((4, self.windows + 1)), np.zeros(8, np.int64),
        )  # fmt: skip

    def nbytes(self) -> int:
        """Bytes of what was learned and of the plan."""
        arrays = self.arrays("").values()
        return int(sum(array.nbytes for array in arrays))


class SlotComparing(Comparing):
    """The budget of comparisons of a query whose tuples are stored in slots."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan, [])
        #: By join, like those of the exact join.
        self.selectors: list[SlotSelector]  # type: ignore[assignment]

    def _selector(self, number: int, join: JoinPlan) -> SlotSelector:
        return SlotSelector(self.plan, join, self.left[number], self.kept, self.kinds)

    def classify(self, coming: Coming) -> NDArray[np.int64]:
        """Return the classes of tuples that come, in their order."""
        streams, worth = coming.arrivals.streams, coming.arrivals.importance
        classes = np.zeros(len(streams), np.int64)
        for position in range(len(self.plan.streams)):
            own = streams == position
            if own.any():
                sizes = self._sizes(coming, position)
                some = None if sizes is None else sizes[own]
                classes[own] = self.classes_of(position, worth[own], some)
        return classes

    def _sizes(self, coming: Coming, position: int) -> NDArray[np.int64] | None:
        """Return the sizes of sets in the first join on sets that a stream is in."""
        for number, join in enumerate(self.plan.joins):
            if position in join.streams and not isinstance(join.predicate, Equal):
                sizes: NDArray[np.int64] = coming.bags.sizes[number]
                return sizes
        return None

    def plan_ahead(self, time: int, memory: Memory) -> int:
        """Have a plan for the tuple of this time, which is next; returns until when it holds."""
        self.look(time, [memory] * len(self.plan.joins))  # type: ignore[list-item]
        return self.until()

    def _works(self, time: int, clocks: Sequence[Any]) -> list[Work]:
        stored = [stored_of(clocks[0], position) for position in range(len(self.plan.streams))]
        return [selector.work(time, stored) for selector in self.selectors]

    def view(self, classes: NDArray[np.int64]) -> SlotSelections:
        """Return the arrays for the kernels; ``classes`` are those of the arrivals."""
        each = tuple(selector.selection() for selector in self.selectors)
        exhausted = np.zeros((len(each), len(classes)), np.bool_)
        several: Any = None
        if any(len(join.streams) > 2 for join in self.plan.joins):
            several = tuple(selector.partners for selector in self.selectors)
        return SlotSelections(each, classes, exhausted, self.kept, self.rules.seed, several)

    def skipped(self) -> int:
        """Return how many pairs were not looked at."""
        return sum(
            int(one.tally.pairs[:, SKIPPED : UNAFFORDED + 1].sum()) for one in self.selectors
        )

    def arrays(self) -> Arrays:
        """Return all that decides, by name; the store beside it has names of its own."""
        return {f"comparing.{name}": array for name, array in super().arrays().items()}

    def load(self, arrays: Arrays) -> None:
        """Take over what :meth:`arrays` gave."""
        own = "comparing."
        super().load({n.removeprefix(own): a for n, a in arrays.items() if n.startswith(own)})
