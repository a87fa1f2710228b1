"""Units of the verdicts: what holds, fails and depends, and where an observer looks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from bankfull.errors import SpecError
from bankfull.lab import EXPERIMENTS, select
from bankfull.lab import observers as see
from bankfull.lab.claims import VERDICTS, Claim, Points
from bankfull.lab.cpu.setting import Setting
from bankfull.lab.cpu.shared import phase
from bankfull.lab.everything import gap_over_seeds, over_seeds
from bankfull.policies import POLICIES

SETTINGS = ("workload", "budget", "seed")


def point(policy: str, value: float, **place: Any) -> dict[str, Any]:
    return {"policy": policy, "workload": "w", "budget": 0.1, "seed": 1, "value": value, **place}


def points(*records: dict[str, Any]) -> Points:
    return Points(records, SETTINGS)


def claim(observe: Any, relation: str = "at least", expected: float = 1.0, spare: float = 0.0):
    return Claim("text", "a / b", observe, relation, expected, spare)


TWO_SEEDS = points(
    point("a", 0.6), point("b", 0.5), point("a", 0.4, seed=2), point("b", 0.5, seed=2)
)


def test_a_claim_that_agrees_everywhere_holds() -> None:
    told = claim(see.ratio("a", "b"), expected=0.8).judge(TWO_SEEDS)
    assert told["verdict"] == "holds"
    assert (told["measured"], told["lowest"], told["highest"]) == (1.0, 0.8, 1.2)
    assert (told["agreeing"], told["observations"], told["disagreeing_at"]) == (2, 2, [])


def test_a_claim_that_agrees_nowhere_fails() -> None:
    told = claim(see.ratio("a", "b"), expected=1.3).judge(TWO_SEEDS)
    assert (told["verdict"], told["agreeing"]) == ("fails", 0)


def test_a_claim_that_agrees_for_some_seeds_depends_and_says_where_not() -> None:
    told = claim(see.ratio("a", "b")).judge(TWO_SEEDS)
    assert told["verdict"] == "depends"
    assert told["disagreeing_at"] == ["w, budget 0.1, seed 2: 0.8"]


@pytest.mark.parametrize(
    ("relation", "number", "agrees"),
    [
        ("at least", 0.99, True),
        ("at least", 0.98, False),
        ("at most", 1.01, True),
        ("at most", 1.02, False),
        ("near", 1.01, True),
        ("near", 0.98, False),
    ],
)
def test_tolerance_is_for_what_falls_short(relation: str, number: float, agrees: bool) -> None:
    assert claim(None, relation, 1.0, 0.0101).agrees(number) is agrees


def test_a_claim_without_observations_is_a_defect() -> None:
    with pytest.raises(AssertionError, match="nothing to judge"):
        claim(see.ratio("a", "c")).judge(TWO_SEEDS)


SERIES = points(
    *(point("a", 0.1 * budget, budget=budget) for budget in (1, 2, 4)),
    *(point("b", 0.1, budget=budget) for budget in (1, 2, 4)),
)


def numbers(observe: Any, given: Points = SERIES) -> list[float]:
    return [pytest.approx(number) for _, number in observe(given)]


def test_observers_along_a_parameter() -> None:
    assert numbers(see.change("a", "budget")) == [0.3]
    assert numbers(see.change("a", "budget", "b")) == [3.0]
    assert numbers(see.growth("a", "budget")) == [4.0]
    assert numbers(see.best_at("a", "budget")) == [4.0]
    assert numbers(see.over_range("a", "budget", at=2, of="a")) == [0.5]
    assert numbers(see.over_range("a", "budget", of="a", worst=True)) == [4.0]


def test_observers_at_a_place() -> None:
    assert numbers(see.level("a", budget=2)) == [0.2]
    assert numbers(see.level("a", budget=(1, 4))) == [0.1, 0.4]
    assert numbers(see.level("a", budget=lambda budget: budget > 1)) == [0.2, 0.4]
    assert numbers(see.difference("a", "b")) == [0.0, 0.1, 0.3]
    assert numbers(see.best_ratio("b", ("a", "b", "c"))) == [1.0, 0.5, 0.25]
    assert numbers(see.quotient("a", "value", "budget")) == [0.1, 0.1, 0.1]


def test_the_share_of_a_gap() -> None:
    given = points(point("gain", 0.6), point("prob", 0.5), point("optimum", 0.9))
    assert numbers(see.gap_closed("gain", ("prob",), "optimum"), given) == [0.25]


def test_over_the_seeds_the_best_other_is_chosen_by_other_seeds() -> None:
    """One is lucky at the first seed and another at the second; a steady one is the better."""
    reached = {
        "gain": (0.5, 0.5, 0.5),
        "steady": (0.4, 0.4, 0.4),
        "first": (0.6, 0.1, 0.1),
        "second": (0.1, 0.6, 0.1),
    }
    others = ("steady", "first", "second")
    given = points(
        *(
            point(name, value, seed=seed)
            for name, values in reached.items()
            for seed, value in enumerate(values)
        ),
        *(point("optimum", 0.8, seed=seed) for seed in range(3)),
    )
    assert numbers(over_seeds("gain", others), given) == pytest.approx([1.25])
    closed = numbers(gap_over_seeds("gain", others, "optimum"), given)
    assert closed == pytest.approx([0.25])


def test_curves_are_compared_where_they_are_equally_distorted() -> None:
    given = points(
        *(point("a", 10 * sse, budget=sse, sse=sse) for sse in (0.0, 1.0)),
        *(point("b", 2 * sse, budget=sse, sse=sse) for sse in (0.0, 1.0)),
    )
    assert numbers(see.at_equal("a", "b", "sse", "budget"), given) == [5.0]


def test_curves_without_a_common_distortion_are_not_comparable() -> None:
    """One curve ends where the other begins, further on: no clamping, no verdict."""
    given = points(
        *(point("a", 1.0, budget=sse, sse=sse) for sse in (0.0, 1.0)),
        *(point("b", 2.0, budget=sse, sse=sse + 1.5) for sse in (0.0, 1.0)),
    )
    told = claim(see.at_equal("a", "b", "sse", "budget")).judge(given)
    assert (told["verdict"], told["measured"], told["observations"]) == ("not comparable", None, 0)
    assert told["not_comparable_at"] == ["w, seed 1"]


def test_places_that_are_not_comparable_do_not_decide_the_others() -> None:
    given = points(
        *(point("a", 2.0, budget=sse, sse=sse, seed=seed) for sse in (0.0, 1.0) for seed in (1, 2)),
        *(
            point("b", 1.0, budget=sse, sse=sse + far, seed=seed)
            for sse in (0.0, 1.0)
            for seed, far in ((1, 0.0), (2, 9.0))
        ),
    )
    told = claim(see.at_equal("a", "b", "sse", "budget")).judge(given)
    assert (told["verdict"], told["observations"]) == ("holds", 1)
    assert told["not_comparable_at"] == ["w, seed 2"]


def test_a_quick_run_judges_only_what_no_size_changes() -> None:
    of_size = claim(see.ratio("a", "b"), expected=0.8)
    assert of_size.judge(TWO_SEEDS)["verdict"] == "holds"
    told = of_size.judge(TWO_SEEDS, quick=True)
    assert told["verdict"] == "too small to judge"
    assert told["measured"] == 1.0, "what was measured is told all the same"
    law = replace(of_size, at_any_size=True)
    assert law.judge(TWO_SEEDS, quick=True)["verdict"] == "holds"


def test_steps_and_means_along_a_parameter() -> None:
    assert numbers(see.least_step("a", "budget")) == [2.0]
    assert numbers(see.least_step("b", "budget")) == [1.0]
    assert numbers(see.mean_ratio("a", "b", "budget")) == [7 / 3]
    assert numbers(see.grown_apart("a", "b", "budget")) == [0.3]


def test_nothing_over_nothing_is_equal() -> None:
    assert numbers(see.ratio("a", "b"), points(point("a", 0.0), point("b", 0.0))) == [1.0]


@pytest.mark.parametrize("key", EXPERIMENTS)
def test_every_experiment_is_declared_completely(key: str) -> None:
    one = EXPERIMENTS[key]
    assert one.claims
    assert len(one.seeds) == len(set(one.seeds)) > 0
    for quick in (False, True):
        cells = one.cells(quick, None)
        assert {cell.system for cell in cells} == set(one.systems)
        assert len({cell.dumps() for cell in cells}) == len(cells)
    assert {cell.seed for cell in one.cells(True, [7, 8])} == {7, 8}


def over_time() -> Iterator[dict[str, Any]]:
    """The seconds of the CPU paper's rates, and for some figures the ages in either window."""
    for second in range(135):
        direction = f"window of S{1 + second // 21 % 2}"
        yield {
            "time": second + 0.5,
            "phase": phase(Setting(), second),
            "direction": direction,
            "age": second % 21 + 0.5,
        }


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("key", EXPERIMENTS)
def test_every_claim_has_something_to_be_judged_by(key: str, quick: bool) -> None:
    """With invented numbers, so that a claim about a place the grid does not have is found."""
    one = EXPERIMENTS[key]
    fields = ("value", "results", "importance", "seconds", "sse", "kl", "memory_share")
    invented: dict[str, Any] = dict.fromkeys((*fields, "slope", "straight", "one_age_fits"), 0.5)
    within: list[dict[str, Any]] = [{"rank": 1, "cache": 0.1, "age": 0.025}]
    if key.startswith("cpu."):
        invented |= {"share": 0.5, "bound": 0.5, "dropped": 0.0}
        within = list(over_time())
    records = [
        {one.curve: cell.system, **point, **cell.place, "seed": cell.seed, **invented}
        for cell in one.cells(quick, None)
        for point in within
    ]
    verdicts = one.judge(records, quick)
    assert len(verdicts) == len(one.claims)
    assert {verdict["verdict"] for verdict in verdicts} <= set(VERDICTS)
    if quick:
        told = {verdict["verdict"] for verdict in verdicts}
        laws = any(claim.at_any_size for claim in one.claims)
        assert told <= {"too small to judge"} or laws


