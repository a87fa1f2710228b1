"""Families: differential (engine against naive twin), property.

Every policy's decisions are those of its twin in ``bankfull.oracle.shedding``, which was written
from the papers by another hand: after every batch the same tuples are stored, the same results
came out in the same order, whatever the streams, joins, buffers and batch split.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.assemble import assemble
from bankfull.core import Batch, Budget, State, restore, snapshot, start, step
from bankfull.core.bounded.join import BoundedJoin
from bankfull.oracle.shedding import TWINS, Arrival, JoinSpec, simulate
from bankfull.policies import POLICIES, Policy, dgl, gdj, resolve
from bankfull.spec import Equal, Join, Keep, Query, Shed, Stream, Ticks, Tuples
from bankfull.testing import check_policy
from compile_kernels import fewer, short

SPAN = 40
#: What is tried: a policy of ours and its twin.
PAIRS: dict[str, tuple[Policy, Any]] = {
    name: (POLICIES[name](), TWINS[name]())
    for name in ("random", "fifo", "prob", "life", "simp", "simpprob", "dimpprob", "gain")
}
PAIRS |= {
    f"gdj {q} method {method}": (
        gdj(initial=q, method=method),
        TWINS["gdj"](initial=q, method=method),
    )
    for q, method in [(0.0, 1), (0.9, 1), (0.995, 1), (1.0, 1), (0.8, 2), (0.9, 3)]
}
PAIRS |= {
    "age": (
        POLICIES["age"](tuple(float(3 + 7 * seq % 31) for seq in range(150))),
        TWINS["age"]({seq: float(3 + 7 * seq % 31) for seq in range(150)}),
    ),
    "gain, often": (POLICIES["gain"](period=16), TWINS["gain"](period=16)),
    "gdj tuned": (gdj(), TWINS["gdj-tuned"]()),
    "age learned": (POLICIES["age"](period=4), TWINS["age-learned"](period=4)),
    "sieve": (POLICIES["sieve"](), TWINS["sieve"]()),
    "s3fifo": (POLICIES["s3fifo"](), TWINS["s3fifo"]()),
    "s3fifo, half small": (POLICIES["s3fifo"](small=0.5), TWINS["s3fifo"](small=0.5)),
    "dgl": (dgl(gain=0.7, decay=0.3), TWINS["dgl"](0.7, 0.3 ** (1 / SPAN))),
    "additive": (POLICIES["additive"](2.0, 3.0, 0.5), TWINS["additive"](2.0, 3.0, 0.5)),
    "multiplicative": (
        POLICIES["multiplicative"](1.5, 0.5, 0.25),
        TWINS["multiplicative"](1.5, 0.5, 0.25),
    ),
    "cumulative": (
        POLICIES["cumulative"](2.0, 3.0, 0.5, 0.7),
        TWINS["cumulative"](2.0, 3.0, 0.5, 0.7),
    ),
}


def test_every_policy_has_a_twin() -> None:
    """A policy whose decisions nobody repeats naively is not tested."""
    assert {type(ours).name for ours, _ in PAIRS.values()} == set(POLICIES)
    assert set(POLICIES) <= set(TWINS)


class World:
    """Random streams over a few joins, and a budget."""

    def __init__(self, seed: int) -> None:
        dice = random.Random(seed)
        self.seed = seed
        kind = dice.choice(["pair", "pair", "three", "two joins"])
        self.streams = 2 if kind == "pair" else 3
        members = {"pair": [(0, 1)], "three": [(0, 1, 2)], "two joins": [(0, 1), (1, 2)]}[kind]
        self.joins = [JoinSpec(who, (SPAN,) * len(who)) for who in members]
        self.unified = dice.random() < 0.5
        self.unique: frozenset[int] = frozenset()
        self.weighed = random.Random(seed).choices([True, False], [3, 1], k=3)
        total = dice.choice([1, 3, 6, 12, 500])
        self.capacity = [max(1, total // self.streams)] * self.streams
        count, keys = dice.choice([60, 150]), dice.choice([2, 5, 15])
        time, self.arrivals = 0, []
        drawn = []
        for _ in range(count):
            time += dice.choice([0, 0, 1, 1, 2, 9])
            drawn.append((time, dice.randrange(self.streams)))
        #: Tuples without any key, by the one before which they come: no join can use them.
        self.useless: list[Arrival] = []
        for at, stream in sorted(drawn):
            seq = len(self.arrivals)
            values = tuple(
                (None if dice.random() < 0.05 else int(keys * dice.random() ** 2))
                if stream in join.streams
                else None
                for join in self.joins
            )
            worth = float(dice.choice([1, 1, 2, 5, 100]))
            useful = any(value is not None for value in values)
            weighed = self.weighed[stream]
            (self.arrivals if useful else self.useless).append(
                Arrival(stream, at, values, worth if weighed else 1.0, seq, weighed)
            )
        self.dice = dice

    def state(self, policy: Policy) -> State:
        """Return the operator before the first tuple."""
        names = "abc"[: self.streams]
        total = sum(self.capacity)
        split = tuple((n, c / total) for n, c in zip(names, self.capacity, strict=True))
        shed = Shed(Tuples(total), policy.keep(), "unified" if self.unified else split, seed=3)
        query = Query(
            tuple(
                Stream(
                    name,
                    "t",
                    importance="v" if weighed else None,
                    unique=("k0",) if position in self.unique else (),
                )
                for position, (name, weighed) in enumerate(zip(names, self.weighed, strict=False))
            ),
            tuple(
                Join(
                    f"j{number}",
                    tuple(names[k] for k in join.streams),
                    Equal(((f"k{number}",),)),
                    tuple(map(Ticks, join.spans)),
                )
                for number, join in enumerate(self.joins)
            ),
            shed=shed,
        )
        return start(assemble(query, dict.fromkeys(names, self.schema())))

    def schema(self) -> pa.Schema:
        """Return the columns of every stream."""
        keys = [(f"k{number}", pa.int64()) for number in range(len(self.joins))]
        return pa.schema([("t", pa.int64()), ("v", pa.float64()), ("seq", pa.int64()), *keys])

    def batch(self, arrivals: list[Arrival], ended: bool) -> Batch:
        """Return arrivals as a batch; all streams are known to have come as far as the last."""
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in "abc"[: self.streams]}
        numbers = [one.seq for one in arrivals]
        useless = [one for one in self.useless if one.seq in numbers]
        for one in sorted(arrivals + useless, key=lambda one: (one.time, one.stream)):
            keys = {f"k{number}": key for number, key in enumerate(one.keys)}
            row = {"t": one.time, "v": one.importance, "seq": one.seq, **keys}
            rows["abc"[one.stream]].append(row)
        made = {
            name: pa.RecordBatch.from_pylist(some, schema=self.schema())
            for name, some in rows.items()
            if some
        }
        names = list(rows)
        if ended:
            return Batch(made, ended=frozenset(names))
        # The next tuple may share the last one's time, in a stream of the same rank or a later.
        return Batch(made)

    def twin(self, twin: Any) -> Any:
        """Run the naive simulation."""
        capacity = sum(self.capacity) if self.unified else self.capacity
        return simulate(self.arrivals, self.joins, capacity, twin, seed=3)


def stored_seqs(state: State) -> list[int]:
    """Return which tuples are stored, by their place in the canonical order."""
    slots = state.stage(BoundedJoin).memory.slots
    return sorted(int(seq) for seq in slots.seq[slots.stream >= 0])


def results(output: list[pa.RecordBatch], world: World) -> list[tuple[int, tuple[int, ...]]]:
    """Read back which tuples every result joins; its importance is the least that any has."""
    found = []
    names = "abc"[: world.streams]
    for batch in output:
        for row in batch.to_pylist():
            number = int(row.get("join", "j0")[1:])
            seqs = tuple(row[f"{names[k]}_seq"] for k in world.joins[number].streams)
            found.append((number, seqs))
            worths = [world.arrivals[s].importance for s in seqs if world.arrivals[s].weighed]
            assert row.get("importance", 1.0) == min(worths, default=1.0), row
    return found


def run(world: World, policy: Policy, pieces: int, restored: bool = False) -> tuple[Any, State]:
    """Run the engine over the world's tuples in so many batches."""
    state, output = world.state(policy), []
    cuts = sorted(world.dice.sample(range(1, len(world.arrivals)), pieces - 1))
    bounds = [0, *cuts, len(world.arrivals)]
    for begin, end in itertools.pairwise(bounds):
        outcome = step(state, world.batch(world.arrivals[begin:end], end == bounds[-1]))
        output += outcome.output
        while outcome.pending:
            outcome = step(outcome.state, Batch(), Budget())
            output += outcome.output
        state = outcome.state
        if restored:
            state = restore(state.plan, snapshot(state))
    return results(output, world), state


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("block", range(4))
def test_differential_twin(name: str, block: int) -> None:
    """The engine stores, drops and joins what the twin does."""
    ours, twin = PAIRS[name]
    for seed in range(25 * block, 25 * block + 25):
        world = World(seed)
        expected = world.twin(twin)
        found, state = run(world, ours, pieces=world.dice.choice([1, 2, 7]))
        assert sorted(found) == sorted(expected.results), f"seed {seed}"
        assert stored_seqs(state) == sorted(expected.stored), f"seed {seed}"
        shed = sum(1 for seq, gone in expected.decisions if seq == gone)
        counts = state.ledger.streams.values()
        assert sum(count.shed for count in counts) == shed, f"seed {seed}"
        evicted = len(expected.decisions) - shed
        assert sum(count.evicted for count in counts) == evicted, f"seed {seed}"


