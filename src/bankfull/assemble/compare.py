"""A budget of comparisons, resolved against the query and its schemas."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from bankfull.adapt import ALGORITHMS
from bankfull.assemble.shed import importance_column
from bankfull.assemble.times import in_units
from bankfull.core import JoinPlan
from bankfull.core.plan import NEVER, ComparePlan
from bankfull.errors import PlanError
from bankfull.spec import Comparisons, Query, Rows, Shed
from bankfull.spec.overload import COMBINATIONS

#: Basic windows in the longest window, and in a period, unless the query says otherwise.
_BASIC_WINDOWS, _PERIOD = 20, 5
#: More comparisons than can be made in a period.
_ENOUGH = 2.0**55


def compare_plan(
    shed: Shed,
    query: Query,
    schemas: Mapping[str, pa.Schema],
    joins: tuple[JoinPlan, ...],
    unit: int | None,
) -> ComparePlan:
    """Resolve how much is compared; say clearly what cannot be."""
    for join in joins:
        if join.search == "identifier" and isinstance(shed.cpu, Comparisons):
            raise PlanError(
                f"join {join.name!r} searches lists sorted by identifier, which cannot be entered "
                "at a time, and what that costs depends on how the input is cut: leave search= out"
            )
    lengths = [span for join in joins for span in join.span if span < NEVER]
    basic = max(1, -(-max(lengths, default=0) // _BASIC_WINDOWS))
    if query.basic_window is not None and not isinstance(query.basic_window, Rows):
        basic = in_units(query.basic_window, unit, "basic_window")
    elif not lengths:
        raise PlanError(
            "all windows are of rows, and cpu= plans what is compared for a basic window of time: "
            'say how long one is, e.g. basic_window="1 second", a small part of the time that the '
            "rows of a window take"
        )
    period = basic * _PERIOD
    if shed.compare.period is not None:
        given = in_units(shed.compare.period, unit, "period")
        period = max(basic, given // basic * basic)
    algorithm, sample = ALGORITHMS[shed.compare.algorithm]
    per_unit, share = 0.0, 1.0
    if isinstance(shed.cpu, Comparisons):
        per_unit = shed.cpu.count if unit is None else shed.cpu.count * unit / 1e9
        per_unit = min(per_unit, _ENOUGH / period)
    elif shed.cpu is not None:
        share = float(shed.cpu)
    return ComparePlan(
        algorithm,
        per_unit,
        share,
        sample if shed.compare.sample is None else shed.compare.sample,
        shed.compare.boost,
        basic,
        period,
        tuple(importance_column(query, k, schemas) for k in range(len(query.streams))),
        COMBINATIONS.index(shed.importance),
        shed.seed,
    )
