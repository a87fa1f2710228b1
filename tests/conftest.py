"""What all tests share: Hypothesis profiles, and DuckDB as a second, foreign opinion.

``HYPOTHESIS_PROFILE`` chooses among three:

- ``default`` always draws the same cases, so that a red run is red for everybody, and does not
  shrink, so that it is red soon;
- ``shrink`` draws the same cases and shrinks what fails (minutes): run the one red test with it,
  then keep the counter-example as a test of its own, drawn as a timeline where that is possible;
- ``soak`` draws anew every time, for long, and shrinks.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, settings
from xdist.scheduler import LoadScopeScheduling

#: What an invented case costs: a table a stream, row by row, is slow to draw and meant to be.
_ACCEPTED = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile(
    "shrink",
    derandomize=True,
    max_examples=20,
    deadline=None,
    print_blob=True,
    suppress_health_check=_ACCEPTED,
)
settings.register_profile(
    "default", settings.get_profile("shrink"), phases=(Phase.explicit, Phase.generate)
)
settings.register_profile(
    "soak", settings.get_profile("shrink"), derandomize=False, max_examples=1000
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

#: Java starts often here and never runs for long. With the quick one of its two compilers alone,
#: and a collector without threads, three tests of deployments took 22 processor seconds of Java
#: instead of 46. Spark passes this to the driver it starts and says nothing of it.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
#: Python processes of Spark load PySpark compiled: see the file there.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(Path(__file__).parent / "unzipped"), *filter(None, [os.environ.get("PYTHONPATH")])]
)

#: Nothing to test there, and some Pythons have loaded another file of that name.
collect_ignore = ["unzipped"]

Pairs = list[tuple[int, int]]


@pytest.fixture(scope="session")
def sql_pairs() -> Callable[[pa.Table, pa.Table, str, tuple[int, int]], Pairs]:
    """Return a function that joins two tables in DuckDB: by SQL condition, within time windows.

    Both tables have an integer ``t`` and number their rows in ``row_left`` and ``row_right``.
    """

    def pairs(left: pa.Table, right: pa.Table, condition: str, windows: tuple[int, int]) -> Pairs:
        with duckdb.connect() as connection:
            connection.register("l", left)
            connection.register("r", right)
            found = connection.execute(
                f"""SELECT row_left, row_right FROM l, r
                    WHERE ({condition})
                      AND r.t - l.t <= {windows[0]} AND l.t - r.t <= {windows[1]}
                    ORDER BY ALL"""
            ).fetchall()
        return [(int(first), int(second)) for first, second in found]

    return pairs


#: They compare with the same undisturbed queries, which a worker runs once.
_DRIVERS = ("test_disk_spark.py", "test_recovery_spark.py")
#: They start drivers as processes and wait for them, a minute or more a file.
_LONG = (*_DRIVERS, "test_heap_spark.py", "test_kills_spark.py")
#: Their tests look at what one costly run has left.
_BY_FILE = ("test_cli_engine_spark.py", "test_lab_commands.py")
#: So do these, at what a process with all examples on Spark has said.
_SPARK_EXAMPLES = ("test_an_example_on_spark", "test_a_script_hears")


class _Together(LoadScopeScheduling):
    """Gives a worker what is cheaper together, and goes through it in the order of collection.

    Tests in ``tests/spark`` go by file: each worker has a session, so either may take the next
    file. Tests that look at what one costly run has left stay in one worker. What tests the same
    policy goes to one worker: two would compile it twice, where ``compile_kernels.py`` has not done
    so before.
    """

    def __init__(self, config: pytest.Config, log: object) -> None:
        config.option.loadscopereorder = False  # what has most tests is not what takes longest
        super().__init__(config, log)

    def _split_scope(self, nodeid: str) -> str:
        path, _, test = nodeid.partition("::")
        if path.endswith(_DRIVERS):
            return "spark drivers"
        if "tests/spark/" in path or path.endswith(_BY_FILE):
            return path
        if test.startswith(_SPARK_EXAMPLES):
            return "spark examples"
        about_policy = "polic" in path and test.endswith("]")
        named = test.partition("[")[2].strip("]").split("-")[-1]
        return f"policy {named}" if about_policy else nodeid


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> LoadScopeScheduling:
    """Schedule by file name; groups by marker are lost between this pytest and this xdist."""
    return _Together(config, log)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that no worker is left alone with it at the end."""

    def turn(item: pytest.Item) -> int:
        if item.path.name in _LONG:
            return 0
        if item.path.parent.name == "spark":
            return 1
        return 2 if item.get_closest_marker("slow") else 3

    items.sort(key=turn)  # keeps the order among equals
