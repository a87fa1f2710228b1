"""Taking turns and keeping count."""

from __future__ import annotations

import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from bankfull.errors import BankfullError

Result = dict[str, Any]


def take_turns(systems: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, list[float]]:
    """Run every system ``repeats`` times, one after the other, and return the seconds of each."""
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    for _ in range(repeats):
        for name, run in systems.items():
            gc.collect()
            began = time.perf_counter()
            kept = run()
            seconds[name].append(time.perf_counter() - began)
            del kept
    return seconds


def result(system: str, workload: str, rows: int, seconds: list[float], **more: Any) -> Result:
    """Lay out what was measured; the best turn gives the rate, the others stand beside it."""
    best = min(seconds)
    return {
        "system": system,
        "workload": workload,
        "rows_per_s": round(rows / best),
        "seconds": round(best, 6),
        "repeats": len(seconds),
        "all_seconds": [round(taken, 6) for taken in seconds],
        "median_seconds": round(statistics.median(seconds), 6),
        "rows": rows,
        **more,
    }


def missing(system: str, workload: str, note: str) -> Result:
    """Say that a system was not measured, and why."""
    return {"system": system, "workload": workload, "available": False, "note": note}


def in_fresh_process(module: str, *arguments: object) -> Any:
    """Call ``module.main(*arguments)`` in a process of its own and return what it prints."""
    call = f"from {module} import main; main({', '.join(map(repr, arguments))})"
    done = subprocess.run([sys.executable, "-c", call], capture_output=True, text=True, check=False)
    if done.returncode:
        raise BankfullError(f"{module} failed: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout)
