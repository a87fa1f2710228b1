"""The selection of one join: its arrays, what it has learned, and how a plan becomes ranges."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bankfull.core.comparing.directions import directions
from bankfull.core.comparing.lasting import Lasting
from bankfull.core.comparing.work import Float64, Work, in_turn
from bankfull.core.kept import Arrays
from bankfull.core.plan import NEVER, ComparePlan, JoinPlan
from bankfull.core.store.lanes import Lane
from bankfull.core.store.log import Log
from bankfull.kernels.exact.merge import Clock
from bankfull.kernels.probes.learning import Known, learn
from bankfull.kernels.probes.selection import (
    FOUND,
    MISSED,
    PAIRS,
    STEPS,
    UNSEEN,
    VARIANCE,
    WORTH,
    Selection,
    Tally,
    place_ranges,
)
from bankfull.spec import Equal

#: Basic windows of a window of rows behind the current one; the last has all that is older.
BASIC_WINDOWS = 20


def basic_windows(plan: ComparePlan, join: JoinPlan) -> int:
    """Return how many basic windows the windows of a join have behind the current one."""
    return max(BASIC_WINDOWS if span == NEVER else -(-span // plan.basic) for span in join.span)


class Selector:
    """What one join compares. Times are in units, as everywhere in a plan."""

    #: Arrays that are kept by their own names.
    kept: ClassVar[tuple[str, ...]] = (
        "arrivals", "learned", "tried", "choice", "whole", "sampled", "edges", "unseen", "before",
        "counted",
    )  # fmt: skip

    def __init__(
        self, plan: ComparePlan, join: JoinPlan, logs: list[Log], classes: list[Lane[np.int64]],
        worth: list[Lane[np.float64]], left: NDArray[np.int64], kept: NDArray[np.float64],
        dropped: NDArray[np.int64], kinds: int,
    ) -> None:  # fmt: skip
        self.plan, self.join, self.logs = plan, join, logs
        self._classes, self._worth = classes, worth
        self._left, self._kept, self._dropped = left, kept, dropped
        self._streams = np.array(join.streams, np.int64)
        self.windows = 1 + basic_windows(plan, join)
        self.kinds = kinds
        #: Who searches whose window: ``j`` in all that follows.
        self.ways = directions(len(join.streams))
        ways = len(self.ways.arriving)
        shape = (ways, self.kinds, self.windows)
        spans = [join.span[side] for side in self.ways.searched]
        self.lasting = Lasting(spans, plan.basic, self.windows)
        #: Smoothed arrivals in a basic window of time, by window searched and class.
        self.arrivals = np.zeros((ways, self.kinds))
        self.learned = np.zeros((*shape, 4))
        if ways > 2 and join.search == "scan":
            # Until it is seen how many windows need not be searched, a pair takes a comparison.
            self.learned[..., (PAIRS, STEPS)] = 1.0
        #: Pairs that others were compared with, results, worth.
        self.tried = np.zeros((*shape, 3))
        #: The share of every basic window that is compared.
        self.choice = np.ones(shape)
        self.whole = np.ones((ways, self.kinds))
        self.tally = Tally(
            np.zeros((ways, self.kinds), np.int64), np.zeros((ways, self.kinds), np.int64),
            np.zeros((*shape, 4)), np.zeros((*shape, 2)), np.zeros((2, 3)),
            np.zeros((ways, 4), np.int64),
        )  # fmt: skip
        self.sampled = np.zeros(1, np.int64)
        #: Pairs that the sample could not look at, as far as they are taken into account.
        self.unseen = np.zeros(1, np.int64)
        #: The first tuple of every basic window when the present plan was made. Those of the oldest
        #: may have left since, so they cannot be found again.
        self.edges = np.zeros((ways, self.windows), np.int64)
        #: The tuples that the present choice means in every basic window, as many as are there on
        #: average.
        self.meant = np.zeros(shape)
        #: Pairs that others were compared with under earlier plans of the same basic window, and
        #: how many tuples these were; see :meth:`end_plan`.
        self.before = np.zeros(shape)
        self.counted = np.zeros((ways, self.kinds), np.int64)
        self._parts: tuple[Any, ...] = ()

    def learn(self, elapsed: int) -> None:
        """Take over what was seen since the last plan, so many basic windows ago."""
        newest = np.ascontiguousarray(self.choice[:, :, 0])
        kept, fade = float(self._kept[0]), self.plan.fade
        self.sampled += learn(self.tally, self.known(), newest, kept, fade, self.least, elapsed)
        self._guess_unseen()

    @property
    def least(self) -> float:
        """Of how many results what was learned is at the least; 0: it fades with time alone."""
        return self.plan.algorithm.remembers * len(self.ways.arriving) * self.windows

    def known(self) -> Known:
        """Return what was learned, for the kernels."""
        return Known(
            self.arrivals, self.learned, self.tried, self.meant, self.before, self.counted,
            self.lasting.share, self.ways.back,
        )  # fmt: skip

    def end_plan(self) -> None:
        """Count the pairs of the present plan, as another follows in the same basic window.

        Tuples that came so far were compared with what this plan means and not the next one, which
        finds hardly a tuple in the oldest basic window where little of the time is left.
        """
        others = self.tally.arrived - self.tally.sampled - self.counted
        # From the last plan to now the current basic window has grown from the one to the other.
        grown = (self.counted + self.tally.arrived).sum(axis=1)[self.ways.back] / 2.0
        self.meant[:, :, 0] = self.choice[:, :, 0] * grown[:, None]
        self.before += others[:, :, None] * self.meant
        self.counted += others

    def _guess_unseen(self) -> None:
        """Count what tuples stand for that are of the sample and could not be compared.

        They are taken to have had as many results as others in as many pairs. That is a guess, as
        far off as it is large.
        """
        unseen = int(self.tally.pairs[:, UNSEEN].sum()) - int(self.unseen[0])
        pairs = float(self.learned[..., PAIRS].sum())
        if not unseen or pairs <= 0.0:
            return
        self.unseen += unseen
        for kind, what in enumerate((FOUND, WORTH)):
            # A result was seen in every window that led to it.
            each = float(self.learned[..., what].sum()) / pairs / (len(self.join.streams) - 1)
            expected = unseen * each / max(float(self.whole[0, 0]), 1e-9)
            self.tally.missed[kind, MISSED] += expected
            self.tally.missed[kind, VARIANCE] += expected * expected

    def _half_full(self) -> Float64:
        """Return how many tuples the current basic window of each window has on average."""
        halves: Float64 = in_turn(self.arrivals)[self.ways.back] / 2.0
        return halves

    @property
    def takes_all(self) -> bool:
        """Whether nothing is left out, and all that was is taken into account."""
        seen = int(self.tally.pairs[:, UNSEEN].sum()) == int(self.unseen[0])
        return seen and bool((self.choice >= 1.0).all())

    def work(self, time: int, clock: Clock) -> Work:
        """Return what there is to compare from ``time`` on, the time of the next tuple."""
        for j, side in enumerate(self.ways.searched):
            self.edges[j] = self._edges(side, time, int(clock.cursor[side]))
        tuples = self.lasting.tuples(self._counts())
        tuples[:, 0] = self._half_full()  # it is empty now
        chains = isinstance(self.join.predicate, Equal) and self.join.search != "scan"
        return self._work(tuples, chains, self.join.search == "scan")

    def _work(self, tuples: Float64, chains: bool, scanned: bool) -> Work:
        """Return the work over so many tuples.

        Of several windows only the sample says what one of them returns: what others find depends
        on what they are compared with in the rest. Nor is every window searched, and so a pair may
        take less than a comparison.
        """
        several, tried = len(self.join.streams) > 2, self.tried
        if several:
            tried, scanned = np.zeros_like(tried), False
        arrivals, arriving = self.arrivals.copy(), self.ways.arriving
        return Work(tuples, arrivals, self.learned, tried, chains, scanned, arriving)

    def _edges(self, j: int, time: int, cursor: int) -> NDArray[np.int64]:
        """Return the first tuple of every basic window of side j, as they are at ``time``.

        What no tuple of this time or later can reach does not count: whether it is still stored
        depends on how the input was cut.
        """
        basic, log = self.plan.basic, self.logs[j]
        begin = time // basic * basic - basic * np.arange(self.windows, dtype=np.int64)
        begin = np.maximum(begin, time - self.join.span[j])
        lanes, rows = log.lanes, self.join.rows[j]
        times = log.times.data[lanes.start - lanes.base : cursor - lanes.base]
        edges = lanes.start + np.searchsorted(times, begin).astype(np.int64)
        if rows < NEVER:
            oldest = max(lanes.start, cursor - rows)
            edges = np.maximum(edges, oldest)
            edges[-1] = oldest
        return edges

    def _counts(self) -> NDArray[np.int64]:
        """Return how many tuples every basic window had when the plan was made."""
        counts = np.zeros_like(self.edges)
        counts[:, 1:] = self.edges[:, :-1] - self.edges[:, 1:]
        return counts

    def planned(self, work: Work) -> float:
        """Return the comparisons that are expected until the next plan."""
        each = work.arrivals[:, :, None] * (work.tuples * work.cost())[:, None, :]
        whole = self.whole[:, :, None]
        return float((each * (whole + (1.0 - whole) * self.choice)).sum())

    def choose(self, choice: Float64, whole: Float64) -> None:
        """Compare so much of every basic window from now on; see :meth:`place`."""
        self.choice, self.whole = choice, np.broadcast_to(whole, self.whole.shape).copy()

    def place(self) -> None:
        """Find the tuples that the choice means, of the windows that :meth:`work` looked at."""
        edges, counts = self.edges, self._counts()
        cuts = np.repeat(edges[:, None], self.kinds, axis=1)
        if (self.choice >= 1.0).all():
            self.meant[:, :, 1:] = self.lasting.tuples(counts)[:, None, 1:]
        else:
            taken = self.lasting.newest(self.choice, counts)
            self.meant[:, :, 1:] = self.lasting.compared(taken, counts)[:, :, 1:]
            cuts[:, :, 1:] = edges[:, None, :-1] - taken[:, :, 1:]
        deep = np.repeat(edges[:, :1], self.kinds, axis=1)
        ranges = np.zeros((*self.choice.shape, 2), np.int64)
        many = np.zeros(self.whole.shape, np.int64)
        newest = np.ascontiguousarray(self.choice[:, :, 0])
        place_ranges(edges, cuts, newest, deep, ranges, many)
        self._parts = (edges, cuts, newest, deep, ranges, many)

    def view(self) -> Selection:
        """Return the arrays for the kernels."""
        weighed: Any = np.array([self.plan.importance[k] >= 0 for k in self.join.streams])
        classes = tuple(self._classes[k].data for k in self.join.streams)
        worth = tuple(self._worth[k].data for k in self.join.streams)
        assert all(lane.ndim == 1 for lane in (*classes, *worth))
        edges, cuts, newest, deep, ranges, counts = self._parts
        return Selection(
            self.plan.basic, self._left, self.whole, self._kept, edges, cuts, newest, deep, ranges,
            counts, classes, worth, weighed, self._streams,
            self._dropped, self.plan.combine, self.plan.seed, self.tally,
            np.zeros((4, self.windows + 1)), np.zeros(8, np.int64),
        )  # fmt: skip

    def arrays(self, name: str) -> Arrays:
        """Return all that decides, by name."""
        found: Arrays = {f"{name}.{what}": getattr(self, what) for what in self.kept}
        return found | {f"{name}.tally.{what}": a for what, a in self.tally._asdict().items()}

    def load(self, name: str, arrays: Arrays) -> None:
        """Take over what :meth:`arrays` gave."""
        for what in self.kept:
            setattr(self, what, arrays[f"{name}.{what}"].copy())
        self.tally = Tally(*(arrays[f"{name}.tally.{what}"] for what in Tally._fields))

    def nbytes(self) -> int:
        """Bytes of what was learned and of the plan."""
        held = (self.learned, self.tried, self.choice, self.meant, *self.tally, *self._parts)
        return int(sum(array.nbytes for array in held))
