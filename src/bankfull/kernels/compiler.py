"""The one decorator that sets every compiler flag, and where compiled code is kept.

Compiled kernels are cached on disk. The compiler's own cache looks at the file of the kernel
alone and would keep a stale kernel when a helper in another file changes, so the cache folder is
named by a digest of all kernel sources (``docs/decisions/0003``).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]

#: How many folders of older kernels stay beside the current one.
_KEPT = 3


def kernel(function: Function) -> Function:
    """Compile ``function`` on first use, without the interpreter lock, cached between processes.

    No fast-math: ties and the order of additions are part of what the operator promises.
    """
    return _compile(function, forceinline=False)


def inlined(function: Function) -> Function:
    """Compile ``function`` into each kernel that calls it.

    Passing an array costs seven words; a call in an inner loop with a dozen arrays costs more
    than the search it makes (measured: ten times the whole kernel, ``docs/decisions/0004``).
    """
    return _compile(function, forceinline=True)


def _compile(function: Function, forceinline: bool) -> Function:
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, _CACHE
    try:
        compiled: Any = numba.njit(
            cache=bool(_CACHE), nogil=True, error_model="numpy", forceinline=forceinline
        )(function)
    finally:
        config.CACHE_DIR = before
    return cast(Function, compiled)


def cache_folder() -> str:
    """Return the writable folder for kernels of exactly these sources, or "" without one."""
    name = f"kernels-{_sources_digest()}"
    roots = [
        os.environ.get("BANKFULL_CACHE_DIR"),
        os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "bankfull"),
        os.path.join(tempfile.gettempdir(), f"bankfull-{os.getuid()}"),
    ]
    for root in roots:
        if not root:
            continue
        folder = Path(root).expanduser() / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                pass
        except OSError:
            continue
        _forget_old(folder)
        return str(folder)
    return ""


def _sources_digest() -> str:
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _forget_old(current: Path) -> None:
    others = [path for path in current.parent.glob("kernels-*") if path != current]
    others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in others[_KEPT:]:
        shutil.rmtree(path, ignore_errors=True)


_CACHE = cache_folder()
