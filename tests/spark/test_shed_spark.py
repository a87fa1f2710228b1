"""Family: differential, the memory budget on Spark.

In one bucket the decisions are those of the embedded runtime, tuple by tuple; over several the
budget of the query holds in every micro-batch and the result is part of the exact one. A restart
half-way changes nothing.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from spark_runs import Runner, observed_in

import bankfull as bf
import own_policies
from bankfull.errors import PlanError
from bankfull.oracle import exact
from bankfull.policies import POLICIES
from bankfull.spec import Equal, Join, Overlap, Query, Stream, Ticks
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


def plan(
    sources: dict[str, Any], buckets: int | None, policy: Any = "gain", budget: int = BUDGET
) -> Any:
    """Write the query as a user would."""
    given = [bf.stream(sources[n], time="t", name=n, importance="v") for n in "ab"]
    shed = bf.shed(memory=bf.tuples(budget), keep=policy)
    return bf.join(*given, on="k", within=WITHIN, overload=shed, buckets=buckets)


def pairs(table: pa.Table) -> Counter[tuple[int, int, float]]:
    columns = (table[name].to_pylist() for name in ("row_a", "row_b", "importance"))
    return Counter(zip(*columns, strict=True))


def sink(runner: Runner) -> Counter[tuple[int, int, float]]:
    return pairs(runner.spark.read.parquet(str(runner.sink)).toArrow())


@pytest.mark.parametrize(
    "policy",
    [*sorted(POLICIES), own_policies.Youngest(), own_policies.sociable],
    ids=[*sorted(POLICIES), "own class", "own function"],
)
def test_every_policy_decides_as_in_one_process(spark: Any, policy: Any) -> None:
    """Batch DataFrames, one bucket: results, and what was lost of which importance."""
    spark.sparkContext.addPyFile(own_policies.__file__)
    given = case()
    here = plan(dict(given.tables), None, policy)
    expected = pairs(here.read_all())
    frames = {n: spark.createDataFrame(table) for n, table in given.tables.items()}
    joined = plan(frames, 1, policy)
    assert pairs(joined.toArrow()) == expected
    lost = joined.ledger.get["lost"]
    for name, whats in here.ledger.lost_by_importance.items():
        for what, classes in whats.items():
            for importance, count in classes.items():
                assert lost[f"{name}.{what}.{importance}"] == count
    assert sum(lost.values()) == here.ledger.lost > 0


def test_a_policy_that_workers_do_not_have_is_named(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "only_here.py").write_text("def mine(memory, slot, time):\n    return 1.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    mine = importlib.import_module("only_here").mine
    frames = {n: spark.createDataFrame(table) for n, table in case().tables.items()}
    with pytest.raises(Exception, match=r"only_here:mine' cannot be imported.*only_here"):
        plan(frames, 1, mine).toArrow()


def test_what_buckets_cannot_do_is_refused(spark: Any) -> None:
    frames = {n: spark.createDataFrame(table) for n, table in case().tables.items()}
    with pytest.raises(PlanError, match=r"40 tuples is too small for 21 buckets.*at least 42"):
        plan(frames, 21)
    given = [bf.stream(frames[n], time="t", name=n) for n in "ab"]
    sampled = bf.shed(memory=bf.tuples(BUDGET), split="unified", sample="unbiased")
    with pytest.raises(PlanError, match=r"40 tuples is too small for 6 buckets.*at least 48"):
        bf.join(*given, on="k", within=WITHIN, overload=sampled, buckets=6)
    ages = bf.policies.age(ages=(1.0, 2.0))
    with pytest.raises(PlanError, match=r"buckets=1"):
        plan(frames, 2, ages)
    assert plan(frames, 1, ages).columns


def in_two_runs(runner: Runner, given: Case, rows: int, buckets: int, policy: str) -> Runner:
    """Run over the first half of the files, stop, and go on from the checkpoint with the others."""
    runner.write(given, rows)
    for files in (402 // rows // 2, 1000):
        runner.show(files)
        runner.drain(plan(runner.frames(given), buckets, policy))
    return runner


def balanced(counts: Mapping[str, int]) -> None:
    """Every tuple that arrived is somewhere."""
    for name in "ab":
        lost = counts[f"{name}.shed"] + counts[f"{name}.evicted"] + counts[f"{name}.expired"]
        kept = counts[f"{name}.stored"] + counts[f"{name}.waiting"]
        assert counts[f"{name}.arrived"] == lost + kept == 402


def part_of_the_exact(found: Counter[tuple[int, int, float]]) -> bool:
    """Check that there is nothing wrong and nothing twice; say whether it is all."""
    given = case()
    whole = Counter(exact(given.query, given.tables)["join"])
    bare = Counter((a, b) for a, b, _ in found.elements())
    assert bare.total() > 0
    assert not bare - whole
    return bare == whole


def within_budget(runner: Runner) -> None:
    """In no micro-batch is there more than fits."""
    observed = [observed_in(one)["ledger"] for one in runner.progress]
    seen = [one for one in observed if one["a.stored"] is not None]
    assert len(seen) > 1
    assert all(one["a.stored"] + one["b.stored"] <= BUDGET for one in seen)


def some(*names: str) -> list[Any]:
    """Return all policies, those that are not named for `make soak`.

    Spark does nothing of its own for a policy: ``tests/property/test_durable.py`` hands the state
    of each from worker to worker, and what runs in one bucket runs for every policy above.
    """
    others = [name for name in sorted(POLICIES) if name not in names]
    return [*names, *(pytest.param(name, marks=pytest.mark.soak) for name in others)]


@pytest.mark.parametrize("policy", some("gain", "s3fifo"))
def test_a_restart_half_way_decides_as_in_one_process(runner: Fresh, policy: str) -> None:
    """Streaming, one bucket, whatever the micro-batches: the state that is read back is whole."""
    given = case()
    here = plan(dict(given.tables), None, policy)
    expected = pairs(here.read_all())
    halved = in_two_runs(runner(), given, 201, 1, policy)
    assert sink(halved) == expected
    counts = halved.counts()
    balanced(counts)
    within_budget(halved)
    for name, told in here.ledger.streams.items():
        assert (counts[f"{name}.shed"], counts[f"{name}.evicted"]) == (told.shed, told.evicted)


@pytest.mark.parametrize("policy", some("gain", "random"))
def test_policies_over_buckets(spark: Any, policy: str) -> None:
    """Batch DataFrames: part of the exact result, each tuple accounted for; exact if it fits."""
    frames = {n: spark.createDataFrame(table) for n, table in case().tables.items()}
    tight, ample = (plan(frames, 3, policy, budget) for budget in (BUDGET, 3_000))
    assert not part_of_the_exact(pairs(tight.toArrow()))
    balanced(tight.ledger.get["ledger"])
    assert part_of_the_exact(pairs(ample.toArrow()))
    balanced(ample.ledger.get["ledger"])


@pytest.mark.parametrize("policy", some("gain"))
def test_over_buckets_a_restart_changes_nothing(runner: Fresh, policy: str) -> None:
    """Streaming: the budget is the query's in every micro-batch, and the result is the same."""
    given, whole = case(), runner()
    whole.write(given, 135)
    whole.drain(plan(whole.frames(given), 3, policy))
    halved = in_two_runs(runner(), given, 135, 3, policy)
    assert sink(halved) == sink(whole)
    assert halved.counts() == whole.counts()
    assert not part_of_the_exact(sink(whole))
    for one in (whole, halved):
        balanced(one.counts())
        within_budget(one)


