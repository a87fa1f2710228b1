"""Where compiled kernels are kept between processes.

The compiler's own cache would do us harm in three ways. It looks at the file of a kernel alone, so
a change in a helper's file would leave the old machine code in use. It has one index a function:
two processes that compile for different policies at the same time overwrite each other's and may
hand out the wrong code; and who reads an index that names a user's own policy must be able to
import it. Here the folder is named by a digest of all our sources, and every signature has an index
of its own, named by the files of a user's rules where there are any (``docs/decisions/0003``).
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from numba.core import types
from numba.core.caching import FunctionCache, IndexDataCacheFile

_LOG = logging.getLogger("bankfull")
#: How many folders of older kernels stay beside the current one.
_KEPT = 3
#: Files with rules that are not ours: for each type of a policy's state, their paths and contents.
_FOREIGN: dict[type, dict[str, bytes]] = {}


class KernelCache(FunctionCache):
    """The compiler's cache of one function, with an index for each signature."""

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        self._cache_file = self._file(sig)
        return super()._load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def _save_overload(self, sig: Any, data: Any) -> None:
        self._cache_file = self._file(sig)
        super()._save_overload(sig, data)  # type: ignore[no-untyped-call]

    def _file(self, signature: Any) -> Any:
        return IndexDataCacheFile(  # type: ignore[no-untyped-call]
            self._cache_path,
            f"{self._impl.filename_base}-{_digest(signature)}",
            self._impl.locator.get_source_stamp(),
        )


def keep(compiled: Any) -> None:
    """Let a compiled function be found again by other processes, where there is a folder for it."""
    if not FOLDER or not hasattr(compiled, "py_func"):
        return
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, FOLDER
    try:
        compiled._cache = KernelCache(compiled.py_func)  # type: ignore[no-untyped-call]
    finally:
        config.CACHE_DIR = before


def depend_on(function: Callable[..., Any], kind: type) -> None:
    """Keep kernels for a type of policy under a name that changes when a function's file does."""
    path = Path(function.__code__.co_filename)
    if Path(__file__).parents[1] not in path.parents:
        source = path.read_bytes() if path.is_file() else function.__code__.co_code
        _FOREIGN.setdefault(kind, {})[str(path)] = source


def cache_folder() -> str:
    """Return the writable folder for kernels of exactly these sources, or "" without one.

    The compiler runs what it finds there, so a folder counts only if nobody else can have written
    to it (:func:`_is_private`). All processes of a user find the same one. If there is none they
    have one each, which they remove.
    """
    name = f"kernels-{_sources_digest()}"
    for root in _roots():
        folder = root / name
        try:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not (_is_private(root) and _is_guarded(root)):
                _LOG.info("compiled kernels are not kept in %s: others may write to it", root)
                continue
            folder.mkdir(mode=0o700, exist_ok=True)
            if not _is_private(folder):
                continue
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError:
            continue
        _forget_old(folder)
        return str(folder)
    try:
        own = tempfile.mkdtemp(prefix="bankfull-")
    except OSError:
        return ""
    atexit.register(_remove, own, os.getpid())
    return own


def _roots() -> Iterator[Path]:
    """Yield the folders that may be used, the best first."""
    given = os.environ.get("BANKFULL_CACHE_DIR")
    if given:
        yield Path(os.path.abspath(os.path.expanduser(given)))
    # Without HOME and without an entry for the user, as in many containers, "~" stays as it is.
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if os.path.isabs(caches):
        yield Path(caches) / "bankfull"
    with contextlib.suppress(OSError):  # no folder for temporary files
        yield Path(tempfile.gettempdir()) / f"bankfull-{os.getuid()}"


def _is_private(folder: Path) -> bool:
    """Tell whether a folder is ours, is no link, and only we can write to it."""
    found = folder.lstat()
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return ours and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_guarded(folder: Path) -> bool:
    """Tell whether nobody but us and the administrator can put another folder in its place."""
    for parent in folder.resolve().parents:
        found = parent.stat()
        open_to_others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if found.st_uid not in (0, os.getuid()):
            return False
        if open_to_others and not found.st_mode & stat.S_ISVTX:
            return False
    return True


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # a forked child leaves it to its parent
        shutil.rmtree(folder, ignore_errors=True)


def _digest(signature: Any) -> str:
    digest = hashlib.blake2b(str(signature).encode(), digest_size=8)
    for kind in _kinds(signature):
        for _, source in sorted(_FOREIGN.get(kind, {}).items()):
            digest.update(kind.__module__.encode() + b"\0" + source)
    return digest.hexdigest()


def _kinds(given: Any) -> Iterator[type]:
    """Yield the named tuples among the types of arguments, and those within them."""
    for one in given:
        if hasattr(one, "instance_class"):
            yield one.instance_class
        if isinstance(one, types.BaseTuple):
            yield from _kinds(one)


def _sources_digest() -> str:
    config: Any = numba.config
    # Code that looks at bounds is another; the compiler does not tell the two apart.
    digest = hashlib.blake2b(b"bounds" * bool(config.BOUNDSCHECK), digest_size=8)
    here = Path(__file__).parent
    for path in sorted([*here.glob("*.py"), *here.parent.glob("policies/*.py")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _forget_old(current: Path) -> None:
    others = [path for path in current.parent.glob("kernels-*") if path != current]
    with contextlib.suppress(OSError):  # another process may be at it too
        others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for path in others[_KEPT:]:
            shutil.rmtree(path, ignore_errors=True)


FOLDER = cache_folder()
