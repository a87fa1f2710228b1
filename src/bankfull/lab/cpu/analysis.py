"""Figures 5 and 6: what basic windows can catch of a match distribution, and what is learned."""

from __future__ import annotations

import numpy as np

from bankfull.lab.claims import Claim, Observation, Observer, Points
from bankfull.lab.cpu.bound import counts
from bankfull.lab.cpu.running import run
from bankfull.lab.cpu.setting import SHIFTED
from bankfull.lab.cpu.shared import SEEDS, setting_of
from bankfull.lab.cpu.streams import ITEMS, Floats
from bankfull.lab.experiment import Cell, Chart, Experiment, Record, fixed, grid
from bankfull.lab.observers import change, ratio

_FINE = 4000


def density(skew: float) -> Floats:
    """Return the match probability over a window, in fine steps, newest first; its sum is 1.

    A tuple of the leading stream, in the paper's setting, against the window of the one that
    follows: how likely two tuples share an item, to the power of the three they must share.
    """
    popularity = np.arange(1, ITEMS + 1, dtype=np.float64) ** -skew
    popularity /= popularity.sum()
    ages = (np.arange(_FINE) + 0.5) / _FINE
    # The cycle is two windows; S2 follows by 5/8 of it.
    lags = np.floor(ITEMS * np.mod(ages / 2.0 + SHIFTED, 1.0)).astype(np.int64)
    common = np.array([popularity @ np.roll(popularity, -lag) for lag in range(ITEMS)])
    found: Floats = common[lags] ** 3
    found /= found.sum()
    return found


def optimality(match: Floats, basic: float, part: float) -> float:
    """Return the paper's phi: what basic windows of this size catch, of the best possible.

    >>> optimality(np.full(1000, 0.001), 0.1, 0.5)
    1.0
    """
    edges = np.concatenate([[0.0], np.cumsum(match)])
    grid_of = np.linspace(0.0, 1.0, len(edges))
    windows = 1 + int(np.ceil(1.0 / basic - 1e-9))
    full = (np.arange(64) + 0.5) / 64  # how far the first basic window is filled
    j = np.arange(windows)
    begin = np.clip((full[:, None] + j - 1) * basic, 0.0, 1.0)
    end = np.clip((full[:, None] + j) * basic, 0.0, 1.0)
    caught = (np.interp(end, grid_of, edges) - np.interp(begin, grid_of, edges)).mean(axis=0)
    caught = -np.sort(-caught)
    whole = min(windows, int(part / basic + 1e-9))
    used = caught[:whole].sum()
    if whole < windows:
        used += caught[whole] * (part - whole * basic) / basic
    best = np.cumsum(-np.sort(-match))
    most = best[min(len(match), max(1, round(len(match) * part))) - 1]
    return float(round(min(1.0, used / most), 9))


def _phi(cell: Cell) -> list[Record]:
    skew, part = float(cell.system.split()[1]), float(cell.place["part"])
    return [{"value": optimality(density(skew), float(cell.place["basic"]), part)}]


_SKEWS = ("skew 0.6", "skew 1.0")
_PARTS = (0.05, 0.1, 0.2, 0.4, 0.8)
_BASICS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)

FIG5 = Experiment(
    "cpu.fig5",
    "Figure 5: what basic windows catch of the best part of a window",
    "basic",
    _SKEWS,
    fixed(grid(part=_PARTS, basic=_BASICS), grid(part=(0.1, 0.4), basic=(0.02, 0.2))),
    _phi,
    (
        *(
            Claim(
                f"Less time makes the same basic windows less optimal: {name}",
                "phi at the largest part less phi at the smallest",
                change(name, "part"),
                "at least",
                0.0,
                at_any_size=True,
            )
            for name in _SKEWS
        ),
        Claim(
            "A more skewed match distribution makes the same basic windows less optimal",
            "phi at skew 1.0 / phi at skew 0.6",
            ratio(_SKEWS[1], _SKEWS[0]),
            "at most",
            1.0,
        ),
        *(
            Claim(
                f"Smaller basic windows are more optimal: {name}",
                "phi of the largest less phi of the smallest",
                change(name, "basic"),
                "at most",
                0.0,
                at_any_size=True,
            )
            for name in _SKEWS
        ),
    ),
    Chart(
        "basic",
        "phi, share of the best possible output",
        panel="part",
        log="x",
        across_is="basic windows, as a share of the window",
    ),
    seeds=(1,),
    curve="system",
    notes=("Computed, not simulated: the match distribution follows from the generator.",),
)


