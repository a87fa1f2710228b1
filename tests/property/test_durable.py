"""Properties: an operator that workers hand to each other decides as one that nobody disturbs.

Family: *differential*. The durable state of the Spark runtime (``runtime/spark/durable.py``) lies
here in a dictionary instead of Spark's state store, so that many hand-overs can be tried. Several
workers take turns at random: one goes on from what it has, catches up with what the others
committed, or builds the operator anew; some commits are lost, as those of a failed task are. Rows
and ledgers are the same each time. What a commit writes follows what has changed, and what is kept
in all follows what is stored. ``tests/spark`` does the same with real queries.
"""

from __future__ import annotations

import os
import random
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.core import Batch, step
from bankfull.policies import POLICIES
from bankfull.runtime.spark.durable import Durable
from bankfull.runtime.spark.layout import Layout
from bankfull.runtime.spark.live import Live
from bankfull.spec import Equal, Join, Overlap, Query, Rows, Shed, Stream, Ticks

SCHEMA = pa.schema([("t", pa.int64()), ("k", pa.int64()), ("tags", pa.list_(pa.int64()))])
Key = tuple[int, int]


@dataclass
class Values:
    """A map state that forgets what was not committed."""

    kept: dict[Key, tuple[bytes]] = field(default_factory=dict)
    changed: dict[Key, tuple[bytes] | None] = field(default_factory=dict)

    def getValue(self, key: Key) -> tuple[bytes] | None:  # noqa: N802 - Spark's name
        return self.changed[key] if key in self.changed else self.kept.get(key)

    def updateValue(self, key: Key, value: tuple[bytes]) -> None:  # noqa: N802 - Spark's name
        self.changed[key] = value

    def removeKey(self, key: Key) -> None:  # noqa: N802 - Spark's name
        assert self.getValue(key) is not None, f"{key} is removed and was not there"
        self.changed[key] = None

    def exists(self) -> bool:
        return bool(self.kept)

    def commit(self) -> int:
        """Keep what was written; returns its bytes."""
        written = sum(len(value[0]) for value in self.changed.values() if value is not None)
        self.kept |= {k: v for k, v in self.changed.items() if v is not None}
        for key, value in self.changed.items():
            if value is None:
                self.kept.pop(key, None)
        self.changed = {}
        return written

    @property
    def nbytes(self) -> int:
        return sum(len(value[0]) for value in self.kept.values())


QUERIES: dict[str, tuple[Any, Any, Shed | None]] = {
    "exact": (Equal((("k",),)), Ticks(60), None),
    "one-sided": (Equal((("k",),)), (Ticks(5), Ticks(0)), None),
    "rows": (Equal((("k",),)), Rows(40), None),
    "sets": (Overlap(("tags", "tags"), 2), Ticks(60), None),
    "gain": (Equal((("k",),)), Ticks(60), bf.shed(bf.tuples(50))),
    "bytes": (Equal((("k",),)), Ticks(60), bf.shed("40 KB", keep="prob")),
    "keep fifo and comparisons": (
        Equal((("k",),)),
        Ticks(60),
        bf.shed(bf.tuples(50), keep="fifo", cpu=bf.comparisons(4)),
    ),
    "bounded sets": (Overlap(("tags", "tags"), 2), Ticks(60), bf.shed(bf.tuples(50), keep="fifo")),
}
#: How often each of these is tried, and each of the policies below once.
KINDS = tuple(QUERIES)
SEEDS = 12 if os.environ.get("HYPOTHESIS_PROFILE") == "soak" else 2
#: What any policy keeps beside its tuples is handed over too.
QUERIES |= {
    f"keep {name}": (Equal((("k",),)), Ticks(60), bf.shed(bf.tuples(50), keep=name))
    for name in sorted(POLICIES)
}


def layout(title: str) -> Layout:
    predicate, window, shed = QUERIES[title]
    streams = tuple(Stream(name, "t", Ticks(5)) for name in "ab")
    windows = window if isinstance(window, tuple) else (window,)
    query = Query(streams, (Join("j", ("a", "b"), predicate, windows),), shed=shed)
    return Layout(query, dict.fromkeys("ab", SCHEMA), (0,))


def batches(dice: random.Random, count: int) -> list[Batch]:
    made, now = [], 0
    for _ in range(count):
        rows = {}
        for name in "ab":
            size = dice.choice([0, 1, 5, 30])
            times = sorted(now + dice.randint(0, 12) for _ in range(size))
            columns = {
                "t": times,
                "k": [dice.randint(0, 8) for _ in times],
                "tags": [sorted(dice.sample(range(8), 3)) for _ in times],
            }
            rows[name] = pa.RecordBatch.from_pydict(columns, schema=SCHEMA)
        made.append(Batch(rows, quiet=frozenset()))
        now += dice.choice([0, 3, 10, 10, 40, 90])  # rows may come and go within one commit
    return made


def joined(live: Live, batch: Batch) -> list[Any]:
    """Step until nothing is pending; returns rows in order and the ledger."""
    outcome = step(live.state, batch)
    rows = [row for piece in outcome.output for row in piece.to_pylist()]
    while outcome.pending:
        outcome = step(outcome.state, Batch())
        rows += [row for piece in outcome.output for row in piece.to_pylist()]
    live.state = outcome.state
    return [rows, outcome.ledger.as_dict()]


