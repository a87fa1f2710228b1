"""Kernels with every array access checked, and how a budget is divided.

Compiled kernels do not look whether an index lies within its array. Here they do, in a process of
its own: the compiler reads NUMBA_BOUNDSCHECK once, and what it compiles so is kept elsewhere.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.assemble import assemble
from bankfull.core import Batch, Budget, start, step
from bankfull.core.bounded.join import BoundedJoin
from bankfull.core.bounded.share import Share
from bankfull.core.exact.join import ExactJoin
from bankfull.core.plan import NEVER
from bankfull.errors import PlanError
from bankfull.kernels.bounded.budget import share_out
from bankfull.kernels.bounded.records import BUFFER, records
from bankfull.policies import POLICIES

#: What runs checked: every kind of split, in tuples and in bytes, over three streams of a few rows.
#: ``deep`` adds every predicate, several joins at once, importance, sampling, a wanted recall, text
#: as keys and a larger budget that grows and shrinks its arrays; ``exact`` runs without a budget.
_RUN = """
import sys
import pyarrow as pa
import bankfull as bf
from bankfull.core.plan import NEVER
from bankfull.core.workers import Workers

Workers.least_rows = 0  # threads for any number of rows

def stream(name, keys, form="number", rows=120):
    numbers = [i * i % keys for i in range(rows)]
    form_of = {
        "number": lambda k: k, "text": lambda k: f"key {k} " * 3,
        "set": lambda k: [k, k + 1, k + 2],
        "empty": lambda k: list(range(k % 4)), "weights": lambda k: [(k, 1.0), (k + 1, 0.5)],
    }[form]
    kind = pa.map_(pa.int64(), pa.float64()) if form == "weights" else None
    cells = pa.array([form_of(k) for k in numbers], kind)
    worth = [10.0 ** (k * 20 % 150) for k in numbers]
    notes = [b"x" * k for k in numbers]
    table = pa.table({"k": cells, "t": list(range(rows)), "v": worth, "note": notes})
    return bf.stream(table, time="t", name=name, importance="v" if keys == 7 else None)

def read(joined, memory):
    for rows in joined:
        pass
    stored = sum(counts.stored for counts in joined.ledger.streams.values())
    assert exact or isinstance(memory, str) or stored <= memory.count, memory

def join(on, memory, split="unified", form="number", rows=120, within=30, more={}, **streams):
    sides = [stream(name, keys, form, rows) for name, keys in streams.items()]
    overload = "block" if exact else bf.shed(memory, keep=keep, split=split, **more)
    read(bf.join(*sides, within=within, on=on, overload=overload, threads=3), memory)

keep, sets, deep = sys.argv[1], sys.argv[2] == "True", sys.argv[3] == "True"
exact = keep == "exact"
splits = ["unified", "proportional"]
splits += [{"a": 0.9, "b": 0.05, "c": 0.05}, {"a": 0.3, "b": 0.2, "c": 0.1}]
for memory in (bf.tuples(3), bf.tuples(10), "20 KB"):
    for split in splits:
        join("k", memory, split, a=7, b=5, c=3)
    if sets:
        join(bf.overlap("k", at_least=2), memory, form="set", a=7, b=5)
predicates = [
    (bf.overlap("k", at_least=1), "set"), (bf.subset("k"), "empty"), (bf.superset("k"), "empty"),
    (bf.similar("k", at_least=0.4), "weights"),
]
for memory in (bf.tuples(3), bf.tuples(50), "8 KB") if deep else ():
    for split in ("unified", "proportional", {"a": 0.95, "b": 0.05}):
        join("k", memory, split, form="text", a=7, b=5)
        for on, form in predicates if sets else ():
            join(on, memory, split, form, a=7, b=5)
    for more in ({"sample": 0.3}, {"sample": "unbiased"}, {"recall": 0.9}, {"importance": "sum"}):
        join("k", memory, more=more, a=7, b=5)
        if sets:
            join(bf.overlap("k", at_least=2), memory, form="set", more=more, a=7, b=5)
    join("k", memory, rows=3000, within=400, a=2000, b=300, c=900)
    sides = [stream(name, keys) for name, keys in (("a", 7), ("b", 5), ("c", 3))]
    overload = None if exact else bf.shed(memory, keep=keep)
    ab = bf.join(*sides[:2], on="k", within=30, name="ab")
    bc = bf.join(*sides[1:], on="k", within=9, name="bc")
    read(bf.joins(ab, bc, overload=overload), memory)
print("done")
"""

#: Numbers, and what looks like them, cut off at any character: the arrays end where the text does.
_NUMBERS = """
import random
import pyarrow as pa
from bankfull.runtime.embedded.files.numbers import depth, read, unproven

dice = random.Random(3)
for _ in range(20_000):
    text = "".join(dice.choices('0123456789.eE+-"[]{}:,x\\\\ \\n', k=dice.randint(0, 40)))
    digits = str(dice.getrandbits(dice.randint(1, 90)))
    number = f"{digits[:3]}.{digits[3:]}e{dice.randint(-400, 400)}"[: dice.randint(1, 40)]
    for cell in (text, number, digits):
        cells = pa.array(["7", None, cell]).slice(dice.randint(0, 2))
        read(cells, pa.int64()), read(cells, pa.float64())
    lines = f"[{text} {number}".encode()
    depth(lines), unproven(lines), unproven(lines, whole=False)
