"""Section 5.3: several joins, several streams, several attributes."""

from __future__ import annotations

from bankfull.lab import measures
from bankfull.lab.claims import Claim
from bankfull.lab.experiment import Chart, Experiment, fixed, grid
from bankfull.lab.gdj.shared import (
    EQUAL,
    FITTED_TOO,
    GAPS,
    GAPS_AND_UNIFORM,
    NO_HINDSIGHT,
    OUTPUT,
    PERCENTILES,
    PROBS,
    above,
    above_prob,
    each,
    joined,
)
from bankfull.lab.observers import change, growth, ratio
from bankfull.lab.readings import STRETCHED, UNIFORM_TOO
from bankfull.lab.systems import CHOSEN, OPTIMUM

FIG6 = Experiment(
    "gdj.fig6",
    "Figure 6: one buffer for two joins, or one for each stream",
    "budget",
    (
        "split random",
        "split prob",
        f"split {CHOSEN}",
        "split gain",
        f"split {OPTIMUM}",
        f"by credit {CHOSEN}",
        "unified random",
        "unified prob",
        f"unified {CHOSEN}",
        "unified gain",
        f"unified {OPTIMUM}",
    ),
    fixed(
        grid(gaps=tuple(GAPS), budget=(0.1, 0.2, 0.4)), grid(gaps=tuple(GAPS), budget=(0.1, 0.2))
    ),
    measures.share("two joins", "gaps"),
    tuple(
        claim
        for reading, where in each(GAPS, "gaps")
        for claim in (
            Claim(
                "Unified GDJ gives more than PROB in proportional buffers",
                f"unified {CHOSEN} / split prob",
                ratio(f"unified {CHOSEN}", "split prob", **where),
                "at least",
                1.0,
                EQUAL,
                f"{reading}; memory by credit of each tuple",
            ),
            Claim(
                "Unified GDJ gives more than PROB in proportional buffers",
                f"by credit {CHOSEN} / split prob",
                ratio(f"by credit {CHOSEN}", "split prob", **where),
                "at least",
                1.0,
                EQUAL,
                f"{reading}; memory by average credit of each join",
            ),
            Claim(
                "Random eviction gives the same either way",
                "unified random / split random",
                ratio("unified random", "split random", **where),
                "near",
                1.0,
                0.05,
                reading,
            ),
            Claim(
                "One buffer is better for GDJ than one a stream",
                f"unified / split {CHOSEN}",
                ratio(f"unified {CHOSEN}", f"split {CHOSEN}", **where),
                "at least",
                1.0,
                EQUAL,
                f"{reading}; memory by credit of each tuple",
            ),
            Claim(
                "One buffer is better for GDJ than one a stream",
                f"by credit / split {CHOSEN}",
                ratio(f"by credit {CHOSEN}", f"split {CHOSEN}", **where),
                "at least",
                1.0,
                EQUAL,
                f"{reading}; memory by average credit of each join",
            ),
        )
    ),
    Chart("budget", OUTPUT, kind="bar", panel="gaps"),
    curve="system",
    slow=frozenset({f"split {OPTIMUM}", f"unified {OPTIMUM}"}),
    notes=(
        "One pair of streams is directly correlated, the other inversely. By credit: the memory is "
        "divided over the two joins by the average credit of their tuples (section 4.3), measured "
        "over the first quarter of the streams.",
        NO_HINDSIGHT,
    ),
)

_MANY = ("random", "fifo", "prob", "gdj", *PERCENTILES, "gain", OPTIMUM)
#: Seconds of trades and their window: buffers of 51 tuples a stream, millions of results of five.
_SECONDS, _WINDOW_S = 40, 10
#: Beyond three streams the bound on the optimum would have to write down millions of results.
_BOUNDED = 3

