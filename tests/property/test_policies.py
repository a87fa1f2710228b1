"""Families: differential (engine against naive twin), property.

Every policy's decisions are those of its twin in ``bankfull.oracle.shedding``, which was written
from the papers by another hand: the same tuples are stored and the same results came out, whatever
the streams, joins, buffers, windows (of time and of rows), budgets (in tuples and in bytes) and
batches, and if every state is written down and read back.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from worlds import SPAN, World, stored_seqs

import bankfull as bf
from bankfull.core.bounded.join import BoundedJoin
from bankfull.oracle.shedding import TWINS, JoinSpec, simulate
from bankfull.policies import POLICIES, Policy, dgl, gdj, resolve
from bankfull.spec import Keep
from bankfull.testing import check_policy
from compile_kernels import fewer, short

#: What is tried: a policy of ours and its twin.
PAIRS: dict[str, tuple[Policy, Any]] = {
    name: (POLICIES[name](), TWINS[name]())
    for name in (
        "random",
        "fifo",
        "prob",
        "prob-window",
        "life",
        "simp",
        "simpprob",
        "dimpprob",
        "gain",
    )
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


#: Every kind of window with every kind of budget: as the first seeds have them, all others have.
KINDS = list(itertools.product(("time", "spans", "rows", "mixed"), ("tuples", "bytes")))

#: Random streams for every policy, three of every kind.
FEW = 3 * len(KINDS)


def check_twin(name: str, seeds: range) -> None:
    """Compare results, what is stored, what was dropped and what is counted of it."""
    ours, twin = PAIRS[name]
    for seed in seeds:
        world = World(seed, *KINDS[seed % len(KINDS)])
        expected = world.twin(twin, ours)
        pieces, restored = world.dice.choice([1, 2, 7]), world.dice.random() < 0.5
        found, state = world.run(ours, pieces, restored)
        which = f"{name}, World({seed}, {', '.join(KINDS[seed % len(KINDS)])})"
        assert sorted(found) == sorted(expected.results), which
        assert stored_seqs(state) == expected.stored, which
        shed = sum(1 for seq, gone in expected.decisions if seq == gone)
        counts = state.ledger.streams.values()
        assert sum(count.shed for count in counts) == shed, which
        evicted = len(expected.decisions) - shed
        assert sum(count.evicted for count in counts) == evicted, which
        memory = state.stage(BoundedJoin).memory
        assert memory.buffers.heaped.sum() == len(expected.stored), which
        assert np.isfinite(memory.slots.priority).all(), which


@pytest.mark.parametrize("name", PAIRS)
def test_differential_twin(name: str) -> None:
    """The engine stores, drops and joins what the twin does, however the input is cut."""
    check_twin(name, range(FEW))


@pytest.mark.soak
@pytest.mark.parametrize("name", PAIRS)
def test_differential_twin_soak(name: str) -> None:
    """The same on many more random streams."""
    check_twin(name, range(FEW, 2 * FEW))
    check_twin(name, range(1000, 1400))


@pytest.mark.parametrize("unique", [{0}, {0, 1}])
def test_differential_unique(unique: set[int]) -> None:
    """What `gain` knows of streams declared unique is what its twin knows, even if it is wrong."""
    for seed in range(400, 420):
        world = World(seed)
        if len(world.joins) > 1 or world.streams > 2:
            continue
        world.unique = frozenset(unique)
        twin = TWINS["gain"](once=frozenset(1 - one for one in unique), period=16)
        expected = world.twin(twin, POLICIES["gain"](period=16))
        found, state = world.run(POLICIES["gain"](period=16), pieces=3)
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
            expected = world.twin(TWINS["gain"](period=16), POLICIES["gain"](period=16))
            found, state = world.run(POLICIES["gain"](period=16), pieces=3)
            assert sorted(found) == sorted(expected.results), f"seed {seed}"
            assert stored_seqs(state) == sorted(expected.stored), f"seed {seed}"
    assert tried > 4


def check_trace(name: str, seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare who was dropped at whose turn, tuple by tuple."""
    ours, twin = PAIRS[name]
    kept: dict[int, set[int]] = {}
    watch = BoundedJoin._watch

    def look(shedding: BoundedJoin, start: int, found: Any, count: int) -> None:
        watch(shedding, start, found, count)
        slots, turn = shedding.memory.slots, int(shedding.memory.now.seq_next) - 1
        kept[turn] = {int(seq) for seq in slots.seq[slots.stream >= 0]}

    monkeypatch.setattr(BoundedJoin, "_piece_end", lambda shedding, start: start + 1)
    monkeypatch.setattr(BoundedJoin, "_watch", look)
    for seed in seeds:
        world = World(seed, *KINDS[seed % len(KINDS)])
        expected = world.twin(twin, ours)
        kept.clear()
        world.run(ours, pieces=1)
        decisions, before = set[tuple[int, int]](), set[int]()
        for x in world.arrivals:
            live = {seq for seq in before if world.is_live(world.arrivals[seq], x)}
            decisions |= {(x.seq, gone) for gone in (live | {x.seq}) - kept[x.seq]}
            before = kept[x.seq]
        assert decisions == set(expected.decisions), f"{name}, seed {seed}"


@pytest.mark.parametrize("name", PAIRS)
def test_differential_trace(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turn by turn the engine drops whom the twin drops."""
    check_trace(name, range(304, 312), monkeypatch)


@pytest.mark.soak
@pytest.mark.parametrize("name", PAIRS)
def test_differential_trace_soak(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same on many more random streams."""
    check_trace(name, range(1000, 1200), monkeypatch)


@pytest.mark.parametrize("name", sorted(POLICIES))
def test_batch_split_and_recovery_leave_no_trace(name: str) -> None:
    """However the input is cut, and if every state is read back: the whole ledger is the same."""
    policy = resolve(Keep(name))
    for seed, kind in [(200, ("time", "tuples")), (203, ("mixed", "bytes"))]:
        whole, one = World(seed, *kind).run(policy, pieces=1)
        parts, other = World(seed, *kind).run(policy, pieces=9)
        again, third = World(seed, *kind).run(policy, pieces=9, restored=True)
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


@pytest.mark.parametrize("kind", KINDS, ids=" in ".join)
def test_what_the_twin_gives_is_a_subset(kind: tuple[str, str]) -> None:
    """Nothing twice, nothing that an endless memory would not give; with room for all, all."""
    ample = 0
    for seed in range(300, 330):
        world = World(seed, *kind)
        exact = simulate(world.arrivals, world.joins, 10**6, TWINS["fifo"]())
        found = world.twin(TWINS["prob"](), POLICIES["prob"]())
        assert len(set(found.results)) == len(found.results)
        assert set(found.results) <= set(exact.results)
        if (world.total >= 500 and kind[1] == "tuples") or world.total >= 500 << 10:
            assert found == exact
            ample += 1
    assert ample > 0


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
