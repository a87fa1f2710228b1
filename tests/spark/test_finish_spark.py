"""Family: oracle, the end of the input.

What waits when a run over all available input is over is kept for the next run. ``bf.finish`` gives
it without changing the checkpoint: together with the sink it is the exact result, and a query that
goes on gives it itself. While rows wait, recall does not claim to know everything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from spark_cases import ROWS, pair, several, table, within
from spark_runs import Runner, joined, observed_in, output_schema, same_rows

import bankfull as bf
from bankfull.errors import PlanError, SnapshotError
from bankfull.spec import Equal, Rows
from bankfull.testing import Case
from bankfull.testing.checks import check_output

Fresh = Callable[[], Runner]


def shedding(whole: Case, budget: int) -> Case:
    return replace(whole, query=replace(whole.query, shed=bf.shed(memory=bf.tuples(budget))))


def counted() -> Case:
    """A count window over streams that nothing closes."""
    whole = pair(Equal((("k",),)), Rows(12), seed=500)
    tables = {name: table(500 + k, ROWS, distinct=True) for k, name in enumerate("ab")}
    return Case.of(whole.query, **tables)


def several_under_a_budget() -> Case:
    """Two joins whose buckets share rows."""
    whole = several(510)
    kept = replace(whole.query, joins=whole.query.joins[:3])
    return shedding(replace(whole, query=kept), 5_000)


CASES = {
    "budget": (shedding(pair(Equal((("k",),)), within(2), seed=520), 5_000), 3),
    "count": (counted(), 1),
    "several": (several_under_a_budget(), 5),
}


def plan(runner: Runner, case: Case, buckets: int) -> Any:
    if len(case.query.joins) == 1:
        return joined(case.query, runner.frames(case), buckets)
    streams = {
        s.name: bf.stream(runner.frames(case)[s.name], name=s.name, time=s.time, late=s.late)
        for s in case.query.streams
    }
    planned = [
        bf.join(*(streams[n] for n in j.streams), on=j.predicate, within=j.windows, name=j.name)
        for j in case.query.joins
    ]
    return bf.joins(*planned, overload=case.query.shed, buckets=buckets)


@pytest.mark.parametrize("title", CASES)
def test_oracle_the_rest_completes_a_run(runner: Fresh, title: str) -> None:
    """Two runs and what finish() gives are the exact result; it changes nothing."""
    case, buckets = CASES[title]
    schema = output_schema(case)
    run = runner()
    run.write(case, 30)
    run.show(2)
    frame = plan(run, case, buckets)
    run.drain(frame)
    early = bf.finish(frame, run.checkpoint)
    assert early.count() > 0, "rows wait at the end of a run"
    run.show(1000)
    run.drain(plan(run, case, buckets))
    waiting = sum(value for name, value in run.counts().items() if name.endswith(".waiting"))
    assert waiting > 0
    if case.query.shed is not None:
        told = bf.recall(observed_in(run.progress[-1]))
        assert told.estimate == told.high == 1.0
        assert told.low < 1.0, "nobody knows what waiting rows will bring"
        assert told.waiting_tuples == waiting
    rest = bf.finish(frame, run.checkpoint)
    found = rest.toArrow().select(schema.names).cast(schema)
    assert found.num_rows > 0
    counts = rest.ledger.get["ledger"]
    assert all(not value for name, value in counts.items() if name.endswith(".waiting"))
    if case.query.shed is not None:
        assert bf.recall(rest.ledger.get).low == 1.0
    everything = pa.concat_tables([run.rows(schema), found])
    check_output(case, everything)
    again = bf.finish(frame, str(run.checkpoint)).toArrow().select(schema.names).cast(schema)
    same_rows(again, found)


def test_the_rest_is_what_a_batch_join_gives(runner: Fresh) -> None:
    """With too small a budget too, over several buckets: the same rows as all at once."""
    case = shedding(pair(Equal((("k",),)), within(2), seed=530, count=150), 60)
    run = runner()
    run.write(case, 40)
    frame = plan(run, case, 3)
    run.drain(frame)
    schema = output_schema(case)
    rest = bf.finish(frame, run.checkpoint).toArrow().select(schema.names).cast(schema)
    whole = runner().run_batch(case, 3)
    same_rows(pa.concat_tables([run.rows(schema), rest]), whole)
    other = plan(run, shedding(pair(Equal((("k",),)), within(3), seed=530), 60), 3)
    with pytest.raises(Exception, match=r"query has changed.*became") as refusal:
        bf.finish(other, run.checkpoint).count()
    assert SnapshotError.__name__ in str(refusal.value)
    with pytest.raises(PlanError, match="no streaming join"):
        bf.finish(frame.select("joined_at"), run.checkpoint)
    with pytest.raises(PlanError, match=r"no state of a join.*checkpointLocation"):
        bf.finish(frame, run.folder / "nothing")
