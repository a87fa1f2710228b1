"""What every policy for memory shedding must hold to, one of ours or a user's own."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from bankfull.core.bounded.join import BoundedJoin
from bankfull.errors import SpecError
from bankfull.policies import Policy
from bankfull.policies.own import Worth, as_policy
from bankfull.spec import Bytes, Equal, Join, Overlap, Query, Shed, Stream, Ticks, Tuples
from bankfull.testing.cases import Case
from bankfull.testing.checks import check_determinism, check_exact, check_splits, check_subset
from bankfull.testing.recovery import check_restored
from bankfull.testing.running import run

#: Budgets in tuples; one in bytes that holds all of a case, and one that does not.
_PLENTY, _SCARCE = 10_000, 7
_BYTES_PLENTY, _BYTES_SCARCE = 1 << 22, 6 << 10
#: The smallest and the largest importance there is, among usual ones.
_WORTHS = (1.0, 2.0, 5e-324, 1e25)


@dataclass(frozen=True)
class Checked:
    """What was tried with a policy, all of it without a failure."""

    policy: str
    seeds: tuple[int, ...]
    checks: tuple[str, ...]
    runs: int
    emitted: int
    dropped: int

    def __str__(self) -> str:
        checks = ", ".join(self.checks)
        return (
            f"policy {self.policy}: {checks} hold in {self.runs} runs over {len(self.seeds)} "
            f"seeds; under the scarce budget {self.emitted} results came out and {self.dropped} "
            "tuples were dropped"
        )


_CHECKS = ("exact", "subset", "bound", "conservation", "splits", "determinism", "recovery")


def check_policy(own: Policy | Worth, seeds: Iterable[int] = range(3)) -> Checked:
    """Run a policy, or a function that stands for one, over small hostile streams.

    With enough memory the result is exact. With too little: a subset without duplicates, never
    more stored than allowed, every tuple accounted for, the same however the input is cut into
    batches, twice the same byte for byte, and nothing different after recovery. Every third seed
    joins on sets, unless the policy has no meaning there. Whatever does not hold is an
    ``AssertionError``; what was tried is returned.

    >>> from bankfull.policies import fifo
    >>> print(check_policy(fifo(), seeds=[1]).checks)
    ('exact', 'subset', 'bound', 'conservation', 'splits', 'determinism', 'recovery')
    """
    policy, seeds = as_policy(own), tuple(seeds)
    if not seeds:
        raise SpecError("check_policy got no seeds, so nothing would be tried: give at least one")
    runs = emitted = dropped = 0
    for seed in seeds:
        case = _case(seed, sets=policy.sets and seed % 3 == 2)
        for plenty, memory, split in _budgets(case, seed):
            check_exact(_under(case, policy, plenty, split), seed=seed)
            scarce = _under(case, policy, memory, split)
            result = check_subset(scarce, seed=seed)
            run(scarce, splits=3, each=_check_bound)
            check_splits(scarce)
            check_determinism(scarce, seed=seed)
            check_restored(scarce, seed)
            runs += 1 + 1 + 1 + 4 + 2 + 2
            emitted += result.table.num_rows
            dropped += sum(s["shed"] + s["evicted"] for s in result.ledger["streams"].values())
    return Checked(policy.name, seeds, _CHECKS, runs, emitted, dropped)


_Split = str | tuple[tuple[str, float], ...]
_Memory = Tuples | Bytes


def _budgets(case: Case, seed: int) -> list[tuple[_Memory, _Memory, _Split]]:
    """Return two pairs of budgets, plenty and scarce, with their splits; seeds differ in them."""
    tuples: tuple[_Memory, _Memory] = (Tuples(_PLENTY), Tuples(_SCARCE))
    names = [stream.name for stream in case.query.streams]
    small = tuple((name, 0.05 if number else 0.9) for number, name in enumerate(names))
    if seed % 2:
        return [(*tuples, "proportional"), (Bytes(_BYTES_PLENTY), Bytes(_BYTES_SCARCE), "unified")]
    return [(*tuples, "unified"), (*tuples, small)]


def _under(case: Case, policy: Policy, memory: _Memory, split: _Split) -> Case:
    shed = Shed(memory, policy.keep(), split, seed=5)
    return Case(replace(case.query, shed=shed), case.tables)


def _check_bound(joined: Any) -> None:
    """Nothing is stored beyond the budget and nothing has vanished, at this moment."""
    joined.ledger.check()
    memory = joined._state.stage(BoundedJoin).memory
    stored = sum(counts.stored for counts in joined.ledger.streams.values())
    used = memory.buffers.used
    assert (used <= memory.buffers.capacity).all(), memory.buffers
    budget = joined.query.shed.memory
    assert used.sum() <= budget.count, f"{memory.buffers} beyond {budget}"
    if isinstance(budget, Tuples):
        assert stored == used.sum(), f"{stored} tuples are stored"


def _case(seed: int, sets: bool) -> Case:
    """Invent streams with equal times, null keys, late rows, a hot key and rare ones."""
    dice = random.Random(seed)
    names = "ab" if sets or seed % 2 else "abc"
    # Of every other case the first stream has an importance.
    worth = {name: "v" if seed % 2 and name == names[0] else None for name in names}
    predicate = Overlap(("k",), 2) if sets else Equal((("k",),))
    # Of every third case one stream's tuples join nothing that comes after their own time.
    windows = (Ticks(9), Ticks(0)) if len(names) == 2 and seed % 3 == 1 else (Ticks(9),)
    query = Query(
        tuple(Stream(name, "t", late=Ticks(3), importance=worth[name]) for name in names),
        (Join("join", tuple(names), predicate, windows),),
    )
    tables = {}
    for name in names:
        time, rows = 0, []
        for _ in range(40):
            time += dice.choice([0, 1, 1, 2])
            items = [int(5 * dice.random() ** 2) for _ in range(3 if sets else 1)]
            key = None if dice.random() < 0.1 else items if sets else items[0]
            rows.append(
                {"t": time - dice.choice([0, 0, 0, 2, 6]), "k": key, "v": dice.choice(_WORTHS)}
            )
        kind = pa.list_(pa.int64()) if sets else pa.int64()
        schema = pa.schema([("t", pa.int64()), ("k", kind), ("v", pa.float64())])
        tables[name] = pa.Table.from_pylist(rows, schema=schema)
    return Case.of(query, **tables)
