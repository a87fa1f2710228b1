"""A budget of comparisons: what holds whatever is chosen, over generated streams and joins.

The exact result is every pair compared by brute force; ``oracle/comparing`` has the plain twins.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pyarrow as pa
import pytest
from comparing_worlds import AMPLE, World, comparing_of, exact, run

import bankfull as bf
from bankfull.core.bounded.join import BoundedJoin
from bankfull.core.exact import equal_index
from bankfull.core.exact.equal_index import EqualIndex
from bankfull.core.exact.join import ExactJoin
from bankfull.core.exact.planned import Planned
from bankfull.core.exact.set_index import SetIndex
from bankfull.kernels.exact import bulk
from bankfull.kernels.exact.planning import ONE_BY_ONE
from bankfull.spec.comparing import ALGORITHMS
from compile_kernels import UNCOMPILED

#: The first slice of ages (``kernels/recall/feed.py``) of more than half a window.
HALF_A_WINDOW = 18
#: Policies that are credited by results, by frequency, by a sample kept aside, and not at all.
POLICIES_TRIED = ("gain", "fifo", "gdj", "prob")
SOAKING = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
SEEDS = 24 if SOAKING else 8


def check_world(world: World, tries_ample: bool, restarts: tuple[bool, ...]) -> None:
    """Subset, exact when ample, the same however it is cut and restarted, within the budgets."""
    seed = world.seed
    about = {what: given for what, given in vars(world).items() if what not in ("rows", "delays")}
    told = f"seed {seed}, {about}"
    whole = exact(world)
    if tries_ample:
        ample, ledger, _ = run(world, AMPLE, random.Random(seed))
        assert ample == whole, told
        assert sum(join.skipped for join in ledger.joins.values()) == 0, told
        assert ledger.recall is None or ledger.recall.low == 1.0, told
    found, ledger, state = run(world, world.per_unit, None)
    assert len(set(found)) == len(found), told
    assert set(found) <= set(whole), told
    periods = world.count // world.period + 1
    compared = sum(join.compared for join in ledger.joins.values())
    assert compared <= periods * int(world.per_unit * world.period), told
    for name, join in ledger.joins.items():
        assert sum(ledger.skipped_by_stream[name].values()) == join.skipped, told
    for selector in comparing_of(state).selectors:
        assert (selector.choice >= 0.0).all(), told
        assert (selector.choice <= 1.0).all(), told
    for restarted in restarts:
        again, same, _ = run(world, world.per_unit, random.Random(seed + 1), restarted)
        assert again == found, told
        assert same.as_dict() == ledger.as_dict(), told


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_comparing(algorithm: str) -> None:
    """What holds under a budget of comparisons alone."""
    for seed in range(SEEDS):
        check_world(World(seed, algorithm), seed % 4 == 0, (False, True))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_comparing_several_at_once(algorithm: str) -> None:
    """The same of three to five streams that are joined at once."""
    for seed in range(SEEDS // 2):
        world = World(seed, algorithm)
        world.join_at_once((3, 4, 3, 3, 5, 3)[seed % 6])
        check_world(world, seed % 2 == 0, (seed % 2 == 0,))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_comparing_windows_of_rows(algorithm: str) -> None:
    """The same with windows of rows, or of rows and of time."""
    for seed in range(SEEDS // 2):
        world = World(seed, algorithm)
        if seed % 3 == 2:
            world.join_at_once(3)
        world.count_rows()
        check_world(world, seed % 2 == 0, (seed % 2 == 0,))


def more_sets(world: World) -> str:
    """Return a predicate on sets: drawn evenly, most worlds would have one that matches little."""
    return world.dice.choice(["overlap", "overlap", "subset", "similar"])


@pytest.mark.uncompiled
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_comparing_within_memory(algorithm: str) -> None:
    """The same under a budget of memory too: all kinds of joins and policies with the compiler off.

    Compiled, joins of two streams on keys stand for all: any other takes ten seconds to compile.
    """
    first = 2 * ALGORITHMS.index(algorithm)
    if UNCOMPILED:
        for seed in range(first, first + 2):
            world = World(seed, algorithm, POLICIES_TRIED[seed % len(POLICIES_TRIED)])
            if seed % 2:
                world.kind, world.search, world.per_unit = more_sets(world), "auto", 3.0
            world.rows = world.rows[:80]
            check_world(world, seed % 3 == 0, (True,))
            other = World(seed, algorithm, POLICIES_TRIED[(seed + 1) % len(POLICIES_TRIED)])
            if seed % 2:
                other.join_at_once(3)
            other.search = "auto"
            other.rows = other.rows[:80]
            if seed % 4 > 0:
                other.count_rows()
            check_world(other, seed % 3 == 0, (True,))
        return
    for seed in range(first, first + 4):
        world = World(seed, algorithm, "fifo")
        world.kind, world.search, world.names = "keys", "auto", "ab"
        world.weighed = world.weighed[:2]
        check_world(world, seed % 4 == 0, (False, True))


@pytest.mark.uncompiled
def test_a_clock_within_memory() -> None:
    """What a runtime tells is part of the state: who is restarted after it decides the same."""
    skipped = 0
    for seed in range(2 if UNCOMPILED else 6):
        world = World(seed, ("auto", "rate")[seed % 2], "fifo")
        world.kind, world.search, world.names = "keys", "auto", "ab"
        world.weighed, world.told = world.weighed[:2], (0.2, 0.5, 0.9, 1.5)
        found, ledger, _ = run(world, 1.0, random.Random(seed))
        assert set(found) <= set(exact(world)), seed
        skipped += sum(join.skipped for join in ledger.joins.values())
        again, same, _ = run(world, 1.0, random.Random(seed), restarts=True)
        assert again == found, seed
        assert same.as_dict() == ledger.as_dict(), seed
    assert skipped > 100


@pytest.mark.uncompiled
@pytest.mark.skipif(not UNCOMPILED, reason="no other test needs its kernels")
def test_a_policy_learns_from_what_is_compared() -> None:
    """Tuples too old to be compared earn nothing: ``gain`` is told of no meetings with them."""
    world = World(0, "rate", "gain")
    world.names, world.kind, world.span, world.other_span = "ab", "keys", 60, 60
    world.basic, world.period, world.late, world.memory = 3, 12, 0, 60
    world.weighed, world.sample = [False, False], 0.2
    world.rows = [(time, k, time % 5, []) for time in range(120) for k in range(2)]
    world.delays = [0] * len(world.rows)
    old = []
    for per_unit in (5.0, 1000.0):
        _, _, state = run(world, per_unit, None)
        found = state.stage(BoundedJoin).policy.found.sum(axis=(0, 2))
        old.append(float(found[HALF_A_WINDOW:].sum() / found.sum()))
    assert old[1] > 0.3
    assert old[0] < old[1] / 2


@pytest.mark.parametrize(
    ("memory", "names", "runs", "most"),
    [(None, "ab", 60, 9), (150, "ab", 60, 9), (None, "abc", 24, 6)],
)
def test_the_interval_of_recall_covers_the_truth(
    memory: int | None, names: str, runs: int, most: int
) -> None:
    """At its stated rate, about: of 60 runs, 95 % are 57; so few as 50 come once in 200 times.

    Streams are larger than those above, so that there is a sample to speak of. By hash, there are
    comparisons for a seventh of the results: most tuples cannot be compared, and what they miss is
    known by the sample alone. With a budget of memory too, results are missing for either reason,
    and each is counted once. Of three streams fewer are tried, and of those fewer may miss.
    """
    covered = 0
    for seed in range(runs):
        dice = random.Random(seed)
        algorithm = ("auto", "rate", "correlation")[seed % 3]
        streams = []
        for name in names:
            times = sorted(dice.randrange(600) for _ in range(3000 // len(names)))
            keys = [min(dice.randrange(40), dice.randrange(40)) for _ in times]
            streams.append(bf.stream(pa.table({"t": times, "k": keys}), time="t", name=name))
        exact_rows = bf.join(*streams, on="k", within=60).read_all().num_rows
        search = ("scan", "hash")[seed // 3 % 2] if memory is None else "auto"
        per_unit = 400.0 if search == "scan" else 0.15 * exact_rows / 600
        if len(names) > 2:  # by hash about two comparisons a tuple and stream
            per_unit = 600.0 if search == "scan" else 8.0
        shed = bf.shed(cpu=bf.comparisons(per_unit), compare=algorithm, seed=seed)
        if memory is not None:
            # A third of what memory alone leaves to compare.
            few = bf.comparisons(8)
            shed = bf.shed(bf.tuples(memory), "fifo", cpu=few, compare=algorithm, seed=seed)
        joined = bf.join(*streams, on="k", within=60, search=search, basic_window=5, overload=shed)
        share = joined.read_all().num_rows / exact_rows
        recall = joined.recall
        assert recall is not None
        assert share < 0.9
        covered += recall.low <= share <= recall.high
    assert covered >= runs - most


class LongWorld(World):
    """Two streams so long that what has left them is moved out of the logs again and again."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, ("auto", "rate", "correlation")[seed % 3])
        self.kind, self.search = (
            ("keys", "hash"), ("overlap", "inverted"), ("keys", "hash"), ("subset", "scan")
        )[seed % 4]  # fmt: skip
        self.names, self.weighed = ("ab", [False, False]) if seed % 5 else ("abc", [True] * 3)
        self.count = 200 if seed % 3 == 0 else 900
        self.rows = [self._row() for _ in range(self.count)]
        self.delays = [0] * self.count


