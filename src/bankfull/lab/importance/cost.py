"""Section 5.1: running time and memory of the offline algorithms."""

from __future__ import annotations

from typing import Any

from bankfull.lab import offline
from bankfull.lab.claims import Claim
from bankfull.lab.experiment import Chart, Experiment, Place, fixed, grid
from bankfull.lab.observers import change, grown_apart, ratio
from bankfull.lab.offline import SCHEDULE, VALUE

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
    panel: str | None = None,
) -> Experiment:
    return Experiment(
        f"importance.fig{number}",
        f"Figure {number}: {title}",
        varied,
        ("odja", "esja"),
        fixed(wide, narrow),
        offline.memory_use if number == 7 else offline.running_time,
        claims,
        Chart(varied, "kilobytes" if number == 7 else "seconds", panel=panel, log="y"),
        seeds=(1,),
        curve="system",
        slow=frozenset({"odja"}),
        notes=(_SMALL,),
    )


#: What the memory is measured for.
_ANSWERS = {VALUE: "ODJA gives the importance alone", SCHEDULE: "ODJA gives the schedule too"}


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
    grid(answer=tuple(_ANSWERS), rows=(800, 2400, 4000, 5600), window=(40,), room=(1,)),
    grid(answer=tuple(_ANSWERS), rows=(400, 1200), window=(20,), room=(1,)),
    tuple(
        claim
        for answer, reading in _ANSWERS.items()
        for claim in (
            Claim(
                "ESJA needs 25 to 45 times the memory of ODJA",
                "esja / odja, kilobytes",
                ratio("esja", "odja", answer=answer),
                "at least",
                25.0,
                reading=reading,
            ),
            Claim(
                "ESJA's memory grows with the streams more than ODJA's",
                "esja less odja, kilobytes: last less first",
                grown_apart("esja", "odja", "rows", answer=answer),
                "at least",
                0.0,
                reading=reading,
            ),
        )
    ),
    panel="answer",
)

MEDIUM = Experiment(
    "importance.medium",
    "Section 5.1.3, no figure: running time at memories that are neither small nor large, w = 12",
    "room",
    ("odja", "esja"),
    fixed(
        grid(room=(1, 3, 6, 9, 11), rows=(300,), window=(12,)),
        grid(room=(1, 4, 7), rows=(100,), window=(8,)),
    ),
    offline.running_time,
    (
        Claim(
            "ESJA is faster than ODJA where the memory is neither small nor large",
            "odja / esja, seconds",
            ratio("odja", "esja", room=(3, 4, 6, 9)),
            "at least",
            1.0,
        ),
    ),
    Chart("room", "seconds", log="y"),
    seeds=(1,),
    curve="system",
    slow=frozenset({"odja"}),
    notes=(_SMALL,),
)
