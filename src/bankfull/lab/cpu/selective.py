"""Figures 11 to 13: time correlation and join direction."""

from __future__ import annotations

from bankfull.lab.claims import Claim
from bankfull.lab.cpu.running import run
from bankfull.lab.cpu.shared import (
    NOTE_OPTIMUM,
    OUTPUT,
    SEEDS,
    SYSTEMS,
    about,
    gain,
    gain_grows,
    goals,
    mean,
    part_of,
    series,
    setting_of,
)
from bankfull.lab.experiment import Cell, Chart, Experiment, Record, fixed, grid
from bankfull.lab.observers import growth, level


def _parts(cell: Cell) -> list[Record]:
    way, which = cell.system.split()
    setting = setting_of()(cell)
    return part_of(run(setting, way, cell.seed), int(which.removeprefix("r")), setting)


FIG11 = Experiment(
    "cpu.fig11",
    "Figure 11: the parts of both windows that are compared, shifted streams",
    "time",
    ("direction r1", "direction r2", "auto r1", "auto r2"),
    fixed(grid(capacity=(400_000.0, 1_000_000.0)), grid(capacity=(400_000.0,))),
    _parts,
    (
        Claim(
            "The window that returns less (S1's) is given up first",
            "r1 at the end of the burst",
            level("direction r1", time=74.5),
            "at most",
            0.01,
        ),
        Claim(
            "The other keeps what there is",
            "r2 at the end of the 300/s phase",
            level("direction r2", time=104.5),
            "at least",
            0.1,
        ),
    ),
    Chart("time", "part of the window compared", panel="capacity"),
    seeds=SEEDS,
    curve="system",
    notes=(
        "S2 follows S1 by 5/8 of two windows, so tuples of S1 find theirs in S2's window at 3/4 of "
        "its age; the paper numbers the windows the other way round.",
    ),
)

FIG12 = Experiment(
    "cpu.fig12",
    "Figure 12: output of shifted streams through a burst",
    "time",
    SYSTEMS,
    fixed(grid(capacity=(400_000.0, 1_000_000.0)), grid(capacity=(400_000.0,))),
    series(setting_of()),
    tuple(
        claim
        for phase in ("2: 500/s", "3: 300/s")
        for claim in (
            about(
                f"Time correlation gives about 50 % more than rate alone, at {phase[3:]}",
                "correlation / rate - 1",
                gain("correlation", "rate", phase=phase),
                0.5,
            ),
            about(
                f"Join direction gives about 40 % more again, at {phase[3:]}",
                "direction / correlation - 1",
                gain("direction", "correlation", phase=phase),
                0.4,
            ),
        )
    )
    + goals(),
    Chart("time", OUTPUT, panel="capacity"),
    seeds=SEEDS,
    notes=(NOTE_OPTIMUM,),
)

FIG13 = Experiment(
    "cpu.fig13",
    "Figure 13: mean output of shifted streams against skew, four items in common",
    "skew",
    SYSTEMS,
    fixed(grid(skew=(0.2, 0.6, 0.8, 1.0)), grid(skew=(0.6, 1.0))),
    mean(setting_of(at_least=4)),
    (
        *(
            Claim(
                f"The gain over rate alone grows with skew: {way}",
                f"{way} / rate, last less first",
                gain_grows(way, "rate", "skew"),
                "at least",
                0.0,
            )
            for way in ("correlation", "direction")
        ),
        Claim(
            "More skew does not improve what rate alone gives",
            "rate, last over first",
            growth("rate", "skew"),
            "at most",
            1.0,
            0.1,
        ),
        *goals(),
    ),
    Chart("skew", OUTPUT, log="y"),
    seeds=SEEDS,
    notes=(NOTE_OPTIMUM,),
)

EXPERIMENTS = (FIG11, FIG12, FIG13)
