"""Families: property, differential. Copies of rows under a memory budget.

With several joins a runtime brings a row to several operators, each copy with a mask of the joins
that may see it there. A copy must behave as a row whose other keys are null would; over all
operators nothing is counted twice, nothing is lost unseen, and the budget bounds what is stored,
copies and all.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bankfull.assemble import assemble
from bankfull.core import Batch, State, restore, snapshot, start, step
from bankfull.core.bounded.join import BoundedJoin
from bankfull.core.plan import HOME, MASK
from bankfull.oracle import exact
from bankfull.runtime.spark.buckets import route
from bankfull.spec import Equal, Join, Keep, Query, Shed, Stream, Ticks, Tuples

WITHIN = 60
JOINS = {"left": ("a", "b", "x"), "right": ("b", "c", "y"), "all": ("a", "b", "c", "x")}
FIELD = pa.field(MASK, pa.int64(), nullable=False)
Found = Counter[tuple[str, tuple[int, ...]]]


def query(budget: int, policy: str) -> Query:
    """Three joins over three streams, two of them on other columns than the third."""
    return Query(
        tuple(Stream(name, "t", importance="v") for name in "abc"),
        tuple(
            Join(name, tuple(streams), Equal(((key,),)), (Ticks(WITHIN),))
            for name, (*streams, key) in JOINS.items()
        ),
        shed=Shed(Tuples(budget), Keep(policy), seed=2),
    )


def tables(seed: int, count: int = 250) -> dict[str, pa.Table]:
    """Rows of three streams, no two with one time, numbered."""
    dice = np.random.default_rng(seed)
    times = dice.permutation(3 * count)
    return {
        name: pa.table(
            {
                "t": np.sort(times[n * count : (n + 1) * count]),
                "x": pa.array(dice.integers(0, 9, count), mask=dice.random(count) < 0.05),
                "y": dice.zipf(1.6, count) % 20,
                "v": dice.integers(1, 50, count).astype(float),
                f"row_{name}": np.arange(count),
            }
        )
        for n, name in enumerate("abc")
    }


def run(state: State, given: dict[str, pa.Table], pieces: int = 1) -> tuple[Found, State]:
    """Step through the rows, each state written down and read back if in pieces."""
    found: Found = Counter()
    last = max(max(one["t"].to_pylist(), default=0) for one in given.values()) + 1
    for piece in range(pieces):
        low, high = (last * end // pieces for end in (piece, piece + 1))
        rows = {}
        for name, one in given.items():
            first, end = np.searchsorted(one["t"].to_numpy(), [low, high])
            for batch in one.slice(first, end - first).combine_chunks().to_batches():
                rows[name] = batch
        ended = frozenset("abc") if piece + 1 == pieces else frozenset()
        outcome = step(state, Batch(rows, ended=ended))
        for batch in outcome.output:
            for row in batch.to_pylist():
                members = tuple(row[f"row_{name}"] for name in JOINS[row["join"]][:-1])
                found[row["join"], members] += 1
        outcome.state.ledger.check()
        state = outcome.state
        if pieces > 1:
            state = restore(state.plan, snapshot(state))
    return found, state


def slots(state: State) -> list[int]:
    """Return the canonical numbers of what is stored."""
    slots = state.stage(BoundedJoin).memory.slots
    return sorted(slots.seq[slots.stream >= 0].tolist())


def plan(asked: Query, given: dict[str, pa.Table], masked: bool, operators: int = 1) -> Any:
    schemas = {name: one.schema for name, one in given.items()}
    return assemble(asked, schemas, masked, operators=operators)


@pytest.mark.parametrize("policy", ["fifo", "prob", "dimpprob", "gdj", "gain"])
def test_differential_a_masked_row_is_one_with_null_keys(policy: str) -> None:
    """Same results and same decisions, whether a join is masked or its key is null."""
    for seed in range(3):
        dice, given = np.random.default_rng(100 + seed), tables(seed)
        masked, nulled = {}, {}
        # The joins on x are two: where one is masked and the other not, no null says the same.
        bits = {"a": [0b101, 0], "b": [0b111, 0b101, 0b010, 0], "c": [0b110]}
        for name, one in given.items():
            masks = dice.choice(bits[name], one.num_rows)
            home = np.where(dice.random(one.num_rows) < 0.6, HOME, 0)
            masked[name] = one.append_column(FIELD, pa.array(masks | home))
            columns = {c: one[c].combine_chunks() for c in one.column_names}
            for key, hidden in (("x", masks & 0b101 == 0), ("y", masks & 0b010 == 0)):
                shown = pa.array(hidden)
                columns[key] = pa.compute.if_else(shown, pa.scalar(None, pa.int64()), columns[key])
            nulled[name] = pa.table(columns)
        asked = query(40, policy)
        ours, state = run(start(plan(asked, given, masked=True)), masked, pieces=4)
        theirs, other = run(start(plan(asked, given, masked=False)), nulled)
        assert ours == theirs
        assert ours.total() > 30
        assert slots(state) == slots(other)
        for name, counts in state.ledger.streams.items():
            plain = other.ledger.streams[name]
            assert counts.arrived == np.count_nonzero(masked[name][MASK].to_numpy() & HOME)
            assert counts.stored + counts.copies == plain.stored
            lost = counts.shed + counts.evicted + counts.copies_lost
            assert lost == plain.shed + plain.evicted > counts.shed + counts.evicted > 0
        for name, classes in state.ledger.lost_by_importance.items():
            counted = state.ledger.streams[name]
            assert sum(classes.get("evicted", {}).values()) == counted.evicted
            assert sum(classes.get("shed", {}).values()) == counted.shed


@pytest.mark.parametrize(("budget", "buckets"), [(10_000, 3), (60, 3), (60, 1)])
def test_copies_over_buckets(budget: int, buckets: int) -> None:
    """Routed as on Spark: nothing twice, the budget bounds copies too, every row counted once."""
    given = tables(7)
    asked = query(budget, "gain")
    layout = plan(asked, given, masked=True, operators=buckets)
    routed = {
        name: route(layout, position, one.combine_chunks().to_batches()[0], buckets)
        for position, (name, one) in enumerate(given.items())
    }
    total: Found = Counter()
    states = []
    for bucket in range(buckets):
        part = {}
        for name, one in given.items():
            here = routed[name].buckets == bucket
            part[name] = one.take(pa.array(routed[name].rows[here])).append_column(
                FIELD, pa.array(routed[name].masks[here])
            )
        state = start(layout)
        found, state = run(state, part)
        total += found
        states.append(state)
    whole = Counter(
        (name, members)
        for name, combinations in exact(asked, given).items()
        for members in combinations
    )
    assert not total - whole
    assert max(total.values()) == 1
    for name, one in given.items():
        counts = [state.ledger.streams[name] for state in states]
        assert sum(count.arrived for count in counts) == one.num_rows
        copies = len(routed[name].rows) - one.num_rows
        assert (copies > 0) == (buckets > 1 and name != "a")
        if budget == 10_000:
            assert not any(count.shed or count.evicted or count.copies_lost for count in counts)
    assert sum(len(slots(state)) for state in states) <= budget
    assert (total == whole) == (budget == 10_000)
    if buckets == 1:
        single, state = run(start(plan(asked, given, masked=False)), given)
        assert single == total
        assert state.ledger == states[0].ledger
