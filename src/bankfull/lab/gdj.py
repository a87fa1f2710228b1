"""The experiments of the GreedyDual-Join paper, and what it claims of them.

Claims about GDJ are judged on ``gdj-best``, the best of several fixed percentiles in hindsight, as
the paper chose its own; ``gdj`` beside it tunes itself. A buffer is a share of the average rate
times the window, one for each stream, as in section 5.3.1.
"""

from __future__ import annotations

from typing import Any

from bankfull.lab import measures
from bankfull.lab.claims import Claim
from bankfull.lab.experiment import Chart, Experiment, fixed, grid
from bankfull.lab.observers import at_equal, best_at, change, growth, level, over_range, ratio
from bankfull.lab.systems import HINDSIGHT, LEARNED, OPTIMUM

STREAMS = ("synthetic", "stock-like", "dew point", "tail number")
_OUTPUT = "share of the exact output"
_ONLINE = ("random", "fifo", "prob", "life", "gdj", HINDSIGHT, "gain")
#: Results may differ by one per cent and count as equal.
_EQUAL = 0.01


def _above(other: str, told: str, **where: Any) -> Claim:
    return Claim(
        f"GDJ gives more than {other.upper()} {told}",
        f"{HINDSIGHT} / {other}",
        ratio(HINDSIGHT, other, **where),
        "at least",
        1.0,
        _EQUAL,
    )


# ------------------------------------------------------------------ section 2: locality of data

POPULARITY = Experiment(
    "gdj.popularity",
    "Figure 2: how often the most popular values occur",
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
                f"Popularity is a straight line on logarithmic axes: {name}",
                "R²",
                level(name, "straight", rank=1),
                "at least",
                0.9,
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
    "Figure 2: stack distances, of the stream as it came and shuffled",
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
                f"Values come back sooner than their popularity explains: {name}",
                "as it came / shuffled",
                ratio("as it came", "shuffled", workload=name, cache=0.1),
                "at least",
                1.1,
            )
            for name in STREAMS
        ),
    ),
    Chart("cache", "hit rate of a cache of that size", panel="workload"),
    curve="system",
)

AGES = Experiment(
    "gdj.ages",
    "Section 3.2: the age at which the tuples of a value pay most",
    "age",
    STREAMS,
    fixed([{}], [{}]),
    measures.ages,
    tuple(
        Claim(
            f"One age, whichever it is, suits only a small part of the tuples: {name}",
            "share of tuples within 5 % of the window of the best single age",
            level(name, "one_age_fits", age=lambda age: age < 0.05),
            "at most",
            0.25,
        )
        for name in STREAMS
    ),
    Chart("age", "share of the tuples"),
    curve="system",
    notes=("Ages are shares of the window; 'a small part' is read as at most a quarter.",),
)

# --------------------------------------------------------------------------- section 5.2: tuning

_PUBLISHED = {"stock-like": 0.995, "dew point": 0.836, "synthetic": 0.998}
_INITIAL = (0.0, 0.25, 0.5, 0.7, 0.836, 0.9, 0.95, 0.98, 0.995, 0.998, 1.0)
_FIRST = "method 1"

FIG3 = Experiment(
    "gdj.fig3",
    "Figure 3: three ways to give and take credit, and the credit to begin with",
    "initial",
    (_FIRST, "method 2", "method 3", "self-tuned"),
    fixed(
        grid(workload=tuple(_PUBLISHED), initial=_INITIAL),
        grid(workload=tuple(_PUBLISHED), initial=(0.0, 0.5, 0.836, 0.95, 0.995, 0.998)),
    ),
    measures.tuning,
    (
        Claim(
            "METHOD 1 gives about as much as METHOD 2 on stock data",
            "method 1 / method 2, each at its best",
            over_range(_FIRST, "initial", of="method 2", workload="stock-like"),
            "near",
            1.0,
            0.05,
        ),
        Claim(
            "The best percentile lies between 0.8 and 0.99 or so, on all data",
            "best percentile",
            best_at(_FIRST, "initial"),
            "at least",
            0.8,
        ),
        *(
            Claim(
                f"The published percentile {published} is the best, or as good: {name}",
                "there / at its best",
                over_range(_FIRST, "initial", at=published, of=_FIRST, workload=name),
                "at least",
                1.0,
                0.02,
            )
            for name, published in _PUBLISHED.items()
        ),
        *(
            Claim(
                f"The percentile matters much: {name}",
                "best / worst",
                over_range(_FIRST, "initial", of=_FIRST, worst=True, workload=name),
                "at least",
                1.1,
            )
            for name in _PUBLISHED
        ),
        Claim(
            "A feedback can choose the percentile (proposed there, built here)",
            "self-tuned / best fixed percentile",
            over_range("self-tuned", "initial", of=_FIRST),
            "at least",
            1.0,
            0.05,
        ),
    ),
    Chart("initial", _OUTPUT, panel="workload"),
    curve="system",
    notes=("Buffers of 20 %. self-tuned does not depend on the percentile.",),
    policies=("gdj",),
)

# --------------------------------------------------------------------- section 5.3: most output

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
            _above("prob", f"at every buffer size: {name}", workload=name, budget=_small)
            for name in STREAMS
            for _small in [lambda budget: budget < 1.0]
        ),
        *(
            _above("age", f"at every buffer size: {name}", workload=name, budget=_small)
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
    Chart("budget", _OUTPUT, panel="workload"),
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
            _above("prob", f"at every window size: {name}", workload=name)
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
    Chart("window", _OUTPUT, panel="workload"),
)

