"""Section 5.3: the most output of one join of two streams."""

from __future__ import annotations

from bankfull.lab import measures
from bankfull.lab.claims import Claim
from bankfull.lab.experiment import Chart, Experiment, fixed, grid
from bankfull.lab.gdj.shared import OUTPUT, STREAMS, above
from bankfull.lab.observers import change, level, ratio
from bankfull.lab.systems import HINDSIGHT, LEARNED, OPTIMUM

_ONLINE = ("random", "fifo", "prob", "life", "gdj", HINDSIGHT, "gain")
_BUDGETS = (0.05, 0.1, 0.2, 0.4, 0.7, 1.0)

FIG4 = Experiment(
    "gdj.fig4",
    "Figure 4: output against buffer size",
    "budget",
    (*_ONLINE, "age", LEARNED, OPTIMUM),
    fixed(grid(workload=STREAMS, budget=_BUDGETS), grid(workload=STREAMS, budget=(0.1, 0.3, 1.0))),
    measures.share(),
    (
        *(
            above("prob", f"at every buffer size: {name}", workload=name, budget=_small)
            for name in STREAMS
            for _small in [lambda budget: budget < 1.0]
        ),
        *(
            above("age", f"at every buffer size: {name}", workload=name, budget=_small)
            for name in STREAMS
            for _small in [lambda budget: budget < 1.0]
        ),
        Claim(
            "AGE does no better than random eviction",
            "age / random",
            ratio("age", "random", budget=lambda budget: budget < 1.0),
            "near",
            1.0,
            0.1,
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
)

_RIVALS = ("random", "fifo", "prob", "gdj", HINDSIGHT, "gain")

FIG5_WINDOW = Experiment(
    "gdj.fig5-window",
    "Figure 5: output against window size, buffers of 20 %",
    "window",
    (*_RIVALS, "age", OPTIMUM),
    fixed(
        [
            *grid(workload=("synthetic",), window=(25, 50, 100, 200)),
            *grid(workload=("stock-like",), window=(5, 10, 20, 40)),
        ],
        [
            *grid(workload=("synthetic",), window=(50, 100)),
            *grid(workload=("stock-like",), window=(5, 10)),
        ],
    ),
    measures.share(None, "window"),
    (
        *(
            above("prob", f"at every window size: {name}", workload=name)
            for name in ("synthetic", "stock-like")
        ),
        *(
            Claim(
                f"The window size hardly changes the share that {system.upper()} keeps: {name}",
                f"{system}: last less first",
                change(system, "window", workload=name),
                "near",
                0.0,
                0.1,
            )
            for system in (HINDSIGHT, "prob")
            for name in ("synthetic", "stock-like")
        ),
    ),
    Chart("window", OUTPUT, panel="workload"),
)

FIG5_DOMAIN = Experiment(
    "gdj.fig5-domain",
    "Figure 5: output against the number of values, buffers of 20 %",
    "domain",
    (*_RIVALS, "age", OPTIMUM),
    fixed(grid(domain=(25, 50, 100, 200, 400)), grid(domain=(50, 200))),
    measures.share("synthetic", "domain"),
    (
        above("prob", "at every domain size"),
        above("age", "at every domain size"),
        *(
            Claim(
                f"{system.upper()} keeps less of a larger domain, steadily",
                f"{system}: last less first",
                change(system, "domain"),
                "at most",
                0.0,
            )
            for system in (HINDSIGHT, "prob")
        ),
    ),
    Chart("domain", OUTPUT, log="x"),
)

LOCALITY = Experiment(
    "gdj.locality",
    "Not in the paper: where its claim holds. Trades in bursts of news, buffers of 20 %",
    "share",
    (*_RIVALS, "age", OPTIMUM),
    fixed(grid(share=(0.0, 0.25, 0.5, 0.75, 0.9, 1.0)), grid(share=(0.0, 0.5, 1.0))),
    measures.share("stock-like", "share"),
    (
        above("prob", "where all trades come in bursts", share=1.0),
        above("prob", "where half of them do", share=0.5),
        above("prob", "where popularity is all there is", share=0.0),
        Claim(
            "The more of the trades come in bursts, the better is GDJ beside PROB",
            f"{HINDSIGHT} / prob: last less first",
            change(HINDSIGHT, "share", "prob"),
            "at least",
            0.0,
        ),
    ),
    Chart("share", OUTPUT),
)
