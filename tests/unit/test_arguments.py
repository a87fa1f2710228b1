"""Unit tests of the public functions' arguments.

Families: fuzz (junk for every parameter of every function is refused in words or accepted), hints
that point the right way, budgets that name the smallest.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.errors import BankfullError, PlanError, SpecError
from bankfull.policies import POLICIES
from bankfull.runtime.spark import report
from bankfull.testing import check_policy

TABLE = pa.table({"t": [1], "k": [1], "v": [1.0], "tags": [[1]]})
JUNK: list[Any] = [
    None, True, -1, 0, 2.5, float("nan"), float("inf"), 2**80, 1j, "", "nonsense", "{", b"x",
    [], [1], [[]], ["t", "k"], {}, {"a": 1}, {1: 0.5}, (), (None,), {1}, object(), int, len,
    timedelta(-1), np.float64(0.5), np.arange(3), TABLE, bf.rows(2), bf.tuples(2),
]  # fmt: skip


def side(name: str) -> Any:
    return bf.stream(TABLE, time="t", name=name)


def plain() -> bf.Joined:
    return bf.join(side("a"), side("b"), on="k", within=5)


#: Arguments that every public function accepts. Three need a running Spark: their own arguments are
#: tried in tests/spark.
GOOD: dict[str, Callable[[], tuple[list[Any], dict[str, Any]]]] = {
    "stream": lambda: ([TABLE], {"time": "t", "name": "a"}),
    "join": lambda: ([side("a"), side("b")], {"on": "k", "within": 5}),
    "joins": lambda: ([plain()], {}),
    "run": lambda: ([plain().query, {"a": TABLE, "b": TABLE}], {}),
    "shed": lambda: ([bf.tuples(5)], {}),
    "tuples": lambda: ([5], {}),
    "comparisons": lambda: ([5], {}),
    "utility": lambda: (["k", {1: 2.0}], {}),
    "compare": lambda: (["auto"], {}),
    "rows": lambda: ([5], {}),
    "equal": lambda: (["k"], {}),
    "overlap": lambda: (["tags"], {"at_least": 1}),
    "subset": lambda: (["tags"], {}),
    "superset": lambda: (["tags"], {}),
    "similar": lambda: (["tags"], {"at_least": 1.0}),
    "recall": lambda: ([{}], {}),
    "metrics": lambda: ([{"observedMetrics": {}}], {}),
}
NOT_TRIED = {"session", "listen", "finish", "policies", "Joined", "BankfullError"}


def calls(name: str, junk: Any) -> Iterator[Callable[[], Any]]:
    """Put junk in the place of each argument in turn, and beside those of any number."""
    function, (positional, named) = getattr(bf, name), GOOD[name]()
    for place in range(len(positional)):
        yield partial(function, *[*positional[:place], junk, *positional[place + 1 :]], **named)
    parameters = list(inspect.signature(function).parameters.values())
    for number, parameter in enumerate(parameters):
        if parameter.kind is parameter.VAR_POSITIONAL:
            yield partial(function, *positional, junk, **named)
        elif parameter.kind is parameter.KEYWORD_ONLY or number >= len(positional):
            yield partial(function, *GOOD[name]()[0], **{**named, parameter.name: junk})


@pytest.mark.parametrize("name", sorted(GOOD))
def test_junk_is_refused_in_words(name: str) -> None:
    """Whatever is given for an argument, the answer is a result or an error of ours."""
    refused = []
    for junk in JUNK:
        for call in calls(name, junk):
            try:
                made = call()
                if isinstance(made, bf.api.BoundStream):
                    made = bf.join(made, side("b"), on="k", within=5)
                if isinstance(made, bf.Joined):
                    made.explain()
            except BankfullError as error:
                refused.append(str(error))
    assert refused
    assert max(map(len, refused)) < 800
    assert set(GOOD) | NOT_TRIED == set(bf.__all__)


def test_junk_within_metrics_is_refused() -> None:
    """What Spark observed is a dictionary of dictionaries, any of which may be something else."""
    numbers = dict.fromkeys(report._WATCHED_NAMES, 1.0)
    refused = 0
    for junk in JUNK:
        tried: list[Callable[[], Any]] = [
            partial(bf.metrics, {"observedMetrics": junk}),
            partial(bf.metrics, {"observedMetrics": {"bankfull": junk}}),
            partial(bf.recall, {"watched": junk}),
            partial(bf.finish, plain(), junk),
            partial(bf.finish, junk, "checkpoint"),
            partial(bf.listen, junk, print),
            *(partial(bf.recall, {"watched": {**numbers, name: junk}}) for name in numbers),
            *(
                partial(bf.metrics, {"observedMetrics": {"bankfull": {"ledger": {}, part: junk}}})
                for part in ("ledger", "watched", "lost", "late")
            ),
        ]
        for call in tried:
            try:
                call()
            except BankfullError:
                refused += 1
    assert refused > 10 * len(JUNK)


def test_junk_parameters_of_policies_are_refused() -> None:
    refused = []
    for name, kind in POLICIES.items():
        for parameter in inspect.signature(kind).parameters:
            for junk in JUNK:
                try:
                    bf.shed(bf.tuples(5), keep=kind(**{parameter: junk}))
                except BankfullError as error:
                    refused.append((name, parameter, str(error)))
    assert all(name in said or parameter in said for name, parameter, said in refused)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (partial(bf.shed, "5 xb"), "unknown unit 'xb': give b, bytes, kb, mb, gb, tb"),
        (partial(bf.shed, bf.tuples(5), "GAIN"), "did you mean 'gain'?"),
        (partial(bf.stream, TABLE, time="t", late="5 Minuts"), "did you mean 'minute'?"),
        (partial(bf.join, side("a"), side("b"), on="K", within=5), "did you mean 'k'?"),
        (partial(bf.join, side("a"), side("b"), on="k", within=5,
                 overload="shed"), 'bf.shed(memory="64 MB")'),
        (partial(bf.shed, bf.tuples(5), bf.policies.gdj), "an instance from bf.policies such as"),
        (partial(bf.tuples, 0), "the smallest is 1 "),
        (partial(bf.shed, "0 MB"), "the smallest is 1024 "),
    ],
)  # fmt: skip
def test_hints_point_the_right_way(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(BankfullError) as caught:
        call()
    assert words in str(caught.value)


def test_a_budget_too_small_names_the_smallest() -> None:
    """What the message names is accepted, and one less is not."""
    for memory, split, least in (
        ("1 KB", "unified", "1024 bytes"),
        ("2 KB", "proportional", "2048 bytes"),
        (bf.tuples(1), "proportional", "2 tuples"),
    ):
        with pytest.raises(PlanError, match=f"the smallest is {least}$"):
            bf.join(side("a"), side("b"), on="k", within=5, overload=bf.shed(memory, split=split))
        number = int(least.split()[0])
        works = bf.tuples(number) if "tuples" in least else f"{number} b"
        bf.join(side("a"), side("b"), on="k", within=5, overload=bf.shed(works, split=split))


def test_units_may_be_written_in_the_plural() -> None:
    for one, many in (("10 min", "10 mins"), ("2 hr", "2 hrs"), ("3 s", "3 secs"), ("1 h", "1 hs")):
        assert bf.stream(TABLE, time="t", late=one).spec("a") == bf.stream(
            TABLE, time="t", late=many
        ).spec("a")


def test_check_policy_says_what_it_did() -> None:
    done = check_policy(bf.policies.fifo(), seeds=[1])
    assert (done.policy, done.seeds) == ("fifo", (1,))
    assert done.emitted > 0
    assert done.dropped > 0
    assert "exact, subset, bound" in str(done)
    with pytest.raises(SpecError, match="no seeds"):
        check_policy(bf.policies.fifo(), seeds=[])
