"""What must hold for every query, whatever the data: invariants as checks that take any spec.

A :class:`Case` is a query and the rows of its streams. Every ``check_*`` runs it on the embedded
runtime, through the public face, and raises ``AssertionError`` with the difference if the
invariant does not hold. :mod:`bankfull.testing.strategies` (needs Hypothesis) invents cases that
are small and hostile. To add an invariant: a function ``check_name(case)`` in ``checks.py``, and
an entry in ``CHECKS``. A policy for memory shedding, your own or ours, is held to all of them by
:func:`check_policy`.

Every table carries ``row_<stream>``, the number of the row: what was joined with what can be read
off the output.
"""

from collections.abc import Callable

from bankfull.testing.cases import Case, row_column
from bankfull.testing.checks import (
    check_conservation,
    check_determinism,
    check_exact,
    check_splits,
    check_subset,
)
from bankfull.testing.policies import check_policy
from bankfull.testing.recovery import check_recovery
from bankfull.testing.running import Result, run, start

#: Every invariant by name.
CHECKS: dict[str, Callable[[Case], object]] = {
    "exact": check_exact,
    "subset": check_subset,
    "conservation": check_conservation,
    "splits": check_splits,
    "determinism": check_determinism,
    "recovery": check_recovery,
}

__all__ = [
    "CHECKS",
    "Case",
    "Result",
    "check_conservation",
    "check_determinism",
    "check_exact",
    "check_policy",
    "check_recovery",
    "check_splits",
    "check_subset",
    "row_column",
    "run",
    "start",
]
