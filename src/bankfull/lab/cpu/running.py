"""One run of the real operator on the virtual processor, and what came out second by second."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bankfull.lab.cpu.bound import optimum
from bankfull.lab.cpu.setting import NAMES, Setting, plan_of, streams
from bankfull.lab.cpu.streams import SECOND, Floats

#: The ways that the query can name, ours last, and the bound.
OTHERS = ("drop", "rate", "correlation", "direction", "utility")
AUTO, OPTIMUM = "auto", "optimum"
WAYS = (*OTHERS, AUTO)


@dataclass(frozen=True)
class Outcome:
    """What came out in every second of virtual time, and the parts of the windows compared.

    ``parts`` has r, r1 and r2 (of the windows of S1 and S2) as they were at the end of a second.
    """

    results: Floats
    worth: Floats
    cost: Floats
    dropped: Floats
    fetched: Floats
    parts: Floats
    learned: Floats | None = None


def run(setting: Setting, system: str, seed: int, in_worth: bool = False) -> Outcome:
    """Run a way of choosing comparisons, or compute the optimum."""
    if system == OPTIMUM:
        results, worth = optimum(setting, seed, in_worth)
        nothing = np.zeros(len(results))
        return Outcome(results, worth, nothing, nothing, nothing, np.ones((len(results), 3)))
    return _run(setting, system, seed)


def _run(setting: Setting, system: str, seed: int) -> Outcome:
    import pyarrow.compute as pc

    from bankfull.runtime.embedded.clock import Pace, run_virtually

    rows = dict(zip(NAMES, (side.batch() for side in streams(setting, seed)), strict=True))
    seconds = int(np.ceil(setting.length_s)) + 1
    results, worth, cost, dropped, fetched = np.zeros((5, seconds))
    parts = np.ones((seconds, 3))
    emitted, last = 0, None
    turns = run_virtually(
        plan_of(setting, system), rows, setting.processor(), Pace.of(SECOND), seed
    )
    for turn in turns:
        at = min(int(turn.time / SECOND), seconds - 1)
        results[at] += turn.ledger.emitted - emitted
        emitted = turn.ledger.emitted
        cost[at] += turn.cost
        dropped[at] += turn.dropped
        fetched[at] += turn.fetched
        if setting.utilities:
            worth[at] += sum(pc.sum(b.column("importance")).as_py() or 0.0 for b in turn.output)
        if last is None or int(last.time / SECOND) != int(turn.time / SECOND):
            parts[at:] = _parts(turn.state)
        last = turn
    assert last is not None
    return Outcome(
        results, worth if setting.utilities else results, cost, dropped, fetched, parts,
        _learned(last.state),
    )  # fmt: skip


def _selector(state: Any) -> Any:
    from bankfull.core.exact.join import ExactJoin

    return state.stage(ExactJoin).comparing.selectors[0]


def _parts(state: Any) -> Floats:
    """Return r, and which part of the tuples of either window the present plan compares with."""
    from bankfull.core.exact.join import ExactJoin

    comparing = state.stage(ExactJoin).comparing
    selector = comparing.selectors[0]
    weights = np.maximum(selector.arrivals, 1e-9)
    mean = (selector.choice.mean(axis=2) * weights).sum(axis=1) / weights.sum(axis=1)
    return np.array([float(comparing.part[0]), float(mean[0]), float(mean[1])])


def _learned(state: Any) -> Floats:
    """Return what tuples compared with whole windows have found: pairs and results, ``[j, a]``."""
    seen: Floats = _selector(state).learned.sum(axis=1)[:, :, [0, 2]]
    return seen