def test_a_sample_over_buckets_is_one_of_the_whole_result(spark: Any) -> None:
    """All keys are drawn with one chance, in whatever bucket; the policy decides nothing."""
    rows, within = 20_000, 1_000
    random = np.random.default_rng(3)
    tables = [pa.table({"t": np.arange(rows), "k": random.zipf(1.3, rows) % 20}) for _ in "ab"]
    frames = [spark.createDataFrame(table) for table in tables]

    def counts(sources: list[Any], **how: Any) -> dict[int, int]:
        given = [bf.stream(one, time="t", name=n) for one, n in zip(sources, "ab", strict=True)]
        joined = bf.join(*given, on="k", within=within, **how)
        if "buckets" not in how:
            found = joined.read_all()
            settled = found.filter(pc.greater(found["joined_at"], 3 * within))["a_k"]
            return dict(Counter(settled.to_pylist()))
        settled = joined.where(f"joined_at > {3 * within}").groupBy("a_k").count()
        return {row["a_k"]: row["count"] for row in settled.collect()}

    whole = counts(tables)
    prob, fifo = (
        counts(frames, buckets=3, overload=bf.shed(bf.tuples(600), keep, sample="unbiased"))
        for keep in ("prob", "fifo")
    )
    assert prob == pytest.approx(fifo, rel=0.02)
    mean = sum(prob.values()) / sum(whole.values())
    assert 0.15 < mean < 0.3
    for key in sorted(whole, key=lambda key: -whole[key])[:10]:
        assert prob[key] / whole[key] == pytest.approx(mean, rel=0.15)


