"""Bad input: budgets of memory and of comparisons that make no sense, or do not fit the streams."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.errors import PlanError, SpecError

TABLE = pa.table({"t": [1, 2], "k": [1, 1], "text": ["x", "y"]})


def streams(names: str = "ab", **more: Any) -> list[Any]:
    return [bf.stream(TABLE, time="t", name=name, **more) for name in names]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"memory": 5}, r"memory=5 is no budget: give e\.g\. \"64 MB\""),
        ({"memory": "64 QB"}, "unknown unit 'QB'"),
        ({"memory": bf.tuples(5), "keep": "gdjj"}, "policy 'gdjj' is unknown: did you mean 'gdj'"),
        ({"memory": bf.tuples(5), "split": "even"}, "split='even' is unknown"),
        ({"memory": bf.tuples(5), "split": {"a": 0.9, "b": 0.9}}, "more than the whole"),
        ({"memory": bf.tuples(5), "sample": 1.5}, "is no share to drop"),
        ({"memory": bf.tuples(5), "importance": "mean"}, "importance='mean' is unknown"),
    ],
)
def test_a_wrong_budget_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(SpecError, match=words):
        bf.shed(**options)


def test_a_wrong_parameter_of_a_policy_is_refused() -> None:
    with pytest.raises(SpecError, match="initial=7 must lie between 0 and 1"):
        bf.policies.gdj(initial=7)
    with pytest.raises(SpecError, match="decay"):
        bf.policies.dgl(decay=2.0)


def test_what_does_not_fit_the_streams_is_refused() -> None:
    budget = bf.shed(memory=bf.tuples(9), split={"a": 0.5, "c": 0.5})
    with pytest.raises(SpecError, match="unknown stream 'c'"):
        bf.join(*streams(), on="k", within=10, overload=budget)
    with pytest.raises(PlanError, match=r"importance 'text'.*column of numbers"):
        bf.join(
            *streams(importance="text"), on="k", within=10, overload=bf.shed(memory=bf.tuples(9))
        )
    sets = [bf.stream(pa.table({"t": [1], "tags": [[1, 2]]}), time="t", name=name) for name in "ab"]
    shed = bf.shed(memory=bf.tuples(9), keep="s3fifo")
    with pytest.raises(PlanError, match="policy 's3fifo' knows tuples by a single key"):
        bf.join(*sets, on=bf.overlap("tags", at_least=1), within=10, overload=shed)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"cpu": 1.5}, "no share of the time"),
        ({"cpu": 0.0}, "no share of the time"),
        ({"cpu": 0.009}, "give 0.01 <= share <= 1"),
        ({"cpu": -0.5}, "no share of the time"),
        ({"cpu": float("nan")}, "no share of the time"),
        ({"cpu": True}, "no share of the time"),
        ({"cpu": "fast"}, "no share of the time"),
        ({"cpu": 0.5, "compare": "guess"}, "is unknown"),
        ({}, "no budget"),
    ],
)
def test_a_budget_of_comparisons_that_makes_no_sense_is_refused(
    wrong: dict[str, Any], told: str
) -> None:
    with pytest.raises(SpecError, match=told):
        bf.shed(**wrong)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"sample": 0.0}, "no share"),
        ({"sample": 1.1}, "no share"),
        ({"sample": -0.1}, "no share"),
        ({"sample": float("nan")}, "no share"),
        ({"boost": 1.0}, "must lie above 1"),
        ({"boost": 17.0}, "at most 16"),
        ({"period": 0}, "no length of time"),
        ({"period": bf.rows(3)}, "is a Rows"),
    ],
)
def test_parameters_of_comparing_that_make_no_sense_are_refused(
    wrong: dict[str, Any], told: str
) -> None:
    with pytest.raises(SpecError, match=told):
        bf.compare("correlation", **wrong)


def test_comparisons_are_a_positive_number() -> None:
    for count in (0, -1, float("nan"), float("inf"), "many"):
        with pytest.raises(SpecError, match="no budget"):
            bf.comparisons(count)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "shed", "told"),
    [
        ({"on": "k", "within": bf.rows(5)}, {}, "say how long one is"),
        ({"on": "k", "within": bf.rows(5), "basic_window": bf.rows(2)}, {}, "say how long one is"),
        ({"on": "k", "within": bf.rows(5)}, {"memory": bf.tuples(3)}, "say how long one is"),
        ({"on": "k", "within": 5, "basic_window": 9}, {}, "shorter than the basic window"),
        (
            {"on": bf.overlap("s", at_least=1), "search": "identifier", "within": 5},
            {},
            "by identifier",
        ),
    ],
)
def test_where_comparisons_cannot_be_chosen_it_says_so(
    options: dict[str, Any], shed: dict[str, Any], told: str
) -> None:
    table = pa.table({"t": [1, 2], "k": [1, 1], "s": [[1], [1]]})
    given = [bf.stream(table, time="t", name=name) for name in "ab"]
    with pytest.raises(bf.BankfullError, match=told):
        bf.join(*given, overload=bf.shed(cpu=bf.comparisons(5), **shed), **options)
