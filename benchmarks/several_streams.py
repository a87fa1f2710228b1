"""Three streams joined at once, with a part of the comparisons: how many results each way finds.

``python benchmarks/several_streams.py``: the same numbers in every run. Events have a key and come
in stream ``a`` first, four seconds later in ``c``, twelve after that of ``a`` in ``b``, with two
seconds of spread; as many tuples again have keys of their own. Aligned, all come at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import bankfull as bf

SECONDS, EVENTS, KEYS, WITHIN = 150, 750, 60, 20
WAYS = ("auto", "rate", "correlation", "direction", "utility", "drop")


def table(seed: int, delay: float) -> pa.Table:
    """Return one stream: the events, late by a delay, and as many tuples that are none."""
    events, dice = np.random.default_rng(7), np.random.default_rng(seed)
    times, keys = events.uniform(0, SECONDS, EVENTS), events.integers(0, KEYS, EVENTS)
    times = np.append(times + delay + dice.uniform(0, 2, EVENTS), dice.uniform(0, SECONDS, EVENTS))
    keys = np.append(keys, dice.integers(0, KEYS, EVENTS))
    order = np.argsort(times, kind="stable")
    seen = pa.array((times[order] * 1e6).astype(np.int64), pa.timestamp("us"))
    return pa.table({"seen": seen, "key": keys[order]})


def results(
    tables: list[pa.Table], search: str, compare: Any, per_second: float
) -> tuple[int, int]:
    """Return results and comparisons."""
    streams = [bf.stream(t, time="seen", name=n) for t, n in zip(tables, "abc", strict=True)]
    shed = bf.shed(cpu=bf.comparisons(per_second), compare=compare)
    joined = bf.join(*streams, on="key", within=f"{WITHIN} seconds", search=search, overload=shed)
    found = joined.read_all().num_rows
    return found, joined.ledger.joins["join"].compared


def main() -> None:
    """Print a table for each search."""
    for search in ("hash", "scan"):
        for title, delays in (("one after the other", (0, 12, 4)), ("aligned", (0, 0, 0))):
            tables = [table(seed, delay) for seed, delay in enumerate(delays)]
            whole, most = results(tables, search, "rate", 1e9)
            print(f"{search}, {title}: {whole} results of {most} comparisons")
            for share in (0.5, 0.25, 0.1):
                per_second = share * most / SECONDS
                found = [results(tables, search, way, per_second)[0] / whole for way in WAYS]
                parts = zip(WAYS, found, strict=True)
                told = ", ".join(f"{way} {part:.3f}" for way, part in parts)
                print(f"  {share:4}: {told}", flush=True)


if __name__ == "__main__":
    main()
