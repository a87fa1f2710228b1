"""Cases that never change, and their results as text: run as a script it prints them as JSON.

Python's own generator makes the rows, so that neither a Hypothesis version nor a profile changes
what the compiled and the plain kernels are compared on.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from bankfull.spec import (
    Equal,
    Join,
    Overlap,
    Predicate,
    Query,
    Rows,
    Similar,
    Stream,
    Subset,
    Superset,
    Ticks,
    Window,
)
from bankfull.testing import Case, run

ROWS = 60
LATE = 3
WINDOWS: dict[str, tuple[Window, ...]] = {
    "time": (Ticks(6),),
    "per-stream": (Ticks(3), Ticks(9)),
    "count": (Rows(7),),
    "mixed": (Rows(4), Ticks(5)),
}
PREDICATES: dict[str, Predicate] = {
    "integer": Equal((("k",),)),
    "text": Equal((("word",),)),
    "composite": Equal((("k", "word"),)),
    "overlap": Overlap(("tags",), 2),
    "subset": Subset(("tags",)),
    "superset": Superset(("tags",)),
    "similar": Similar(("weights",), 0.6),
}


def fixed() -> dict[str, Case]:
    """Return the cases by name: every predicate, way to search and kind of window."""
    made = {}
    for title, predicate in PREDICATES.items():
        equality = isinstance(predicate, Equal)
        for search in ("hash", "scan") if equality else ("inverted", "identifier", "scan"):
            for kind, windows in WINDOWS.items():
                made[f"{title} {search} {kind}"] = _case(predicate, windows, search, 2)
    for streams in (3, 5):
        made[f"{streams} streams"] = _case(PREDICATES["integer"], (Ticks(4),), "hash", streams)
    made["shared"] = _shared()
    return made


def digests() -> dict[str, str]:
    """Run every case and sum up output and ledger, byte for byte."""
    sums = {}
    for name, case in fixed().items():
        result = run(case, splits=17)
        ledger = json.dumps(result.ledger, sort_keys=True).encode()
        rows = sum(len(found) for found in result.combinations.values())
        sums[name] = f"{rows} rows {hashlib.sha256(result.bytes + ledger).hexdigest()}"
    return sums


def _case(predicate: Predicate, windows: tuple[Window, ...], search: str, streams: int) -> Case:
    names = tuple("abcde"[:streams])
    query = Query(
        tuple(Stream(name, "t", Ticks(LATE)) for name in names),
        (Join("join", names, predicate, windows, search),),
    )
    return Case.of(query, **{name: _table(name) for name in names})


def _shared() -> Case:
    joins = (
        Join("ab", ("a", "b"), PREDICATES["integer"], (Ticks(5),)),
        Join("bc", ("b", "c"), PREDICATES["text"], (Rows(6),)),
        Join("tags", ("a", "b"), PREDICATES["overlap"], (Ticks(9), Rows(9))),
    )
    query = Query(tuple(Stream(name, "t", Ticks(LATE)) for name in "abc"), joins)
    return Case.of(query, **{name: _table(name) for name in "abc"})


def _table(name: str) -> pa.Table:
    dice = random.Random(f"fixed {name}")
    base = sorted(dice.choices(range(40), k=ROWS))
    times = [time for _, time in sorted((time + dice.randrange(LATE + 2), time) for time in base)]

    def some(draw: Callable[[], Any]) -> list[Any]:
        return [None if dice.random() < 0.08 else draw() for _ in range(ROWS)]

    weights = (0.1, 0.2, 0.5, 0.7, -0.3)
    return pa.table(
        {
            "t": pa.array(times, pa.int64()),
            "k": pa.array(some(lambda: dice.randrange(6)), pa.int32()),
            "word": pa.array(some(lambda: "xy" * dice.randrange(5)), pa.string()),
            "tags": pa.array(
                some(lambda: dice.choices(range(9), k=dice.randrange(6))), pa.list_(pa.int64())
            ),
            "weights": pa.array(
                some(lambda: [(dice.choice("abcde"), dice.choice(weights)) for _ in range(4)]),
                pa.map_(pa.string(), pa.float64()),
            ),
        }
    )


if __name__ == "__main__":
    plain = os.environ.get("NUMBA_DISABLE_JIT") == "1"
    json.dump({"plain": plain, "digests": digests()}, sys.stdout)