@pytest.mark.parametrize("key", EXPERIMENTS)
def test_the_optimum_is_one_more_row_wherever_policies_are_compared(key: str) -> None:
    """An experiment has policies if a curve is named after one or it says which it uses."""
    experiment = EXPERIMENTS[key]
    curves = {
        (system.rpartition(" ")[0], system.rpartition(" ")[2]) for system in experiment.systems
    }
    splits = {split for split, name in curves if name in POLICIES}
    if experiment.policies:
        splits.add("")
    assert all((split, "optimum") in curves for split in splits)


def test_seeds_of_the_comparison_of_all_policies_occur_nowhere_else() -> None:
    used = {seed for key, one in EXPERIMENTS.items() for seed in one.seeds if key != "all.policies"}
    assert not used & set(EXPERIMENTS["all.policies"].seeds)


def test_the_comparison_of_all_policies_leaves_none_out() -> None:
    """prob-window is PROB under another reading of a paper, which compares the two itself."""
    assert set(POLICIES) - {"prob-window"} <= set(EXPERIMENTS["all.policies"].systems)
    assert {"prob", "prob-window"} <= set(EXPERIMENTS["importance.fig9"].systems)


@pytest.mark.parametrize("key", [key for key in EXPERIMENTS if not key.startswith("all.")])
def test_every_reading_of_a_claim_is_judged_once(key: str) -> None:
    """A claim that is judged twice under one name, or by the same points twice, is a slip."""
    told = [(one.text, one.reading) for one in EXPERIMENTS[key].claims]
    assert len(told) == len(set(told))


