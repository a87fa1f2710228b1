"""Where compiled kernels are kept between processes.

The compiler's own cache would do us harm in three ways. It looks at the file of a kernel alone, so
a change in a helper's file would leave the old machine code in use. It has one index a function:
two processes that compile for different policies at the same time overwrite each other's and may
hand out the wrong code; and who reads an index that names a user's own policy must be able to
import it. Here every signature has an index of its own, named by a digest of all that its code was
made from (``dependencies.py``, ``docs/decisions/0003``).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from numba.core import types
from numba.core.caching import FunctionCache, IndexDataCacheFile

from bankfull.kernels import dependencies, folders
from bankfull.kernels.pipeline import CodeOnDisk

#: The modules that make code of a function.
_COMPILED_BY = ("compiler", "folding", "lowering", "passing", "pipeline")
#: After so many newly compiled kernels a process looks again how large the folders are.
_TIDY_EVERY = 64


class KernelCache(FunctionCache):
    """The compiler's cache of one function, with an index for each signature."""

    _impl_class = CodeOnDisk
    saved = 0  # by this process, of all functions

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        self._cache_file = self._file(sig)
        return super()._load_overload(sig, target_context)  # type: ignore[no-untyped-call]

    def _save_overload(self, sig: Any, data: Any) -> None:
        self._cache_file = self._file(sig)
        super()._save_overload(sig, data)  # type: ignore[no-untyped-call]
        if KernelCache.saved % _TIDY_EVERY == 0:
            folders.tidy(Path(FOLDER))
        KernelCache.saved += 1

    def _file(self, signature: Any) -> Any:
        return IndexDataCacheFile(  # type: ignore[no-untyped-call]
            FOLDER,  # whatever checkout or environment the same code is in
            f"{self._impl.filename_base}-{_digest(self._py_func, signature)}",
            "",  # the name says it all; the time of a file says nothing
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


def cache_folder() -> str:
    """Return the writable folder for kernels that are compiled in this way, or "" without one."""
    config: Any = numba.config
    # Code that looks at bounds is another; the compiler does not tell the two apart.
    checked = "-bounds" if config.BOUNDSCHECK else ""
    return folders.settle(f"kernels-{numba.__version__}{checked}")


def _digest(function: Callable[..., Any], signature: Any) -> str:
    digest = hashlib.blake2b(str(signature).encode(), digest_size=8)
    digest.update(_machinery())
    digest.update(dependencies.digest(function, _kinds(signature)).encode())
    return digest.hexdigest()


@functools.cache
def _machinery() -> bytes:
    """Return a digest of how functions are compiled, which their own code says nothing of."""
    digest = hashlib.blake2b(digest_size=8)
    for name in _COMPILED_BY:
        with contextlib.suppress(OSError):  # installed without sources: they do not change
            digest.update(pkgutil.get_data("bankfull.kernels", f"{name}.py") or b"")
    return digest.digest()


def _kinds(given: Any) -> Iterator[type]:
    """Yield the named tuples among the types of arguments, and those within them."""
    for one in given:
        if hasattr(one, "instance_class"):
            yield one.instance_class
        if isinstance(one, types.BaseTuple):
            yield from _kinds(one)


FOLDER = cache_folder()
