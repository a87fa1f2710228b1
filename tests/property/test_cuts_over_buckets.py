"""Properties: what is decided on Spark does not depend on how its input was cut.

The stages of the Spark runtime (encode, gather, operate) run here in one process, without Spark, so
that many cuts can be tried: rows are divided over micro-batches and pieces at random and shuffled
within, and the output and the ledger of every bucket must be the same each time, and those of a
batch join. Nothing is late. ``tests/spark/test_cuts_spark.py`` does the same with real queries.
"""

from __future__ import annotations

import os
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.runtime.spark import gather
from bankfull.runtime.spark.buckets import spread_keys
from bankfull.runtime.spark.encode import Encode, Layout
from bankfull.runtime.spark.gather import _STEP_BYTES, Gathered, Packet
from bankfull.runtime.spark.live import Live
from bankfull.runtime.spark.operate import _steps
from bankfull.runtime.spark.replay import _results
from bankfull.spec import Equal, Join, Overlap, Query, Rows, Stream, Ticks

#: Ways to cut, of which every other one also divides micro-batches over steps.
CUTS = 20 if os.environ.get("HYPOTHESIS_PROFILE") == "soak" else 2
LATE = 15
SCHEMA = pa.schema(
    [
        ("t", pa.int64()),
        ("k", pa.int64()),
        ("tags", pa.list_(pa.int64())),
        ("about", pa.map_(pa.string(), pa.int64())),
    ]
)
SHEDS: dict[str, Any] = {
    "gain": bf.shed(bf.tuples(60)),
    "prob in bytes": bf.shed("40 KB", keep="prob"),
    "sample": bf.shed(bf.tuples(120), keep="fifo", sample="unbiased"),
    "recall": bf.shed(recall=0.9),
    "rows": None,
    "sets": bf.shed(bf.tuples(60), keep="fifo"),
    "comparisons": bf.shed(cpu=bf.comparisons(4)),
    "comparisons and memory": bf.shed(bf.tuples(60), keep="fifo", cpu=bf.comparisons(4)),
    "comparisons of sets": bf.shed(cpu=bf.comparisons(40)),
    "copies dropped of sets": bf.shed(cpu=bf.comparisons(40), compare="drop"),
}


