"""The optimum for the same comparisons: the best units of work, known in advance.

A unit is a direction, a class of arriving tuples (the size of their set, their worth) and a basic
window. What each takes and returns is counted from the exact result of the same streams, and a
period's comparisons go to the units that return most a comparison, the last one in part. It is the
best that a way can expect that gives the same share of a basic window to all tuples of a class for
a period, and that knows the streams but not chance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from bankfull.lab.cpu.setting import (
    COMPARISONS,
    COSTS,
    FETCH,
    NAMES,
    POSTING,
    Setting,
    plan_of,
    streams,
)
from bankfull.lab.cpu.streams import SECOND, Floats, Ints, Side

_SIZES = 13


@dataclass(frozen=True)
class Counts:
    """By second of arrival, direction, class and basic window: pairs' cost, results, worth."""

    cost: Floats
    results: Floats
    worth: Floats


@lru_cache(maxsize=4)
def exact_pairs(setting: Setting, seed: int) -> tuple[Ints, Ints]:
    """Return the places of both members of every result of the exact join."""
    from bankfull.core import Batch, Budget, start, step

    sides = streams(setting, seed)
    plan = plan_of(setting, None)
    state = start(plan)
    rows = {name: side.batch() for name, side in zip(NAMES, sides, strict=True)}
    batch = Batch(rows, ended=frozenset(NAMES))
    # Of every piece only the places, at once: whole rows of all results are gigabytes.
    found: list[Ints] = []
    while True:
        outcome = step(state, batch, Budget(1 << 20, 1 << 28))
        for made in outcome.output:
            found.append(np.stack([made.column(f"{name}_id").to_numpy() for name in NAMES]))
        if not outcome.pending:
            break
        state, batch = outcome.state, Batch()
    pairs = np.concatenate(found, axis=1) if found else np.zeros((2, 0))
    first, second = pairs.astype(np.int64)
    return first, second


def classes(setting: Setting, side: Side) -> tuple[Ints, int]:
    """Return the class of every tuple, and how many there are."""
    found = np.minimum(side.sizes, _SIZES - 1) if setting.predicate == "overlap" else 0 * side.sizes
    count = _SIZES if setting.predicate == "overlap" else 1
    if side.worth is not None:
        values = np.array(sorted(set(setting.utilities)))
        found, count = (
            found * len(values) + np.searchsorted(values, side.worth),
            count * len(values),
        )
    return found.astype(np.int64), count


