"""The operator: how one batch goes in, and what comes out.

``step`` consumes its state: the state handed in must not be used again, only the one returned. It
runs through the stages of the plan (``pipeline.py``) and knows none of them by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import TypeVar

import pyarrow as pa

from bankfull.core.batch import Batch, Budget, Step
from bankfull.core.intake.intake import Input
from bankfull.core.kept import Kept, Loaded, merged, part_of
from bankfull.core.ledger import JoinLedger, Ledger, StreamLedger
from bankfull.core.output.results import Allowance, Results
from bankfull.core.pipeline import stages_of
from bankfull.core.plan import Plan
from bankfull.core.stage import Stage, Turn
from bankfull.core.workers import Workers
from bankfull.errors import BankfullError

Kind = TypeVar("Kind", bound=Stage)


class State:
    """Everything the operator remembers between steps: its stages and the ledger."""

    def __init__(self, plan: Plan, threads: int = 1) -> None:
        self.plan = plan
        intake, others = stages_of(plan, Workers(threads))
        self.stages: list[Stage] = [intake, *others]
        #: How far the time of every stream has come.
        self.inputs: list[Input] = intake.inputs
        self.ledger = Ledger(
            {stream.name: StreamLedger() for stream in plan.streams},
            {join.name: JoinLedger() for join in plan.joins},
        )
        self.pending = False

    def stage(self, kind: type[Kind]) -> Kind:
        """Return the stage of this kind, to look into."""
        return next(stage for stage in self.stages if isinstance(stage, kind))

    def excess(self, waiting: list[pa.RecordBatch]) -> int:
        """Return how many of these waiting rows there are beyond what the stages could hold."""
        return max(stage.excess(waiting) for stage in self.stages)

    def hear(self, kept_up: float) -> None:
        """Tell all stages what part of its work the operator did in the time it had."""
        for stage in self.stages:
            stage.hear(kept_up)

    def be_timed(self, stopwatch: AbstractContextManager[object]) -> None:
        """Let all stages enter a runtime's stopwatch around what they do to adapt."""
        for stage in self.stages:
            stage.be_timed(stopwatch)

    def keep(self) -> Kept:
        """Return everything that must survive; no results may be pending."""
        assert not self.pending, "results are pending: finish the step first"
        kept = merged({stage.name: stage.keep() for stage in self.stages})
        kept.about["ledger"] = self.ledger.as_dict()
        return kept

    def load(self, loaded: Loaded) -> None:
        """Stand where :meth:`keep` was asked."""
        for stage in self.stages:
            stage.load(part_of(loaded, stage.name))
        self.ledger = Ledger.from_dict(loaded.about["ledger"])

    def nbytes(self) -> int:
        """Bytes held by stored and waiting tuples, indexes and working memory."""
        return sum(stage.nbytes() for stage in self.stages)


def start(plan: Plan, threads: int = 1) -> State:
    """Return the state before the first batch; its steps may use so many threads."""
    return State(plan, threads)


def step(state: State, batch: Batch, budget: Budget | None = None) -> Step:
    """Take a batch in; return the results it makes possible.

    When the results exceed ``budget`` the step stops early with ``pending`` set, and wants to be
    called with an empty batch until it is done.
    """
    if state.pending and any(rows.num_rows for rows in batch.rows.values()):
        raise BankfullError("results are pending: call step with an empty batch before new rows")
    allowance = Allowance.of(budget or Budget())
    turn = Turn(batch, state.pending, allowance, state.ledger, state.excess)
    for stage in state.stages:
        stage.take(turn)
    with ExitStack() as closing:
        found: Iterator[Results] = iter(())
        for stage in state.stages:
            found = stage.advance(turn, found)
            # Left to the collector, an interruption that came while one is closed would be lost.
            closing.callback(getattr(found, "close", _nothing))
    state.pending = any(stage.has_work for stage in state.stages)
    if not state.pending:
        for stage in state.stages:
            stage.expire(turn)
    for stage in state.stages:
        stage.count(state.ledger)
    state.ledger.check()
    return Step(state, turn.output, state.ledger.copy(), turn.quarantine, state.pending)


def _nothing() -> None:
    """Close what needs no closing."""
