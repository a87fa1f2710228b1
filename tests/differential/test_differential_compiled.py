"""Differential tests: compiled kernels against the same kernels as plain Python.

Families: *differential*. Numba reads ``NUMBA_DISABLE_JIT`` when it is imported, so the plain run
happens in a process of its own; output batches and ledgers must agree byte for byte.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import fixed_cases
import pytest

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") != "1"


@pytest.mark.slow
@pytest.mark.skipif(not COMPILED, reason="this whole run has the compiler off")
def test_differential_compiled_against_plain() -> None:
    script = Path(fixed_cases.__file__)
    found = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    answer = json.loads(found.stdout)
    assert answer["plain"]
    compiled = fixed_cases.digests()
    assert all(not text.startswith("0 rows") for text in compiled.values()), compiled
    assert answer["digests"] == compiled