# ------------------------------------------------------------------------------ several joins


SEVERAL = Query(
    tuple(Stream(name, "t") for name in "abc"),
    (
        Join("left", ("a", "b"), Equal((("k",),)), (Ticks(WITHIN),)),
        Join("right", ("b", "c"), Equal((("g",),)), (Ticks(WITHIN),)),
    ),
)


def three() -> Case:
    """Three streams for two joins on different columns: rows of b go to two buckets."""
    random = np.random.default_rng(9)
    tables = {}
    for number, name in enumerate("abc"):
        times = np.append(np.sort(random.choice(600, 250, replace=False)), [5000, 5001])
        keys = [np.append(random.zipf(1.5, 250) % 25, [-1 - number] * 2) for _ in "kg"]
        worth = np.append(random.integers(1, 9, 250), [1, 1]).astype(float)
        tables[name] = pa.table({"t": times, "k": keys[0], "g": keys[1], "v": worth})
    return Case.of(SEVERAL, **tables)


def plan_both(sources: dict[str, Any], buckets: int | None, budget: int, **how: Any) -> Any:
    """Write both joins as a user would, with one budget."""
    given = {n: bf.stream(sources[n], time="t", name=n, importance="v") for n in "abc"}
    left = bf.join(given["a"], given["b"], on="k", within=WITHIN, name="left")
    right = bf.join(given["b"], given["c"], on="g", within=WITHIN, name="right")
    shed = bf.shed(memory=bf.tuples(budget), **how)
    return bf.joins(left, right, overload=shed, buckets=buckets)


def members(table: pa.Table) -> Counter[tuple[Any, ...]]:
    names = ("join", "row_a", "row_b", "row_c", "importance")
    return Counter(zip(*(table[name].to_pylist() for name in names), strict=True))


def whole_result(given: Case) -> Counter[tuple[Any, ...]]:
    expected = exact(given.query, given.tables)
    left = Counter(("left", a, b, None) for a, b in expected["left"])
    return left + Counter(("right", None, b, c) for b, c in expected["right"])


@pytest.mark.parametrize(("buckets", "budget"), [(1, 50), (3, 60), (3, 3_000)])
def test_several_joins_under_one_budget(runner: Fresh, buckets: int, budget: int) -> None:
    """In one bucket as embedded; over several within the budget, copies and all, or exact."""
    given, spark = three(), runner()
    how = {"split": {"a": 0.3, "b": 0.5, "c": 0.2}} if buckets == 1 else {}
    spark.write(given, 130)
    spark.drain(plan_both(spark.frames(given), buckets, budget, **how))
    found = members(spark.spark.read.parquet(str(spark.sink)).toArrow())
    pairs_found = Counter(one[:4] for one in found.elements())
    whole = whole_result(given)
    assert not pairs_found - whole
    if buckets == 1:
        embedded = plan_both(dict(given.tables), None, budget, **how)
        assert found == members(embedded.read_all())
    assert (pairs_found == whole) == (budget == 3_000)
    observed = [observed_in(one)["ledger"] for one in spark.progress]
    seen = [one for one in observed if one["a.stored"] is not None]
    levels = [f"{n}.{level}" for n in "abc" for level in ("stored", "copies")]
    assert max(sum(one[level] for level in levels) for one in seen) <= budget
    counts = spark.counts()
    assert (counts["b.copies_lost"] > 0) == (buckets > 1 and budget < 3_000)
    assert counts["a.copies_lost"] == counts["c.copies_lost"] == 0
    for name in "abc":
        lost = counts[f"{name}.shed"] + counts[f"{name}.evicted"] + counts[f"{name}.expired"]
        kept = counts[f"{name}.stored"] + counts[f"{name}.waiting"]
        assert counts[f"{name}.arrived"] == lost + kept == given.tables[name].num_rows