def tables(seed: int, count: int = 500) -> dict[str, pa.RecordBatch]:
    """Streams in a slight disorder, with popular keys that change, ties, and keys that are null."""
    made = {}
    for number, name in enumerate("ab"):
        dice = np.random.default_rng([seed, number])
        times = np.sort(dice.integers(0, 600, count))
        keys = dice.zipf(1.3, count) % 40 + 40 * (times // 200)
        arrival = np.argsort(times + dice.integers(0, LATE // 2, count), kind="stable")
        rows = {
            "t": times[arrival],
            "k": pa.array(keys[arrival], mask=dice.random(count) < 0.05),
            "tags": [sorted({int(tag) for tag in dice.integers(0, 9, 3)}) for _ in range(count)],
            # Rows that are equal but for a map: only their content orders them.
            "about": [[("n", int(n))] for n in dice.integers(0, 1000, count)],
        }
        made[name] = pa.RecordBatch.from_pydict(rows, schema=SCHEMA)
    return made


def layout(title: str, buckets: int) -> Layout:
    streams = tuple(Stream(name, "t", Ticks(LATE)) for name in "ab")
    window = Rows(30) if title == "rows" else Ticks(80)
    predicate = Overlap(("tags", "tags"), 2) if title.endswith("sets") else Equal((("k",),))
    join = Join("j", ("a", "b"), predicate, (window,))
    query = Query(streams, (join,), shed=SHEDS[title])
    return Layout(query, dict.fromkeys("ab", SCHEMA), tuple(spread_keys(buckets, buckets)))


def packets(
    plan: Layout, rows: dict[str, pa.RecordBatch], dice: np.random.Generator
) -> dict[int, list[Packet]]:
    """Encode the rows of a micro-batch in pieces and any order; return packets by bucket."""
    found: dict[int, list[Packet]] = {key: [] for key in plan.keys}
    for position, name in enumerate("ab"):
        some = rows[name].take(pa.array(dice.permutation(rows[name].num_rows)))
        cuts = np.sort(dice.integers(0, some.num_rows + 1, 2)) if some.num_rows else [0, 0]
        bounds = [0, *map(int, cuts), some.num_rows]
        pieces = [some.slice(a, b - a) for a, b in pairwise(bounds) if b > a]
        for batch in Encode(plan, position)(iter(pieces)):
            for row in batch.to_pylist():
                found[row["bucket"]].append(
                    (row["stream"], row["newest"], row["sound"], row["loads"], row["rows"])
                )
    for some_packets in found.values():
        dice.shuffle(some_packets)  # type: ignore[arg-type]
    return found


def streamed(plan: Layout, given: dict[str, pa.RecordBatch], seed: int) -> tuple[Any, Any]:
    """Run all buckets over micro-batches cut at random; output by content, ledgers by bucket."""
    dice = np.random.default_rng(seed)
    resolved = plan.plan()
    lives = {key: Live.fresh(resolved) for key in plan.keys}
    count, output = given["a"].num_rows, Counter[str]()
    inner = np.sort(dice.integers(0, count, dice.integers(0, 25)))
    # Streams are cut at different places, less than a window apart: one may be without rows.
    cuts = {
        name: [0, *np.sort((inner + dice.integers(-20, 20, len(inner))).clip(0, count)), count]
        for name in given
    }
    for turn in range(len(inner) + 1):
        rows = {
            name: table.slice(int(cuts[name][turn]), int(cuts[name][turn + 1] - cuts[name][turn]))
            for name, table in given.items()
        }
        for key, some in packets(plan, rows, dice).items():
            for outcome in _steps(resolved, lives[key], Gathered(resolved, some)):
                for batch in outcome.output:
                    output.update(map(repr, batch.to_pylist()))
    return output, {key: live.state.ledger.as_dict() for key, live in lives.items()}


@pytest.mark.parametrize("title", SHEDS)
def test_any_cut_gives_the_same(title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = tables(0)
    plan = layout(title, 1 if title == "rows" else 4)
    output, ledgers = streamed(plan, given, 100)
    assert output.total() > 100
    assert not any(s["late"] for one in ledgers.values() for s in one["streams"].values())
    if title.startswith("comparisons"):
        assert sum(j["skipped"] for one in ledgers.values() for j in one["joins"].values()) > 100
    counts = [s for one in ledgers.values() for s in one["streams"].values()]
    if not title.startswith("comparisons") and title not in ("rows", "recall"):
        assert sum(s["shed"] + s["evicted"] for s in counts) > 100
    if title.startswith("copies"):
        assert sum(s["copies_lost"] for s in counts) > 100
    for number in range(CUTS):
        # Every other time, whatever the steps that a micro-batch is divided over.
        most = 100 * (number + 3) if number % 2 else _STEP_BYTES
        monkeypatch.setattr(gather, "_STEP_BYTES", most)
        again, other = streamed(plan, given, 102 + number)
        assert again == output, f"cut {number}"
        if title != "rows":  # how often an exact join compares depends on the cut
            assert other == ledgers, f"cut {number}"


def test_a_batch_join_decides_as_a_streaming_one() -> None:
    """But for the rows that wait at the end of a stream that goes on."""
    given = tables(9)
    plan = layout("gain", 4)
    output, _ = streamed(plan, given, 1)
    resolved, whole = plan.plan(), Counter[str]()
    for some in packets(plan, given, np.random.default_rng(0)).values():
        live = Live.fresh(resolved)
        for outcome in _results(live.state, Gathered(resolved, some)):
            for batch in outcome.output:
                whole.update(map(repr, batch.to_pylist()))
    assert not output - whole
    frontier = min(int(rows["t"].to_numpy().max()) for rows in given.values()) - LATE
    waiting = [int(row.rpartition(": ")[2].rstrip("}")) for row in whole - output]
    assert min(waiting) >= frontier


def test_loads_do_not_grow_with_the_square_of_the_buckets() -> None:
    one = {name: rows.slice(0, 1) for name, rows in tables(3).items()}
    sizes = []
    for buckets in (100, 400):
        plan = layout("gain", buckets)
        sizes.append(sum(batch.nbytes for batch in Encode(plan, 0)(iter([one["a"]]))))
    assert sizes[1] < 5 * sizes[0] < 200_000
