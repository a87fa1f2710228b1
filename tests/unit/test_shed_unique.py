"""Families: unit. What ``unique=`` tells ``gain``, and what it learns where keys come once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import bankfull as bf
from bankfull.core.bounded.join import BoundedJoin


def orders_and_payments(rows: int, lag: float, seed: int = 3) -> list[pa.Table]:
    """Return orders with keys of their own, and payments of most of them, a lag later."""
    random = np.random.default_rng(seed)
    keys = random.permutation(rows)
    paid = np.flatnonzero(random.random(rows) < 0.8)
    times = paid + np.round(random.normal(lag, 4.0, len(paid))).astype(int)
    order = np.argsort(times, kind="stable")
    return [
        pa.table({"t": np.arange(rows), "k": keys}),
        pa.table({"t": times[order], "k": keys[paid][order]}),
    ]


def joined_with(tables: list[pa.Table], budget: int, policy: str = "gain", **unique: Any) -> Any:
    streams = [
        bf.stream(table, time="t", name=name, unique=unique.get(name))
        for name, table in zip(("orders", "payments"), tables, strict=True)
    ]
    return bf.join(*streams, on="k", within=200, overload=bf.shed(bf.tuples(budget), policy))


def test_who_has_had_its_only_partner_goes_first() -> None:
    """Before anything could be learned: a payment is worth nothing when its order has come."""
    told, untold = 0, 0
    for seed in range(3, 8):
        tables = orders_and_payments(120, 20, seed)
        joined = joined_with(tables, 20, orders="k", payments="k")
        told += joined.read_all().num_rows
        slots = joined._state.stage(BoundedJoin).memory.slots
        assert np.all(slots.priority[slots.stream == 1] == 0.0)
        untold += joined_with(tables, 20).read_all().num_rows
    # That no order has a key which came before says nearly the same, as soon as orders have come.
    assert 1.02 * untold < told < 1.08 * untold


def test_explained() -> None:
    tables = orders_and_payments(10, 2)
    text = joined_with(tables, 5, orders="k").explain()
    assert "unique k: a tuple of payments that has met its partner goes first" in text
    assert "known, and not used here" in joined_with(tables, 5, "fifo", orders="k").explain()


def test_a_late_partner_is_waited_for() -> None:
    """Payments come late, at 0.7 of the window: who drops the oldest has nothing then."""
    tables = orders_and_payments(4_000, 140)
    found = {
        policy: joined_with(tables, 60, policy).read_all().num_rows
        for policy in ("gain", "random", "fifo")
    }
    assert found["gain"] > 1.4 * found["random"]
    assert found["fifo"] < 10


def test_who_came_first_waits_for_what_comes_first() -> None:
    """While a stream has brought nothing nobody is dropped for a newcomer of the other."""
    keys = np.arange(150)
    tables = [
        pa.table({"t": np.arange(150), "k": keys}),
        pa.table({"t": np.arange(150, 160), "k": keys[:10]}),
    ]
    assert joined_with(tables, 20).read_all().column("orders_k").to_pylist()[0] == 0


def test_a_key_that_came_once_is_not_kept_for_its_youth() -> None:
    """Most keys never come again; who has few places keeps those that have come again."""
    random = np.random.default_rng(5)
    again, never = random.integers(0, 60, (2, 4_000)), np.arange(8_000).reshape(2, 4_000) + 1_000
    keys = np.where(random.random((2, 4_000)) < 0.15, again, never)
    tables = [pa.table({"t": np.arange(4_000), "k": side}) for side in keys]
    joined = joined_with(tables, 60)
    joined.read_all()
    stage = joined._state.stage(BoundedJoin)
    numbers = stage.memory.links.first[stage.memory.slots.stream >= 0, 0]
    came = stage.memory.stats[numbers, :2].sum(axis=1)
    assert np.mean(came > 1) > 0.9