# -------------------------------------------------------------------------------------- sets


SETS = Query(
    (Stream("a", "t"), Stream("b", "t")),
    (Join("join", ("a", "b"), Overlap(("s",), 2), (Ticks(WITHIN),)),),
)


def sets() -> Case:
    """Two streams of small sets."""
    random = np.random.default_rng(10)
    tables = {}
    for name in "ab":
        times = np.append(np.sort(random.choice(600, 250, replace=False)), [5000, 5001])
        drawn = [random.choice(12, size, replace=False) for size in random.integers(0, 5, 250)]
        held = pa.array([[int(item) for item in one] for one in drawn] + [[], []])
        tables[name] = pa.table({"t": times, "s": held.cast(pa.list_(pa.int64()))})
    return Case.of(SETS, **tables)


def plan_sets(sources: dict[str, Any], buckets: int | None, budget: int) -> Any:
    """Write the join as a user would."""
    given = [bf.stream(sources[n], time="t", name=n) for n in "ab"]
    shed = bf.shed(memory=bf.tuples(budget), keep="gain")
    on = bf.overlap("s", at_least=2)
    return bf.join(*given, on=on, within=WITHIN, overload=shed, buckets=buckets)


@pytest.mark.parametrize(("buckets", "budget"), [(1, 40), (4, 60), (4, 3_000)])
def test_sets_under_a_budget(runner: Fresh, buckets: int, budget: int) -> None:
    """In one bucket as embedded; over a grid within the budget, copies and all, or exact."""
    given, spark = sets(), runner()
    spark.write(given, 130)
    spark.drain(plan_sets(spark.frames(given), buckets, budget))
    rows = spark.spark.read.parquet(str(spark.sink)).toArrow()
    found = Counter(zip(rows["row_a"].to_pylist(), rows["row_b"].to_pylist(), strict=True))
    whole = Counter(exact(given.query, given.tables)["join"])
    assert not found - whole
    if buckets == 1:
        table = plan_sets(dict(given.tables), None, budget).read_all()
        embedded = zip(table["row_a"].to_pylist(), table["row_b"].to_pylist(), strict=True)
        assert found == Counter(embedded)
    assert found.total() > 0
    assert (found == whole) == (budget == 3_000)
    told = bf.recall(observed_in(spark.progress[-1]))
    assert told.estimate == told.high, "every bucket has room for all of its tuples"
    assert told.estimate == pytest.approx(found.total() / whole.total())
    observed = [observed_in(one)["ledger"] for one in spark.progress]
    seen = [one for one in observed if one["a.stored"] is not None]
    levels = [f"{n}.{level}" for n in "ab" for level in ("stored", "copies")]
    assert max(sum(one[level] for level in levels) for one in seen) <= budget
    counts = spark.counts()
    for name in "ab":
        assert (counts[f"{name}.copies_lost"] > 0) == (buckets > 1 and budget < 3_000)
        lost = counts[f"{name}.shed"] + counts[f"{name}.evicted"] + counts[f"{name}.expired"]
        kept = counts[f"{name}.stored"] + counts[f"{name}.waiting"]
        assert counts[f"{name}.arrived"] == lost + kept == given.tables[name].num_rows
