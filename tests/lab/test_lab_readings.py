"""Units of the readings: each does what its name says, and differs from the others.

``oracle_*``: the lab's own policy against a twin that counts anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from lab_cases import some

from bankfull.lab import gdj, importance, measures
from bankfull.lab.experiment import Cell
from bankfull.lab.registry import EXPERIMENTS
from bankfull.lab.report import REPORTED, cause_of, lacking, write
from bankfull.lab.simulate import simulate
from bankfull.lab.systems import AGE_MEAN, AGE_WINDOW, TOLD_AGE, TRIED, told_ages, variants
from bankfull.lab.traces import JoinOn, Trace, Workload
from bankfull.oracle.shedding import Arrival, JoinSpec, Memory, Policy
from bankfull.oracle.shedding import simulate as by_definition

SEED = 5


def test_ages_of_tuples_without_results_follow_the_reading() -> None:
    made = some(SEED, 2, [JoinOn((0, 1), "k", 9)])
    zero, window, mean = (told_ages(made, one) for one in (TOLD_AGE, AGE_WINDOW, AGE_MEAN))
    differ = 0
    for first, second, third in zip(zero, window, mean, strict=True):
        changed = first != second
        differ += int(changed.sum())
        assert set(first[changed].tolist()) <= {0}
        assert set(second[changed].tolist()) == {9}
        assert third == pytest.approx(np.full(len(first), first.mean()))
    assert differ > 0


@dataclass
class NextTwin(Policy):
    """Counts, whenever a partner comes, what has arrived on the next stream of the join."""

    count: dict[int, int] = field(default_factory=dict)

    def begin(self) -> None:
        self.count = {}

    def arrived(self, x: Arrival, memory: Memory) -> None:
        for u in [x, *memory.stored]:
            if u is x or memory.agree(x, u):
                self.count[u.seq] = sum(
                    v.stream == (u.stream + 1) % 3 and v.keys == u.keys for v in memory.history
                )

    def priority(self, u: Arrival, memory: Memory) -> tuple[float, ...]:
        return (self.count[u.seq],)


@pytest.mark.parametrize("seed", range(4))
def test_oracle_prob_of_the_next_stream(seed: int) -> None:
    made = some(seed, 3, [JoinOn((0, 1, 2), "k", 12)], weighed=False)
    ((policy, _),) = variants("prob-next", made)
    rows = sorted(
        (int(trace.times[row]), stream, row, int(trace.columns["k"][row]))
        for stream, trace in enumerate(made.streams)
        for row in range(len(trace))
    )
    arrivals = [
        Arrival(stream, time, (key,), 1.0, seq) for seq, (time, stream, _, key) in enumerate(rows)
    ]
    joins = [JoinSpec((0, 1, 2), (12, 12, 12))]
    wanted = len(by_definition(arrivals, joins, (3, 3, 3), NextTwin()).results)
    found = simulate(made.streams, made.joins, [3, 3, 3], policy, {}).results
    assert found == wanted


def test_percentiles_counted_from_the_top_are_those_from_the_bottom_turned_over() -> None:
    def measured(counted: str, initial: float) -> int:
        place = {"workload": "dew point", "counted": counted, "initial": initial}
        (found,) = measures.tuning(Cell("gdj.fig3", "method 1", 1, place, quick=True))
        return int(found["results"])

    low, high = measured(measures.FROM_BOTTOM, 0.05), measured(measures.FROM_BOTTOM, 0.95)
    assert low != high
    assert measured(measures.FROM_TOP, 0.95) == low
    assert measured(measures.FROM_TOP, 0.05) == high


def test_a_percentile_is_chosen_for_a_data_set_at_a_seed_that_nobody_judges() -> None:
    chosen = measures.chosen("dew point", True, ())
    assert chosen in TRIED
    assert measures.chosen("dew point", True, (), False, 1) in TRIED, "gdj-fitted asks for a seed"
    judged = {seed for one in EXPERIMENTS.values() for seed in (*one.seeds, *one.quick_seeds)}
    assert measures._CHOOSING_SEED not in judged


def test_memory_by_credit_goes_to_the_richer_join() -> None:
    """The second join has nothing in common but at the very beginning."""
    times = np.arange(400, dtype=np.int64)
    same, alone = times % 5, np.where(times < 10, 0, times)
    traces = [
        Trace("a", times, {"k": same}),
        Trace("b", times, {"k": same}),
        Trace("c", times, {"k": alone}),
        Trace("d", times, {"k": np.where(times < 10, 0, -times)}),
    ]
    made = Workload("two", tuple(traces), (JoinOn((0, 1), "k", 40), JoinOn((2, 3), "k", 40)))
    found = measures._by_credit(made, 40, {"initial": 0.5})
    assert found["first_share"] > 25  # of 40; equal shares are 20
    assert 0 < found["value"] <= 1


@pytest.mark.parametrize("paper", [gdj, importance])
def test_the_report_has_every_figure_and_every_experiment_of_a_paper(paper: object) -> None:
    printed = paper.PRINTED  # type: ignore[attr-defined]
    names = " ".join(one.name for one in printed)
    last = 10 if paper is gdj else 11
    assert all(
        f"Figure {number}" in names.split(": ") or f"Figure {number}" in names
        for number in range(1, last + 1)
    )
    shown = [key for one in printed for key in one.experiments]
    assert sorted(shown) == sorted(one.key for one in paper.EXPERIMENTS)  # type: ignore[attr-defined]
    if paper is importance:
        assert "Table 1" in names


def test_every_claim_of_the_papers_has_a_cause() -> None:
    for paper in REPORTED.values():
        for one in paper.EXPERIMENTS:
            for claim in one.claims:
                cause = cause_of(claim.text, paper.CAUSES.get(one.key, {}))
                assert cause.endswith("."), (one.key, claim.text)


def test_an_experiment_that_was_not_run_is_named(tmp_path) -> None:  # type: ignore[no-untyped-def]
    page = write(tmp_path, tmp_path / "page.md")
    assert len(page.missing) == sum(len(paper.EXPERIMENTS) for paper in REPORTED.values())
    for key in page.missing:
        assert f"Not run yet: `bankfull lab run {key} " in page.text
    assert "nothing to run" in page.text, "a figure without an experiment says why"


def test_places_without_a_point_are_counted() -> None:
    one = EXPERIMENTS["gdj.fig7-attributes"]
    records = [
        {one.curve: cell.system, "seed": cell.seed, **cell.place}
        for cell in one.cells(False, None)
        if cell.system != "optimum" or cell.seed == 1
    ]
    assert lacking(one, records, False) == {"optimum": 2 * len(one.places(False))}
