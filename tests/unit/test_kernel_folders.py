"""Units of the folders of compiled kernels: bounded, and never removed under a process that runs.

Whether a folder is safe to use at all is in ``test_compiler.py``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bankfull.kernels import folders

_HOLD = """
import os, sys
from bankfull.kernels import folders
assert folders.settle(sys.argv[1])
if sys.argv[2] == "child" and os.fork():
    os._exit(0)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """One place for folders, in which nothing else lies."""
    tmp_path.chmod(0o700)
    place = tmp_path / "cache"
    for name in ("BANKFULL_CACHE_DIR", "XDG_CACHE_HOME", "TMPDIR"):
        monkeypatch.setenv(name, str(place))
    monkeypatch.setattr("tempfile.tempdir", None)
    place.mkdir(mode=0o700)
    return place


def make(root: Path, name: str, size: int, used: int) -> Path:
    """Leave a folder of kernels as a process would that ended at a time."""
    folder = root / f"kernels-{name}"
    (folder / "kernels_1").mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    (folder / "kernels_1" / "join-1.py311.1.nbc").write_bytes(b"x" * size)
    (folder / ".in-use").touch()
    os.utime(folder / ".in-use", (used, used))
    return folder


@contextmanager
def held(name: str, by: str = "itself") -> Iterator[None]:
    """Let another process, or the child of one that has ended, use a folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, name, by], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdin is not None
    assert process.stdout.readline() == b"held\n"
    try:
        yield
    finally:
        process.stdin.close()
        process.stdout.read()  # until the last process with the folder has ended
        process.stdout.close()
        process.wait()


def left(root: Path) -> set[str]:
    return {path.name.removeprefix("kernels-") for path in root.glob("kernels-*")}


def test_a_new_folder_takes_the_place_of_those_used_longest_ago(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for age in range(6):
        make(root, f"old{age}", 100, used=1_000_000 - age)
    assert folders.settle("kernels-new") == str(root / "kernels-new")
    assert left(root) == {"new", "old0", "old1", "old2"}

    monkeypatch.setenv("BANKFULL_CACHE_MB", "0.00025")  # room for two of them
    folders.settle("kernels-newer")
    assert left(root) == {"newer", "new", "old0", "old1"}
    monkeypatch.setenv("BANKFULL_CACHE_MB", "nonsense")
    assert folders.limit_bytes() == folders.LIMIT_MB * 1_000_000


@pytest.mark.parametrize("by", ["itself", "child"])
def test_a_folder_in_use_is_never_removed(
    root: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    """Not for room and not on request, also where only a forked worker is left of the process."""
    monkeypatch.setenv("BANKFULL_CACHE_MB", "0")
    folder = make(root, "busy", 100, used=1_000)
    with held("kernels-busy", by):
        folders.settle("kernels-new")
        assert left(root) == {"busy", "new"}
        removed, kept = folders.clear()
        assert not removed
        assert {one.path.name for one in kept} == {"kernels-busy", "kernels-new"}
        assert all(one.in_use for one in kept)
        assert (folder / "kernels_1" / "join-1.py311.1.nbc").exists()
    assert [one.path for one in folders.clear()[0]] == [folder]
    assert left(root) == {"new"}  # which this process uses


def test_a_folder_that_is_too_large_loses_the_code_read_longest_ago(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(folders.settle("kernels-now"))
    code = [folder / f"join-{number}.py311.1.nbc" for number in range(4)]
    for number, path in enumerate(code):
        path.write_bytes(b"x" * 100)
        os.utime(path, (10_000 - number,) * 2)
    (folder / "join-0.py311.nbi").write_bytes(b"x")
    monkeypatch.setenv("BANKFULL_CACHE_MB", "0.00021")
    folders.tidy(folder)
    assert [path.exists() for path in code] == [True, True, False, False]
    assert (folder / "join-0.py311.nbi").exists()


def test_what_is_not_ours_is_left_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links, other files, and folders beside a process's own temporary one."""
    monkeypatch.setenv("BANKFULL_CACHE_MB", "0")
    elsewhere = make(root.parent, "elsewhere", 100, used=1_000)
    (root / "kernels-link").symlink_to(elsewhere)
    (root / "kernels-file").touch()
    inside = make(root, "links", 100, used=1_000)
    (inside / "out").symlink_to(elsewhere)
    folders.settle("kernels-new")
    folders.clear()
    assert left(root) == {"link", "file", "new"}
    assert (elsewhere / "kernels_1" / "join-1.py311.1.nbc").exists()

    own = make(root.parent, "own", 100, used=2_000)
    folders.tidy(own)
    assert elsewhere.exists()
