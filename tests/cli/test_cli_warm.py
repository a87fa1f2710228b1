"""Units of ``bankfull warm``: what it compiles, for whom, and what ``--clear`` removes.

The joins that it runs are tried with the compiler off: they are the same, and take no time.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import shop

from bankfull.cli.jobfile import read_job
from bankfull.policies import POLICIES
from bankfull.runtime.spark import java_classes
from bankfull.warm import Kernels, needed

#: Uncompiled, NumPy remarks on hashes that wrap.
_OFF = {"NUMBA_DISABLE_JIT": "1", "PYTHONWARNINGS": "ignore"}


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    tmp_path.chmod(0o700)
    return tmp_path / "cache"


def test_everything_is_exact_joins_and_every_policy(cache: Path) -> None:
    done = shop.bankfull("warm", "--json", BANKFULL_CACHE_DIR=str(cache), **_OFF)
    assert (done.returncode, done.stderr) == (0, b"")
    told = json.loads(done.stdout)
    compiled = {(one["on"], one["policy"]) for one in told["compiled"]}
    assert compiled == {
        *(("keys", name) for name in (None, *POLICIES)),
        *(("sets", name) for name in (None, *POLICIES) if name != "s3fifo"),
    }
    assert told["folder"].startswith(str(cache / "kernels-"))
    assert told["bytes"] <= told["limit_bytes"]

    shown = shop.bankfull("warm", "--clear", BANKFULL_CACHE_DIR=str(cache))
    assert shown.stdout == b"Removed 1 folders of kernels (0 MB).\n"
    assert list(cache.iterdir()) == []
    again = shop.bankfull("warm", "--clear", "--json", BANKFULL_CACHE_DIR=str(cache))
    assert json.loads(again.stdout) == {"removed": [], "in_use": [], "archives": []}


def test_a_job_file_has_only_what_it_needs_compiled(tmp_path: Path, cache: Path) -> None:
    file = shop.job(tmp_path, "orders.parquet", "payments.csv", '[shed]\nmemory = "64 MB"\n')
    assert needed(read_job(file).query) == [Kernels("keys", "gain")]
    done = shop.bankfull("warm", file, BANKFULL_CACHE_DIR=str(cache), **_OFF)
    assert done.returncode == 0
    assert b"1 of 1: gain on keys" in done.stderr
    assert b"1 groups of kernels are ready" in done.stdout
    text = file.read_text()
    file.write_text(text.replace('"order_id"', '{overlap = "tags", at_least = 2}'))
    assert needed(read_job(file).query) == [Kernels("sets", "gain")]
    file.write_text(text.partition("[shed]")[0])
    assert needed(read_job(file).query) == [Kernels("keys")]


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    file = shop.job(tmp_path, "orders.parquet", "payments.csv")
    assert shop.bankfull("warm", file, "--clear").returncode == 2
    assert shop.bankfull("warm", file, "--policy", "gain").returncode == 2
    done = shop.bankfull("warm", "--policy", "gian")
    assert done.returncode == 1
    assert b"did you mean 'gain'" in done.stderr


def test_an_archive_of_classes_is_used_where_it_is_ours(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BANKFULL_CACHE_DIR", str(cache))
    cache.mkdir(mode=0o700)
    path = java_classes.archive()
    assert path is not None
    assert path.parent == cache
    assert java_classes.options() == ""
    path.write_bytes(b"classes")
    assert f"-XX:SharedArchiveFile={path} " in java_classes.options()
    cache.chmod(0o777)  # anybody may have written it
    assert str(path) not in java_classes.options()
    cache.chmod(0o700)
    refused = shop.bankfull("warm", "--java", "--policy", "fifo", BANKFULL_CACHE_DIR=str(cache))
    assert refused.returncode == 2
    cleared = shop.bankfull("warm", "--clear", "--json", BANKFULL_CACHE_DIR=str(cache))
    assert json.loads(cleared.stdout)["archives"] == [str(path)]
    assert not path.exists()


@pytest.mark.soak
def test_an_archive_of_classes_is_written(cache: Path) -> None:
    cache.mkdir(mode=0o700)
    done = shop.bankfull("warm", "--java", "--json", BANKFULL_CACHE_DIR=str(cache))
    told = json.loads(done.stdout)
    assert Path(told["archive"]).stat().st_size == told["bytes"] > 1 << 20
