"""Section 5.1: what the offline algorithms reach."""

from __future__ import annotations

from dataclasses import replace

from bankfull.lab import offline
from bankfull.lab.experiment import Chart, Experiment, fixed, grid
from bankfull.lab.importance.shared import ONLINE, QUALITY, TWO_KINDS, near
from bankfull.lab.measures import weighed
from bankfull.lab.observers import difference, level
from bankfull.lab.systems import LARGEST, OPTIMUM

_EVICT, _TOGETHER = "evict first", "together"
_CONVENTIONS = (_EVICT, _TOGETHER, "operator")

FIG1 = Experiment(
    "importance.fig1",
    "Figure 1: the worked example, w = 4, M = 4",
    "convention",
    ("exact", "odja", "esja", LARGEST),
    fixed(grid(convention=_CONVENTIONS), grid(convention=_CONVENTIONS)),
    offline.worked_example,
    tuple(
        replace(
            near(
                text, f"{system}: {field}", level(system, name, convention=convention), wanted, 0.0
            ),
            reading=f"tuples leave: {convention}",
            at_any_size=True,  # there is one example, of one size
        )
        for text, system, convention, wanted, name, field in (
            ("The exact result has 9 tuples", "exact", _EVICT, 9, "results", "tuples"),
            ("The exact result is worth 32", "exact", _EVICT, 32, "value", "importance"),
            ("The optimum is worth 30 (ODJA)", "odja", _EVICT, 30, "value", "importance"),
            ("The optimum is worth 30 (ESJA)", "esja", _EVICT, 30, "value", "importance"),
            ("The optimum has 7 tuples", "odja", _EVICT, 7, "results", "tuples"),
            ("The largest result has 8 tuples", LARGEST, _EVICT, 8, "results", "tuples"),
            ("The largest result is worth 12", LARGEST, _EVICT, 12, "value", "importance"),
            ("Joined before any leaves: worth 31", "odja", _TOGETHER, 31, "value", "importance"),
        )
    ),
    Chart("convention", "importance of the result", kind="bar"),
    seeds=(1,),
    curve="system",
)

FIG2 = Experiment(
    "importance.fig2",
    "Figure 2: importance against memory, w = 10, N = 5600",
    "room",
    (*ONLINE, LARGEST, OPTIMUM),
    fixed(
        grid(kind=tuple(TWO_KINDS), domain=(10, 100), room=(1, 2, 3, 5, 9)),
        grid(kind=tuple(TWO_KINDS), domain=(10, 100), room=(1, 2, 5)),
    ),
    weighed(window=10),
    tuple(
        claim
        for domain in (10, 100)
        for kind, worth in TWO_KINDS.items()
        for reading in [f"{domain} values; {worth}"]
        for claim in (
            *(
                near(
                    f"{name} misses {error:.1%} of the importance at M/2 = {room}",
                    "share kept",
                    level(system, room=room, kind=kind, domain=domain),
                    1.0 - error,
                    0.05,
                    reading,
                )
                for name, system, room, error in (
                    ("The optimum", OPTIMUM, 1, 0.297),
                    ("The optimum", OPTIMUM, 5, 0.01),
                    ("The largest result", LARGEST, 1, 0.753),
                    ("The largest result", LARGEST, 5, 0.28),
                    ("Random shedding", "random", 1, 0.98),
                    ("Random shedding", "random", 5, 0.804),
                )
            ),
            *(
                near(
                    f"The largest result has {more} tuples more than the optimum at M/2 = {room}",
                    "largest - optimum, tuples",
                    difference(LARGEST, OPTIMUM, "results", room=room, kind=kind, domain=domain),
                    more,
                    40,
                    reading,
                )
                for room, more in ((1, 164), (2, 97))
            ),
        )
    ),
    Chart("room", QUALITY, panel=("kind", "domain")),
    notes=(
        "Domain and skew are not printed for this figure: 10 and 100 values, Zipf 1.0 and 0.0.",
    ),
)
