"""Section 5.2: what the online policies reach."""

from __future__ import annotations

from bankfull.lab.claims import Claim
from bankfull.lab.experiment import Chart, Experiment, fixed, grid
from bankfull.lab.importance.shared import ONLINE, ORDER, QUALITY, near, order
from bankfull.lab.measures import weighed
from bankfull.lab.observers import best_ratio, change, growth, quotient, ratio
from bankfull.lab.systems import OPTIMUM

FIG8 = Experiment(
    "importance.fig8",
    "Figure 8: importance against the window, M = 200",
    "window",
    (*ONLINE, OPTIMUM),
    fixed(
        grid(window=(200, 400, 600, 800), since=(1600,)), grid(window=(50, 100, 200), since=(400,))
    ),
    weighed(),
    (
        *order("at every window"),
        near(
            "The optimum is worth 3.21 times as much at w = 800 as at w = 200",
            "optimum: importance, last / first",
            growth(OPTIMUM, "window", "importance"),
            3.21,
            0.5,
        ),
    ),
    Chart("window", QUALITY),
)

_MORE = {"dimpprob": 0.032, "simpprob": 0.206, "prob": 0.476, "simp": 0.529, "random": 0.778}
_KINDS = ("rare", "rarer", "flat", "heavy")

FIG9 = Experiment(
    "importance.fig9",
    "Figure 9: importance against memory, w = 400, for four distributions of importance",
    "memory",
    (*ONLINE, OPTIMUM),
    fixed(
        grid(kind=_KINDS, memory=(100, 200, 400, 600, 800)),
        grid(kind=("rare", "flat"), memory=(24, 50, 150)),
    ),
    weighed(),
    (
        *order("at every memory size"),
        Claim(
            "DGL is the best of the published policies at every memory size",
            "dgl / best other",
            best_ratio("dgl", ORDER),
            "at least",
            1.0,
        ),
        *(
            near(
                f"DGL keeps {more:.1%} more than {other.upper()} at M = 100",
                f"dgl / {other}",
                ratio("dgl", other, kind="rare", memory=(24, 100)),
                1.0 + more,
                0.1,
            )
            for other, more in _MORE.items()
        ),
        near(
            "Random shedding keeps M / 2w of the importance",
            "random / (M / 2w)",
            quotient("random", "value", "memory_share"),
            1.0,
            0.1,
        ),
    ),
    Chart("memory", QUALITY, panel="kind"),
)

FIG10 = Experiment(
    "importance.fig10",
    "Figure 10: importance against the number of values, w = 400, M = 200",
    "domain",
    (*ONLINE, OPTIMUM),
    fixed(grid(domain=(50, 100, 200, 400, 800)), grid(domain=(50, 200))),
    weighed(),
    (
        *order("at every domain size"),
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
    Chart("domain", QUALITY, log="x"),
)

FIG11 = Experiment(
    "importance.fig11",
    "Figure 11: importance against the skew of both, correlated, streams",
    "skew",
    (*ONLINE, OPTIMUM),
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
                near(
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
    Chart("skew", QUALITY),
)
