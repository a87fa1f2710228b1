"""Recovery: stop anywhere, restore the last snapshot, and nothing shows that it happened.

The check drives the core itself: streams take turns at random, results are asked for in portions
of random size (where exactly a portion ends is nobody's promise), and between two turns the state
may go through a snapshot.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pyarrow as pa

from bankfull.assemble import assemble
from bankfull.core import Batch, Budget, Ledger, Plan, restore, snapshot, start, step
from bankfull.testing.cases import Case
from bankfull.testing.checks import check_output
from bankfull.testing.running import cut, random_lengths, rows_emitted

#: What the rows of one turn gave: the output they made possible, and the account after it.
Outcome = tuple[pa.Table, Ledger]


def check_recovery(case: Case, seed: int = 0) -> None:
    """Restore at random points: every turn gives what it gives without, and the sum is exact."""
    check_output(case, check_restored(case, seed))


def check_restored(case: Case, seed: int = 0) -> pa.Table:
    """Restore at random points: every turn gives what it gives without; returns all of it."""
    schemas = {name: table.schema for name, table in case.tables.items()}
    plan = assemble(case.query, schemas)
    undisturbed = list(_outcomes(plan, case, seed, restoring=False))
    recovered = list(_outcomes(plan, case, seed, restoring=True))
    for number, (wanted, found) in enumerate(zip(undisturbed, recovered, strict=True)):
        rows, others = rows_emitted(found[0], case.query), rows_emitted(wanted[0], case.query)
        assert rows == others, f"turn {number}: emitted {rows}, undisturbed {others}"
        assert found[1] == wanted[1], f"turn {number}: {found[1]} != {wanted[1]}"
    return pa.concat_tables(output for output, _ in recovered)


def _outcomes(plan: Plan, case: Case, seed: int, restoring: bool) -> Iterator[Outcome]:
    """Run a case turn by turn; the seed decides the same way whether or not it restores."""
    dice = random.Random(seed)
    state = start(plan)
    for batch in turns(case, dice):
        budget = Budget(output_rows=dice.choice((1, 3, 1000)))
        outcome = step(state, batch, budget)
        output = list(outcome.output)
        while outcome.pending:
            outcome = step(outcome.state, Batch(), budget)
            output += outcome.output
        yield pa.Table.from_batches(output, plan.schema), outcome.ledger
        state = outcome.state
        if dice.random() < 0.5 and restoring:
            state = restore(plan, snapshot(state))


def turns(case: Case, dice: random.Random) -> Iterator[Batch]:
    """Let the streams take turns: any of them may run ahead, idle or end before the others."""
    waiting = {
        name: list(cut(table, random_lengths(len(table), dice)))
        for name, table in case.tables.items()
    }
    while waiting:
        name = dice.choice(sorted(waiting))
        if waiting[name]:
            yield Batch({name: waiting[name].pop(0)})
        else:
            del waiting[name]
            yield Batch(ended=frozenset([name]))
