"""Section 2: how the values of a stream come back."""

from __future__ import annotations

from bankfull.lab import measures
from bankfull.lab.claims import Claim
from bankfull.lab.experiment import Chart, Experiment, fixed, grid
from bankfull.lab.gdj.shared import STREAMS, data_set, reading_of
from bankfull.lab.observers import level, ratio

POPULARITY = Experiment(
    "gdj.popularity",
    "Section 2.1: how often the most popular values occur",
    "rank",
    STREAMS,
    fixed([{}], [{}]),
    measures.popularity,
    (
        Claim(
            "The popularity of stocks is Zipf-like with slope 0.71",
            "slope",
            level("stock-like", "slope", rank=1),
            "near",
            0.7126,
            0.05,
        ),
        *(
            Claim(
                f"Popularity is a straight line on logarithmic axes: {data_set(name)}",
                "R²",
                level(name, "straight", rank=1),
                "at least",
                0.9,
                reading=reading_of(name),
            )
            for name in STREAMS
        ),
    ),
    Chart("rank", "share of the tuples", log="xy"),
    curve="system",
    notes=("The stock trace is generated with the published slope, so that claim checks us.",),
)

STACK = Experiment(
    "gdj.stack",
    "Section 2.1: stack distances, of the stream as it came and shuffled",
    "cache",
    ("as it came", "shuffled"),
    fixed(grid(workload=STREAMS), grid(workload=STREAMS)),
    measures.stack,
    (
        Claim(
            "A cache of 10 % of the stocks hits twice as often as their popularity explains",
            "as it came / shuffled",
            ratio("as it came", "shuffled", workload="stock-like", cache=0.1),
            "near",
            2.0,
            0.5,
        ),
        *(
            Claim(
                f"Values come back sooner than their popularity explains: {data_set(name)}",
                "as it came / shuffled",
                ratio("as it came", "shuffled", workload=name, cache=0.1),
                "at least",
                1.1,
                reading=reading_of(name),
            )
            for name in STREAMS
        ),
    ),
    Chart("cache", "hit rate of a cache of that size", panel="workload"),
    curve="system",
    notes=(
        "This is the measure that tells the readings of the synthetic generator apart: how much "
        "more a cache of 10 % of the values hits than it does on the same values shuffled.",
    ),
)

AGES = Experiment(
    "gdj.ages",
    "Figure 2, section 3.2: the age at which the tuples of a value pay most",
    "age",
    STREAMS,
    fixed([{}], [{}]),
    measures.ages,
    tuple(
        Claim(
            f"One age, whichever it is, suits only a small part of the tuples: {data_set(name)}",
            "share of tuples within 5 % of the window of the best single age",
            level(name, "one_age_fits", age=lambda age: age < 0.05),
            "at most",
            0.25,
            reading=reading_of(name),
        )
        for name in STREAMS
    ),
    Chart("age", "share of the tuples"),
    curve="system",
    notes=("Ages are shares of the window; 'a small part' is read as at most a quarter.",),
)
