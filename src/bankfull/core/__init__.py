"""The operator: ``step(state, batch, budget)`` gives the next state, the output and the ledger.

The core reads no clock, no environment and no global random generator: time comes with the batch,
everything learned lives in the state, so the same state and input give the same output. A step
runs through stages (``stage.py``): *intake* judges rows and releases them in order, *join* stores
and searches them (exactly, or within a memory budget), *emit* writes results. To add a capability,
write a stage and name it in ``pipeline.py``.
"""

from bankfull.core.batch import Batch, Budget, Step
from bankfull.core.ledger import JoinLedger, Ledger, StreamLedger
from bankfull.core.operator import State, start, step
from bankfull.core.plan import JoinPlan, Plan, StreamPlan
from bankfull.core.snapshot import restore, snapshot

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
    "restore",
    "snapshot",
    "start",
    "step",
]
