"""Family: differential, the memory budget on Spark.

In one bucket the decisions are those of the embedded runtime, tuple by tuple; over several the
budget of the query holds in every micro-batch and the result is part of the exact one. A restart
half-way changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from spark_runs import Runner

import bankfull as bf
from bankfull.errors import PlanError
from bankfull.oracle import exact
from bankfull.spec import Equal, Join, Query, Stream, Ticks
from bankfull.testing import Case

Fresh = Callable[[], Runner]
BUDGET, WITHIN = 40, 120
QUERY = Query(
    (Stream("a", "t"), Stream("b", "t")),
    (Join("join", ("a", "b"), Equal((("k",),)), (Ticks(WITHIN),)),),
)


def case() -> Case:
    """Two streams whose last rows only say that time has come far."""
    random = np.random.default_rng(8)
    tables = {}
    for number, name in enumerate("ab"):
        # No two alike: rows of one stream and one time come in the order of their content here.
        times = np.append(np.sort(random.choice(800, 400, replace=False)), [5000, 5001])
        keys = np.append(random.zipf(1.5, 400) % 30, [-1 - number, -1 - number])
        worth = np.append(random.integers(1, 9, 400), [1, 1]).astype(float)
        tables[name] = pa.table({"t": times, "k": keys, "v": worth})
    return Case.of(QUERY, **tables)


def plan(sources: dict[str, Any], buckets: int | None, policy: str = "gain") -> Any:
    """Write the query as a user would."""
    given = [bf.stream(sources[n], time="t", name=n, importance="v") for n in "ab"]
    budget = bf.shed(memory=bf.tuples(BUDGET), keep=policy)
    return bf.join(*given, on="k", within=WITHIN, overload=budget, buckets=buckets)


def pairs(table: pa.Table) -> Counter[tuple[int, int, float]]:
    columns = (table[name].to_pylist() for name in ("row_a", "row_b", "importance"))
    return Counter(zip(*columns, strict=True))


def sink(runner: Runner) -> Counter[tuple[int, int, float]]:
    return pairs(runner.spark.read.parquet(str(runner.sink)).toArrow())


@pytest.mark.parametrize("policy", ["gain", "dimpprob"])
def test_one_bucket_decides_as_the_embedded_runtime(runner: Fresh, policy: str) -> None:
    given = case()
    expected = pairs(plan(dict(given.tables), None, policy).read_all())
    streaming = runner()
    streaming.write(given, 67)
    streaming.drain(plan(streaming.frames(given), 1, policy))
    assert sink(streaming) == expected
    frames = {n: streaming.spark.read.parquet(str(streaming.input / n)) for n in "ab"}
    assert pairs(plan(frames, 1, policy).toArrow()) == expected


def test_over_buckets_the_budget_is_the_querys(runner: Fresh) -> None:
    given, spread = case(), runner()
    spread.write(given, 67)
    spread.drain(plan(spread.frames(given), 3))
    found = Counter((a, b) for a, b, _ in sink(spread).elements())
    whole = Counter(exact(given.query, given.tables)["join"])
    assert not found - whole
    assert 0 < found.total() < whole.total()
    observed = [one["observedMetrics"]["bankfull"]["ledger"] for one in spread.progress]
    seen = [one for one in observed if one["a.stored"] is not None]
    assert len(seen) > 3
    assert all(one["a.stored"] + one["b.stored"] <= BUDGET for one in seen)
    counts = spread.counts()
    for name in "ab":
        lost = counts[f"{name}.shed"] + counts[f"{name}.evicted"] + counts[f"{name}.expired"]
        kept = counts[f"{name}.stored"] + counts[f"{name}.waiting"]
        assert counts[f"{name}.arrived"] == lost + kept


def test_a_restart_half_way_changes_nothing(runner: Fresh) -> None:
    given, whole, halved = case(), runner(), runner()
    whole.write(given, 67)
    whole.drain(plan(whole.frames(given), 2))
    halved.write(given, 67)
    halved.show(3)
    halved.drain(plan(halved.frames(given), 2))
    halved.show(1000)
    halved.drain(plan(halved.frames(given), 2))
    assert sink(halved) == sink(whole)


def test_what_cannot_be_shed_here_is_refused(runner: Fresh) -> None:
    given, refused = case(), runner()
    refused.write(given, 500)
    frames = refused.frames(given)
    streams = [bf.stream(frames[n], time="t", name=n, importance="v") for n in "ab"]
    budget = bf.shed(memory=bf.tuples(BUDGET))
    both = [
        bf.join(*streams, on="k", within=within, name=f"j{within}", overload=budget)
        for within in (10, 20)
    ]
    with pytest.raises(PlanError, match="several joins under one memory budget"):
        bf.joins(*both)
