"""Unit tests of compiling: that it is said, and where its results are kept, safely."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bankfull.kernels import cache, compiler

compiled_only = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="compiler off"
)


@compiled_only
def test_compiling_is_said(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever waits for the first use of a kernel is told why, once a kernel."""
    monkeypatch.setattr(cache, "FOLDER", "")  # never compiled before
    seen = []

    def inner(number: int) -> int:
        return number + 1

    def outer(number: int) -> int:
        return inner(number) * 2  # compiled on the way, and not said

    for function in (inner, outer):
        function.__module__ = "bankfull.kernels.example"
    inner = compiler.inlined(inner)
    compiled: Any = compiler.kernel(outer)

    class Look(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(compiler.is_compiling())

    look = Look()
    logging.getLogger("bankfull").addHandler(look)
    try:
        with caplog.at_level(logging.INFO, logger="bankfull"):
            assert compiled(1) == 4
    finally:
        logging.getLogger("bankfull").removeHandler(look)
    assert "compiling outer for this machine" in caplog.text
    assert "inner" not in caplog.text
    assert seen
    assert all(seen)
    assert not compiler.is_compiling()


def test_kernels_of_changed_sources_are_not_reused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("BANKFULL_CACHE_DIR", str(tmp_path))
    before = cache.cache_folder()
    assert before == cache.cache_folder()
    monkeypatch.setattr(cache, "_sources_digest", lambda: "0" * 16)
    assert cache.cache_folder() != before


@compiled_only
def test_signatures_share_no_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Processes that compile for different types at the same time do not overwrite each other."""
    monkeypatch.setattr(cache, "FOLDER", str(tmp_path))
    double: Any = compiler.kernel(lambda number: number * 2)
    assert double(2) == 4
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.nb?")}
    assert len(before) == 2  # an index and the code
    assert double(0.25) == 0.5
    assert len(list(tmp_path.rglob("*.nb?"))) == 4
    assert all(path.read_bytes() == content for path, content in before.items())


def _look(*, code: str = "", **environment: str) -> Path:
    """Return the folder that a process of its own keeps kernels in."""
    kept = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME")}
    kept.pop("BANKFULL_CACHE_DIR", None)
    asked = f"{code}\nfrom bankfull.kernels import cache\nprint(cache.FOLDER)"
    asked += "\nimport pathlib; assert pathlib.Path(cache.FOLDER).is_dir()"
    done = subprocess.run(
        [sys.executable, "-c", asked],
        env={**kept, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path: Path) -> None:
    """What lies there is run: whoever can write to it could have anything run."""
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir(mode=0o700)
    temporary.mkdir(mode=0o700)
    places = {"HOME": str(home), "TMPDIR": str(temporary)}
    kept = _look(**places)
    assert kept.parent == home / ".cache" / "bankfull"
    assert _look(**places) == kept  # processes share it
    assert kept.stat().st_mode & 0o77 == 0

    kept.parent.chmod(0o777)
    second = _look(**places)
    assert second.parent == temporary / f"bankfull-{os.getuid()}"
    assert _look(**places) == second

    second.chmod(0o770)
    own = _look(**places)  # a new one for this process alone, gone with it
    assert own.parent == temporary
    assert not own.exists()
    second.chmod(0o700)
    assert _look(**places) == second

    temporary.chmod(0o777)  # not sticky: another could have put the folder in its place
    own = _look(**places)
    assert own.parent == temporary
    temporary.chmod(0o700)


def test_a_link_or_a_folder_of_another_is_not_used(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    planted, target = tmp_path / f"bankfull-{os.getuid()}", tmp_path / "target"
    target.mkdir(mode=0o700)
    planted.symlink_to(target)
    places = {"HOME": "/dev/null", "TMPDIR": str(tmp_path)}
    assert target not in _look(**places).parents
    assert not list(target.iterdir())
    assert target not in _look(**places, BANKFULL_CACHE_DIR=str(planted)).parents
    planted.unlink()
    planted.mkdir(mode=0o700)
    assert _look(**places).parent == planted
    if os.getuid() == 0:
        os.chown(planted, 65534, 65534)
        assert planted not in _look(**places).parents


def test_a_user_without_a_name_or_a_home_can_import(tmp_path: Path) -> None:
    """As in containers that run under a number that nobody has."""
    nameless = "import pwd\ndef unknown(uid): raise KeyError(uid)\npwd.getpwuid = unknown"
    tmp_path.chmod(0o700)
    assert _look(code=nameless, TMPDIR=str(tmp_path)).parent.parent == tmp_path
