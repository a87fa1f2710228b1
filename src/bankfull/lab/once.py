"""Keys that come once, or for a while: every policy, and a scheduler who knows the lags.

What matters there is which stream a tuple is of, how old it is, and whether it has had its partner.
The streams compete for one buffer, as they do by default. `gain` was developed on seeds 1 to 3 and
1101 to 1116; on the seeds of these experiments it was judged, an earlier form of it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bankfull.lab.claims import Claim, Observation, Observer, Points
from bankfull.lab.counting import exact
from bankfull.lab.everything import OTHERS, RIVALS, over_seeds
from bankfull.lab.experiment import Cell, Chart, Experiment, Place, Record, fixed, grid
from bankfull.lab.informed import informed
from bankfull.lab.onetime import LAGS, WINDOW
from bankfull.lab.optimum import Goal
from bankfull.lab.systems import OPTIMUM, run
from bankfull.lab.traces import Workload
from bankfull.lab.workloads import workload

#: The scheduler who knows the distribution of the lags, not the future.
INFORMED = "informed"
PASSING = ("regime change", "sessions", "seasons", "follower", "one-hit keys")
FLIGHTS = ("departure and arrival", "flights and weather")
BUDGETS = (0.1, 0.3)
#: From then on ``gain`` and the informed scheduler are also compared: before, only the latter can
#: know what is late. Every lag has been seen by then.
LATER = 2 * WINDOW
SEEDS = (801, 802, 803, 804, 805)


def unified(cell: Cell) -> list[Record]:
    """Measure a system's share of the exact output, or of its importance, in one buffer for all."""
    name, weighed = str(cell.place["workload"]), cell.experiment.endswith("-worth")
    made = workload(name, cell.seed, cell.quick, (("weighed", True),) if weighed else ())
    budgets = made.budgets(float(cell.place["budget"]))
    goal: Goal = "importance" if weighed else "results"

    def measure(streams: Workload) -> Record:
        if cell.system != INFORMED:
            return run(streams, cell.system, budgets, cell.seed, unified=True, goal=goal)
        results, importance = informed(streams, LAGS[name], sum(budgets))
        truth = exact(streams)
        value = importance / truth.importance if weighed else results / truth.results
        return {"value": value, "results": results, "importance": importance}

    found = measure(made)
    if name in LAGS and cell.system in ("gain", INFORMED):
        found["value_later"] = measure(replace(made, since=LATER))["value"]
    return [found]


def near_informed(**where: object) -> Observer:
    """Observe gain's mean over the informed scheduler's, over the seeds."""

    def observe(points: Points) -> list[Observation]:
        found = []
        for label, group in points.places(where, without=("seed",)):
            mine, known = (
                [float(one["value"]) for one in group if one["policy"] == system]
                for system in ("gain", INFORMED)
            )
            found.append((label, sum(mine) / sum(known)))
        return found

    return observe


def _claims(names: Sequence[str], known: bool) -> tuple[Claim, ...]:
    claims = [
        Claim(
            f"gain gives, over the seeds, at least what the best other policy gives: {name}",
            "mean of gain / mean of best other",
            over_seeds("gain", RIVALS, workload=name),
            "at least",
            1.0,
            0.01,
        )
        for name in names
    ]
    if known:
        claims += [
            Claim(
                f"gain gives nearly what a scheduler gives who knows the lags: {name}",
                "mean of gain / mean of informed",
                near_informed(workload=name),
                "at least",
                0.95,
            )
            for name in names
        ]
    return tuple(claims)


def _experiment(key: str, title: str, names: Sequence[str], known: bool, y: str) -> Experiment:
    wide: list[Place] = grid(workload=list(names), budget=BUDGETS)
    narrow: list[Place] = grid(workload=list(names), budget=BUDGETS[:1])
    return Experiment(
        key,
        title,
        "budget",
        (*OTHERS, "gain", *((INFORMED,) if known else ()), OPTIMUM),
        fixed(wide, narrow),
        unified,
        _claims(names, known),
        Chart("budget", y, kind="bar", panel="workload"),
        seeds=SEEDS,
        quick_seeds=SEEDS[:1],
        notes=(
            "age is given every tuple's best age beforehand, as its paper did; it is no rival.",
            "informed knows the true distribution of the lags and not the future: a good index "
            "policy, not a bound. The optimum knows everything.",
            "value_later is the share of what is joined from the third window on, of gain and "
            "informed: before, only who was told can know what is late.",
        )[: 3 if known else 1],
    )


ONCE = _experiment(
    "all.once",
    "Keys that come once on each side: an order and its payment, an impression and its click",
    tuple(LAGS),
    True,
    "share of the exact output",
)
WORTH = _experiment(
    "all.once-worth",
    "Keys that come once on each side, and orders have an importance",
    ("payments, varied lag", "payments, late", "rare clicks"),
    True,
    "share of the exact importance",
)
PASSING_KEYS = _experiment(
    "all.passing",
    "Keys that come for a while, come back, or never come again",
    PASSING,
    False,
    "share of the exact output",
)
PASSING_WORTH = _experiment(
    "all.passing-worth",
    "Keys that come for a while, come back, or never come again, and tuples have an importance",
    PASSING,
    False,
    "share of the exact importance",
)
REAL = _experiment(
    "all.flights",
    "Departures and landings of aircraft; flights and the weather where they leave",
    FLIGHTS,
    False,
    "share of the exact output",
)

EXPERIMENTS = (ONCE, WORTH, PASSING_KEYS, PASSING_WORTH, REAL)
