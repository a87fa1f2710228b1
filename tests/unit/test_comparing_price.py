"""Families: unit.

The price of comparisons: what returns too little for it is not compared in quiet basic windows, and
it is forgotten when there is enough for everything.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from bankfull.assemble import assemble
from bankfull.core import Batch, Budget, State, start, step
from bankfull.core.comparing import price
from bankfull.core.comparing.comparing import Comparing
from bankfull.core.exact.join import ExactJoin
from bankfull.spec import Compare, Comparisons, Equal, Join, Keep, Query, Shed, Stream, Ticks

HOUR = 60
WINDOW = Ticks(90)


def hourly(hours: int, quiet_from: int) -> dict[str, pa.RecordBatch]:
    """Return three reports an hour, and flights that look for that of their hour.

    Reports come first, so they find no flight of their hour, and search all others in vain. From an
    hour on there is but one flight an hour.
    """
    dice = np.random.default_rng(7)
    report_at = np.repeat(np.arange(hours) * HOUR, 3)
    many = np.where(np.arange(hours) < quiet_from, dice.poisson(60, hours), 1)
    hour_of = np.repeat(np.arange(hours), many)
    flight_at = hour_of * HOUR + dice.integers(0, 12, hour_of.size) * 5
    order = np.argsort(flight_at, kind="stable")
    keys = {"reports": report_at // HOUR * 3 + np.tile(np.arange(3), hours),
            "flights": (hour_of * 3 + dice.integers(0, 3, hour_of.size))[order]}  # fmt: skip
    times = {"reports": report_at, "flights": flight_at[order]}
    return {name: pa.RecordBatch.from_pydict({"t": times[name], "k": keys[name]}) for name in times}


def joined(
    rows: dict[str, pa.RecordBatch], per_minute: float, cuts: tuple[int, ...] = ()
) -> tuple[int, Comparing]:
    """Return how many results there are, and what decided; pieces end at the times of cuts."""
    compare = Compare("auto", period=Ticks(45))
    shed = Shed(None, Keep("gain"), cpu=Comparisons(per_minute), compare=compare)
    streams = tuple(Stream(name, "t") for name in rows)
    join = Join("j", tuple(rows), Equal((("k",),)), (WINDOW, WINDOW), "scan")
    query = Query(streams, (join,), Ticks(5), shed=shed)
    state: State = start(assemble(query, {name: some.schema for name, some in rows.items()}))
    last = -1
    for stop in (*cuts, 1 << 40):
        piece = {
            name: some.filter(pa.array((last < (t := some["t"].to_numpy())) & (t <= stop)))
            for name, some in rows.items()
        }
        ended = frozenset(rows) if stop > 1 << 39 else frozenset()
        outcome = step(state, Batch(piece, ended=ended), Budget(1 << 20, 1 << 28))
        assert not outcome.pending
        state, last = outcome.state, stop
    decided = state.stage(ExactJoin).comparing
    assert decided is not None
    return outcome.ledger.emitted, decided


def test_what_returns_too_little_is_not_compared_in_quiet_times(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = hourly(200, 200)
    found, _ = joined(rows, 3.0)
    monkeypatch.setattr(price, "_WORTH_IT", 0.0)
    without, _ = joined(rows, 3.0)
    assert found > 1.05 * without


def test_the_price_is_the_same_however_the_input_is_cut() -> None:
    rows = hourly(60, 60)
    (found, whole), (again, cut) = joined(rows, 2.0), joined(rows, 2.0, (7, 61, 62, 800, 1801))
    assert found == again
    assert whole.price[0] == cut.price[0] > 0.0


def test_the_price_is_forgotten_when_there_is_enough_for_everything() -> None:
    """Afterwards nothing is left out again, which is what a join without a price does."""
    _, decided = joined(hourly(60, 60), 6.0)
    assert decided.price[0] > 0.0
    _, decided = joined(hourly(60, 30), 6.0)
    assert decided.price[0] == 0.0
    assert (decided.selectors[0].choice == 1.0).all()
