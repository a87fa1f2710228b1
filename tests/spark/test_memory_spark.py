"""Family: fault injection, load that does not end.

One hour of two streams in fast replay, hundreds of micro-batches, windows short against the hour:
once everything is warm, no process that belongs to the query grows. Runs under ``make soak``.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import duckdb
import pytest
from spark_hour import FILES, HOURS, WINDOW_S, write_hour
from spark_processes import PATIENCE_S, Job, end, members, next_batch

#: How much more the last quarter may take than the second.
GROWTH = 1.15


@pytest.mark.soak
@pytest.mark.parametrize("title", HOURS)
def test_memory_stays_flat(title: str, spark: Any, tmp_path: Path) -> None:
    """Resident memory of the driver (Java and Python), the daemon and the workers.

    Medians, as Java appears twice for the moment in which it starts another process.
    """
    write_hour(tmp_path / "input")
    job = Job(tmp_path)
    job.describe(title, 2, **{"spark.driver.memory": "512m"})
    samples: dict[str, list[int]] = {}
    process = job.start()
    try:
        while next_batch(job, process) < FILES - 1 and process.poll() is None:
            for role, megabytes in _resident(process.pid).items():
                samples.setdefault(role, []).append(megabytes)
        process.wait(PATIENCE_S)
    finally:
        end(process)
    assert process.returncode == 0, job.said()
    assert job.written("commits") == FILES - 1
    found, exact = spark.read.parquet(str(job.sink)).count(), _pairs(tmp_path / "input")
    assert found == exact if title == "hour" else exact / 10 < found < exact
    for role in samples:
        second, last = (median(_quarter(samples[role], which)) for which in (1, 3))
        assert last <= GROWTH * second, f"{role}: {second:.0f} MB became {last:.0f}, {samples}"


def _quarter(samples: list[int], which: int) -> list[int]:
    length = len(samples) // 4
    return samples[which * length : (which + 1) * length]


def _resident(session: int) -> dict[str, int]:
    """Return the resident memory of a driver's processes by their role, in megabytes."""
    total = {"java": 0, "daemon": 0, "workers": 0, "driver": 0}
    living = members(session)
    daemons = {one.pid for one in living if "daemon pyspark.worker" in one.command}
    forked = {one.pid for one in living if one.parent in daemons}
    for one in living:
        role = "workers" if one.pid in forked else "daemon" if one.pid in daemons else "driver"
        role = "java" if "org.apache.spark" in one.command else role
        total[role] += _megabytes(one.pid)
    return total


def _megabytes(pid: int) -> int:
    try:
        status = (Path("/proc") / str(pid) / "status").read_text()
    except OSError:
        return 0  # it has ended meanwhile
    lines = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(lines[0].split()[1]) >> 10 if lines else 0


def _pairs(folder: Path) -> int:
    """Count the pairs of the whole hour, with other means."""
    near = f"abs(epoch_us(a.t) - epoch_us(b.t)) <= {WINDOW_S * 10**6}"
    with duckdb.connect() as connection:
        sides = (f"read_parquet('{folder}/{name}/*.parquet') {name}" for name in "ab")
        question = f"SELECT count(*) FROM {' JOIN '.join(sides)} ON a.k = b.k AND {near}"
        return int(connection.sql(question).fetchall()[0][0])