def _distribution(cell: Cell) -> list[Record]:
    setting = setting_of(steps=((20.0, 300.0), (60.0, 300.0)), capacity=1_000_000.0)(cell)
    if cell.system == "exact":
        made = counts(setting, cell.seed)
        since = int(setting.window_s)
        found = made.results[since:].sum(axis=(0, 2))
        pairs = made.cost[since:].sum(axis=(0, 2))
    else:
        learned = run(setting, cell.system.removeprefix("learned by "), cell.seed).learned
        assert learned is not None
        pairs, found = learned[:, :, 0], learned[:, :, 1]
    share = found / np.maximum(pairs, 1.0)
    share = share / share.sum(axis=1, keepdims=True)
    return [
        {
            "direction": f"window of S{j + 1}",
            "age": (a + 0.5) * setting.basic_s,
            "value": float(share[j, a]),
        }
        for j in range(2)
        for a in range(int(setting.window_s / setting.basic_s))
    ]


def peak(system: str, field: str, direction: str) -> Observer:
    """Observe where (``age``) or how high (``value``) a distribution is at its highest."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places({"direction": direction}):
            mine = [one for one in group if one.get("system") == system]
            if mine:
                found.append((label, float(max(mine, key=lambda one: one["value"])[field])))
        return found

    return observe


def distance(system: str, direction: str) -> Observer:
    """Observe which part of a learned distribution lies elsewhere than the exact one."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places({"direction": direction}):
            curves = [
                {one["age"]: float(one["value"]) for one in group if one.get("system") == name}
                for name in (system, "exact")
            ]
            if all(curves):
                away = sum(abs(curves[0][age] - curves[1][age]) for age in curves[1]) / 2.0
                found.append((label, away))
        return found

    return observe


_LEARNED = ("learned by correlation", "learned by auto")
_USEFUL = "window of S2"

FIG6 = Experiment(
    "cpu.fig6",
    "Figure 6: the match distribution of both windows, exact and learned",
    "age",
    ("exact", *_LEARNED),
    fixed(grid(skew=(0.6, 0.8)), grid(skew=(0.8,))),
    _distribution,
    (
        Claim(
            "S2 follows S1 by 5/8 of a cycle, so a tuple of S1 finds most at 3/4 of its window",
            "age of the highest, seconds",
            peak("exact", "age", _USEFUL),
            "near",
            15.0,
            1.0,
        ),
        *(
            Claim(
                f"The peak is found: {name}",
                "age of the highest, seconds",
                peak(name, "age", _USEFUL),
                "near",
                15.0,
                2.0,
            )
            for name in _LEARNED
        ),
        *(
            Claim(
                f"The whole distribution is learned: {name}, {direction}",
                "part of the distribution that lies elsewhere",
                distance(name, direction),
                "at most",
                0.1,
            )
            for name in _LEARNED
            for direction in ("window of S1", _USEFUL)
        ),
    ),
    Chart(
        "age",
        "share of the matches",
        panel=("skew", "direction"),
        across_is="age of the partner, in seconds",
    ),
    seeds=SEEDS,
    curve="system",
    notes=(
        "What was learned is looked at when the streams end, after 80 s at 300 tuples a second.",
    ),
)

EXPERIMENTS = (FIG5, FIG6)

__all__ = ["EXPERIMENTS", "FIG5", "FIG6", "density", "optimality"]
