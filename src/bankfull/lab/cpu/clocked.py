"""Figures 12 and 15 once more, on the real clock: live streams and a share of this machine.

The streams of the virtual processor come in as they would from a network, four seconds of theirs in
one of the clock; the join may use a small share of the time, so that a burst is too much for it.
Results differ from run to run and from machine to machine. Cells must run one at a time: give
``--engine local --processes 1``.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from bankfull.lab.claims import Claim
from bankfull.lab.cpu.indexed import JOINS
from bankfull.lab.cpu.running import WAYS
from bankfull.lab.cpu.setting import NAMES, Setting, streams
from bankfull.lab.cpu.shared import BUCKET_S, OUTPUT, gain, goals, phase, setting_of
from bankfull.lab.cpu.streams import SECOND, Floats, Side
from bankfull.lab.experiment import Cell, Chart, Experiment, Record, fixed, grid

if TYPE_CHECKING:
    import pyarrow as pa

#: Seconds of the streams in one of the clock, and how often rows come in, in seconds of the clock.
_FASTER, _EVERY = 4.0, 0.02
#: The share of the clock that the join may use.
_SHARE = 0.3
#: Tuples a second beside the paper's: a comparison takes some nanoseconds here.
_MORE = 4.0


def _live(side: Side, began: float) -> Iterator[pa.RecordBatch]:
    """Yield rows as their time comes."""
    rows, sent = side.batch(), 0
    while sent < rows.num_rows:
        time.sleep(_EVERY)
        now = (time.monotonic() - began) * _FASTER * SECOND
        until = int(np.searchsorted(side.times, now))
        if until > sent:
            yield rows.slice(sent, until - sent)
            sent = until


def run_live(setting: Setting, way: str, seed: int) -> tuple[Floats, Floats, int]:
    """Return results and the largest lag by second of the streams, and how many were dropped."""
    import bankfull as bf
    from bankfull.warm import Kernels, compile_now

    compile_now(Kernels("keys" if setting.predicate == "equal" else "sets", compares=True))
    sides = streams(setting, seed)
    began = time.monotonic() + 0.2
    on = bf.equal("k") if setting.predicate == "equal" else bf.overlap("s", at_least=3)
    pairs = zip(NAMES, sides, strict=True)
    joined = bf.join(
        *(bf.stream(_live(side, began), time="t", name=name) for name, side in pairs),
        on=on,
        within=round(setting.window_s * SECOND),
        basic_window=round(setting.basic_s * SECOND),
        search=setting.search,
        overload=bf.shed(cpu=_SHARE, compare=way),
    )
    seconds = int(np.ceil(setting.length_s)) + 1
    results, lags = np.zeros(seconds), np.zeros(seconds)
    for batch in joined:
        at = batch.column("joined_at").to_numpy() // SECOND
        results += np.bincount(at, minlength=seconds)
        now = (time.monotonic() - began) * _FASTER
        np.maximum.at(lags, at, (now - at) / _FASTER)
    return results, lags, sum(one.shed for one in joined.ledger.streams.values())


def _series(cell: Cell) -> list[Record]:
    setting = setting_of(steps=tuple((s, r * _MORE) for s, r in Setting().steps))(cell)
    results, lags, dropped = run_live(setting, cell.system, cell.seed)
    return [
        {
            "time": begin + BUCKET_S / 2,
            "phase": phase(Setting(), begin),
            "value": float(results[begin : begin + BUCKET_S].mean()),
            "lag_s": float(lags[begin : begin + BUCKET_S].max()),
            "dropped": float(dropped),
        }
        for begin in range(0, int(setting.length_s), BUCKET_S)
    ]


def _mean(cell: Cell) -> list[Record]:
    predicate, search = JOINS[str(cell.place["join"])]
    rate = float(cell.place["rate"]) * _MORE
    setting = Setting(((60.0, rate),), predicate=predicate, search=search)
    results, lags, dropped = run_live(setting, cell.system, cell.seed)
    half = int(setting.length_s) // 2
    return [
        {
            "value": float(results[half:-1].mean()),
            "lag_s": float(lags[half:].max()),
            "dropped": float(dropped),
        }
    ]


_NOTES = (
    f"Real clock: {_FASTER:g} seconds of the streams pass in one of the clock, {_MORE:g} times the "
    f"paper's tuples come, and the join may use {_SHARE:g} of the time. `lag_s` is how long, in "
    "seconds of the clock, the oldest result of a point had waited when it came out. Phases are "
    "named by the paper's rates.",
)

FIG12_CLOCK = Experiment(
    "cpu.fig12-clock",
    "Figure 12 on the real clock: output of shifted streams through a burst",
    "time",
    WAYS,
    fixed(grid(capacity=(0.0,)), grid(capacity=(0.0,))),
    _series,
    (
        Claim(
            "Time correlation gives more than rate alone, through the burst",
            "correlation / rate - 1",
            gain("correlation", "rate", phase="2: 500/s"),
            "at least",
            0.0,
        ),
        Claim(
            "Ours: auto gives at least half as much again as dropping, through the burst",
            "auto / drop - 1",
            gain("auto", "drop", phase="2: 500/s"),
            "at least",
            0.5,
        ),
        *goals(bounded=False),
    ),
    Chart("time", OUTPUT),
    seeds=(1,),
    notes=_NOTES,
)

FIG15_CLOCK = Experiment(
    "cpu.fig15-clock",
    "Figure 15 on the real clock: output against the rate, with and without an index",
    "rate",
    WAYS,
    fixed(
        grid(join=("overlap", "equal, indexed"), rate=(100.0, 500.0)),
        grid(join=("overlap", "equal, indexed"), rate=(500.0,)),
    ),
    _mean,
    (
        Claim(
            "Choosing gives more than dropping, sets without an index",
            "auto / drop - 1",
            gain("auto", "drop", join="overlap", rate=500.0),
            "at least",
            0.5,
        ),
        Claim(
            "Values with an index: no gain and no harm",
            "auto / drop - 1",
            gain("auto", "drop", join="equal, indexed"),
            "near",
            0.0,
            0.03,
        ),
        *goals(bounded=False),
    ),
    Chart("rate", OUTPUT, panel="join", log="y"),
    seeds=(1,),
    notes=_NOTES,
)

EXPERIMENTS = (FIG12_CLOCK, FIG15_CLOCK)
