"""What loops need that plan for themselves as long as nothing is left out.

See ``kernels/exact/planning.py``.
"""

from __future__ import annotations

import numpy as np

from bankfull.core.comparing.classes import is_weighed
from bankfull.core.comparing.comparing import BURST, Comparing
from bankfull.core.plan import NEVER
from bankfull.kernels.exact.planning import Rules


def can_plan_alone(comparing: Comparing) -> bool:
    """Tell whether the loop of the only join may plan for itself.

    It may for a join of two streams with windows of time, of whose budget no other operator has a
    share, and whose results weigh the same: the sums of what they are worth do not depend on the
    order of additions.
    """
    rules, joins = comparing.rules, comparing.plan.joins
    if len(joins) > 1 or len(joins[0].streams) > 2 or any(r < NEVER for r in joins[0].rows):
        return False
    if not rules.per_unit or comparing.shares is not None:
        return False
    return not is_weighed(rules) and not rules.algorithm.drops


def rules_of(comparing: Comparing) -> Rules:
    """Return how the only join plans, and the arrays that change with a plan."""
    (selector,), rules = comparing.selectors, comparing.rules
    return Rules(
        rules.period, int(rules.per_unit * rules.period), rules.sample, rules.fade,
        selector.least, BURST, selector.join.search == "scan", comparing.clock,
        comparing.given[0], comparing.reserve, comparing.fair, selector.sampled, selector.unseen,
        comparing.price, np.zeros((2, selector.windows)),
    )  # fmt: skip
