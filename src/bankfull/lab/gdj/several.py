"""Section 5.3: several joins, several streams, several attributes."""

from __future__ import annotations

from bankfull.lab import measures
from bankfull.lab.claims import Claim
from bankfull.lab.experiment import Chart, Experiment, fixed, grid
from bankfull.lab.gdj.shared import EQUAL, OUTPUT, above
from bankfull.lab.observers import change, growth, ratio
from bankfull.lab.systems import HINDSIGHT, OPTIMUM

FIG6 = Experiment(
    "gdj.fig6",
    "Figure 6: one buffer for two joins, or one for each stream",
    "budget",
    (
        "split random",
        "split prob",
        f"split {HINDSIGHT}",
        "split gain",
        f"split {OPTIMUM}",
        "unified random",
        "unified prob",
        f"unified {HINDSIGHT}",
        "unified gain",
        f"unified {OPTIMUM}",
    ),
    fixed(grid(budget=(0.1, 0.2, 0.4)), grid(budget=(0.1, 0.2))),
    measures.share("two joins"),
    (
        Claim(
            "Unified GDJ gives more than PROB in proportional buffers",
            f"unified {HINDSIGHT} / split prob",
            ratio(f"unified {HINDSIGHT}", "split prob"),
            "at least",
            1.0,
            EQUAL,
        ),
        Claim(
            "Random eviction gives the same either way",
            "unified random / split random",
            ratio("unified random", "split random"),
            "near",
            1.0,
            0.05,
        ),
        Claim(
            "One buffer is better for GDJ than one a stream",
            f"unified / split {HINDSIGHT}",
            ratio(f"unified {HINDSIGHT}", f"split {HINDSIGHT}"),
            "at least",
            1.0,
            EQUAL,
        ),
    ),
    Chart("budget", OUTPUT, kind="bar"),
    curve="system",
    slow=frozenset({f"split {OPTIMUM}", f"unified {OPTIMUM}"}),
    notes=("One pair of streams is directly correlated, the other inversely.",),
)

_MANY = ("random", "fifo", "prob", "gdj", HINDSIGHT, "gain", OPTIMUM)

FIG7_STREAMS = Experiment(
    "gdj.fig7-streams",
    "Figure 7: joins of two to five streams of trades, buffers of 20 %",
    "streams",
    _MANY,
    fixed(grid(streams=(2, 3, 4, 5)), grid(streams=(2, 3))),
    measures.share("stock-like", "streams", window=2, seconds=120, burst=3.0),
    (
        above("prob", "however many streams there are"),
        above("random", "however many streams there are"),
        Claim(
            "The lead over PROB grows with the number of streams",
            f"{HINDSIGHT} / prob: last less first",
            change(HINDSIGHT, "streams", "prob"),
            "at least",
            0.0,
        ),
        Claim(
            "PROB keeps less of a join of more streams",
            "prob: last less first",
            change("prob", "streams"),
            "at most",
            0.0,
        ),
    ),
    Chart("streams", OUTPUT),
    notes=(
        "The optimum of a join of three and more streams is held between two numbers: the value is "
        "the upper one, which no schedule can pass; `reached` is what the schedule found gives.",
    ),
)

FIG7_ATTRIBUTES = Experiment(
    "gdj.fig7-attributes",
    "Figure 7: a join for each of several attributes, buffers of 20 %",
    "attributes",
    _MANY,
    fixed(grid(attributes=(1, 2, 3, 4)), grid(attributes=(1, 3))),
    measures.share("attributes", "attributes"),
    (
        above("prob", "however many attributes there are"),
        above("fifo", "however many attributes there are"),
        Claim(
            "The lead over PROB grows with the number of attributes",
            f"{HINDSIGHT} / prob: last less first",
            change(HINDSIGHT, "attributes", "prob"),
            "at least",
            0.0,
        ),
    ),
    Chart("attributes", OUTPUT),
)

_SKEWS = (0.1, 0.8, 1.5)

FIG8 = Experiment(
    "gdj.fig8",
    "Figure 8: two attributes, the first uniform, the second of growing skew",
    "skew_b",
    _MANY,
    fixed(
        grid(skew_a=_SKEWS, skew_b=(0.1, 0.45, 0.8, 1.15, 1.5)),
        grid(skew_a=(0.1, 1.5), skew_b=(0.1, 1.5)),
    ),
    measures.share("second attribute", "skew_a", "skew_b"),
    (
        *(
            Claim(
                f"{system.upper()} gives more results where the second attribute has more skew",
                f"{system}: results, last / first",
                growth(system, "skew_b", "results", skew_a=1.5),
                "at least",
                1.0,
            )
            for system in (HINDSIGHT, "prob")
        ),
        Claim(
            "PROB wins where the data are close to uniform",
            f"{HINDSIGHT} / prob",
            ratio(HINDSIGHT, "prob", skew_a=0.1, skew_b=0.1),
            "at most",
            1.0,
        ),
        Claim(
            "GDJ wins where they are skewed",
            f"{HINDSIGHT} / prob",
            ratio(HINDSIGHT, "prob", skew_a=1.5, skew_b=1.5),
            "at least",
            1.0,
        ),
    ),
    Chart("skew_b", OUTPUT, panel="skew_a"),
)
