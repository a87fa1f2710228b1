"""The equi workload on other stream processors, where they are installed."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from bankfull.cli.benchmarks import equi
from bankfull.cli.benchmarks.timing import Result, missing, result

_TIMEOUT_S = 600
_MODULES = {"pathway": "pathway", "flink": "pyflink"}
_PACKAGES = {"pathway": "pathway", "flink": "apache-flink"}


def measure(quick: bool, interpreters: dict[str, Path | None], rows_out: int) -> list[Result]:
    """Run each system once, in a process of its own; say so where it is not installed."""
    found = []
    with tempfile.TemporaryDirectory(prefix="bankfull-bench-") as folder:
        for system in _MODULES:
            python = interpreters.get(system)
            if python is None and find_spec(_MODULES[system]) is None:
                note = (
                    f"not installed here: pip install {_PACKAGES[system]}, or name an interpreter "
                    f"that has it with --{system}-python"
                )
                found.append(missing(system, equi.WORKLOAD, note))
                continue
            one = _run(system, str(python or sys.executable), folder, quick)
            if "rows_out" in one:
                one["agrees"] = one["rows_out"] == rows_out
            found.append(one)
    return found


def _run(system: str, python: str, folder: str, quick: bool) -> Result:
    rows = _write_inputs(folder, quick)
    worker = Path(__file__).parent / "workers" / f"{system}_worker.py"
    command = [python, str(worker), folder, str(equi.WINDOW_S * 1_000)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=_TIMEOUT_S
        )
        told = json.loads(done.stdout.strip().splitlines()[-1])
    except subprocess.TimeoutExpired:
        return missing(system, equi.WORKLOAD, f"did not finish within {_TIMEOUT_S} s")
    except (subprocess.CalledProcessError, OSError, ValueError, IndexError) as error:
        said = getattr(error, "stderr", None) or str(error)
        return missing(system, equi.WORKLOAD, f"failed: {said.strip()[-500:]}")
    seconds = told.pop("seconds")
    return result(system, equi.WORKLOAD, rows, [seconds], **told, note="reads and writes CSV files")


def _write_inputs(folder: str, quick: bool) -> int:
    """Write both streams as CSV, times in milliseconds, unless they are there already."""
    rows = 0
    for name, table in zip(("left", "right"), equi.streams(quick), strict=True):
        rows += table.num_rows
        path = Path(folder) / f"{name}.csv"
        if not path.exists():
            times = table["t"].cast(pa.timestamp("ms")).cast(pa.int64())
            pyarrow.csv.write_csv(table.set_column(1, "t", times), path)
    return rows
