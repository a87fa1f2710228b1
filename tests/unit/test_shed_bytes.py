"""A budget in bytes is a bound on what is held, whatever the tuples are made of.

Bad input that used to slip through: a few large values among many small ones, large sets, a new
dictionary in every batch.
"""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.assemble import assemble
from bankfull.core import Batch, start, step


def _texts(kind: pa.DataType, seed: int, rows: int) -> pa.Array:
    """Return short texts and, one in twenty, one four thousand times as long."""
    draw = random.Random(seed)
    values = ["x" * (20_000 if draw.random() < 0.05 else 5) for _ in range(rows)]
    if pa.types.is_list(kind) or pa.types.is_list_view(kind):
        return pa.array([[value, value] for value in values], kind)
    return pa.array(values).cast(kind)


def _sets(seed: int, rows: int) -> pa.Array:
    draw = random.Random(seed)
    return pa.array([[draw.randrange(100_000) for _ in range(1000)] for _ in range(rows)])


def _peak(memory: str, on: object, tables: dict[str, pa.Table], cut: int) -> tuple[int, list[int]]:
    """Return the most bytes held after a step, and how many tuples of each stream stay."""
    joined = bf.join(
        *(bf.stream(table, time="t", name=name) for name, table in tables.items()),
        on=on,
        within=10**6,
        overload=bf.shed(memory, keep="fifo"),
    )
    plan = assemble(joined.query, {name: table.schema for name, table in tables.items()})
    state, peak = start(plan), 0
    rows = tables["a"].num_rows
    for begin in range(0, rows, cut):
        some = {
            name: table.slice(begin, cut).combine_chunks().to_batches()[0]
            for name, table in tables.items()
        }
        last = begin + cut >= rows
        done = step(state, Batch(some, {}, frozenset("ab") if last else frozenset()))
        while done.pending:
            done = step(done.state, Batch())
        peak = max(peak, done.state.nbytes())
    return peak, [counts.stored for counts in done.ledger.streams.values()]


@pytest.mark.parametrize(
    "kind",
    [pa.large_string(), pa.string_view(), pa.list_(pa.string()), pa.list_view(pa.string())],
    ids=str,
)
def test_large_values_pay_for_themselves(kind: pa.DataType) -> None:
    tables = {
        name: pa.table(
            {"t": range(1500), "k": [i % 50 for i in range(1500)], "v": _texts(kind, seed, 1500)}
        )
        for seed, name in enumerate("ab")
    }
    cuts = [_peak("1 MB", "k", tables, cut) for cut in (100, 1500)]
    assert max(peak for peak, _ in cuts) <= 1_000_000
    assert cuts[0][1] == cuts[1][1]  # who stays does not depend on the cut
    assert sum(cuts[0][1]) < 1500  # and not all do


@pytest.mark.parametrize(("memory", "bound"), [("4 MB", 4_000_000), ("300 KB", 300_000)])
def test_large_sets_stay_within_the_budget(memory: str, bound: int) -> None:
    tables = {
        name: pa.table({"t": range(150), "k": _sets(seed, 150)}) for seed, name in enumerate("ab")
    }
    peak, _ = _peak(memory, bf.overlap("k", at_least=50), tables, 50)
    assert peak <= bound


def test_what_gain_notes_of_a_key_is_small() -> None:
    """Where every tuple has a key of its own, `gain` stores nearly as many as `prob`."""
    stored = {}
    for policy in ("gain", "prob"):
        streams = [
            bf.stream(
                pa.table({"t": range(2000), "k": range(first, first + 2000)}), time="t", name=name
            )
            for name, first in (("a", 0), ("b", 10_000))
        ]
        joined = bf.join(*streams, on="k", within=10**6, overload=bf.shed("400 KB", policy))
        joined.read_all()
        stored[policy] = sum(counts.stored for counts in joined.ledger.streams.values())
    assert 0.8 * stored["prob"] <= stored["gain"] < stored["prob"] < 4000