assert len(unproven(b"9007199254740993 " * 3000)) == 3000
print("done")
"""


def _run_checked(policy: str, on_sets: bool, deep: bool = False) -> None:
    _check(_RUN, policy, str(on_sets), str(deep))


def _check(program: str, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "NUMBA_BOUNDSCHECK": "1"},
        capture_output=True,
        text=True,
        timeout=3000,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == "done\n"


@pytest.mark.slow
def test_kernels_stay_within_their_arrays() -> None:
    """One policy here, the rest in the soak: compiling is what this takes."""
    _run_checked("fifo", on_sets=False)


@pytest.mark.slow
def test_kernels_that_read_numbers_stay_within_their_arrays() -> None:
    _check(_NUMBERS)


@pytest.mark.soak
@pytest.mark.parametrize("policy", ["exact", *sorted(POLICIES)])
def test_kernels_of_every_policy_stay_within_their_arrays(policy: str) -> None:
    """Every policy, split and predicate; "exact" is the join without a budget."""
    _run_checked(policy, policy == "exact" or POLICIES[policy].sets, deep=True)


@pytest.mark.uncompiled
def test_parts_add_up_to_the_whole() -> None:
    """However small a share is, nobody is left without a tuple and nothing is given twice."""
    draws = np.random.default_rng(7)
    for _ in range(300):
        count, least = int(draws.integers(1, 7)), int(draws.integers(1, 4))
        weights = draws.random(count) ** draws.integers(0, 9)
        whole = count * least + int(draws.integers(0, 10 ** int(draws.integers(1, 12))))
        buffers = records(count, BUFFER)
        share_out(whole, weights, least, buffers)
        parts = buffers.capacity
        assert parts.sum() == whole
        assert parts.min() >= least
        assert (np.diff(parts[np.argsort(weights)]) >= -1).all()  # who weighs more has no less


@pytest.mark.uncompiled
def test_a_budget_below_a_tuple_a_buffer_is_refused() -> None:
    rows = pa.table({"k": [1], "t": [1]})
    streams = [bf.stream(rows, time="t", name=name) for name in "abc"]
    shed = bf.shed(bf.tuples(2), keep="fifo", split={"a": 0.5, "b": 0.25, "c": 0.25})
    with pytest.raises(PlanError, match="smallest is 3 tuples"):
        list(bf.join(*streams, on="k", within=5, overload=shed))


@pytest.mark.parametrize("split", ["proportional", {"a": 0.9, "b": 0.05, "c": 0.05}], ids=str)
def test_a_part_of_a_budget_is_divided_whole(split: Any) -> None:
    """Buckets on Spark have a part each, which follows their load."""
    rows = pa.table({"k": [1], "t": [1]})
    joined = bf.join(
        *(bf.stream(rows, time="t", name=name) for name in "abc"),
        on="k",
        within=5,
        overload=bf.shed(bf.tuples(40), keep="fifo", split=split),
    )
    stage = start(assemble(joined.query, dict.fromkeys("abc", rows.schema))).stage(BoundedJoin)
    for share, whole in ((0.01, 3), (1.0, 40), (0.29, 11), (0.5, 20)):
        stage.limit._resize(Share(share), stage.policy)
        parts = stage.memory.buffers.capacity
        assert parts.sum() == whole
        assert parts.min() >= 1


@pytest.mark.uncompiled
@pytest.mark.parametrize(
    "damage",
    [
        lambda index: _shorten(index.logs[0].times, "data"),
        lambda index: _shorten(index.codes[1], "data"),
        lambda index: _shorten(index.rooms[0], "joined"),
        lambda index: index.clock.cursor.__setitem__(0, 99),
        lambda index: setattr(index, "table", index.table._replace(heads=index.table.heads[:3])),
        lambda index: _shorten(index.sides[0].items, "data"),
        lambda index: _shorten(index.sides[1].sizes, "data"),
        lambda index: _replace_lists(index, "stop"),
    ],
    ids=["times", "codes", "results", "cursor", "table", "items", "sizes", "lists"],
)
def test_sizes_are_asserted_on_entry(damage: Any, request: pytest.FixtureRequest) -> None:
    """An array that is too short is noticed before a kernel without bounds checks sees it."""
    rows = pa.table({"k": [1, 2], "t": [1, 2], "tags": [[1], [2, 3]]})
    on_sets = request.node.callspec.id in ("items", "sizes", "lists")
    joined = bf.join(
        *(bf.stream(rows, time="t", name=name) for name in "ab"),
        on=bf.overlap("tags", at_least=1) if on_sets else "k",
        within=5,
    )
    state = start(assemble(joined.query, dict.fromkeys("ab", rows.schema)))
    batch = Batch({"a": rows.to_batches()[0], "b": rows.to_batches()[0]})
    state = step(state, batch, Budget()).state
    index: Any = state.stage(ExactJoin).indexes[0]
    index.advance(16, NEVER)
    damage(index)
    with pytest.raises(AssertionError):
        index.advance(16, NEVER)


def _shorten(owner: Any, name: str) -> None:
    setattr(owner, name, getattr(owner, name)[:-1])


def _replace_lists(index: Any, name: str) -> None:
    lists = index.sides[0].lists
    index.sides[0].lists = lists._replace(**{name: getattr(lists, name)[:-1]})
