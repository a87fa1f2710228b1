"""Family: fault injection, disks without room.

A full disk ends a query with an error that says so. The sink keeps what was committed, and when
there is room again the query goes on as if nothing had happened.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from spark_cases import RECOVERY
from spark_processes import PATIENCE_S, Job, end, next_batch
from spark_runs import Runner, output_schema, same_rows, words_of
from spark_undisturbed import BUCKETS, SHORT, Undisturbed

FULL = "No space left on device"


class Disk:
    """A file system in memory, with a file that takes the room away."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ballast = folder / "ballast"

    def fill(self, leave_pages: int) -> None:
        """Leave so much room and no more; a small file takes a page."""
        room = os.statvfs(self.folder)
        self.ballast.write_bytes(bytes((room.f_bavail - leave_pages) * room.f_frsize))

    def clear(self) -> None:
        """Give the room back."""
        self.ballast.unlink()


@pytest.fixture
def mount() -> Iterator[Callable[[Path, int], Disk]]:
    """Return a function that makes a small disk of a folder."""
    mounted = []

    def mounting(folder: Path, megabytes: int) -> Disk:
        folder.mkdir(parents=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
        try:
            subprocess.run(command, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as error:
            pytest.skip(f"a small disk cannot be mounted here (who is not root may not): {error}")
        mounted.append(folder)
        return Disk(folder)

    yield mounting
    for folder in mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_full_disk_for_the_checkpoint(
    prepare: Callable[..., Job], mount: Callable[[Path, int], Disk], undisturbed: Undisturbed
) -> None:
    """No room for what a micro-batch reads, then for its offsets, then for its state."""
    job = prepare("equality", SHORT)
    case, runner = RECOVERY["equality"], Runner(undisturbed.spark, job.folder)
    disk = mount(job.checkpoint, 8)
    runner.show(1)
    runner.resume(case, BUCKETS)
    runner.show(1000)
    committed, words = runner.rows(output_schema(case)), []
    for pages in (0, 6, 3):
        disk.fill(pages)
        with pytest.raises(StreamingQueryException) as failure:
            runner.resume(case, BUCKETS)
        disk.clear()
        words.append(words_of(failure.value))
        assert FULL in words[-1]
        same_rows(runner.rows(output_schema(case)), committed)
    assert job.written("offsets") == 1, "at first there is no room even for this"
    assert "CANNOT_WRITE_STATE_STORE" in words[-1], words[-1]
    runner.resume(case, BUCKETS)
    # Spark may have noted a stream's next file and not the other's: then it takes two of one.
    undisturbed.check(job.folder, "equality", SHORT, alike=False)


@pytest.mark.soak
def test_full_disk_for_what_spark_spills(
    prepare: Callable[..., Job], mount: Callable[[Path, int], Disk], undisturbed: Undisturbed
) -> None:
    """No room where Spark keeps shuffled rows and the working copy of the state."""
    job = prepare("equality", SHORT)
    disk = mount(job.folder / "scratch", 256)
    process = job.start()
    try:
        next_batch(job, process)
        disk.fill(0)
        assert process.wait(PATIENCE_S) == 1
    finally:
        end(process)
    assert FULL in job.said()
    disk.clear()
    job.finish()
    undisturbed.check(job.folder, "equality", SHORT)