@pytest.mark.parametrize(
    ("title", "seed"),
    [(title, seed) for title in QUERIES for seed in range(SEEDS if title in KINDS else 1)],
)
def test_differential_workers_take_turns(title: str, seed: int) -> None:
    dice, plan = random.Random(seed), layout(title).plan()
    alone = Live.fresh(plan)
    values = Values()
    durable = Durable(values, layout(title))
    workers: list[Live | None] = [None, None, None]
    caught_up = 0
    for number, batch in enumerate(batches(dice, 60)):
        expected = joined(alone, batch)
        mine = dice.randrange(len(workers))
        header, live = durable.header(), workers[mine]
        if header is None:
            live = Live.fresh(plan)
        elif live is None or live.history[-1] not in header["history"]:
            live = durable.rebuild(plan, header)
        elif live.history[-1] != header["history"][-1]:
            durable.catch_up(live, header)
            caught_up += 1
        assert joined(live, batch) == expected, f"{title}, seed {seed}, batch {number}"
        durable.commit(live)
        workers[mine] = live
        if dice.random() < 0.1:  # the attempt fails after all, and another worker makes one
            values.changed = {}
            again = Live.fresh(plan) if header is None else durable.rebuild(plan, header)
            assert joined(again, batch) == expected
            durable.commit(again)
            workers[(mine + 1) % len(workers)] = again
        values.commit()
    assert caught_up > 3, "workers that are behind catch up"
    lists = len(durable.header()["lists"])  # type: ignore[index]
    assert len(values.kept) < 200 + 20 * lists, "segments that nobody needs are dropped"


def bounded(tuples: int) -> Layout:
    """Return a query with a budget of so many tuples, in one bucket."""
    place = layout("exact")
    query = Query(place.query.streams, place.query.joins, shed=bf.shed(bf.tuples(tuples)))
    return Layout(query, place.schemas, (0,))


def rows_at(dice: np.random.Generator) -> Callable[[int, int], Batch]:
    """Return what makes so many rows of each stream at one time."""

    def rows(count: int, now: int) -> Batch:
        keys = [pa.array(dice.integers(0, 100_000, count)) for _ in "ab"]
        tags = pa.array([[1]] * count, pa.list_(pa.int64()))
        times = pa.array(np.full(count, now))
        return Batch(
            {
                n: pa.RecordBatch.from_arrays([times, k, tags], schema=SCHEMA)
                for n, k in zip("ab", keys, strict=True)
            }
        )

    return rows


def peak_bytes(act: Callable[[], object]) -> int:
    """Return the most bytes of Python and NumPy that something took at once."""
    tracemalloc.start()
    try:
        act()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class Passing(Values):
    """A map state that keeps what was there and forgets what it is sent."""

    def updateValue(self, key: Key, value: tuple[bytes]) -> None:  # noqa: N802 - Spark's name
        assert len(value[0]) <= 16 << 20

    def removeKey(self, key: Key) -> None:  # noqa: N802 - Spark's name
        pass


def test_nobody_holds_a_second_copy_of_a_large_state() -> None:
    """A commit, and a worker that catches up, take a part of the memory that the state takes.

    The arrays are written and read in pieces. Of the slots there is a copy, for what they say of
    the place of payload is not kept.
    """
    large = bounded(60_000)
    values, live = Values(), Live.fresh(large.plan())
    durable, rows = Durable(values, large), rows_at(np.random.default_rng(1))
    joined(live, rows(30_000, 0))
    joined(live, rows(1, 10))
    durable.commit(live)
    values.commit()
    behind = durable.rebuild(large.plan(), durable.header())  # type: ignore[arg-type]
    arrays = live.state.keep().arrays
    whole = sum(array.nbytes for array in arrays.values())
    spare = arrays["join.memory.slots"].nbytes + (12 << 20)
    assert spare < whole, "the state is large enough to tell"
    live.changes = []  # everything is written anew
    assert peak_bytes(lambda: Durable(Passing(), large).commit(live)) < spare
    live.changes = []
    durable.commit(live)
    joined(live, rows(2_000, 20))
    durable.commit(live)
    values.commit()
    header = durable.header()
    assert header is not None
    assert peak_bytes(lambda: durable.catch_up(behind, header)) < spare
    assert behind.state.ledger.as_dict() == live.state.ledger.as_dict()


def test_a_commit_costs_what_has_changed() -> None:
    """With a large buffer and few rows a commit is small, and what is kept stays near the whole."""
    large = bounded(20_000)
    values, live = Values(), Live.fresh(large.plan())
    durable, rows = Durable(values, large), rows_at(np.random.default_rng(1))
    joined(live, rows(5_000, 0))
    joined(live, rows(1, 10))  # the others have waited for this
    durable.commit(live)
    whole = values.commit()
    sizes = []
    for now in range(10, 50):
        joined(live, rows(20, now))
        durable.commit(live)
        sizes.append(values.commit())
    assert sorted(sizes)[len(sizes) // 2] < whole / 8
    assert values.nbytes < 3 * whole
