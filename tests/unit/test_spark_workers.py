"""Units: which processes the measurement of Spark's Python workers looks at.

Java's command line names the daemon among its settings, and whenever Java starts another process
there are two of it for a moment, each with all of its memory. Counted as a worker, the second one
"grew" by 611 to 908 MB, whatever the workers did. Workers of other programs on the machine were
counted as well.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
#: Forks a child, says its number, and both wait until they are ended.
FORKS = "import os, time; child = os.fork(); child and print(child, flush=True); time.sleep(60)"


@contextmanager
def forking(*words: str, folder: Path) -> Iterator[int]:
    """Run a process of this command line with a child; yields the number of the child."""
    process = subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, cwd=folder)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    try:
        yield child
    finally:
        process.kill()
        subprocess.run(["kill", "-9", str(child)], check=False)
        process.communicate()


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks into /proc")
def test_workers_are_what_a_daemon_has_forked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from resident_memory_spark import workers

    (tmp_path / "spark").mkdir()
    (tmp_path / "spark" / "daemon.py").write_text(FORKS)
    setting = "spark.python.daemon.module=bankfull.runtime.spark.daemon"
    daemon = forking("-m", "spark.daemon", "pyspark.worker", folder=tmp_path)
    java = forking("-c", FORKS, "--conf", setting, folder=tmp_path)
    with daemon as worker, java as other:
        found = set(workers())
        assert worker in found
        assert other not in found
        # Seen from another program they are workers of somebody else's.
        monkeypatch.setattr("os.getpid", lambda: -1)
        assert worker not in set(workers())