FIG7_STREAMS = Experiment(
    "gdj.fig7-streams",
    "Figure 7: joins of two to five streams of trades, buffers of 20 %",
    "streams",
    ("random", "fifo", *PROBS, "gdj", *PERCENTILES, "gain", OPTIMUM),
    fixed(grid(streams=(2, 3, 4, 5)), grid(streams=(2, 3))),
    measures.share(
        "stock-like",
        "streams",
        window=_WINDOW_S,
        seconds=_SECONDS,
        burst=3.0,
        optimum_at_most=_BOUNDED,
    ),
    (
        above("random", "however many streams there are"),
        Claim(
            "RAND keeps less of a join of more streams",
            "random: last less first",
            change("random", "streams"),
            "at most",
            0.0,
        ),
        *(
            claim
            for prob, reading in PROBS.items()
            for claim in (
                *above_prob("however many streams there are", reading, prob),
                *(
                    Claim(
                        "The lead over PROB grows with the number of streams",
                        f"{curve} / {prob}: last less first",
                        change(curve, "streams", prob),
                        "at least",
                        0.0,
                        reading=joined(reading, source),
                    )
                    for curve, source in PERCENTILES.items()
                ),
                Claim(
                    "PROB keeps less of a join of more streams",
                    f"{prob}: last less first",
                    change(prob, "streams"),
                    "at most",
                    0.0,
                    reading=reading,
                ),
            )
        ),
    ),
    Chart("streams", OUTPUT),
    notes=(
        "Buffers of 51 tuples a stream. The optimum of a join of three streams is held between two "
        "numbers: the value is the upper one, which no schedule can pass; `reached` is what the "
        "schedule found gives. It is not computed for more streams.",
        FITTED_TOO + " It is chosen for two streams and used for all.",
    ),
)

FIG7_ATTRIBUTES = Experiment(
    "gdj.fig7-attributes",
    "Figure 7: a join for each of several attributes, buffers of 20 %",
    "attributes",
    _MANY,
    fixed(
        grid(gaps=tuple(GAPS_AND_UNIFORM), attributes=(1, 2, 3, 4)),
        grid(gaps=tuple(GAPS_AND_UNIFORM), attributes=(1, 3)),
    ),
    measures.share("attributes", "gaps", "attributes"),
    tuple(
        claim
        for reading, where in each(GAPS_AND_UNIFORM, "gaps")
        for claim in (
            *above_prob("however many attributes there are", reading, **where),
            above("fifo", "however many attributes there are", reading, **where),
            *(
                Claim(
                    "The lead over PROB grows with the number of attributes",
                    f"{curve} / prob: last less first",
                    change(curve, "attributes", "prob", **where),
                    "at least",
                    0.0,
                    reading=joined(reading, source),
                )
                for curve, source in PERCENTILES.items()
            ),
        )
    ),
    Chart("attributes", OUTPUT, panel="gaps"),
    notes=(FITTED_TOO + " It is chosen for two attributes and used for all.",),
)

_SKEWS = (0.1, 1.5)
#: The shipped reading, and the one that gives both attributes locality.
_GAPS_OF_TWO = {one: GAPS_AND_UNIFORM[one] for one in (UNIFORM_TOO, STRETCHED)}

FIG8 = Experiment(
    "gdj.fig8",
    "Figure 8: two attributes, the first uniform, the second of growing skew",
    "skew_b",
    _MANY,
    fixed(
        grid(gaps=tuple(_GAPS_OF_TWO), skew_a=_SKEWS, skew_b=(0.1, 0.45, 0.8, 1.5)),
        grid(gaps=tuple(_GAPS_OF_TWO), skew_a=(0.1, 1.5), skew_b=(0.1, 1.5)),
    ),
    measures.share("second attribute", "gaps", "skew_a", "skew_b"),
    tuple(
        claim
        for reading, where in each(_GAPS_OF_TWO, "gaps")
        for claim in (
            *(
                Claim(
                    f"{told} gives more results where the second attribute has more skew",
                    f"{system}: results, last / first",
                    growth(system, "skew_b", "results", skew_a=1.5, **where),
                    "at least",
                    1.0,
                    reading=reading,
                )
                for system, told in ((CHOSEN, "GDJ"), ("prob", "PROB"))
            ),
            *(
                claim
                for curve, source in PERCENTILES.items()
                for claim in (
                    Claim(
                        "PROB wins where the data are close to uniform",
                        f"{curve} / prob",
                        ratio(curve, "prob", skew_a=0.1, skew_b=0.1, **where),
                        "at most",
                        1.0,
                        EQUAL,
                        joined(reading, source),
                    ),
                    Claim(
                        "GDJ wins where they are skewed",
                        f"{curve} / prob",
                        ratio(curve, "prob", skew_a=1.5, skew_b=1.5, **where),
                        "at least",
                        1.0,
                        EQUAL,
                        joined(reading, source),
                    ),
                )
            ),
        )
    ),
    Chart("skew_b", OUTPUT, panel=("gaps", "skew_a")),
    notes=(FITTED_TOO + " It is chosen where both second attributes have a skew of 0.8.",),
)