def test_differential_plans_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans that loops make for themselves are those that are made outside, to the last bit.

    On keys what plans learn from is the same too whether a basic window is joined at once, or piece
    by piece and counted together, or counted one by one. All that is kept is compared.
    """
    ways: dict[str, int] = dict.fromkeys(("keys", "sets", "one by one", "in bulk"), 0)

    def counting(way: str, function: Any) -> Any:
        def counted(*given: Any) -> Any:
            came = function(*given)
            one_by_one = way == "keys" and came[1] == ONE_BY_ONE
            ways["one by one" if one_by_one else way] += 1
            return came

        return counted

    alone = Planned.advance
    for way, index in (("keys", EqualIndex), ("sets", SetIndex)):
        monkeypatch.setattr(index, "advance_and_plan", counting(way, index.advance_and_plan))
    monkeypatch.setattr(equal_index, "count_arrivals", counting("in bulk", bulk.count_arrivals))
    for seed in range(12 * (1 + SOAKING)):
        world = LongWorld(seed)
        for per_unit in (world.per_unit, 30.0, AMPLE):
            outcomes = []
            for planned, all_at_once in ((True, True), (False, True), (False, False)):
                never = (lambda *_: None) if not planned else alone
                monkeypatch.setattr(Planned, "advance", never)
                takes_all = bulk.takes_all if all_at_once else (lambda selection: False)
                monkeypatch.setattr(equal_index, "takes_all", takes_all)
                cuts = random.Random(seed) if seed % 4 else None
                outcomes.append(run(world, per_unit, cuts, restarts=seed % 2 == 0))
            found, ledger, state = outcomes[0]
            for again, same, other in outcomes[1:]:
                assert found == again, seed
                assert ledger.as_dict() == same.as_dict(), seed
                theirs = other.stage(ExactJoin).keep().arrays
                for name, array in state.stage(ExactJoin).keep().arrays.items():
                    assert array.tobytes() == theirs[name].tobytes(), (seed, name)
    assert min(ways.values()) > 5, ways
