"""What the cells of the experiments measure: one function a kind of figure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bankfull.lab import locality
from bankfull.lab.counting import age_curves, best_age
from bankfull.lab.experiment import Cell, Record, options
from bankfull.lab.generators import shuffled
from bankfull.lab.systems import OPTIMUM, run
from bankfull.lab.workloads import workload

Measure = Callable[[Cell], list[Record]]
#: The importance paper's default setting, and a smaller one of the same proportions.
_DEFAULTS = {"rows": 5600, "window": 400, "memory": 200, "domain": 100}
_QUICK = {"rows": 1400, "window": 100, "memory": 50, "domain": 100}
_TAKEN = ("rows", "window", "domain", "skew_a", "skew_b", "kind", "since")
_CACHES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)
_BINS = 20


def share(name: str | None = None, *names: str, budget: float = 0.2, **given: Any) -> Measure:
    """Measure a system's share of the exact output.

    The workload is the place's or ``name``; ``names`` are the settings that it takes from the
    place, ``given`` those that are fixed. "unified X" is X with one buffer for all streams.
    """

    def measure(cell: Cell) -> list[Record]:
        place = cell.place
        settings = (*options(place, *names), *given.items())
        made = workload(str(place.get("workload", name)), cell.seed, cell.quick, settings)
        split, _, system = cell.system.rpartition(" ")
        return [
            run(
                made,
                system,
                made.budgets(float(place.get("budget", budget))),
                cell.seed,
                unified=split == "unified",
                sample=float(place.get("drop", 0.0)),
                histogram="drop" in place,
            )
        ]

    return measure


def tuning(cell: Cell) -> list[Record]:
    """Measure GDJ with one of its methods and initial credits, or tuning itself; the optimum."""
    made = workload(str(cell.place["workload"]), cell.seed, cell.quick)
    if cell.system == OPTIMUM:
        return [run(made, OPTIMUM, made.budgets(0.2), cell.seed)]
    params: dict[str, Any] = {"initial": "auto"}
    if cell.system.startswith("method"):
        params = {"initial": cell.place["initial"], "method": int(cell.system.split()[1])}
    return [run(made, "gdj", made.budgets(0.2), cell.seed, params=params)]


def popularity(cell: Cell) -> list[Record]:
    """Count how often the values of a stream occur, and fit Zipf's law."""
    longer = (("seconds", 3000),) if cell.system == "stock-like" else ()
    keys = workload(cell.system, cell.seed, cell.quick, longer).streams[0].columns["k"]
    counts = locality.frequencies(keys)
    exponent, straight = locality.slope(counts, at_least=5)
    ranks = np.unique(np.geomspace(1, len(counts), 40).astype(int)).tolist()
    return [
        {
            "rank": rank,
            "value": float(counts[rank - 1] / len(keys)),
            "slope": exponent,
            "straight": straight,
        }
        for rank in ranks
    ]


def stack(cell: Cell) -> list[Record]:
    """Measure the hit rate of caches, on the stream as it came or shuffled."""
    keys = workload(str(cell.place["workload"]), cell.seed, cell.quick).streams[0].columns["k"]
    if cell.system == "shuffled":
        keys = shuffled(np.random.default_rng([cell.seed, 1]), keys)
    distances = locality.stack_distances(keys)
    sizes = np.ceil(np.array(_CACHES) * len(np.unique(keys))).astype(np.int64)
    hits = locality.cumulative(distances, sizes).tolist()
    return [{"cache": size, "value": hit} for size, hit in zip(_CACHES, hits, strict=True)]


def ages(cell: Cell) -> list[Record]:
    """Measure at which age, as a share of the window, the tuples of each value pay most."""
    made = workload(cell.system, cell.seed, cell.quick)
    (join,) = made.joins
    best = {key: best_age(ages) for key, ages in age_curves(made, 0).items()}
    keys = made.streams[0].columns["k"].tolist()
    found = np.array([best[key] for key in keys if key in best]) / join.within
    middles = np.linspace(0, 1, 101)
    one_fits = max(float((abs(found - middle) <= 0.05).mean()) for middle in middles)
    shares = np.histogram(found, np.linspace(0, 1, _BINS + 1))[0] / len(found)
    return [
        {
            "age": round((place + 0.5) / _BINS, 3),
            "value": float(part),
            "one_age_fits": one_fits,
            "deviation": float(found.std()),
        }
        for place, part in enumerate(shares)
    ]


def weighed(trials: int = 1, **given: Any) -> Measure:
    """Measure a system's share of the exact importance, in the importance paper's setting.

    The place's settings go before ``given``, and both before the defaults. ``room`` is what one
    stream may store, ``memory`` both, evenly; ``skew`` is that of both streams. With several
    trials the seconds are those of the fastest, which has its kernels at hand.
    """

    def measure(cell: Cell) -> list[Record]:
        asked = {**(_QUICK if cell.quick else _DEFAULTS), **given, **cell.place}
        if "skew" in asked:
            asked["skew_a"] = asked["skew_b"] = asked["skew"]
        made = workload("importance", cell.seed, cell.quick, options(asked, *_TAKEN))
        room = int(asked.get("room", int(asked["memory"]) // 2))
        constants = dict(options(cell.place, "gain", "decay")) if cell.system == "dgl" else {}
        found = [
            run(made, cell.system, (room, room), cell.seed, goal="importance", params=constants)
            for _ in range(1 if cell.system == OPTIMUM else trials)
        ]
        return [min(found, key=lambda one: float(one.get("seconds", 0.0)))]

    return measure