@lru_cache(maxsize=4)
def counts(setting: Setting, seed: int) -> Counts:
    """Count what every unit takes and returns."""
    sides = streams(setting, seed)
    basic, span = round(setting.basic_s * SECOND), round(setting.window_s * SECOND)
    windows = 1 + -(-span // basic)
    seconds = int(np.ceil(setting.length_s)) + 1
    kinds = [classes(setting, side) for side in sides]
    shape = (seconds, 2, kinds[0][1], windows)
    cost, results, worth = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    first, second = exact_pairs(setting, seed)
    times = sides[0].times[first], sides[1].times[second]
    # Of tuples of one time those of the first stream come first.
    newer = (times[1] >= times[0]).astype(np.int64)
    for s in range(2):
        own, other = sides[s], sides[1 - s]
        mine = newer == s
        at, partner = (first, second)[s][mine], (first, second)[1 - s][mine]
        age = own.times[at] // basic - other.times[partner] // basic
        where = (own.times[at] // SECOND, np.full(len(at), 1 - s), kinds[s][0][at], age)
        results += _counted(where, np.ones(len(at)), shape)
        worth += _counted(where, _worth(own, other, at, partner), shape)
        taken = _costs(setting, own, other, basic, span, windows, s)
        seconds_of = np.repeat(own.times // SECOND, windows)
        class_of, places = np.repeat(kinds[s][0], windows), np.tile(np.arange(windows), len(own))
        units = (seconds_of, np.full(places.shape, 1 - s), class_of, places)
        cost += _counted(units, taken.ravel(), shape)
    return Counts(cost, results, worth)


def _counted(where: tuple[Ints, ...], amounts: Floats, shape: tuple[int, ...]) -> Floats:
    """Add up amounts by unit."""
    flat = np.ravel_multi_index(where, shape)
    counted: Floats = np.bincount(flat, amounts, int(np.prod(shape))).astype(np.float64)
    return counted.reshape(shape)


def _worth(own: Side, other: Side, at: Ints, partner: Ints) -> Floats:
    if own.worth is None or other.worth is None:
        return np.ones(len(at))
    return np.maximum(own.worth[at], other.worth[partner])


def _costs(
    setting: Setting, own: Side, other: Side, basic: int, span: int, windows: int, s: int
) -> Floats:
    """Return the cost of comparing every tuple with every basic window of the other stream."""
    window = own.times // basic
    edges = (window[:, None] - np.arange(windows + 1) + 1) * basic
    low, high = edges[:, 1:], edges[:, :-1]
    high = np.minimum(high, own.times[:, None] + (1 if s else 0))
    low = np.maximum(low, own.times[:, None] - span)
    places = np.searchsorted(other.times, np.stack([low, np.maximum(low, high)]))
    pairs: Floats = (places[1] - places[0]).astype(np.float64)
    if setting.search != "scan":
        pairs *= _entries_a_pair(own, other, basic, windows)
    if setting.clock != COMPARISONS:
        pairs *= COSTS[setting.predicate, setting.search]
    return pairs


def _entries_a_pair(own: Side, other: Side, basic: int, windows: int) -> Floats:
    """Return how many entries of its items' lists a tuple meets, a tuple of a basic window."""
    count = int(max(own.times.max(), other.times.max())) // basic + 1
    held = np.zeros((count, int(max(own.items.max(), other.items.max())) + 1))
    np.add.at(held, (np.repeat(other.times // basic, other.sizes), other.items), 1.0)
    tuples = np.maximum(np.bincount(other.times // basic, minlength=count), 1)
    held /= tuples[:, None]
    holder = np.repeat(np.arange(len(own)), own.sizes)
    found = np.zeros((len(own), windows))
    for a in range(windows):
        at = np.repeat(own.times // basic - a, own.sizes)
        each = np.where(at >= 0, held[np.maximum(at, 0), own.items], 0.0)
        found[:, a] = np.bincount(holder, each, minlength=len(own))
    return found


def optimum(
    setting: Setting,
    seed: int,
    in_worth: bool = False,
    budgets: Floats | None = None,
    knows_chance: bool = False,
) -> tuple[Floats, Floats]:
    """Return the results and their worth, by second, of the best units.

    ``budgets`` are the costs of comparing that may be spent by second; without them, all that the
    processor has left after fetching every tuple. What a unit returns a comparison is taken over
    all the time, or, with ``knows_chance`` and where streams change, in every period.
    """
    made = counts(setting, seed)
    seconds, period = len(made.cost), round(setting.period_s)
    budgets = available(setting, seed, seconds) if budgets is None else budgets
    results, worth = np.zeros(seconds), np.zeros(seconds)
    wanted, always = made.worth if in_worth else made.results, None
    if not knows_chance and setting.turned is None:
        # Where a unit has few results in a period, which one has them is chance.
        always = wanted.sum(axis=0).ravel() / np.maximum(made.cost.sum(axis=0).ravel(), 1e-9)
    for begin in range(0, seconds, period):
        part = slice(begin, begin + period)
        cost = made.cost[part].sum(axis=0).ravel()
        value = wanted[part].sum(axis=0).ravel()
        if always is not None:
            value = always * cost
        taken = packed(cost, value, float(budgets[part].sum()))
        for into, amount in ((results, made.results), (worth, made.worth)):
            into[part] = amount[part].reshape(-1, taken.size) @ taken
    return results, worth


def available(setting: Setting, seed: int, seconds: int) -> Floats:
    """Return what the processor has for comparisons in every second."""
    whole = np.full(seconds, setting.capacity)
    if setting.clock == COMPARISONS:
        return whole
    for side in streams(setting, seed):
        whole -= FETCH * np.bincount(side.times // SECOND, minlength=seconds)
        if setting.is_indexed:
            whole -= POSTING * np.bincount(side.times // SECOND, side.sizes, minlength=seconds)
    return whole


def packed(volumes: Floats, values: Floats, budget: float) -> Floats:
    """Return how much of every unit fits, those with the most value a volume first.

    >>> packed(np.array([2.0, 1.0, 4.0]), np.array([2.0, 3.0, 1.0]), 5.0).tolist()
    [1.0, 1.0, 0.5]
    """
    order = np.argsort(-values / np.maximum(volumes, 1e-9), kind="stable")
    before = np.cumsum(volumes[order]) - volumes[order]
    taken = np.zeros(len(volumes))
    taken[order] = np.clip((budget - before) / np.maximum(volumes[order], 1e-9), 0.0, 1.0)
    return taken
