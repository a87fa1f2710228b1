"""The operator: ``step(state, batch, budget)`` gives the next state, the output and the ledger.

The core reads no clock, no environment and no global random generator: time comes with the batch,
everything learned lives in the state, so the same state and input give the same output. A step
runs through small stages: *admit* (bad and late rows leave), *reorder* (only where the order of
tuples matters), *store* (the log of each stream), *join* (search and insert, in the kernels),
*emit* (rows from sequence numbers), *expire*. To add a way of searching, write an index with the
methods of ``index.Index`` and name it in ``bankfull.assemble``.
"""

from bankfull.core.batch import Batch, Budget, Step
from bankfull.core.ledger import JoinLedger, Ledger, StreamLedger
from bankfull.core.operator import State, start, step
from bankfull.core.plan import JoinPlan, Plan, StreamPlan
from bankfull.core.snapshot import catch_up, describe, restore, revive, snapshot

__all__ = [
    "Batch",
    "Budget",
    "JoinLedger",
    "JoinPlan",
    "Ledger",
    "Plan",
    "State",
    "Step",
    "StreamLedger",
    "StreamPlan",
    "catch_up",
    "describe",
    "restore",
    "revive",
    "snapshot",
    "start",
    "step",
]
