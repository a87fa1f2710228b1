"""Late rows as they are read: how late each of them was."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from bankfull.assemble.times import query_unit
from bankfull.core import Plan, State
from bankfull.core.intake.intake import Input
from bankfull.core.intake.times import null_times, to_units
from bankfull.core.store.forms import to_schema
from bankfull.telemetry.lateness import LateCounts, Lateness

log = logging.getLogger("bankfull")


class LateRows:
    """Counts the late rows of all streams."""

    def __init__(self, plan: Plan) -> None:
        schemas = {stream.name: stream.given for stream in plan.streams}
        self.unit = query_unit(plan.query, schemas)
        self._found: dict[str, LateCounts] = {}

    def note(self, source: Input, rows: pa.RecordBatch, reached: int) -> None:
        """Count the late rows of a batch that was taken in when time had come to ``reached``."""
        plan = source.plan
        rows = to_schema(rows, plan.schema)
        values = rows.column(plan.time)
        times, bad = to_units(values, plan.scale)
        bad = bad | null_times(values)
        for check in source.checks:
            bad = bad | check.bad(rows.column(check.column))
        times = times[~bad]
        before = np.maximum.accumulate(np.append(reached, times))[:-1]
        late_by = (before - times)[times < before - plan.late]
        if late_by.size:
            new = LateCounts(plan.name, self.unit, plan.late)
            self._found.setdefault(plan.name, new).add(late_by)

    def report(self, arrived: Mapping[str, int]) -> dict[str, Lateness]:
        """Return what is known, of the streams that had late rows."""
        return {name: found.about(arrived[name]) for name, found in self._found.items()}


def lateness(late: LateRows, state: State) -> dict[str, Lateness]:
    """Return what is known of a running join's late rows."""
    return late.report({name: counts.arrived for name, counts in state.ledger.streams.items()})


def warn(late: LateRows, state: State) -> None:
    """Say it aloud."""
    for about in lateness(late, state).values():
        log.warning("%s", about)
