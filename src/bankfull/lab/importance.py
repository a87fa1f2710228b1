"""The experiments of the importance paper, and what it claims of them.

Quality is the share of the exact result's importance, counted from twice the (largest) window on;
the smaller of two importances is that of their result; memory is divided evenly. The paper does
not print how importance is distributed: here it is 1 to 10 with equal chances, and 100 for 5 % of
the tuples (``rare``); Figure 9 varies it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from bankfull.lab import offline
from bankfull.lab.claims import Claim
from bankfull.lab.experiment import Chart, Experiment, Place, fixed, grid
from bankfull.lab.measures import weighed
from bankfull.lab.observers import (
    best_ratio,
    change,
    difference,
    growth,
    level,
    over_range,
    quotient,
    ratio,
)
from bankfull.lab.systems import LARGEST, OPTIMUM

_QUALITY = "share of the exact importance"
#: From worst to best, as Figures 8 to 10 have them.
_ORDER = ("random", "simp", "prob", "simpprob", "dimpprob", "dgl")
_ONLINE = (*_ORDER, "gain")


def _order(told: str, **where: Any) -> tuple[Claim, ...]:
    """Return the published order as one claim a step."""
    return tuple(
        Claim(
            f"{better.upper()} is better than {worse.upper()} {told}",
            f"{better} / {worse}",
            ratio(better, worse, **where),
            "at least",
            1.0,
        )
        for worse, better in pairwise(_ORDER)
    )


def _near(text: str, number: str, observe: Any, expected: float, tolerance: float) -> Claim:
    return Claim(text, number, observe, "near", expected, tolerance)


# ------------------------------------------------------------------ section 5.1: offline quality

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
        _near(text, f"{system}: {field}", level(system, name, convention=convention), wanted, 0.0)
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
    (*_ONLINE, LARGEST, OPTIMUM),
    fixed(grid(domain=(10, 100), room=(1, 2, 3, 5, 9)), grid(domain=(10, 100), room=(1, 2, 5))),
    weighed(window=10),
    (
        *(
            _near(
                f"{name} misses {error:.1%} of the importance at M/2 = {room}",
                "share kept",
                level(system, room=room),
                1.0 - error,
                0.05,
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
            _near(
                f"The largest result has {more} tuples more than the optimum at M/2 = {room}",
                "largest - optimum, tuples",
                difference(LARGEST, OPTIMUM, "results", room=room),
                more,
                40,
            )
            for room, more in ((1, 164), (2, 97))
        ),
    ),
    Chart("room", _QUALITY, panel="domain"),
    notes=(
        "Domain and skew are not printed for this figure: 10 and 100 values, Zipf 1.0 and 0.0.",
    ),
)

# ------------------------------------------------- section 5.1: offline running time and memory

_SMALL = (
    "Our ODJA is plain Python written to be read, our ESJA calls a compiled flow, so windows are "
    "smaller than the paper's 400 and the ratio between the two says little about the algorithms."
)


def _times(
    number: int,
    title: str,
    varied: str,
    wide: list[Place],
    narrow: list[Place],
    claims: tuple[Claim, ...],
) -> Experiment:
    return Experiment(
        f"importance.fig{number}",
        f"Figure {number}: {title}",
        varied,
        ("odja", "esja"),
        fixed(wide, narrow),
        offline.memory_use if number == 7 else offline.running_time,
        claims,
        Chart(varied, "kilobytes" if number == 7 else "seconds", log="y"),
        seeds=(1,),
        curve="system",
        slow=frozenset({"odja"}),
        notes=(_SMALL,),
    )


def _faster(text: str, expected: float, **where: Any) -> Claim:
    return Claim(text, "esja / odja, seconds", ratio("esja", "odja", **where), "at least", expected)


FIG3 = _times(
    3,
    "running time at M/2 = 1 against the length of the streams",
    "rows",
    grid(rows=(800, 2400, 4000, 5600), window=(40,), room=(1,)),
    grid(rows=(400, 1200), window=(20,), room=(1,)),
    (
        _faster("ODJA is several times as fast as ESJA at M/2 = 1 (4.8 to 7 times)", 4.8),
        Claim(
            "Its advantage grows with the length of the streams",
            "esja / odja: last less first",
            change("esja", "rows", "odja"),
            "at least",
            0.0,
        ),
    ),
)

FIG4 = _times(
    4,
    "running time at M/2 = 1 against the window",
    "window",
    grid(window=(10, 20, 40, 80), rows=(2800,), room=(1,)),
    grid(window=(10, 20), rows=(700,), room=(1,)),
    (
        _faster("ODJA is several times as fast as ESJA at M/2 = 1 (6 to 6.9 times)", 6.0),
        Claim(
            "Its advantage grows with the window",
            "esja / odja: last less first",
            change("esja", "window", "odja"),
            "at least",
            0.0,
        ),
    ),
)

FIG5 = _times(
    5,
    "running time at M/2 = w - 1 against the length of the streams",
    "rows",
    grid(rows=(800, 2400, 4000, 5600), window=(6,), room=(0,)),
    grid(rows=(400, 1200), window=(5,), room=(0,)),
    (
        _faster("ODJA is at least as fast as ESJA at M/2 = w - 1", 1.0),
        Claim(
            "Its advantage grows with the length of the streams",
            "esja / odja: last less first",
            change("esja", "rows", "odja"),
            "at least",
            0.0,
        ),
    ),
)

FIG6 = _times(
    6,
    "running time at M/2 = w - 1 against the window",
    "window",
    grid(window=(4, 6, 8, 10), rows=(2800,), room=(0,)),
    grid(window=(4, 6), rows=(700,), room=(0,)),
    (
        Claim(
            "ODJA gains on ESJA as the window shrinks",
            "esja / odja: last less first",
            change("esja", "window", "odja"),
            "at most",
            0.0,
        ),
    ),
)

FIG7 = _times(
    7,
    "memory at M/2 = 1 against the length of the streams",
    "rows",
    grid(rows=(800, 2400, 4000, 5600), window=(40,), room=(1,)),
    grid(rows=(400, 1200), window=(20,), room=(1,)),
    (
        Claim(
            "ESJA needs 25 to 45 times the memory of ODJA",
            "esja / odja, kilobytes",
            ratio("esja", "odja"),
            "at least",
            25.0,
        ),
        Claim(
            "ESJA's memory grows with the streams more than ODJA's",
            "esja / odja: last less first",
            change("esja", "rows", "odja"),
            "at least",
            0.0,
        ),
    ),
)

# ------------------------------------------------------------------- section 5.2: online quality

FIG8 = Experiment(
    "importance.fig8",
    "Figure 8: importance against the window, M = 200",
    "window",
    (*_ONLINE, OPTIMUM),
    fixed(
        grid(window=(200, 400, 600, 800), since=(1600,)), grid(window=(50, 100, 200), since=(400,))
    ),
    weighed(),
    (
        *_order("at every window"),
        _near(
            "The optimum is worth 3.21 times as much at w = 800 as at w = 200",
            "optimum: importance, last / first",
            growth(OPTIMUM, "window", "importance"),
            3.21,
            0.5,
        ),
    ),
    Chart("window", _QUALITY),
)

_MORE = {"dimpprob": 0.032, "simpprob": 0.206, "prob": 0.476, "simp": 0.529, "random": 0.778}
_KINDS = ("rare", "rarer", "flat", "heavy")

FIG9 = Experiment(
    "importance.fig9",
    "Figure 9: importance against memory, w = 400, for four distributions of importance",
    "memory",
    (*_ONLINE, OPTIMUM),
    fixed(
        grid(kind=_KINDS, memory=(100, 200, 400, 600, 800)),
        grid(kind=("rare", "flat"), memory=(24, 50, 150)),
    ),
    weighed(),
    (
        *_order("at every memory size"),
        Claim(
            "DGL is the best of the published policies at every memory size",
            "dgl / best other",
            best_ratio("dgl", _ORDER),
            "at least",
            1.0,
        ),
        *(
            _near(
                f"DGL keeps {more:.1%} more than {other.upper()} at M = 100",
                f"dgl / {other}",
                ratio("dgl", other, kind="rare", memory=(24, 100)),
                1.0 + more,
                0.1,
            )
            for other, more in _MORE.items()
        ),
        _near(
            "Random shedding keeps M / 2w of the importance",
            "random / (M / 2w)",
            quotient("random", "value", "memory_share"),
            1.0,
            0.1,
        ),
    ),
    Chart("memory", _QUALITY, panel="kind"),
)

FIG10 = Experiment(
    "importance.fig10",
    "Figure 10: importance against the number of values, w = 400, M = 200",
    "domain",
    (*_ONLINE, OPTIMUM),
    fixed(grid(domain=(50, 100, 200, 400, 800)), grid(domain=(50, 200))),
    weighed(),
    (
        *_order("at every domain size"),
        *(
            Claim(
                f"{system.upper()} falls behind the optimum as the domain grows",
                f"{system} / optimum: last less first",
                change(system, "domain", OPTIMUM),
                "at most",
                0.0,
            )
            for system in ("dgl", "prob")
        ),
        Claim(
            "The optimum approaches the exact result as the domain grows",
            "optimum: last less first",
            change(OPTIMUM, "domain"),
            "at least",
            0.0,
        ),
    ),
    Chart("domain", _QUALITY, log="x"),
)

FIG11 = Experiment(
    "importance.fig11",
    "Figure 11: importance against the skew of both, correlated, streams",
    "skew",
    (*_ONLINE, OPTIMUM),
    fixed(grid(skew=(0.0, 0.25, 0.5, 0.75, 1.0)), grid(skew=(0.0, 0.5, 1.0))),
    weighed(),
    (
        *(
            claim
            for system in ("dimpprob", "simpprob")
            for claim in (
                Claim(
                    f"{system.upper()} passes DGL",
                    f"{system} / dgl",
                    ratio(system, "dgl"),
                    "at least",
                    1.0,
                ),
                _near(
                    f"{system.upper()} is on average 2.1 % better than DGL",
                    f"{system} / dgl",
                    ratio(system, "dgl"),
                    1.021,
                    0.02,
                ),
            )
        ),
        Claim(
            "The online policies approach the optimum as the skew grows",
            "dimpprob / optimum: last less first",
            change("dimpprob", "skew", OPTIMUM),
            "at least",
            0.0,
        ),
    ),
    Chart("skew", _QUALITY),
)

# ----------------------------------------------------------------------- Table 1, and what DGL is

_TABLE = {"dimpprob": 5783148, "dgl": 6929937, "simpprob": 5993464, "simp": 4592168}
_TABLE_PROB = 5992694

TABLE1 = Experiment(
    "importance.table1",
    "Table 1: importance and running time, N = 56000, w = 2000, M = 800, domain 2000",
    "rows",
    ("dimpprob", "dgl", "simpprob", "simp", "prob", "gain", OPTIMUM),
    fixed(
        grid(rows=(56000,), window=(2000,), memory=(800,), domain=(2000,)),
        grid(rows=(5600,), window=(200,), memory=(80,), domain=(200,)),
    ),
    weighed(trials=3),
    (
        *(
            _near(
                f"{system.upper()} is worth {worth / _TABLE_PROB:.3f} times PROB",
                f"{system} / prob",
                ratio(system, "prob"),
                worth / _TABLE_PROB,
                0.03,
            )
            for system, worth in _TABLE.items()
        ),
        Claim(
            "DGL is the best of the published policies",
            "dgl / best other",
            best_ratio("dgl", _ORDER),
            "at least",
            1.0,
        ),
        *(
            Claim(
                f"{dynamic.upper()} takes more time than SIMPPROB, whose priorities are static",
                "seconds, ratio",
                ratio(dynamic, "simpprob", "seconds"),
                "at least",
                1.0,
            )
            for dynamic in ("dimpprob", "dgl")
        ),
    ),
    Chart("rows", _QUALITY, kind="bar"),
    seeds=(1, 2),
)

DGL = Experiment(
    "importance.dgl",
    "The two constants of DGL that the paper does not print, in Figure 9's setting, M = 200",
    "decay",
    ("dgl", "simpprob", "dimpprob"),
    fixed(
        grid(gain=(0.01, 0.1, 1.0, 10.0), decay=(0.001, 0.02, 0.2, 0.5, 0.9)),
        grid(gain=(0.1, 1.0), decay=(0.02, 0.5)),
    ),
    weighed(),
    (
        *(
            Claim(
                f"DGL is better than {other.upper()} whatever its constants",
                f"dgl / {other}",
                ratio("dgl", other),
                "at least",
                1.0,
            )
            for other in ("dimpprob", "simpprob")
        ),
        *(
            Claim(
                f"DGL has constants with which it is better than {other.upper()}",
                f"best of dgl / {other}",
                over_range("dgl", "gain", "decay", of=other),
                "at least",
                1.0,
            )
            for other in ("dimpprob", "simpprob")
        ),
    ),
    Chart("decay", _QUALITY, panel="gain", log="x"),
    notes=(
        "decay is what is left of a priority after a whole window without output; gain is the "
        "factor of what a result adds.",
    ),
)

EXPERIMENTS = (
    FIG1,
    FIG2,
    FIG3,
    FIG4,
    FIG5,
    FIG6,
    FIG7,
    FIG8,
    FIG9,
    FIG10,
    FIG11,
    TABLE1,
    DGL,
)
