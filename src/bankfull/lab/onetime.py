"""Workloads whose keys come once or for a while: what matters is which stream, how old, how often.

Every function takes a generator and returns the streams ``a`` and ``b`` as times and keys. An
instant brings one tuple of ``a``; windows are 400 instants. What a scheduler may know of the lags
without knowing the future is in :data:`LAGS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from bankfull.lab import generators as make
from bankfull.lab.traces import Floats, Ints

WINDOW = 400

#: Draws so many lags, in windows.
Lag = Callable[[np.random.Generator, int], Floats]


@dataclass(frozen=True)
class Lags:
    """How long after a tuple of ``a`` its partner comes: lags in windows, and how many have one."""

    draw: Lag
    paid: float


def _two_humps(rng: np.random.Generator, rows: int) -> Floats:
    early, late = rng.normal(0.1, 0.02, rows), rng.normal(0.75, 0.03, rows)
    return np.asarray(np.where(rng.random(rows) < 0.5, early, late))


LAGS: dict[str, Lags] = {
    "payments, varied lag": Lags(lambda rng, n: rng.gamma(2.0, 0.1, n), 0.7),
    "payments, short lag": Lags(lambda rng, n: rng.exponential(0.03, n), 0.7),
    "payments, fixed lag": Lags(lambda rng, n: np.full(n, 0.5), 0.7),
    "payments, late": Lags(lambda rng, n: rng.normal(0.7, 0.02, n), 0.7),
    "payments, all come late": Lags(lambda rng, n: rng.normal(0.7, 0.02, n), 1.0),
    "payments, early or late": Lags(_two_humps, 0.7),
    "rare clicks": Lags(lambda rng, n: rng.exponential(0.125, n), 0.05),
}


def one_to_one(rng: np.random.Generator, rows: int, lags: Lags) -> list[tuple[Ints, Ints]]:
    """Return orders, one an instant, each with a key of its own, and the payments of some."""
    keys = rng.permutation(rows).astype(np.int64)
    paid = np.flatnonzero(rng.random(rows) < lags.paid)
    lag = np.maximum(lags.draw(rng, len(paid)) * WINDOW, 0.0)
    return [
        (np.arange(rows, dtype=np.int64), keys),
        make.in_order(np.asarray(paid + lag), keys[paid]),
    ]


def _of_lags(name: str, rng: np.random.Generator, rows: int) -> list[tuple[Ints, Ints]]:
    return one_to_one(rng, rows, LAGS[name])


def regime(rng: np.random.Generator, rows: int) -> list[tuple[Ints, Ints]]:
    """Return orders whose payments come soon in the first half, late in the second."""
    keys = rng.permutation(rows).astype(np.int64)
    paid = np.flatnonzero(rng.random(rows) < 0.7)
    soon, late = (LAGS[f"payments, {name}"].draw(rng, len(paid)) for name in ("short lag", "late"))
    lag = np.maximum(np.where(paid < rows // 2, soon, late) * WINDOW, 0.0)
    return [
        (np.arange(rows, dtype=np.int64), keys),
        make.in_order(np.asarray(paid + lag), keys[paid]),
    ]


def sessions(rng: np.random.Generator, rows: int) -> list[tuple[Ints, Ints]]:
    """Return the actions of users on two streams: a user is active for a while, then gone.

    A session has eight actions in each stream on average, within a quarter of a window.
    """
    size = 8.0
    users = int(rows / size)
    begins = rng.random(users) * rows
    sides = []
    for _ in range(2):
        many = rng.geometric(1.0 / size, users)
        user = np.repeat(np.arange(users, dtype=np.int64), many)
        times = begins[user] + rng.random(len(user)) * WINDOW / 4
        inside = times < rows
        sides.append(make.in_order(times[inside], user[inside]))
    return sides


def seasons(rng: np.random.Generator, rows: int) -> list[tuple[Ints, Ints]]:
    """Return streams of three popular sets of keys that take turns, a window each."""
    domain = 300
    sides = []
    for _ in range(2):
        season = (np.arange(rows) // WINDOW) % 3
        popular = season * (domain // 3) + make.draws(rng, rows, domain // 3, 0.7)
        any_key = make.draws(rng, rows, domain, 0.0)
        keys = np.where(rng.random(rows) < 0.8, popular, any_key)
        sides.append((np.arange(rows, dtype=np.int64), keys.astype(np.int64)))
    return sides


def follower(rng: np.random.Generator, rows: int) -> list[tuple[Ints, Ints]]:
    """Return a stream whose popularity moves on, and one that follows it half a window later."""
    leader = make.drift(rng, rows + WINDOW // 2, 500, 1.0, WINDOW / 20)
    later = make.drift(rng, rows + WINDOW // 2, 500, 1.0, WINDOW / 20)
    times = np.arange(rows, dtype=np.int64)
    return [(times, leader[WINDOW // 2 :]), (times, later[:rows])]


def polluted(rng: np.random.Generator, rows: int) -> list[tuple[Ints, Ints]]:
    """Return streams in which six of ten tuples have a key that never comes again."""
    sides = []
    for side in range(2):
        keys = make.draws(rng, rows, 200, 0.8)
        once = 1_000_000 * (side + 1) + np.arange(rows)
        sides.append(
            (
                np.arange(rows, dtype=np.int64),
                np.where(rng.random(rows) < 0.6, once, keys).astype(np.int64),
            )
        )
    return sides


#: All shapes by name: streams from a generator and a number of tuples.
SHAPES: dict[str, Callable[[np.random.Generator, int], list[tuple[Ints, Ints]]]] = {
    **{name: partial(_of_lags, name) for name in LAGS},
    "regime change": regime,
    "sessions": sessions,
    "seasons": seasons,
    "follower": follower,
    "one-hit keys": polluted,
}
