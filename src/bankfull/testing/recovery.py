"""Recovery: stop anywhere, restore the last snapshot, and nothing shows that it happened.

The check drives the core itself, one step at a time: streams take turns at random, results are
asked for in portions of random size, and between two steps the state may go through a snapshot.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pyarrow as pa

from bankfull import oracle
from bankfull.assemble import assemble
from bankfull.core import Batch, Budget, Ledger, Plan, restore, snapshot, start, step
from bankfull.testing.cases import Case
from bankfull.testing.running import cut, random_lengths, rows_emitted

#: What a step gave: its record batches and the account after it.
Outcome = tuple[list[pa.RecordBatch], Ledger]


def check_recovery(case: Case, seed: int = 0) -> None:
    """Restore at random points: every step gives what it gives without, and the sum is exact."""
    schemas = {name: table.schema for name, table in case.tables.items()}
    plan = assemble(case.query, schemas)
    undisturbed = list(_outcomes(plan, case, seed, restoring=False))
    recovered = list(_outcomes(plan, case, seed, restoring=True))
    assert len(undisturbed) == len(recovered), "the recovered run took another number of steps"
    for number, (wanted, found) in enumerate(zip(undisturbed, recovered, strict=True)):
        assert found[1] == wanted[1], f"step {number}: {found[1]} != {wanted[1]}"
        assert _written(found[0]) == _written(wanted[0]), (
            f"step {number}: {found[0]} != {wanted[0]}"
        )
    batches = [batch for output, _ in recovered for batch in output]
    emitted = rows_emitted(pa.Table.from_batches(batches, plan.schema), case.query)
    for name, combinations in oracle.exact(case.query, case.tables).items():
        missing = oracle.surplus(combinations, emitted[name])
        wrong = oracle.surplus(emitted[name], combinations)
        assert not missing, f"{name}: missing {missing}; should not be there {wrong}"
        assert not wrong, f"{name}: should not be there {wrong}"


def _outcomes(plan: Plan, case: Case, seed: int, restoring: bool) -> Iterator[Outcome]:
    """Run a case step by step; the seed decides the same way whether or not it restores."""
    dice = random.Random(seed)
    state = start(plan)
    for batch in _turns(case, dice):
        pending = True
        while pending:
            outcome = step(state, batch, Budget(output_rows=dice.choice((1, 3, 1000))))
            state, pending, batch = outcome.state, outcome.pending, Batch()
            yield outcome.output, outcome.ledger
        stop = dice.random() < 0.5
        if stop and restoring:
            written = snapshot(state)
            state = restore(plan, written)
            assert snapshot(state) == written, "a restored state is written down differently"


def _turns(case: Case, dice: random.Random) -> Iterator[Batch]:
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


def _written(batches: list[pa.RecordBatch]) -> list[bytes]:
    return [bytes(batch.serialize()) for batch in batches]