FIG5_DOMAIN = Experiment(
    "gdj.fig5-domain",
    "Figure 5: output against the number of values, buffers of 20 %",
    "domain",
    (*_RIVALS, "age", OPTIMUM),
    fixed(grid(domain=(25, 50, 100, 200, 400)), grid(domain=(50, 200))),
    measures.share("synthetic", "domain"),
    (
        _above("prob", "at every domain size"),
        _above("age", "at every domain size"),
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
    Chart("domain", _OUTPUT, log="x"),
)

LOCALITY = Experiment(
    "gdj.locality",
    "Not in the paper: where its claim holds. Trades in bursts of news, buffers of 20 %",
    "share",
    (*_RIVALS, "age", OPTIMUM),
    fixed(grid(share=(0.0, 0.25, 0.5, 0.75, 0.9, 1.0)), grid(share=(0.0, 0.5, 1.0))),
    measures.share("stock-like", "share"),
    (
        _above("prob", "where all trades come in bursts", share=1.0),
        _above("prob", "where half of them do", share=0.5),
        _above("prob", "where popularity is all there is", share=0.0),
        Claim(
            "The more of the trades come in bursts, the better is GDJ beside PROB",
            f"{HINDSIGHT} / prob: last less first",
            change(HINDSIGHT, "share", "prob"),
            "at least",
            0.0,
        ),
    ),
    Chart("share", _OUTPUT),
)

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
            _EQUAL,
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
            _EQUAL,
        ),
    ),
    Chart("budget", _OUTPUT, kind="bar"),
    curve="system",
    slow=frozenset({f"split {OPTIMUM}", f"unified {OPTIMUM}"}),
    notes=("One pair of streams is directly correlated, the other inversely.",),
)

_MANY = ("random", "fifo", "prob", "gdj", HINDSIGHT, "gain")

FIG7_STREAMS = Experiment(
    "gdj.fig7-streams",
    "Figure 7: joins of two to five streams of trades, buffers of 20 %",
    "streams",
    _MANY,
    fixed(grid(streams=(2, 3, 4, 5)), grid(streams=(2, 3))),
    measures.share("stock-like", "streams", window=2, seconds=120, burst=3.0),
    (
        _above("prob", "however many streams there are"),
        _above("random", "however many streams there are"),
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
    Chart("streams", _OUTPUT),
    notes=("No optimum is known for joins of more than two streams: the exact output is 1.",),
)

FIG7_ATTRIBUTES = Experiment(
    "gdj.fig7-attributes",
    "Figure 7: a join for each of several attributes, buffers of 20 %",
    "attributes",
    _MANY,
    fixed(grid(attributes=(1, 2, 3, 4)), grid(attributes=(1, 3))),
    measures.share("attributes", "attributes"),
    (
        _above("prob", "however many attributes there are"),
        _above("fifo", "however many attributes there are"),
        Claim(
            "The lead over PROB grows with the number of attributes",
            f"{HINDSIGHT} / prob: last less first",
            change(HINDSIGHT, "attributes", "prob"),
            "at least",
            0.0,
        ),
    ),
    Chart("attributes", _OUTPUT),
    notes=("No optimum is computed where several joins share a stream: the exact output is 1.",),
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
    Chart("skew_b", _OUTPUT, panel="skew_a"),
)

# ------------------------------------------------------------------------- section 5.4: sampling

_SAMPLED = ("stock-like", "dew point")


def _sampling(number: int, error: str, name: str) -> Experiment:
    return Experiment(
        f"gdj.fig{number}",
        f"Figure {number}: drop rate against output and distortion ({name})",
        "drop",
        ("fifo", "prob", "gdj", HINDSIGHT, "gain"),
        fixed(
            grid(workload=_SAMPLED, drop=(0.0, 0.2, 0.4, 0.6, 0.8)),
            grid(workload=_SAMPLED, drop=(0.0, 0.4, 0.8)),
        ),
        measures.share(),
        (
            *(
                Claim(
                    f"Dropping more at random makes {told} of {system.upper()} smaller",
                    f"{system}: {told}, last less first",
                    change(system, "drop", field=field),
                    "at most",
                    0.0,
                )
                for system in (HINDSIGHT, "prob")
                for field, told in ((error, "the distortion"), ("value", "the output"))
            ),
            *(
                Claim(
                    f"At equal distortion GDJ gives more than PROB: {workload}",
                    f"{HINDSIGHT} / prob",
                    at_equal(HINDSIGHT, "prob", error, "drop", workload=workload),
                    "at least",
                    1.0,
                )
                for workload in _SAMPLED
            ),
            Claim(
                "At p = 1 - buffer / (rate x window) nothing is left to decide: GDJ is FIFO",
                f"{HINDSIGHT} / fifo",
                ratio(HINDSIGHT, "fifo", drop=0.8),
                "near",
                1.0,
                0.05,
            ),
        ),
        Chart("drop", _OUTPUT, kind="scatter", panel="workload", across=error),
        notes=(f"Buffers of 20 %. Distortion is the {name} of the histograms of keys.",),
    )


FIG9 = _sampling(9, "sse", "sum of squared errors")
FIG10 = _sampling(10, "kl", "Kullback-Leibler divergence")

EXPERIMENTS = (
    POPULARITY,
    STACK,
    AGES,
    FIG3,
    FIG4,
    FIG5_WINDOW,
    FIG5_DOMAIN,
    LOCALITY,
    FIG6,
    FIG7_STREAMS,
    FIG7_ATTRIBUTES,
    FIG8,
    FIG9,
    FIG10,
)
