"""Importance by type: a column and what each of its values is worth."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.errors import PlanError, SpecError
from bankfull.spec import from_json, to_json

WORTH = {"rare": 8.0, "usual": 2.0, "dull": 1.0}


def table(seed: int, kind: pa.DataType) -> pa.Table:
    names = [list(WORTH)[(7 * row + seed) % 5 % 3] for row in range(300)]
    return pa.table(
        {
            "t": range(300),
            "k": [(row * (seed + 3)) % 11 for row in range(300)],
            "kind": pa.array(names).cast(kind),
            "worth": [WORTH[name] for name in names],
        }
    )


def joined(importance: Any, kind: pa.DataType, **shed: Any) -> Any:
    streams = [
        bf.stream(table(seed, kind), time="t", name=name, importance=importance)
        for seed, name in enumerate("ab")
    ]
    overload = bf.shed(importance="max", **shed)
    return bf.join(*streams, on="k", within=40, search=SEARCH.get("cpu" in shed, "auto"),
                   overload=overload)  # fmt: skip


#: Under a budget of comparisons a scan, which has something to save.
SEARCH = {True: "scan"}
SHEDS = [
    {"memory": bf.tuples(20), "keep": "simp"},
    {"cpu": bf.comparisons(12), "compare": "utility"},
    {"cpu": bf.comparisons(12), "compare": "auto"},
]


@pytest.mark.parametrize("shed", SHEDS, ids=["memory", "utility", "auto"])
def test_types_are_worth_what_a_column_of_numbers_is(shed: dict[str, Any]) -> None:
    by_number = joined("worth", pa.string(), **shed).read_all()
    assert by_number.num_rows > 50
    for kind in (pa.string(), pa.dictionary(pa.int32(), pa.string())):
        by_type = joined(bf.utility("kind", WORTH), kind, **shed).read_all()
        assert by_type.column("importance") == by_number.column("importance")
        assert by_type.column("a_t") == by_number.column("a_t")


def test_a_type_that_was_not_named_is_set_aside() -> None:
    rows = pa.table({"t": [1, 2, 3], "k": [1, 1, 1], "kind": ["rare", "odd", None]})
    weighed = bf.stream(rows, time="t", name="a", importance=bf.utility("kind", WORTH))
    other = bf.stream(rows, time="t", name="b")
    made = bf.join(weighed, other, on="k", within=5, overload=bf.shed(cpu=bf.comparisons(100)))
    assert made.read_all().column("importance").to_pylist() == [8.0] * 3
    assert made.ledger.streams["a"].quarantined == 2
    assert made.quarantined["a"].column("reason").to_pylist() == ["unknown type"] * 2


def test_importance_below_zero_is_set_aside_under_a_budget_of_comparisons() -> None:
    worth = pa.array([2.0, -1.0, 0.0, float("nan"), None])
    rows = pa.table({"t": [1, 2, 3, 4, 5], "k": [1] * 5, "worth": worth})
    weighed = bf.stream(rows, time="t", name="a", importance="worth")
    other = bf.stream(rows, time="t", name="b")
    shed = bf.shed(cpu=bf.comparisons(100), compare="utility")
    made = bf.join(weighed, other, on="k", within=5, overload=shed)
    assert made.read_all().column("importance").to_pylist() == [2.0] * 5
    assert made.ledger.streams["a"].quarantined == 4
    reasons = made.quarantined["a"].column("reason").to_pylist()
    assert all("importance" in reason for reason in reasons)


def test_whole_numbers_may_be_types() -> None:
    rows = pa.table({"t": [1, 2], "k": [1, 1], "kind": pa.array([300, 7], pa.int16())})
    worth = bf.utility("kind", {300: 5.0, 7: 2.0, 1 << 40: 1.0})
    streams = [bf.stream(rows, time="t", name=name, importance=worth) for name in "ab"]
    made = bf.join(*streams, on="k", within=5, overload=bf.shed(memory=bf.tuples(9)))
    assert sorted(made.read_all().column("importance").to_pylist()) == [2.0, 2.0, 2.0, 5.0]


def test_it_is_part_of_the_query() -> None:
    query = joined(bf.utility("kind", WORTH), pa.string(), memory=bf.tuples(9)).query
    assert from_json(to_json(query)) == query


@pytest.mark.parametrize(
    "wrong", [{}, {"a": -1.0}, {"a": 0}, {"a": "much"}, {1: 1.0, "a": 2.0}, {2.5: 1.0}, "rare"]
)
def test_what_makes_no_sense_is_refused(wrong: Any) -> None:
    with pytest.raises(SpecError, match="utility"):
        bf.utility("kind", wrong)


def test_types_of_another_kind_than_the_column_are_refused() -> None:
    with pytest.raises(PlanError, match="whole numbers for types"):
        joined(bf.utility("kind", {1: 1.0}), pa.string(), memory=bf.tuples(9))
    with pytest.raises(PlanError, match="no column"):
        joined(bf.utility("sort", WORTH), pa.string(), memory=bf.tuples(9))