READINGS = {
    "importance.fig9": {"PROB from the windows", "PROB from all that has arrived"},
    "importance.table1": {"importance rare", "importance by key"},
    "gdj.fig4": {"gaps unstretched", "gaps stretched", "AGE: the stream's mean for all"},
    "gdj.fig3": {"percentile counted from the bottom", "counted from the top"},
    "gdj.fig6": {"memory by average credit of each join", "memory by credit of each tuple"},
    "gdj.fig7-streams": {"PROB counts the next stream", "PROB counts all other streams"},
    "gdj.fig8": {"percentile from other streams", "percentile from the same streams"},
    "gdj.fig7-attributes": {"gaps unstretched, uniform too", "gaps stretched"},
}


@pytest.mark.parametrize(("key", "wanted"), READINGS.items())
def test_readings_stand_side_by_side(key: str, wanted: set[str]) -> None:
    found = {part for claim in EXPERIMENTS[key].claims for part in claim.reading.split("; ")}
    assert wanted <= found


def test_experiments_are_found_by_key_figure_and_paper() -> None:
    assert [one.key for one in select(["gdj.fig4"])] == ["gdj.fig4"]
    assert [one.key for one in select(["gdj.fig7", "gdj.fig7-streams"])] == [
        "gdj.fig7-streams",
        "gdj.fig7-attributes",
    ]
    assert {one.key.partition(".")[0] for one in select(["importance"])} == {"importance"}
    assert len(select(["all"])) == len(EXPERIMENTS)
    with pytest.raises(SpecError, match=r"did you mean 'gdj\.fig4'"):
        select(["gdj.fig44"])
