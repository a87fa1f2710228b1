"""Units of ``bankfull doctor``: what is broken is found, told with its cure; the code is 1."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import shop

import bankfull as bf
from bankfull.cli import doctor_checks as checks
from bankfull.cli import spark_session
from bankfull.cli.doctor_spark import compare_worker


def doctor(*arguments: str, **environment: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Run it in a process of its own; return the exit code and the findings by check."""
    done = shop.bankfull("doctor", "--json", *arguments, **environment)
    assert done.stderr == b""
    told = json.loads(done.stdout)
    assert told["broken"] == sum(one["state"] == "broken" for one in told["checks"])
    assert all({"check", "state", "found", "mend"} == set(one) for one in told["checks"])
    assert all(one["mend"] for one in told["checks"] if one["state"] == "broken")
    return done.returncode, {one["check"]: one for one in told["checks"]}


def test_a_sound_installation_and_one_without_java() -> None:
    code, found = doctor("--quick")
    assert code == 0
    assert {"python", "packages", "cache", "disk", "clock", "java"} <= set(found)
    code, found = doctor(JAVA_HOME="/nowhere")
    assert code == 1
    assert found["java"]["state"] == "broken"
    assert "JAVA_HOME=/nowhere has none" in found["java"]["found"]
    assert "apt-get install" in found["java"]["mend"]
    assert "spark" not in found  # not started without Java
    shown = shop.bankfull("doctor", "--quick", JAVA_HOME="/nowhere")
    assert shown.returncode == 1
    assert b"packages[spark]" in shown.stdout
    assert b"1 broken." in shown.stdout


@pytest.mark.slow
def test_spark_is_started_and_its_workers_are_asked() -> None:
    code, found = doctor()
    assert code == 0
    assert found["spark"]["state"] == found["workers"]["state"] == "ok"


@pytest.mark.soak
def test_workers_that_cannot_start_are_broken() -> None:
    code, found = doctor(PYSPARK_PYTHON="/nowhere/python")
    assert code == 1
    assert found["spark"]["state"] == "broken"
    assert "PYSPARK_PYTHON" in found["spark"]["mend"]


def test_workers_with_other_packages_are_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    here = {"python": "3.11.7", "executable": "/a/python", "numba": "0.68.1"}
    assert compare_worker(here, {**here, "executable": "/b/python"}).state == "ok"
    missing = compare_worker(here, {**here, "numba": "cannot be imported: No module"})
    assert missing.state == "broken"
    assert "numba: cannot be imported" in missing.found
    assert "pip install 'bankfull[spark]'" in missing.mend
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/python3")
    older = compare_worker(here, {**here, "python": "3.9.2"})
    assert "unset PYSPARK_PYTHON" in older.mend


def test_packages_are_held_to_their_bounds() -> None:
    assert checks._judge("", [("numpy", ">=1,<99")]).state == "ok"
    old = checks._judge("", [("numpy", ">=99")])
    assert (old.state, old.mend) == ("broken", "run: pip install --upgrade 'bankfull'")
    assert "is not >=99" in old.found
    assert checks._judge("", [("no-such-package", "")]).state == "broken"
    absent = checks._judge("lab", [("no-such-package", "")])
    assert absent.state == "note"  # only who runs the lab needs it
    assert checks._judge("lab", [("numpy", "<1")]).state == "broken"


def test_a_cache_that_others_can_write_is_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    planted = tmp_path / f"bankfull-{os.getuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    monkeypatch.setenv("BANKFULL_CACHE_DIR", "/dev/null/cache")
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (found,) = checks.check_cache()
    assert found.state == "broken"
    assert "could be written by others" in found.found
    assert "BANKFULL_CACHE_DIR" in found.mend
    planted.chmod(0o700)
    (found,) = checks.check_cache()
    assert found.state == "note"  # it works, and not where it was wanted
    monkeypatch.setenv("BANKFULL_CACHE_DIR", str(tmp_path / "new"))
    (found,) = checks.check_cache()
    assert found.state == "ok"
    assert not (tmp_path / "new").exists()  # looking makes nothing


def test_a_place_that_is_passed_over_is_told_by_its_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file where the folder should be is no matter of permissions, nor of the disk's room."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("BANKFULL_CACHE_DIR", str(tmp_path / "file"))
    (found,) = checks.check_cache()
    assert "file is not a folder" in found.found
    monkeypatch.setenv("BANKFULL_CACHE_DIR", "/proc/cache")  # a file system without room
    assert {one.state for one in checks.check_disk()} == {"ok"}


def test_a_worker_that_cannot_start_is_told_by_its_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/usr/bin/python3")
    error = RuntimeError(
        "An error occurred while calling runJob.\norg.apache.spark.SparkException: \n"
        "Error from python worker:\n  Traceback (most recent call last):\n    import pyarrow\n"
        "  ModuleNotFoundError: No module named 'pyarrow'\nPYTHONPATH was:\n  /a.zip\n"
    )
    told = str(spark_session._told(error, tmp_path / "log"))
    assert "(/usr/bin/python3) cannot start: ModuleNotFoundError: No module named 'pyarrow'" in told
    assert "unset PYSPARK_PYTHON" in told


def test_commands_start_spark_with_the_archive_of_classes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(bf, "session", lambda _, **settings: given.update(settings))
    monkeypatch.setattr("bankfull.runtime.spark.java_classes.options", lambda: "-XX:Archive=a")
    (tmp_path / "log").touch()
    spark_session._start("test", tmp_path, tmp_path / "log")
    assert "-XX:Archive=a" in given["spark.driver.extraJavaOptions"]


def test_a_full_disk_and_an_unknown_zone_are_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Nowhere/City")
    (found,) = checks.check_clock()
    assert found.state == "broken"
    assert "TZ=Nowhere/City is not a zone" in found.found
    monkeypatch.setattr(checks, "_ROOM_LEAST", 1 << 60)
    assert {one.state for one in checks.check_disk()} == {"broken"}


def test_a_check_that_fails_is_a_finding() -> None:
    def check_something() -> Any:
        raise OSError("no such device")

    (found,) = checks._guarded(check_something)
    assert (found.check, found.state) == ("something", "broken")
    assert "no such device" in found.found
