"""Table 1, and the two constants of DGL."""

from __future__ import annotations

from bankfull.lab.claims import Claim
from bankfull.lab.experiment import Chart, Experiment, fixed, grid
from bankfull.lab.importance.shared import (
    EQUAL,
    PROBS,
    PUBLISHED,
    QUALITY,
    TWO_KINDS,
    near,
    order,
    others,
)
from bankfull.lab.measures import weighed
from bankfull.lab.observers import best_ratio, over_range, ratio
from bankfull.lab.systems import OPTIMUM

_TABLE = {"dimpprob": 5783148, "dgl": 6929937, "simpprob": 5993464, "simp": 4592168}
_TABLE_PROB = 5992694

TABLE1 = Experiment(
    "importance.table1",
    "Table 1: importance and running time, N = 56000, w = 2000, M = 800, domain 2000",
    "rows",
    (*PUBLISHED, "gain", OPTIMUM),
    fixed(
        grid(kind=tuple(TWO_KINDS), rows=(56000,), window=(2000,), memory=(800,), domain=(2000,)),
        grid(kind=tuple(TWO_KINDS), rows=(5600,), window=(200,), memory=(80,), domain=(200,)),
    ),
    weighed(trials=3),
    (
        *(
            near(
                f"{system.upper()} is worth {importance / _TABLE_PROB:.3f} times PROB",
                f"{system} / {prob}",
                ratio(system, prob, kind=kind),
                importance / _TABLE_PROB,
                0.03,
                f"{worth}; {reading}",
            )
            for kind, worth in TWO_KINDS.items()
            for system, importance in _TABLE.items()
            for prob, reading in PROBS.items()
        ),
        *order("(the order of the prose)", TWO_KINDS),
        *(
            Claim(
                "DGL is the best of the published policies",
                "dgl / best other",
                best_ratio("dgl", others("dgl", prob), kind=kind),
                "at least",
                1.0,
                EQUAL,
                f"{worth}; {reading}",
            )
            for kind, worth in TWO_KINDS.items()
            for prob, reading in PROBS.items()
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
    Chart("rows", QUALITY, kind="bar", panel="kind"),
    seeds=(1, 2),
    notes=(
        "The paper's numbers have DIMPPROB below SIMPPROB and PROB, its prose has it above; both "
        "are judged.",
    ),
)

DGL = Experiment(
    "importance.dgl",
    "The two constants of DGL that the paper does not print, in Figure 9's setting, M = 200",
    "decay",
    ("dgl", "simpprob", "dimpprob", OPTIMUM),
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
                EQUAL,
            )
            for other in ("dimpprob", "simpprob")
        ),
        *(
            Claim(
                f"DGL has constants with which, in hindsight, it is better than {other.upper()}",
                f"best of dgl / {other}",
                over_range("dgl", "gain", "decay", of=other),
                "at least",
                1.0,
                EQUAL,
            )
            for other in ("dimpprob", "simpprob")
        ),
    ),
    Chart("decay", QUALITY, panel="gain", log="x"),
    notes=(
        "decay is what is left of a priority after a whole window without output; gain is the "
        "factor of what a result adds.",
    ),
)
