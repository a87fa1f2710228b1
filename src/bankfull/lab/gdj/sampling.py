"""Section 5.4: tuples dropped at random ahead of the policy."""

from __future__ import annotations

from bankfull.lab import measures
from bankfull.lab.claims import Claim
from bankfull.lab.experiment import Chart, Experiment, fixed, grid
from bankfull.lab.gdj.shared import EQUAL, FITTED_TOO, OUTPUT, PERCENTILES
from bankfull.lab.observers import at_equal, change, ratio
from bankfull.lab.systems import CHOSEN, OPTIMUM

_SAMPLED = ("stock-like", "dew point")


def _sampling(number: int, error: str, name: str) -> Experiment:
    return Experiment(
        f"gdj.fig{number}",
        f"Figure {number}: drop rate against output and distortion ({name})",
        "drop",
        ("fifo", "prob", "gdj", *PERCENTILES, "gain", OPTIMUM),
        fixed(
            grid(workload=_SAMPLED, drop=(0.0, 0.2, 0.4, 0.6, 0.8)),
            grid(workload=_SAMPLED, drop=(0.0, 0.4, 0.8)),
        ),
        measures.share(),
        (
            *(
                Claim(
                    f"Dropping more at random makes {told} of {name_of} smaller",
                    f"{system}: {told}, last less first",
                    change(system, "drop", field=field),
                    "at most",
                    0.0,
                )
                for system, name_of in ((CHOSEN, "GDJ"), ("prob", "PROB"))
                for field, told in ((error, "the distortion"), ("value", "the output"))
            ),
            *(
                Claim(
                    f"At equal distortion GDJ gives more than PROB: {workload}",
                    f"{curve} / prob",
                    at_equal(curve, "prob", error, "drop", workload=workload),
                    "at least",
                    1.0,
                    EQUAL,
                    source,
                )
                for workload in _SAMPLED
                for curve, source in PERCENTILES.items()
            ),
            Claim(
                "At p = 1 - buffer / (rate x window) nothing is left to decide: GDJ is FIFO",
                f"{CHOSEN} / fifo",
                ratio(CHOSEN, "fifo", drop=0.8),
                "near",
                1.0,
                0.05,
            ),
        ),
        Chart("drop", OUTPUT, kind="scatter", panel="workload", across=error),
        notes=(
            f"Buffers of 20 %. Distortion is the {name} of the histograms of keys. The optimum "
            "chooses among all tuples, whatever is dropped. Two curves that have no distortion in "
            "common are not comparable.",
            FITTED_TOO,
        ),
    )


FIG9 = _sampling(9, "sse", "sum of squared errors")
FIG10 = _sampling(10, "kl", "Kullback-Leibler divergence")
