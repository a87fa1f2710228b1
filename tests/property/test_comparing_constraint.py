"""Family: property. What is chosen takes the comparisons that there are, after every plan."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from comparing_worlds import TwinWorld, run

from bankfull.adapt import ALGORITHMS
from bankfull.adapt.auto import units
from bankfull.core.comparing.work import Float64, Work
from bankfull.core.plan import Pricing


def demand_by_window(work: Work) -> Float64:
    """Return what comparing everything takes, for either window."""
    each: Float64 = work.arrivals.sum(axis=1) * (work.tuples * work.cost()).sum(axis=1)
    return each


def check_constraint(name: str, works: list[Work], budget: float, choices: list[Float64]) -> None:
    """The paper's constraint, with the comparisons that a window takes in place of its length."""
    demand = sum(work.demand() for work in works)
    if demand <= budget:
        return
    taken = 0.0
    for work, choice in zip(works, choices, strict=True):
        number = work.arrivals[:, :, None] * work.tuples[:, None, :]
        steps = work.cost()[:, None, :]
        if name == "auto":
            taken += float((units(work).volume * choice).sum())
        elif name == "utility":
            taken += float((number * steps * choice).sum())
        else:
            total = np.maximum(work.tuples.sum(axis=1), 1e-300)
            parts = (choice[:, 0] * work.tuples).sum(axis=1) / total
            taken += float((parts * demand_by_window(work)).sum())
    most = sum(float(units(work).volume.sum()) for work in works) if name == "auto" else demand
    assert taken == pytest.approx(min(budget, most), rel=1e-8, abs=1e-8)


@pytest.mark.parametrize("name", ["rate", "correlation", "direction", "utility", "auto"])
def test_the_constraint_holds_after_every_plan(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is chosen takes the comparisons that there are: ``r (D1 + D2) = r1 D1 + r2 D2``."""
    algorithm, planned = ALGORITHMS[name][0], 0
    kind, way = type(algorithm), "choose_above" if isinstance(algorithm, Pricing) else "choose"
    choose = getattr(kind, way)

    def checked(self: Any, works: list[Work], budget: float, *least: float) -> Any:
        nonlocal planned
        made = choose(self, works, budget, *least)
        choices = choose(self, works, budget, 0.0)[0] if least else made
        check_constraint(name, works, budget, choices)
        # With a price what is not worth it is left out of just that, and nothing else is taken.
        for priced, choice in zip(made[0] if least else made, choices, strict=True):
            assert ((priced == choice) | (priced == 0.0)).all()
            assert any(least) or (priced == choice).all()
        planned += 1
        return made

    monkeypatch.setattr(kind, way, checked)
    for seed in range(8):
        world = TwinWorld(seed, name)
        run(world, world.per_unit, None)
    assert planned > 10
