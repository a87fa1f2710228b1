"""One Spark session for all tests here that one worker process runs.

``tests/conftest.py`` gives every worker a file at a time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from spark_cases import RECOVERY
from spark_processes import Job
from spark_runs import Runner
from spark_undisturbed import BUCKETS, Undisturbed

import bankfull as bf

_HERE = Path(__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    """Name the marker of long tests."""
    config.addinivalue_line("markers", "soak: takes minutes, runs under `make soak`")


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of this folder together, and the long ones for `make soak`."""
    soaking = os.environ.get("HYPOTHESIS_PROFILE") == "soak" or "soak" in config.option.markexpr
    for item in items:
        if _HERE not in item.path.parents:
            continue
        item.add_marker(pytest.mark.xdist_group("spark"))
        if item.get_closest_marker("soak") and not soaking:
            item.add_marker(pytest.mark.skip(reason="takes minutes: make soak"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A small local session whose tasks may fail once."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    scratch = tmp_path_factory.mktemp("spark")
    made = bf.session(
        "tests",
        "local[2,2]",
        **{
            "spark.driver.memory": "1g",
            "spark.driver.host": "127.0.0.1",
            "spark.local.dir": scratch,
            "spark.sql.warehouse.dir": scratch / "warehouse",
            "spark.sql.shuffle.partitions": 2,
            "spark.sql.streaming.numRecentProgressUpdates": 1000,
        },
    )
    made.sparkContext.setLogLevel("OFF")  # tasks fail on purpose, and say so at length
    yield made
    made.stop()


@pytest.fixture
def runner(spark: object, tmp_path: Path) -> Callable[[], Runner]:
    """Return a function that gives a folder of its own to every query of a test."""
    made: list[Runner] = []

    def fresh() -> Runner:
        made.append(Runner(spark, tmp_path / f"run{len(made)}"))
        return made[-1]

    return fresh


@pytest.fixture(scope="session")
def undisturbed(spark: object, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """Return what the cases give when nothing happens."""
    return Undisturbed(spark, tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture
def prepare(spark: object, tmp_path: Path) -> Callable[..., Job]:
    """Return a function that lays out a job for a driver of its own."""

    def prepared(title: str, file_rows: int, *master: str, **settings: Any) -> Job:
        folder = tmp_path / title
        Runner(spark, folder).write(RECOVERY[title], file_rows)
        job = Job(folder)
        job.describe(title, BUCKETS, *master, **settings)
        return job

    return prepared
