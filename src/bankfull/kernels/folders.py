"""The folders that compiled kernels are kept in: which one, how large, and when one is removed.

A folder belongs to one state of the sources (its name has their digest), so every new version of
the library leaves another behind. Here they are bounded: a process that begins a new folder, or
compiles into one, removes what was used longest ago. A process holds a shared lock on the folder it
uses, and its forked children hold it too, so a folder in use is never removed. Where the file
system has no locks, nothing is removed by itself.

This module does not load the compiler.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from logging import getLogger
from pathlib import Path

_LOG = getLogger("bankfull")
_MB = 1_000_000
#: What all folders of one place may take, in megabytes; ``BANKFULL_CACHE_MB`` says otherwise.
LIMIT_MB = 512
#: How many folders of other sources stay, at most, beside the current one.
_OTHERS_MAX = 3
#: Every process that uses a folder has this file in it open and locked; its time is the last use.
_LOCK = ".in-use"
_TRIES = 5
#: The locks of this process, by folder. They are never closed: the system does it at the end.
_HELD: dict[str, int] = {}


@dataclass(frozen=True, slots=True)
class Kept:
    """One folder of kernels, as it was found."""

    path: Path
    bytes: int
    used: float
    in_use: bool


def settle(name: str) -> str:
    """Return the private, writable folder of a name, locked for this process, or "".

    The compiler runs what it finds there, so a folder counts only if nobody else can have written
    to it. All processes of a user find the same one. If there is none they have one each, which
    they remove.
    """
    for root in roots():
        try:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not is_safe(root):
                _LOG.info("compiled kernels are not kept in %s: others may write to it", root)
                continue
            folder = root / name
            new = not folder.exists()
            if not _enter(folder):
                continue
        except OSError:
            continue
        if new:
            tidy(folder)
        return str(folder)
    try:
        own = tempfile.mkdtemp(prefix="bankfull-")
    except OSError:
        return ""
    atexit.register(_remove_own, own, os.getpid())
    return own


def roots() -> Iterator[Path]:
    """Yield the places where folders may be, the best first."""
    given = os.environ.get("BANKFULL_CACHE_DIR")
    if given:
        yield Path(os.path.abspath(os.path.expanduser(given)))
    # Without HOME and without an entry for the user, as in many containers, "~" stays as it is.
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(caches):
        yield Path(caches) / "bankfull"
    with contextlib.suppress(OSError):  # no folder for temporary files
        yield Path(tempfile.gettempdir()) / f"bankfull-{os.getuid()}"


def is_safe(root: Path) -> bool:
    """Tell whether nobody but us and the administrator can have put anything into a place."""
    return _is_private(root) and _is_guarded(root)


def limit_bytes() -> int:
    """Return what all folders of one place may take together."""
    try:
        return int(float(os.environ.get("BANKFULL_CACHE_MB", LIMIT_MB)) * _MB)
    except (ValueError, OverflowError):
        return LIMIT_MB * _MB


def found(root: Path) -> list[Kept]:
    """Return the folders of kernels in a place, the last used first."""
    kept = []
    for path in root.glob("kernels-*") if root.is_dir() else ():
        with contextlib.suppress(OSError):
            if _is_private(path):
                kept.append(Kept(path, _size(path), _used(path), not _unused(path)))
    return sorted(kept, key=lambda one: one.used, reverse=True)


def clear() -> tuple[list[Kept], list[Kept]]:
    """Remove all folders that no process uses; return those removed and those left.

    Only from the place that is in use now: with ``BANKFULL_CACHE_DIR`` another's stay as they are.
    """
    removed: list[Kept] = []
    left: list[Kept] = []
    for root in roots():
        with contextlib.suppress(OSError):
            if is_safe(root):
                for one in found(root):
                    (removed if _remove(one.path) else left).append(one)
                break
    return removed, left


def tidy(current: Path) -> None:
    """Remove what was used longest ago, so that all folders of the place stay within the limit.

    The current folder comes first: only when it is too large by itself are kernels in it removed,
    those that were read longest ago. A process that looks for one of them compiles it again.
    """
    if str(current) not in _HELD:
        return  # one process's own folder, among the temporary files of everybody
    with contextlib.suppress(OSError):  # another process may be at it too
        limit = limit_bytes()
        taken, others = _size(current), 0
        if taken > limit:
            _trim(current, taken - limit)
        for one in found(current.parent):
            if one.path == current:
                continue
            fits = taken + one.bytes <= limit and others < _OTHERS_MAX
            if fits or not _remove(one.path):
                taken, others = taken + one.bytes, others + 1


def _enter(folder: Path) -> bool:
    """Make a folder, lock it for this process, and tell whether it can be used."""
    for _ in range(_TRIES):
        folder.mkdir(mode=0o700, exist_ok=True)
        if not _is_private(folder):
            return False
        with tempfile.TemporaryFile(dir=folder):
            pass
        if str(folder) in _HELD:
            return True
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with contextlib.suppress(OSError):  # a file system without locks: nothing is removed there
            fcntl.flock(lock, fcntl.LOCK_SH)
        os.utime(lock)
        # Somebody may have removed the folder between the first step and the lock.
        with contextlib.suppress(FileNotFoundError):
            if os.stat(folder / _LOCK).st_ino == os.fstat(lock).st_ino:
                _HELD[str(folder)] = lock
                return True
        os.close(lock)
    return False


def _remove(folder: Path) -> bool:
    """Remove a folder unless a process uses it; tell whether it is gone."""
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return not folder.exists()  # another process was faster
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The lock file goes last: who waits for it then sees that it is gone, and starts afresh.
        for path in folder.iterdir():
            if path.name != _LOCK:
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        shutil.rmtree(folder)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def _unused(folder: Path) -> bool:
    """Tell whether no process holds a folder's lock."""
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return True
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(lock)
    return True


def _used(folder: Path) -> float:
    """Return when a process last began to use a folder."""
    marked = folder / _LOCK
    return (marked if marked.exists() else folder).stat().st_mtime


def _size(folder: Path) -> int:
    return sum(size for _, size, _ in _files(folder))


def _files(folder: Path) -> Iterator[tuple[Path, int, float]]:
    """Yield the files below a folder, with their sizes and when they were last read or written."""
    for base, _, names in os.walk(folder):
        for name in names:
            path = Path(base, name)
            with contextlib.suppress(FileNotFoundError):
                about = path.lstat()
                yield path, about.st_size, max(about.st_atime, about.st_mtime)


def _trim(folder: Path, surplus: int) -> None:
    """Remove compiled code, what was read longest ago first; an index without its code is fine."""
    code = [one for one in _files(folder) if one[0].suffix == ".nbc"]
    for path, size, _ in sorted(code, key=lambda one: one[2]):
        if surplus <= 0:
            return
        path.unlink(missing_ok=True)
        surplus -= size


def _is_private(folder: Path) -> bool:
    """Tell whether a folder is ours, is no link, and only we can write to it."""
    about = folder.lstat()
    ours = stat.S_ISDIR(about.st_mode) and about.st_uid == os.getuid()
    return ours and not about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_guarded(folder: Path) -> bool:
    """Tell whether nobody but us and the administrator can put another folder in its place."""
    for parent in folder.resolve().parents:
        about = parent.stat()
        open_to_others = about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if about.st_uid not in (0, os.getuid()):
            return False
        if open_to_others and not about.st_mode & stat.S_ISVTX:
            return False
    return True


def _remove_own(folder: str, process: int) -> None:
    if os.getpid() == process:  # a forked child leaves it to its parent
        shutil.rmtree(folder, ignore_errors=True)
