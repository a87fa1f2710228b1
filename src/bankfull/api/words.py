"""Words of a query: predicates, windows and budgets, each read into its spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import isfunction
from typing import Any

from bankfull.errors import SpecError
from bankfull.policies import Policy, resolve
from bankfull.policies.own import as_policy
from bankfull.spec import (
    Compare,
    Comparisons,
    Equal,
    Keep,
    Overlap,
    Rows,
    Shed,
    Similar,
    Subset,
    Superset,
    Tuples,
    Utility,
    checks,
    span,
)
from bankfull.spec.overload import size


def rows(count: int) -> Rows:
    """A count window: the most recent ``count`` tuples of a stream are joinable."""
    return Rows(count)


def shed(
    memory: object = None,
    keep: str | Policy | Callable[[Any, int, int], float] = "gain",
    split: str | Mapping[str, float] = "unified",
    importance: str = "min",
    sample: float | str = 0.0,
    seed: int = 0,
    recall: float | None = None,
    cpu: float | Comparisons | None = None,
    compare: str | Compare = "auto",
) -> Shed:
    """Approximate within a budget: ``overload=bf.shed(memory="64 MB")``.

    ``memory`` is a size or :func:`tuples`, and bounds what is stored after every tuple, index and
    payload included. ``keep`` is a policy by name, an instance of one from ``bf.policies``, or a
    function ``(memory, slot, time)`` of your own that returns what a stored tuple is worth.
    ``split``: "unified" (one buffer for all streams), "proportional" to their rates, or a share
    of the budget for each by name. ``importance`` is how a result's importance follows from its
    members'. ``sample`` drops arrivals at random ahead of the policy: a share, or "unbiased".
    ``recall=0.95`` asks for a share of the exact results instead: memory grows and shrinks until
    it just suffices, up to ``memory`` if that is given too. ``Joined.recall`` is what was reached.

    ``cpu`` saves comparisons instead of memory, or beside it: every tuple is stored, and compared
    with the part of the window that pays. It is a share of the time that the join has (0.8), or
    :func:`comparisons`. ``compare`` says how that part is chosen: "auto", one of the ways of the
    paper ("rate", "correlation", "direction", "utility"), "drop" to drop arrivals at random, or
    :func:`compare` with parameters.
    """
    if isinstance(keep, str):
        policy = Keep(keep)
    elif isinstance(keep, Policy) or isfunction(getattr(keep, "py_func", keep)):
        policy = as_policy(keep).keep()
    else:
        raise SpecError(
            f"keep={checks.said(keep)} is no policy: give a name (`bankfull policies` lists them), "
            "an instance from bf.policies such as gdj(), or a function (memory, slot, time)"
        )
    resolve(policy)  # complain now about what can be judged now
    shares = split if isinstance(split, str) else checks.shares("split", split)
    budget = None if memory is None else size(memory)
    chosen = compare if isinstance(compare, Compare) else Compare(compare)
    return Shed(budget, policy, shares, importance, sample, seed, recall, cpu, chosen)


def comparisons(count: float) -> Comparisons:
    """A budget of so many comparisons for each second of stream time; it needs no clock.

    Where times are integers it is for each unit of them.
    """
    return Comparisons(count)


def compare(
    algorithm: str = "auto",
    sample: float | None = None,
    boost: float = 1.2,
    period: object = None,
) -> Compare:
    """How comparisons are chosen, with parameters: ``bf.shed(cpu=0.8, compare=bf.compare(...))``.

    ``sample`` is the share of all comparisons that goes into learning what pays, ``boost`` by how
    much the compared part grows while there is time left, ``period`` for how long a budget of
    comparisons holds.
    """
    return Compare(algorithm, sample, boost, None if period is None else span(period, "period"))


def tuples(count: int) -> Tuples:
    """A budget counted in stored tuples."""
    return Tuples(count)


def utility(column: str, worth: Mapping[str | int, float]) -> Utility:
    """Importance by type: what a tuple is worth for each value of a column.

    ``bf.stream(..., importance=bf.utility("kind", {"security": 10, "other": 1}))``. A row whose
    value is not among them is set aside and counted.
    """
    if not isinstance(worth, Mapping):
        raise SpecError(
            f'utility={checks.said(worth)} is no mapping: give e.g. {{"security": 10, "other": 1}}'
        )
    for value in worth:
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise SpecError(f"utility: {checks.said(value)} is no type: give text or whole numbers")
    return Utility(column, tuple(sorted(worth.items(), key=lambda item: repr(item[0]))))


def equal(*sides: str | Sequence[str]) -> Equal:
    """Equality: one column (or list of columns) for all streams, or one for each."""
    return Equal(tuple(checks.texts("equal", side) for side in sides))


def overlap(*sides: str, at_least: int) -> Overlap:
    """At least so many distinct items in common."""
    return Overlap(sides, at_least)


def subset(*sides: str) -> Subset:
    """Every item of the first stream's set is in the second's."""
    return Subset(sides)


def superset(*sides: str) -> Superset:
    """Every item of the second stream's set is in the first's."""
    return Superset(sides)


def similar(*sides: str, at_least: float) -> Similar:
    """Inner product of weighted sets of at least this much."""
    return Similar(sides, at_least)
