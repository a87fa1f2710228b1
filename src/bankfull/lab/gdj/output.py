"""Section 5.3: the most output of one join of two streams."""

from __future__ import annotations

from bankfull.lab import measures
from bankfull.lab.claims import Claim
from bankfull.lab.experiment import Chart, Experiment, fixed, grid
from bankfull.lab.gdj.shared import (
    AGES,
    FITTED_TOO,
    GAPS,
    NO_HINDSIGHT,
    OUTPUT,
    STREAMS,
    SYNTHETIC,
    above,
    above_prob,
    data_set,
    each,
    joined,
    reading_of,
)
from bankfull.lab.observers import change, level, ratio
from bankfull.lab.systems import CHOSEN, FITTED, LEARNED, OPTIMUM

_ONLINE = ("random", "fifo", "prob", "life", "gdj", CHOSEN, FITTED, "gain")
_BUDGETS = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)


def _small(budget: float) -> bool:
    return budget < 1.0


FIG4 = Experiment(
    "gdj.fig4",
    "Figure 4: output against buffer size",
    "budget",
    (*_ONLINE, *AGES, LEARNED, OPTIMUM),
    fixed(grid(workload=STREAMS, budget=_BUDGETS), grid(workload=STREAMS, budget=(0.1, 0.3, 1.0))),
    measures.share(),
    (
        *(
            claim
            for name in STREAMS
            for claim in above_prob(
                f"at every buffer size: {data_set(name)}",
                reading_of(name),
                workload=name,
                budget=_small,
            )
        ),
        *(
            above(
                age,
                f"at every buffer size: {data_set(name)}",
                joined(reading_of(name), reading),
                workload=name,
                budget=_small,
            )
            for name in STREAMS
            for age, reading in AGES.items()
        ),
        *(
            Claim(
                f"AGE does no better than random eviction: {data_set(name)}",
                f"{age} / random",
                ratio(age, "random", workload=name, budget=_small),
                "near",
                1.0,
                0.1,
                joined(reading_of(name), reading),
            )
            for name in STREAMS
            for age, reading in AGES.items()
        ),
        Claim(
            "Weather arrives evenly: a buffer of 100 % is exact",
            "gdj",
            level("gdj", workload="dew point", budget=1.0),
            "at least",
            1.0,
            0.005,
        ),
        Claim(
            "Trades come in bursts: a buffer of 100 % of the average is not exact",
            "gdj",
            level("gdj", workload="stock-like", budget=1.0),
            "at most",
            0.9999,
        ),
    ),
    Chart("budget", OUTPUT, panel="workload"),
    notes=(FITTED_TOO,),
)

_RIVALS = ("random", "fifo", "prob", "gdj", CHOSEN, "gain")
_WINDOWED = (*SYNTHETIC, "stock-like")

FIG5_WINDOW = Experiment(
    "gdj.fig5-window",
    "Figure 5: output against window size, buffers of 20 %",
    "window",
    (*_RIVALS, FITTED, *AGES, OPTIMUM),
    fixed(
        [
            *grid(workload=tuple(SYNTHETIC), window=(25, 50, 100, 200)),
            *grid(workload=("stock-like",), window=(5, 10, 20, 40)),
        ],
        [
            *grid(workload=tuple(SYNTHETIC), window=(50, 100)),
            *grid(workload=("stock-like",), window=(5, 10)),
        ],
    ),
    measures.share(None, "window"),
    (
        *(
            claim
            for name in _WINDOWED
            for claim in above_prob(
                f"at every window size: {data_set(name)}", reading_of(name), workload=name
            )
        ),
        *(
            above(
                age,
                f"at every window size: {data_set(name)}",
                joined(reading_of(name), reading),
                workload=name,
            )
            for name in _WINDOWED
            for age, reading in AGES.items()
        ),
        *(
            Claim(
                f"The window size hardly changes the share {told} keeps: {data_set(name)}",
                f"{system}: last less first",
                change(system, "window", workload=name),
                "near",
                0.0,
                0.1,
                reading_of(name),
            )
            for system, told in ((CHOSEN, "GDJ"), ("prob", "PROB"))
            for name in _WINDOWED
        ),
    ),
    Chart("window", OUTPUT, panel="workload"),
    notes=(FITTED_TOO,),
)

FIG5_DOMAIN = Experiment(
    "gdj.fig5-domain",
    "Figure 5: output against the number of values, buffers of 20 %",
    "domain",
    (*_RIVALS, FITTED, *AGES, OPTIMUM),
    fixed(
        grid(gaps=tuple(GAPS), domain=(25, 50, 100, 200, 400)),
        grid(gaps=tuple(GAPS), domain=(50, 200)),
    ),
    measures.share("synthetic", "gaps", "domain"),
    tuple(
        claim
        for reading, where in each(GAPS, "gaps")
        for claim in (
            *above_prob("at every domain size", reading, **where),
            *(
                above(age, "at every domain size", f"{reading}; {told}", **where)
                for age, told in AGES.items()
            ),
            *(
                Claim(
                    f"{told} keeps less of a larger domain",
                    f"{system}: last less first",
                    change(system, "domain", **where),
                    "at most",
                    0.0,
                    reading=reading,
                )
                for system, told in ((CHOSEN, "GDJ"), ("prob", "PROB"))
            ),
        )
    ),
    Chart("domain", OUTPUT, panel="gaps", log="x"),
    notes=(FITTED_TOO,),
)

LOCALITY = Experiment(
    "gdj.locality",
    "Not in the paper: where its claim holds. Trades in bursts of news, buffers of 20 %",
    "share",
    (*_RIVALS, *AGES, OPTIMUM),
    fixed(grid(share=(0.0, 0.25, 0.5, 0.75, 0.9, 1.0)), grid(share=(0.0, 0.5, 1.0))),
    measures.share("stock-like", "share"),
    (
        above("prob", "where all trades come in bursts", share=1.0),
        above("prob", "where half of them do", share=0.5),
        above("prob", "where popularity is all there is", share=0.0),
        Claim(
            "The more of the trades come in bursts, the better is GDJ beside PROB",
            f"{CHOSEN} / prob: last less first",
            change(CHOSEN, "share", "prob"),
            "at least",
            0.0,
        ),
    ),
    Chart("share", OUTPUT),
    notes=(NO_HINDSIGHT, "The percentile is chosen where half of the trades come in bursts."),
)
