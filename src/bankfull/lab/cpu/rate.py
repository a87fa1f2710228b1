"""Figures 7 to 10: how many tuples a join must drop, and what comparing with less instead gives."""

from __future__ import annotations

from bankfull.lab.claims import Claim
from bankfull.lab.cpu.running import run
from bankfull.lab.cpu.setting import ALIGNED, SHIFTED, Setting
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
from bankfull.lab.observers import change, level

#: The capacity at which a scan of 125 s at 50 tuples a second drops half of them (Figure 7).
PAPERS_MACHINE = 160_000.0


def _drops(cell: Cell) -> list[Record]:
    search, rate = cell.system.split()
    length = 1.5 * float(cell.place["window"])
    setting = Setting(
        ((length, float(rate.removesuffix("/s"))),),
        float(cell.place["window"]),
        shift=SHIFTED,
        search=search,
        capacity=PAPERS_MACHINE,
    )
    setting = setting.small() if cell.quick else setting
    outcome = run(setting, "drop", cell.seed)
    since = int(float(cell.place["window"]))
    dropped = float(outcome.dropped[since : int(length)].mean())
    return [{"value": dropped, "share": dropped / (2.0 * setting.steps[0][1])}]


_SCANS, _LISTS = ("scan 50/s", "scan 100/s"), ("inverted 50/s", "inverted 100/s")

FIG7 = Experiment(
    "cpu.fig7",
    "Figure 7: tuples dropped at random, with and without an index",
    "window",
    (*_SCANS, *_LISTS),
    fixed(grid(window=(25, 125, 375, 625)), grid(window=(125, 625))),
    _drops,
    (
        Claim(
            "A scan of 125 s at 50 tuples a second drops half of the tuples",
            "share dropped",
            level(_SCANS[0], "share", window=125),
            "near",
            0.5,
            0.1,
        ),
        Claim(
            "With an index, 625 s at 100 tuples a second, a quarter of the tuples is dropped",
            "share dropped",
            level(_LISTS[1], "share", window=625),
            "near",
            0.25,
            0.1,
        ),
        Claim(
            "With an index hardly a tuple is dropped where a scan drops half",
            "share dropped",
            level(_LISTS[0], "share", window=125),
            "at most",
            0.05,
        ),
        *(
            Claim(
                f"More is dropped of a larger window: {name}",
                "tuples a second, last less first",
                change(name, "window"),
                "at least",
                1.0,
            )
            for name in (*_SCANS, _LISTS[1])
        ),
    ),
    Chart("window", "tuples dropped a second", log="x", across_is="window, in seconds"),
    seeds=SEEDS,
    curve="system",
    notes=(
        "The capacity (160,000 a second) was set so that the first claim holds, the cost of an "
        "entry of a list (0.05) so that the second did with an earlier search of lists; the other "
        "figures use more capacity.",
    ),
)


def _part(cell: Cell) -> list[Record]:
    setting = setting_of(shift=ALIGNED)(cell)
    return part_of(run(setting, "rate", cell.seed), 0, setting)


FIG8 = Experiment(
    "cpu.fig8",
    "Figure 8: the part r that is compared follows the rates 100, 500, 300, 100",
    "time",
    ("r",),
    fixed(grid(capacity=(400_000.0, 1_000_000.0)), grid(capacity=(400_000.0,))),
    _part,
    tuple(
        Claim(text, "r", level("r", time=at), relation, expected)
        for text, at, relation, expected in (
            ("Before the burst most is compared", 55.5, "at least", 0.5),
            ("At 500 tuples a second little is", 74.5, "at most", 0.2),
            ("At 300 tuples a second it is more again", 104.5, "at least", 0.05),
            ("After the burst r is on its way back", 119.5, "at least", 0.3),
        )
    ),
    Chart("time", "part of the windows compared", panel="capacity"),
    seeds=SEEDS,
    curve="system",
)

FIG9 = Experiment(
    "cpu.fig9",
    "Figure 9: output of aligned streams through a burst",
    "time",
    SYSTEMS,
    fixed(grid(capacity=(400_000.0, 1_000_000.0)), grid(capacity=(400_000.0,))),
    series(setting_of(shift=ALIGNED)),
    (
        about(
            "Comparing with less gives about 100 % more than dropping at 500 tuples a second",
            "rate / drop - 1",
            gain("rate", "drop", phase="2: 500/s"),
            1.0,
        ),
        about(
            "Comparing with less gives about 50 % more than dropping at 300 tuples a second",
            "rate / drop - 1",
            gain("rate", "drop", phase="3: 300/s"),
            0.5,
        ),
        *goals(),
    ),
    Chart("time", OUTPUT, panel="capacity"),
    seeds=SEEDS,
    notes=(NOTE_OPTIMUM,),
)

FIG10 = Experiment(
    "cpu.fig10",
    "Figure 10: mean output of aligned streams against skew, for windows of 10 to 40 s",
    "skew",
    SYSTEMS,
    fixed(
        grid(window_s=(10.0, 40.0), skew=(0.2, 0.6, 1.0)),
        grid(window_s=(10.0, 20.0), skew=(0.2, 1.0)),
    ),
    mean(setting_of(shift=ALIGNED)),
    (
        Claim(
            "The gain over dropping grows with skew",
            "rate / drop, last less first",
            gain_grows("rate", "drop", "skew"),
            "at least",
            0.0,
        ),
        Claim(
            "The gain over dropping grows with the window",
            "rate / drop, last less first",
            gain_grows("rate", "drop", "window_s"),
            "at least",
            0.0,
        ),
        *goals(),
    ),
    Chart("skew", OUTPUT, panel="window_s"),
    seeds=SEEDS,
    notes=(NOTE_OPTIMUM,),
)

EXPERIMENTS = (FIG7, FIG8, FIG9, FIG10)
