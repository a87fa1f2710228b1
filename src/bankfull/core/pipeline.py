"""Which stages a plan has, in which order: the one place that names them.

To add a capability, write a stage (``stage.Stage``) and put it where rows or results must pass it.
"""

from __future__ import annotations

from bankfull.core.bounded.join import BoundedJoin
from bankfull.core.exact.join import ExactJoin
from bankfull.core.intake.intake import Intake
from bankfull.core.output.emit import Emit
from bankfull.core.plan import Plan
from bankfull.core.stage import Stage
from bankfull.core.workers import Workers


def stages_of(plan: Plan, workers: Workers) -> tuple[Intake, list[Stage]]:
    """Return the first stage, which knows the time, and the others behind it.

    A memory budget is kept by one thread: what it drops follows the order of the tuples.
    """
    intake = Intake(plan)
    if plan.shed is None:
        return intake, [ExactJoin(plan, intake.inputs, workers), Emit(plan, workers)]
    return intake, [BoundedJoin(plan), Emit(plan, Workers())]