@pytest.mark.parametrize("unique", [{0}, {0, 1}])
def test_differential_unique(unique: set[int]) -> None:
    """What `gain` knows of streams declared unique is what its twin knows, even if it is wrong."""
    for seed in range(400, 420):
        world = World(seed)
        if len(world.joins) > 1 or world.streams > 2:
            continue
        world.unique = frozenset(unique)
        expected = world.twin(TWINS["gain"](once=frozenset(1 - one for one in unique), period=16))
        found, state = run(world, POLICIES["gain"](period=16), pieces=3)
        assert sorted(found) == sorted(expected.results), f"seed {seed}"
        assert stored_seqs(state) == sorted(expected.stored), f"seed {seed}"


def test_differential_without_a_sample() -> None:
    """Of three streams with unequal windows no sample is kept: `gain` learns from its own."""
    tried = 0
    for seed in range(400, 430):
        world = World(seed)
        if len(world.joins[0].streams) == 3:
            tried += 1
            world.joins = [JoinSpec((0, 1, 2), (SPAN, SPAN // 2, SPAN // 3))]
            expected = world.twin(TWINS["gain"](period=16))
            found, state = run(world, POLICIES["gain"](period=16), pieces=3)
            assert sorted(found) == sorted(expected.results), f"seed {seed}"
            assert stored_seqs(state) == sorted(expected.stored), f"seed {seed}"
    assert tried > 4


def check_trace(name: str, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare who was dropped at whose turn, tuple by tuple."""
    ours, twin = PAIRS[name]
    kept: list[list[int]] = []
    watch = BoundedJoin._watch

    def look(shedding: BoundedJoin, start: int, found: Any, count: int) -> None:
        watch(shedding, start, found, count)
        slots = shedding.memory.slots
        kept.append([int(seq) for seq in slots.seq[slots.stream >= 0]])

    monkeypatch.setattr(BoundedJoin, "_piece_end", lambda shedding, start: start + 1)
    monkeypatch.setattr(BoundedJoin, "_watch", look)
    for seed in seeds:
        world = World(seed)
        expected = world.twin(twin)
        kept.clear()
        run(world, ours, pieces=1)
        decisions, before = [], set[int]()
        for x, stored in zip(world.arrivals, kept, strict=True):
            live = {seq for seq in before if x.time - world.arrivals[seq].time <= SPAN}
            decisions += [(x.seq, gone) for gone in (live | {x.seq}) - set(stored)]
            before = set(stored)
        assert decisions == expected.decisions, f"{name}, seed {seed}"


@pytest.mark.parametrize("name", PAIRS)
def test_differential_trace(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn by turn the engine drops whom the twin drops."""
    check_trace(name, range(300, 310), monkeypatch)


@pytest.mark.soak
@pytest.mark.parametrize("name", PAIRS)
def test_differential_trace_soak(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same on many more random streams."""
    check_trace(name, range(1000, 1200), monkeypatch)


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_batch_split_and_recovery_leave_no_trace(name: str) -> None:
    """However the input is cut, and if every state is written down and read back: the same."""
    policy = resolve(Keep(name))
    for seed in range(200, 206):
        world = World(seed)
        whole, one = run(world, policy, pieces=1)
        parts, other = run(World(seed), policy, pieces=9)
        again, third = run(World(seed), policy, pieces=9, restored=True)
        assert sorted(whole) == sorted(parts) == sorted(again), f"seed {seed}"
        assert stored_seqs(one) == stored_seqs(other) == stored_seqs(third), f"seed {seed}"
        assert one.ledger.as_dict() == other.ledger.as_dict() == third.ledger.as_dict()


#: One policy of each make: credits, decay, ages, bounds, queues, and the default.
MAKES = ("age", "dgl", "fifo", "gain", "gdj", "life", "prob", "s3fifo")


@pytest.mark.uncompiled
@pytest.mark.parametrize("name", short(MAKES))
def test_conformance(name: str) -> None:
    """What ``bankfull.testing`` asks of anyone's policy, asked of ours."""
    first = len(name) % 3  # with the compiler off, one of the three
    check_policy(resolve(Keep(name)), seeds=fewer([first, (first + 1) % 3, (first + 2) % 3]))


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(set(POLICIES) - set(MAKES)))
def test_conformance_soak(name: str) -> None:
    check_policy(resolve(Keep(name)), seeds=[0, 1, 2])


def test_conformance_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is lost where all should fit is found."""
    monkeypatch.setattr("bankfull.testing.policies._PLENTY", 7)
    with pytest.raises(AssertionError, match="missing"):
        check_policy(resolve(Keep("fifo")), seeds=[1])


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_bound_and_subset(name: str) -> None:
    """Never more stored than allowed, nothing twice, nothing that the exact join lacks."""
    policy = resolve(Keep(name))
    for seed in range(300, 306):
        world = World(seed)
        exact = simulate(world.arrivals, world.joins, 10**6, TWINS["fifo"]()).results
        found, state = run(world, policy, pieces=5)
        assert len(set(found)) == len(found)
        assert set(found) <= set(exact)
        if sum(world.capacity) >= 500:
            assert sorted(found) == sorted(exact)
        buffers = state.stage(BoundedJoin).memory.buffers
        assert (buffers.used <= buffers.capacity).all()
        assert buffers.used.sum() == len(stored_seqs(state))
        assert np.isfinite(state.stage(BoundedJoin).memory.slots.priority).all()


@pytest.mark.parametrize("name", ["gain", "gdj", "s3fifo"])
def test_forgotten_keys_leave_no_trace_of_the_batches(name: str) -> None:
    """More keys than may be remembered: which ones are forgotten depends on the tuples alone."""
    random_ = np.random.default_rng(6)
    count, names = 9_000, "ab"
    tables = {
        n: pa.table({"t": np.arange(count), "k": (random_.random(count) ** 2 * 60_000).astype(int)})
        for n in names
    }
    found = []
    for pieces in (1, 37):
        rows = -(-count // pieces)
        sources = [
            bf.stream(iter(tables[n].to_batches(max_chunksize=rows)), time="t", name=n)
            for n in names
        ]
        budget = bf.shed(memory=bf.tuples(300), keep=name)
        joined = bf.join(*sources, on="k", within=2_000, overload=budget)
        table = joined.read_all()
        assert joined._state.stage(BoundedJoin).memory.now.keys_used < 10_000
        found.append((sorted(map(str, table.to_pylist())), joined.ledger))
    assert found[0] == found[1]
    assert len(found[0][0]) > 100
