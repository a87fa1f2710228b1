"""Unit tests of the memory budget: what a budget in bytes holds, importance, samples."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from numpy.typing import NDArray

import bankfull as bf
from bankfull.core.bounded.join import BoundedJoin
from bankfull.errors import SpecError
from bankfull.policies import POLICIES

DOCS = Path(__file__).parents[2] / "docs"


def streams(
    rows: int = 2000, keys: int = 200, pieces: int = 1, first: int = 0, **more: Any
) -> list[Any]:
    random = np.random.default_rng(4)
    tables = [
        pa.table(
            {
                "t": first + np.arange(rows),
                "k": random.zipf(1.4, rows) % keys if keys < rows else random.permutation(rows),
                "v": random.integers(1, 9, rows).astype(float),
                "text": [f"payload {number:>{number % 40}}" for number in range(rows)],
            }
        )
        for _ in "ab"
    ]
    sources = [one.to_reader(max_chunksize=rows // pieces) for one in tables]
    return [bf.stream(one, time="t", name=n, **more) for n, one in zip("ab", sources, strict=True)]


def test_one_budget_for_several_joins() -> None:
    """It is given to bf.joins, and its split names the streams of all joins."""
    table = pa.table({"t": np.arange(300), "k": np.arange(300) % 7})
    a, b, c = (bf.stream(table, time="t", name=name) for name in "abc")
    shares = {"a": 0.25, "b": 0.5, "c": 0.25}
    budget = bf.shed(memory=bf.tuples(40), keep="fifo", split=shares)
    with pytest.raises(SpecError, match=r"unknown stream 'c'.*bf.joins\(\.\.\., overload=\)"):
        bf.join(a, b, on="k", within=50, name="ab", overload=budget)

    def both(**overload: Any) -> list[Any]:
        return [
            bf.join(a, b, on="k", within=50, name="ab", **overload),
            bf.join(b, c, on="k", within=50, name="bc", **overload),
        ]

    joined = bf.joins(*both(), overload=budget)
    assert joined.read_all().num_rows
    stored = {name: counts.stored for name, counts in joined.ledger.streams.items()}
    assert stored == {"a": 10, "b": 20, "c": 10}
    other = bf.shed(memory=bf.tuples(40))
    with pytest.raises(SpecError, match="shed differently"):
        bf.joins(*both(overload=other), overload=budget)
    assert bf.joins(*both(overload=other), overload=other).query.shed == other
    with pytest.raises(SpecError, match="overload='drop'"):
        bf.joins(*both(), overload="drop")


@pytest.mark.parametrize("policy", sorted(POLICIES))
@pytest.mark.parametrize("keys", [200, 100_000], ids=["few keys", "no key twice"])
def test_a_budget_in_bytes_holds(policy: str, keys: int) -> None:
    """All that is held, arrays, counts and payload, stays within what was asked for."""
    budget = 500_000
    overload = bf.shed(memory="500 KB", keep=policy)
    sides = streams(6_000, keys, pieces=30)
    joined = bf.join(*sides, on="k", within=3_000, overload=overload)
    for _ in joined:
        assert joined.stored_bytes() <= budget, joined.stored_bytes()
    stored = sum(counts.stored for counts in joined.ledger.streams.values())
    assert 500 < stored < 2_500, stored
    assert budget / 2 < joined.stored_bytes() <= budget, joined.stored_bytes()


@pytest.mark.parametrize("policy", ["gain", "prob", "fifo"])
def test_keys_forgotten_in_bytes_leave_no_trace_of_the_batches(policy: str) -> None:
    """Which keys are forgotten, and when, depends on the tuples alone."""
    found = []
    for pieces in (1, 7, 90):
        sides = streams(6_000, 8_000, pieces=pieces)
        shed = bf.shed(memory="200 KB", keep=policy)
        joined = bf.join(*sides, on="k", within=3_000, overload=shed)
        found.append((sorted(map(str, joined.read_all().to_pylist())), joined.ledger))
    assert len(found[0][0]) > 100
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(("memory", "part"), [(bf.tuples(400), 0.8), ("400 KB", 0.5)], ids=str)
def test_gain_knows_rare_keys(memory: Any, part: float) -> None:
    """Hardly a key comes twice: those that did are worth keeping, and are not forgotten.

    In bytes `gain` stores fewer tuples than `prob`, because it notes more of every key.
    """
    dice = np.random.default_rng(3)
    chance = 1.0 / np.sqrt(np.arange(1, 10**6 + 1))
    tables = [
        pa.table({"t": np.arange(20_000), "k": dice.choice(10**6, 20_000, p=chance / chance.sum())})
        for _ in "ab"
    ]
    found = {}
    for policy in ("gain", "prob", "fifo"):
        sides = [bf.stream(one, time="t", name=n) for n, one in zip("ab", tables, strict=True)]
        joined = bf.join(*sides, on="k", within=8_000, overload=bf.shed(memory, policy))
        found[policy] = joined.read_all().num_rows
    assert found["gain"] > 2 * found["fifo"]
    assert found["gain"] > part * found["prob"]


def test_bad_importance_is_set_aside() -> None:
    worth = pa.array([1.0, 0.0, None, float("nan"), float("inf"), 2.0])
    table = pa.table({"t": range(6), "k": [1] * 6, "v": worth})
    joined = bf.join(
        bf.stream(table, time="t", name="a", importance="v"),
        bf.stream(pa.table({"t": [6], "k": [1]}), time="t", name="b"),
        on="k",
        within=10,
        overload=bf.shed(memory=bf.tuples(9)),
    )
    rows = joined.read_all()
    assert rows["importance"].to_pylist() == [2.0, 1.0]
    assert joined.ledger.streams["a"].quarantined == 4
    assert set(joined.quarantined["a"]["reason"].to_pylist()) == {"bad importance"}


@pytest.mark.parametrize(
    ("rule", "worth"),
    [("min", 2.0), ("max", 8.0), ("sum", 10.0), ("product", 16.0), ("average", 5.0)],
)
def test_importance_of_a_result(rule: str, worth: float) -> None:
    left = pa.table({"t": [1], "k": [1], "v": [2]})
    right = pa.table({"t": [2], "k": [1], "v": [8]})
    joined = bf.join(
        bf.stream(left, time="t", name="a", importance="v"),
        bf.stream(right, time="t", name="b", importance="v"),
        on="k",
        within=10,
        overload=bf.shed(memory=bf.tuples(9), importance=rule),
    )
    assert joined.read_all()["importance"].to_pylist() == [worth]


@pytest.mark.parametrize(
    ("rule", "worth"), [("min", 2.0), ("max", 6.0), ("sum", 8.0), ("product", 12.0), ("average", 4)]
)
def test_streams_without_importance_do_not_count(rule: str, worth: float) -> None:
    """A result is worth what those of its members are worth that have an importance."""

    def three(*weighed: float | None) -> list[float]:
        made = [
            bf.stream(
                pa.table({"t": [n], "k": [1], "tags": [[1]], "v": [value or 99.0]}),
                time="t",
                name=name,
                importance=None if value is None else "v",
            )
            for n, (name, value) in enumerate(zip("abc", weighed, strict=False))
        ]
        on = "k" if len(made) == 3 else bf.overlap("tags", at_least=1)
        budget = bf.shed(memory=bf.tuples(9), importance=rule)
        joined = bf.join(*made, on=on, within=10, overload=budget)
        combined = [name for name, value in zip("abc", weighed, strict=False) if value is not None]
        assert f"importance of a result: {rule} of {', '.join(combined)}" in joined.explain()
        found: list[float] = joined.read_all()["importance"].to_pylist()
        return found

    assert three(2.0, None, 6.0) == [worth]
    assert three(None, 12.5, None) == [12.5]
    assert three(12.5, None) == three(None, 12.5) == [12.5]


def test_losses_are_counted_by_importance() -> None:
    """What is lost adds up to the ledger, and the important is lost less."""
    budget = bf.shed(memory=bf.tuples(20), keep="simp")
    random = np.random.default_rng(1)
    worth = np.where(random.random(2000) < 0.1, 50.0, 2.0)
    table = pa.table({"t": np.arange(2000), "k": np.arange(2000) % 5, "v": worth})
    joined = bf.join(
        bf.stream(table, time="t", name="a", importance="v"),
        bf.stream(table, time="t", name="b", importance="v"),
        on="k",
        within=100,
        overload=budget,
    )
    joined.read_all()
    for name, counts in joined.ledger.streams.items():
        lost = joined.lost_by_importance[name]
        assert sum(lost["shed"].values()) == counts.shed > 0
        assert sum(lost["evicted"].values()) == counts.evicted > 0
        gone = {
            kind: lost["shed"].get(kind, 0) + lost["evicted"].get(kind, 0)
            for kind in ("below 1e1", "below 1e2")
        }
        assert gone["below 1e2"] / 200 < gone["below 1e1"] / 1800


@pytest.mark.parametrize("first", [0, 1_700_000_000_000_000, -(10**15)])
def test_an_unbiased_sample_leaves_the_policy_nothing_to_do(first: int) -> None:
    """Once the chance has been learned, hardly anybody is evicted, whenever time began."""
    budget = bf.shed(memory=bf.tuples(400), keep="prob", sample="unbiased")
    joined = bf.join(*streams(20_000, first=first), on="k", within=2_000, overload=budget)
    joined.read_all()
    counts = joined.ledger.streams["a"]
    assert counts.shed > 0.8 * counts.arrived
    assert counts.evicted < 0.05 * counts.arrived


@pytest.mark.parametrize(
    ("keep", "sample", "alike"),
    [("prob", "unbiased", True), ("gain", "unbiased", True), ("prob", 0.0, False)],
)
def test_an_unbiased_sample_is_distributed_as_the_exact_result(
    keep: str, sample: float | str, alike: bool
) -> None:
    """Over forty samples, how far each key's mean share is from the exact one, in its errors.

    Squared, that is 1 on average for an unbiased sample. Without one, PROB keeps what is popular.
    """
    rows, within, keys, samples = 10_000, 1_000, 20, 40
    random = np.random.default_rng(3)
    chances = 1.0 / np.arange(1, keys + 1)
    tables = [
        pa.table({"t": np.arange(rows), "k": random.choice(keys, rows, p=chances / chances.sum())})
        for _ in "ab"
    ]

    def shares(**overload: Any) -> NDArray[np.float64]:
        sides = [bf.stream(one, time="t", name=n) for one, n in zip(tables, "ab", strict=True)]
        found = bf.join(*sides, on="k", within=within, **overload).read_all()
        settled = found.filter(pc.greater(found["joined_at"], 3 * within))["a_k"]
        counts = np.bincount(settled.to_numpy(), minlength=keys)
        return counts / counts.sum()

    drawn = [
        shares(overload=bf.shed(bf.tuples(400), keep, sample=sample, seed=seed))
        for seed in range(samples)
    ]
    errors = np.maximum(np.std(drawn, axis=0, ddof=1) / np.sqrt(samples), 1e-6)
    off = (np.mean(drawn, axis=0) - shares()) / errors
    assert (np.mean(off**2) < 3.0 and np.abs(off).max() < 4.0) == alike


def test_an_estimator_never_dies() -> None:
    """One that was of no use for long is needed again: shares stay above zero, and finite."""
    rows = 100_000
    random = np.random.default_rng(2)
    keys = [random.integers(0, 10, rows), random.integers(1000, 200_000, rows)]
    keys[0][-1000:] = np.arange(300_000, 301_000)  # keys that nobody has seen
    sides = [
        bf.stream(pa.table({"t": np.arange(rows), "k": k}), time="t", name=n)
        for n, k in zip("ab", keys, strict=True)
    ]
    joined = bf.join(*sides, on="k", within=50, overload=bf.shed(bf.tuples(20), "gain"))
    joined.read_all()
    shares = joined._state.stage(BoundedJoin).policy.shares
    assert np.isfinite(shares).all()
    assert shares.min() >= 1e-6
    assert np.isfinite(joined._state.stage(BoundedJoin).memory.slots.priority).all()


def test_the_example_of_the_documentation_runs(capsys: pytest.CaptureFixture[str]) -> None:
    text = (DOCS / "shedding.md").read_text(encoding="utf-8")
    example = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[0]
    exec(compile(example, "docs/shedding.md", "exec"), {})
    assert "'importance'" in capsys.readouterr().out


def test_who_has_left_windows_of_both_kinds_expires() -> None:
    """Stream b has a window of time in one join and of rows in another; 6 of its tuples matter."""
    rows = pa.table({"t": range(100), "k": [n % 5 for n in range(100)]})
    a, b, c = (bf.stream(rows, time="t", name=name) for name in "abc")
    both = bf.join(a, b, on="k", within=5), bf.join(b, c, on="k", within=bf.rows(3), name="other")
    joined = bf.joins(*both, overload=bf.shed(bf.tuples(1_000), keep="fifo"))
    joined.read_all()
    assert joined.ledger.streams["b"].stored <= 6


def test_rows_beside_a_length_of_time_need_no_basic_window() -> None:
    table = pa.table({"t": range(20), "k": [1] * 20})
    streams = [bf.stream(table, time="t", name=name) for name in "ab"]
    for basic in (None, bf.rows(2)):
        shed = bf.shed(cpu=bf.comparisons(100), compare="rate")
        joined = bf.join(
            *streams, on="k", within=(bf.rows(3), 5), basic_window=basic, overload=shed
        )
        whole = bf.join(*streams, on="k", within=(bf.rows(3), 5))
        assert joined.read_all().num_rows == whole.read_all().num_rows > 50
