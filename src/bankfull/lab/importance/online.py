"""Section 5.2: what the online policies reach."""

from __future__ import annotations

from bankfull.lab.claims import Claim
from bankfull.lab.experiment import Chart, Experiment, fixed, grid
from bankfull.lab.importance.shared import (
    EQUAL,
    KINDS,
    ONLINE,
    PROBS,
    QUALITY,
    TWO_KINDS,
    near,
    order,
    others,
)
from bankfull.lab.measures import weighed
from bankfull.lab.observers import (
    best_ratio,
    change,
    growth,
    least_step,
    mean_ratio,
    quotient,
    ratio,
)
from bankfull.lab.systems import OPTIMUM

_KIND_NOTE = (
    "The importance of tuples is not printed. rare: 1 to 10, and 5 % of 100, whatever the key; by "
    "key: a function of the key, 100 for 5 % of the values, which are less popular ones."
)

FIG8 = Experiment(
    "importance.fig8",
    "Figure 8: importance against the window, M = 200",
    "window",
    (*ONLINE, OPTIMUM),
    fixed(
        grid(kind=tuple(TWO_KINDS), window=(200, 400, 600, 800), since=(1600,)),
        grid(kind=tuple(TWO_KINDS), window=(50, 100, 200), since=(400,)),
    ),
    weighed(),
    (
        *order("at every window", TWO_KINDS),
        *(
            claim
            for kind, worth in TWO_KINDS.items()
            for claim in (
                near(
                    "The optimum is worth 3.21 times as much at w = 800 as at w = 200",
                    "optimum: importance, last / first",
                    growth(OPTIMUM, "window", "importance", kind=kind),
                    3.21,
                    0.5,
                    worth,
                ),
                *(
                    Claim(
                        "PROB does not improve steadily with the window",
                        f"{prob}: importance, smallest factor from one window to the next",
                        least_step(prob, "window", "importance", kind=kind),
                        "at most",
                        1.0,
                        EQUAL,
                        f"{worth}; {reading}",
                    )
                    for prob, reading in PROBS.items()
                ),
                near(
                    "RAND is worth the same at every window",
                    "random: importance, last / first",
                    growth("random", "window", "importance", kind=kind),
                    1.0,
                    0.1,
                    worth,
                ),
            )
        ),
    ),
    Chart("window", QUALITY, panel="kind"),
    notes=(_KIND_NOTE,),
)

_MORE = {"dimpprob": 0.032, "simpprob": 0.206, "prob": 0.476, "simp": 0.529, "random": 0.778}

FIG9 = Experiment(
    "importance.fig9",
    "Figure 9: importance against memory, w = 400, for five distributions of importance",
    "memory",
    (*ONLINE, OPTIMUM),
    fixed(
        grid(kind=tuple(KINDS), memory=(100, 200, 400, 600, 800)),
        grid(kind=tuple(KINDS), memory=(24, 150)),
    ),
    weighed(),
    (
        *order("at every memory size", KINDS),
        *(
            Claim(
                "DGL is the best of the published policies at every memory size",
                "dgl / best other",
                best_ratio("dgl", others("dgl", prob), kind=kind),
                "at least",
                1.0,
                EQUAL,
                f"{worth}; {reading}",
            )
            for kind, worth in KINDS.items()
            for prob, reading in PROBS.items()
        ),
        *(
            near(
                f"DGL keeps {more:.1%} more than {other.upper()} at M = 100",
                f"dgl / {curve}",
                ratio("dgl", curve, kind=kind, memory=(24, 100)),
                1.0 + more,
                0.1,
                "; ".join(filter(None, (worth, reading))),
            )
            for kind, worth in TWO_KINDS.items()
            for other, more in _MORE.items()
            for curve, reading in (PROBS.items() if other == "prob" else ((other, ""),))
        ),
        *(
            near(
                "Random shedding keeps M / 2w of the importance",
                "random / (M / 2w)",
                quotient("random", "value", "memory_share", kind=kind),
                1.0,
                0.1,
                worth,
            )
            for kind, worth in KINDS.items()
        ),
    ),
    Chart("memory", QUALITY, panel="kind"),
    notes=(_KIND_NOTE + " rarer: 1 % of 1,000; flat: 1 to 10; heavy: Pareto 1.5.",),
)

FIG10 = Experiment(
    "importance.fig10",
    "Figure 10: importance against the number of values, w = 400, M = 200",
    "domain",
    (*ONLINE, OPTIMUM),
    fixed(
        grid(kind=tuple(TWO_KINDS), domain=(50, 100, 200, 400, 800)),
        grid(kind=tuple(TWO_KINDS), domain=(50, 200)),
    ),
    weighed(),
    (
        *order("at every domain size", TWO_KINDS),
        *(
            claim
            for kind, worth in TWO_KINDS.items()
            for claim in (
                *(
                    Claim(
                        f"{told} falls behind the optimum as the domain grows",
                        f"{system} / optimum: last less first",
                        change(system, "domain", OPTIMUM, kind=kind),
                        "at most",
                        0.0,
                        reading="; ".join(filter(None, (worth, reading))),
                    )
                    for system, told, reading in (
                        ("dgl", "DGL", ""),
                        *((prob, "PROB", reading) for prob, reading in PROBS.items()),
                    )
                ),
                Claim(
                    "The optimum approaches the exact result as the domain grows",
                    "optimum: last less first",
                    change(OPTIMUM, "domain", kind=kind),
                    "at least",
                    0.0,
                    reading=worth,
                ),
            )
        ),
    ),
    Chart("domain", QUALITY, panel="kind", log="x"),
    notes=(_KIND_NOTE,),
)

FIG11 = Experiment(
    "importance.fig11",
    "Figure 11: importance against the skew of both, correlated, streams",
    "skew",
    (*ONLINE, OPTIMUM),
    fixed(
        grid(kind=tuple(TWO_KINDS), skew=(0.0, 0.25, 0.5, 0.75, 1.0)),
        grid(kind=tuple(TWO_KINDS), skew=(0.0, 0.5, 1.0)),
    ),
    weighed(),
    tuple(
        claim
        for kind, worth in TWO_KINDS.items()
        for claim in (
            *(
                one
                for system in ("dimpprob", "simpprob")
                for one in (
                    Claim(
                        f"{system.upper()} passes DGL",
                        f"{system} / dgl",
                        ratio(system, "dgl", kind=kind),
                        "at least",
                        1.0,
                        EQUAL,
                        worth,
                    ),
                    near(
                        f"{system.upper()} is on average 2.1 % better than DGL",
                        f"{system} / dgl, mean over the skews",
                        mean_ratio(system, "dgl", "skew", kind=kind),
                        1.021,
                        0.02,
                        worth,
                    ),
                )
            ),
            Claim(
                "The online policies approach the optimum as the skew grows",
                "dimpprob / optimum: last less first",
                change("dimpprob", "skew", OPTIMUM, kind=kind),
                "at least",
                0.0,
                reading=worth,
            ),
        )
    ),
    Chart("skew", QUALITY, panel="kind"),
    notes=(_KIND_NOTE,),
)
