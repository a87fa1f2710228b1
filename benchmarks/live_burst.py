"""A burst of live tuples in one process, on the real clock: does the join keep up, what is lost?

Run: python benchmarks/live_burst.py [--rate 1500] [--cpu 0.8]
Two sources of sets arrive in real time: 5 s at the rate, 15 s at five times the rate, 15 s at the
rate again; a scan for 3 items in common within 5 s. For `auto` and for random dropping (`drop`) it
prints results, the largest lag (from a result's time to when it came out), the lag in the last
second of the burst and ten seconds after it, tuples that were dropped, and which part of the
operator's time plans took.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

import bankfull as bf
from bankfull.warm import Kernels, compile_now

CALM, BURST, AFTER = 5.0, 15.0, 15.0
ITEMS, CYCLE = 100, 10.0


def arrivals(seed: int, shift: float, rate: float, began: float) -> Iterator[pa.RecordBatch]:
    """Yield what came in the last fiftieth of a second, in real time."""
    dice = np.random.default_rng(seed)
    chances = 1.0 / np.arange(1, ITEMS + 1) ** 0.6
    chances = np.cumsum(chances / chances.sum())
    last, end = began, began + CALM + BURST + AFTER
    while last < end:
        time.sleep(0.02)
        now = min(time.time(), end)
        factor = 5.0 if CALM <= now - began < CALM + BURST else 1.0
        count = dice.poisson(factor * rate * (now - last))
        times = np.sort(last + dice.random(count) * (now - last))
        first = (ITEMS * (((times - shift) % CYCLE) / CYCLE)).astype(int)
        items = (np.searchsorted(chances, dice.random((count, 5))) + first[:, None]) % ITEMS
        seen = pa.array((times * 1e6).astype("int64"), pa.timestamp("us"))
        yield pa.record_batch({"t": seen, "s": pa.array(items.tolist(), pa.list_(pa.int64()))})
        last = now


def run(how: str, rate: float, cpu: float) -> None:
    began = time.time()
    streams = [
        bf.stream(arrivals(k, 3.1 * k, rate, began), time="t", name=name)
        for k, name in enumerate("ab")
    ]
    on = bf.overlap("s", at_least=3)
    shed = bf.shed(cpu=cpu, compare=how)
    joined = bf.join(*streams, on=on, within="5 seconds", search="scan", overload=shed)
    results, lags = 0, []
    for batch in joined:
        results += batch.num_rows
        newest = batch.column("joined_at").cast(pa.int64())[batch.num_rows - 1].as_py() / 1e6
        lags.append((time.time() - began, time.time() - newest))
    dropped = sum(stream.shed for stream in joined.ledger.streams.values())
    planning = joined._pace.plans.seconds / joined._pace.steps.seconds

    def around(second: float) -> float:
        return max((lag for at, lag in lags if second - 1 <= at < second), default=float("nan"))

    print(
        f"{how}: {results:,} results, largest lag {max(lag for _, lag in lags):.2f} s, at the end "
        f"of the burst {around(CALM + BURST):.2f} s, ten seconds later "
        f"{around(CALM + BURST + 10):.2f} s, {dropped:,} tuples dropped, plans "
        f"{planning:.2%} of the operator's time",
        flush=True,
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rate", type=float, default=1500.0)
    options.add_argument("--cpu", type=float, default=0.8)
    given = options.parse_args()
    compile_now(Kernels("sets", compares=True))
    for how in ("auto", "rate", "drop"):
        run(how, given.rate, given.cpu)


if __name__ == "__main__":
    main()
