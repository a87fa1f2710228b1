"""Kernels compiled ahead of time: very small joins, run for what they leave on disk.

A kernel is compiled when it is first used, which takes seconds, and is then found on disk by every
process of the user. :func:`compile_ahead` uses them all at once, on all cores, so that nobody waits
later: before tests that run side by side, when an image is built, or before a demonstration.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import active_children, get_context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bankfull.spec import Query

#: What takes longest to compile, so that it is not the last to begin.
_LONG = ("gain", "gdj")
#: Rows of a stream: a policy then learns from the sample, and there are more keys than at first.
#: The second is the same for all policies, so only the first of several has so many rows.
_ROWS = 80


@dataclass(frozen=True, slots=True)
class Kernels:
    """What is compiled together: joins on keys or on sets, exact or as a policy decides.

    ``compares``: they choose what they compare.
    """

    on: str
    policy: str | None = None
    compares: bool = False

    def __post_init__(self) -> None:
        assert self.on in ("keys", "sets"), self.on

    def __str__(self) -> str:
        how = "cpu" if self.compares else "exact"
        if self.policy is not None:
            how = f"{self.policy} and cpu" if self.compares else self.policy
        return f"{how} on {self.on}"


#: Told which kernels are ready, after how many seconds.
Told = Callable[[Kernels, float], None]


def everything(policies: Sequence[str] | None = None) -> list[Kernels]:
    """Return all there is: exact joins, and each policy on keys and on sets; or of some policies.

    >>> [str(one) for one in everything(["s3fifo"])]  # knows tuples by a single key
    ['exact on keys', 'exact on sets', 'cpu on keys', 'cpu on sets', 's3fifo on keys']
    """
    from bankfull.policies import POLICIES
    from bankfull.policies.registry import find

    names = sorted(POLICIES) if policies is None else policies
    kinds = {name: find(name) for name in names}
    on_keys = [Kernels("keys", name) for name in kinds]
    on_sets = [Kernels("sets", name) for name, kind in kinds.items() if kind.sets]
    exact = [Kernels("keys"), Kernels("sets")]
    return [*exact, *(replace(one, compares=True) for one in exact), *on_keys, *on_sets]


def needed(query: Query) -> list[Kernels]:
    """Return what a query needs."""
    from bankfull.spec import Equal

    bounded = query.shed is not None and query.shed.bounds_memory
    policy = query.shed.keep.policy if query.shed is not None and bounded else None
    compares = query.shed is not None and query.shed.cpu is not None
    kinds = dict.fromkeys(
        "keys" if isinstance(join.predicate, Equal) else "sets" for join in query.joins
    )
    if policy is not None and len(kinds) > 1:
        kinds = {"sets": None}  # joins of both kinds under one budget run as those on sets
    return [Kernels(on, policy, compares) for on in kinds]


def compile_ahead(
    wanted: Sequence[Kernels], told: Told = lambda done, seconds: None, processes: int | None = None
) -> None:
    """Compile kernels, what takes long first, in as many processes as there are cores."""
    order = sorted(wanted, key=lambda one: (one.policy not in _LONG, one.on != "sets"))
    processes = min(processes or os.cpu_count() or 1, len(order))
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        try:
            kinds = {one.on: one for one in reversed(order) if one.policy is not None}
            begun = {}
            for one in order:
                rows = _ROWS if one is kinds.get(one.on) or one.policy in _LONG else 2
                begun[pool.submit(compile_now, one, rows)] = one
            for done in as_completed(begun):
                told(begun[done], done.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for child in active_children():
                child.terminate()
            raise


def compile_now(wanted: Kernels, rows: int = _ROWS) -> float:
    """Compile kernels in this process, or find them on disk; return the seconds that it took.

    Two ``rows`` compile what the first result needs, and nothing that policies need later.
    """
    began = time.perf_counter()
    if wanted.compares:
        _compare(wanted.on, wanted.policy)
    elif wanted.on == "keys":
        _join_keys(wanted.policy, rows)
    else:
        _join_sets(wanted.policy, rows)
    return time.perf_counter() - began


def _compare(on: str, policy: str | None) -> None:
    import pyarrow as pa

    import bankfull as bf

    keys, sets = pa.array([1, 1]), pa.array([[1, 2], [1, 2]])
    table = pa.table({"t": [1, 2], "k": keys if on == "keys" else sets})
    options: Any = {"on": "k"} if on == "keys" else {"on": bf.overlap("k", at_least=2)}
    budget: Any = {} if policy is None else {"memory": bf.tuples(3), "keep": _kept(policy)}
    for each in (100, 0.001):  # a join on keys has a loop for when nothing is left out
        overload = bf.shed(cpu=bf.comparisons(each), **budget)
        _join([table] * 2, None, finds=each > 1, overload=overload, **options)
    if policy is None:  # where a clock decides no loop plans for itself
        _join([table] * 2, None, overload=bf.shed(cpu=0.8), **options)
    if on == "keys" and policy is None:
        _join([table] * 3, None, overload=bf.shed(cpu=bf.comparisons(100)), **options)


def _join_keys(policy: str | None, rows: int) -> None:
    import pyarrow as pa

    if policy is not None:
        every = pa.table({"t": range(rows), "k": range(rows)})
        _join([_in_two(every)] * 2, policy, on="k")
        return
    table = pa.table({"t": [1, 2], "k": [1, 1], "s": ["x", "x"]})
    from bankfull.core.codes.keys import spread
    from bankfull.core.intake.content import row_codes

    for on in ("k", "s", ["k", "s"]):
        _join([table] * 2, None, on=on)
    _join([table] * 3, None, on="k")
    batch = table.to_batches()[0]
    row_codes(batch)  # this and the next are what Spark's workers need besides
    spread([batch.column(1)], (pa.int64(),), 2)


def _join_sets(policy: str | None, rows: int) -> None:
    import pyarrow as pa

    import bankfull as bf

    numbers, words = (pa.table({"t": [1, 2], "k": [items] * 2}) for items in ([1, 2], ["x", "y"]))
    on = bf.overlap("k", at_least=2)
    if policy is not None:
        every = pa.table({"t": range(rows), "k": [[item, item + 1] for item in range(rows)]})
        _join([_in_two(every)] * 2, policy, on=on)
        return
    for table, search in ((numbers, "inverted"), (numbers, "identifier"), (words, "scan")):
        _join([table] * 2, None, on=on, search=search)


def _in_two(table: Any) -> Any:
    """Return a table of two batches: at the second there are more keys than there is room for."""
    import pyarrow as pa

    return pa.concat_tables([table.slice(0, 2), table.slice(2)])


def _join(tables: Sequence[Any], policy: str | None, finds: bool = True, **options: Any) -> None:
    import bankfull as bf

    if policy is not None:
        options["overload"] = bf.shed(memory=bf.tuples(3), keep=_kept(policy))
    streams = [bf.stream(table, time="t", name=f"s{place}") for place, table in enumerate(tables)]
    found = bf.join(*streams, within=5, **options).read_all().num_rows
    assert found > 0 or not finds


def _kept(policy: str) -> Any:
    """Return a policy by name; a user's own, ``module:Class``, is given as itself."""
    from bankfull.policies.registry import find

    return find(policy)() if ":" in policy else policy
