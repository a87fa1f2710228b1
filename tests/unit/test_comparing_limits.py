"""Families: unit.

Budgets of comparisons at the limits of what is accepted: times next to the last one, and budgets so
large that they are no whole number of 64 bits, or not with the length of a basic window.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.assemble import assemble
from bankfull.core import Batch, start, step
from bankfull.core.exact.equal_index import EqualIndex
from bankfull.core.exact.join import ExactJoin
from bankfull.core.exact.planned import Planned
from bankfull.core.plan import TIME_MAX
from bankfull.spec import Compare, Comparisons, Equal, Join, Keep, Query, Shed, Stream, Ticks

#: An hour in microseconds, and a minute.
HOUR, MINUTE = 3_600_000_000, 60_000_000


def joined(times: range, per_unit: float, window: int, search: str) -> tuple[int, ExactJoin]:
    """Join two streams of one key with these times; returns the results and what joined them."""
    rows = pa.RecordBatch.from_pydict({"t": list(times), "k": [1] * len(times)})
    shed = Shed(None, Keep("gain"), cpu=Comparisons(per_unit), compare=Compare("auto"))
    described = Join("j", ("a", "b"), Equal((("k",),)), (Ticks(window), Ticks(window)), search)
    query = Query((Stream("a", "t"), Stream("b", "t")), (described,), shed=shed)
    state = start(assemble(query, {"a": rows.schema, "b": rows.schema}))
    outcome = step(state, Batch({"a": rows, "b": rows}, ended=frozenset("ab")))
    assert not outcome.pending
    return outcome.ledger.emitted, outcome.state.stage(ExactJoin)


@pytest.mark.parametrize("search", ["scan", "hash"])
def test_the_last_basic_window_ends_with_time(search: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its end would lie beyond any time, and up to there a join would never be done."""
    calls, advance = 0, EqualIndex.advance

    def counted(self: EqualIndex, *given: Any) -> Any:
        nonlocal calls
        calls += 1
        assert calls < 100, "nothing is left to be joined"
        return advance(self, *given)

    monkeypatch.setattr(EqualIndex, "advance", counted)
    monkeypatch.setattr(Planned, "advance", lambda *_: None)
    found, _ = joined(range(TIME_MAX - 99, TIME_MAX + 1), 1e6, 60, search)
    assert found == sum(1 for x in range(100) for y in range(100) if abs(x - y) <= 60)


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("search", ["scan", "hash"])
def test_what_each_basic_window_would_have_does_not_overflow(
    alone: bool, search: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A billion comparisons a second over an hour in microseconds."""
    if not alone:
        monkeypatch.setattr(Planned, "advance", lambda *_: None)
    _, join = joined(range(0, 2 * HOUR, MINUTE), 1e9 / 1e6, HOUR, search)
    assert join.comparing is not None
    basic = HOUR // 20
    assert join.comparing.fair[0] == 1e9 / 1e6 * basic
    assert join.comparing.selectors[0].whole.min() == join.comparing.rules.sample


@pytest.mark.parametrize("count", [1e17, 1e300])
def test_no_budget_is_too_large(count: float) -> None:
    table = pa.table({"t": pa.array(range(0, 2 * HOUR, MINUTE), pa.timestamp("us"))})
    table = table.append_column("k", pa.array([1] * table.num_rows))
    streams = [bf.stream(table, time="t", name=name) for name in "ab"]
    shed = bf.shed(cpu=bf.comparisons(count))
    exact = bf.join(*streams, on="k", within="1 hour").read_all().num_rows
    assert bf.join(*streams, on="k", within="1 hour", overload=shed).read_all().num_rows == exact
