"""Units: what the process grows by, measured from outside the operator in a process of its own.

Results of a popular key used to wait in memory a million at a time, hundreds of megabytes with
payload, whatever the budget was.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "resident_memory.py"
#: Megabytes beyond what is stored: batches on their way, results of one step, the allocator.
BESIDE = 64


@pytest.mark.slow
@pytest.mark.parametrize("memory", ["8 MB", None])
def test_a_process_grows_by_what_it_stores(memory: str | None) -> None:
    asked = ["--rows", "120000", "--window", "40000", "--popular", "0.02"]
    command = [sys.executable, str(SCRIPT), *asked, *(["--memory", memory] if memory else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["results"] > 500_000
    assert found["grew_mb"] < (8 if memory else found["stored_mb"]) + BESIDE
