"""One run of the real operator, and what came out second by second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bankfull.lab.cpu.bound import optimum
from bankfull.lab.cpu.informed import informed_plan
from bankfull.lab.cpu.setting import NAMES, POSTING, VIRTUAL, Setting, plan_of, streams
from bankfull.lab.cpu.streams import SECOND, Floats

#: The ways that a query can name, ours last; ours told what comparing returns; and the bound.
OTHERS = ("drop", "rate", "correlation", "direction", "utility")
AUTO, INFORMED, OPTIMUM = "auto", "informed", "optimum"
WAYS = (*OTHERS, AUTO)


@dataclass(frozen=True)
class Outcome:
    """What came out in every second, what comparing cost, and the parts of the windows compared.

    ``parts`` has r, r1 and r2 (of the windows of S1 and S2). ``learned`` is what tuples compared
    with whole windows have found at the end, pairs and results: ``[j, a, 2]``.
    """

    results: Floats
    worth: Floats
    cost: Floats
    dropped: Floats
    parts: Floats | None = None
    learned: Floats | None = None


def run(setting: Setting, system: str, seed: int) -> Outcome:
    """Run a way of choosing comparisons, or compute the optimum.

    Dropping tuples at random is done by the buffers of the virtual processor also where there is a
    budget of comparisons; nothing but comparisons is charged then.
    """
    if system == OPTIMUM:
        results, worth = optimum(setting, seed, bool(setting.utilities))
        return Outcome(results, worth, 0.0 * results, 0.0 * results)
    if setting.clock == VIRTUAL or system == "drop":
        return _run_virtually(setting, system, seed)
    return _run_budget(setting, system, seed)


def bound(setting: Setting, seed: int, outcome: Outcome) -> Floats:
    """Return the optimum, by second, for the comparisons that a run has made."""
    spent = outcome.cost if setting.clock == VIRTUAL else None
    found = optimum(setting, seed, bool(setting.utilities), spent)
    return found[1] if setting.utilities else found[0]


def _run_virtually(setting: Setting, system: str, seed: int) -> Outcome:
    from bankfull.runtime.embedded.clock import run_virtually

    sides = streams(setting, seed)
    rows = dict(zip(NAMES, (side.batch() for side in sides), strict=True))
    each = setting.processor().fetch
    if setting.is_indexed:
        each += POSTING * float(np.concatenate([side.sizes for side in sides]).mean())
    seconds = int(np.ceil(setting.length_s)) + 1
    results, worth, cost, dropped = np.zeros((4, seconds))
    parts = np.ones((seconds, 3))
    emitted, state = 0, None
    plan = plan_of(setting, system)
    for turn in run_virtually(plan, rows, setting.processor(), setting.pace(), seed):
        at = min(int(turn.time / SECOND), seconds - 1)
        results[at] += turn.ledger.emitted - emitted
        emitted = turn.ledger.emitted
        cost[at] += turn.cost - each * turn.fetched
        dropped[at] += turn.dropped
        worth[at] += _worth(turn.output, setting)
        parts[at:], state = _parts(turn.state), turn.state
    return Outcome(
        results, worth if setting.utilities else results, cost, dropped, parts, _learned(state)
    )


def _run_budget(setting: Setting, system: str, seed: int) -> Outcome:
    from bankfull.core import Batch, Budget, start, step

    rows = dict(zip(NAMES, (side.batch() for side in streams(setting, seed)), strict=True))
    seconds = int(np.ceil(setting.length_s)) + 1
    results, worth, dropped = np.zeros((3, seconds))
    informed = system == INFORMED
    plan = informed_plan(setting, seed) if informed else plan_of(setting, system)
    batch, state = Batch(rows, ended=frozenset(NAMES)), start(plan)
    while True:
        outcome = step(state, batch, Budget(1 << 18, 1 << 28))
        state, batch = outcome.state, Batch()
        for made in outcome.output:
            at = made.column("joined_at").to_numpy() // SECOND
            results += np.bincount(at, minlength=seconds)
            if setting.utilities:
                worth += np.bincount(at, made.column("importance").to_numpy(), minlength=seconds)
        if not outcome.pending:
            break
    dropped[0] = sum(one.shed for one in outcome.ledger.streams.values())
    cost = np.full(seconds, outcome.ledger.joins["j"].compared / seconds)
    return Outcome(results, worth if setting.utilities else results, cost, dropped)


def _worth(output: list[Any], setting: Setting) -> float:
    import pyarrow.compute as pc

    if not setting.utilities:
        return 0.0
    return float(sum(pc.sum(made.column("importance")).as_py() or 0.0 for made in output))


def _parts(state: Any) -> Floats:
    """Return r, and which part of the tuples of either window the present plan compares with."""
    from bankfull.core.exact.join import ExactJoin

    comparing = state.stage(ExactJoin).comparing
    selector = comparing.selectors[0]
    weights = np.maximum(selector.arrivals, 1e-9)
    mean = (selector.choice.mean(axis=2) * weights).sum(axis=1) / weights.sum(axis=1)
    return np.array([float(comparing.part[0]), float(mean[0]), float(mean[1])])


def _learned(state: Any) -> Floats:
    from bankfull.core.exact.join import ExactJoin

    learned: Floats = state.stage(ExactJoin).comparing.selectors[0].learned
    seen: Floats = learned.sum(axis=1)[:, :, [0, 2]]
    return seen
