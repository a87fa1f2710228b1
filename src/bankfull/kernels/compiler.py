"""The one decorator that sets every compiler flag, and where compiled code is kept.

Compiled kernels are cached on disk. The compiler's own cache looks at the file of the kernel
alone and would keep a stale kernel when a helper in another file changes, so the cache folder is
named by a digest of all kernel sources (``docs/decisions/0003``).
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import logging
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event
from numba.extending import overload
from numpy.typing import NDArray

from bankfull.errors import BankfullError

Function = TypeVar("Function", bound=Callable[..., Any])

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]

#: Divisions by zero are numpy's. Kernels make no arrays, so who uses one need not be counted: those
#: counts, atomic, were half of all the time that shedding took (``docs/decisions/0014``).
_OPTIONS = {"error_model": "numpy", "_nrt": False}
#: How many folders of older kernels stay beside the current one.
_KEPT = 3


def kernel(function: Function) -> Function:
    """Compile ``function`` on first use, without the interpreter lock, cached between processes.

    No fast-math: ties and the order of additions are part of what the operator promises.
    """
    return _compile(function)


def inlined(function: Function) -> Function:
    """Compile ``function`` into each kernel that calls it.

    Passing an array costs seven words; a call in an inner loop with a dozen arrays costs more
    than the search it makes (measured: ten times the whole kernel, ``docs/decisions/0004``).
    """
    return _compile(function, forceinline=True)


def allocating(function: Function) -> Function:
    """Compile ``function`` like a kernel, for one that makes arrays of its own."""
    return _compile(function, _nrt=True)


def plain(function: Function) -> Function:
    """Compile a user's function as part of whatever calls it, unless it is compiled already."""
    if hasattr(function, "py_func"):
        return function
    options: Any = _OPTIONS
    return cast(Function, numba.njit(**options)(function))


def _compile(function: Function, **more: bool) -> Function:
    config: Any = numba.config
    options: Any = {**_OPTIONS, **more}
    before, config.CACHE_DIR = config.CACHE_DIR, _CACHE
    try:
        compiled: Any = numba.njit(cache=bool(_CACHE), nogil=True, **options)(function)
    finally:
        config.CACHE_DIR = before
    _COMPILED.append(compiled)
    return cast(Function, compiled)


def hook(stub: Function) -> Function:
    """Let policies say what happens here: calls go to the rule of the first argument's type.

    The body of ``stub`` holds for types without a rule of their own. Rules are compiled into the
    kernel that calls the hook, once a type, and the kernel still hits the cache on disk (one made
    in a factory never does, ``docs/decisions/0008``).
    """
    rules: dict[Any, Callable[..., Any]] = {}

    @functools.wraps(stub)
    def dispatch(policy: Any, *arguments: Any) -> Any:
        return rules.get(type(policy), stub)(policy, *arguments)

    def choose(policy: Any, *arguments: Any) -> Any:
        return rules.get(getattr(policy, "instance_class", None), stub)

    options: Any = {**_OPTIONS, "forceinline": True}
    overload(dispatch, jit_options=options, strict=False)(choose)
    _RULES[dispatch] = rules
    return cast(Function, dispatch)


def only_where(flag: Callable[..., bool]) -> Callable[[Function], Function]:
    """Compile a function into kernels only for policies whose rule says yes to a flag.

    For others, who never come to call it, it is nothing: to compile what is not used is most of
    what a policy's first use waits for. Flags look at nothing but the type of the policy.
    """

    def decorate(function: Function) -> Function:
        @functools.wraps(function)
        def dispatch(policy: Any, *arguments: Any) -> Any:
            return function(policy, *arguments)

        def nothing(policy: Any, *arguments: Any) -> int:
            return -1

        def choose(policy: Any, *arguments: Any) -> Any:
            says = _RULES[flag].get(getattr(policy, "instance_class", None))
            return function if says is not None and says(None) else nothing

        options: Any = {**_OPTIONS, "forceinline": True}
        overload(dispatch, jit_options=options, strict=False)(choose)
        return cast(Function, dispatch)

    return decorate


def rule(stub: Callable[..., Any], kind: type) -> Callable[[Function], Function]:
    """Say what a hook does for policies of one type (a named tuple).

    The compiler tells two named tuples apart by their names alone, so names must differ. A file of
    rules that is not ours is part of the name that kernels are kept under: who changes it gets new
    ones.
    """
    other = _KINDS.setdefault(kind.__name__, kind)
    if (other.__module__, other.__qualname__) != (kind.__module__, kind.__qualname__):
        raise BankfullError(
            f"the state {kind.__name__} of a policy in {kind.__module__} is called like one in "
            f"{other.__module__}: rename it"
        )

    def register(function: Function) -> Function:
        _RULES[stub][kind] = function
        depend_on(function)
        return function

    return register


def depend_on(function: Callable[..., Any]) -> None:
    """Keep kernels from now on under a name that changes when the file of a function does."""
    path = Path(function.__code__.co_filename)
    if Path(__file__).parents[1] in path.parents:
        return
    source = path.read_bytes() if path.is_file() else function.__code__.co_code
    if _FOREIGN.get(str(path)) == source:
        return
    global _CACHE  # also for kernels that are yet to be imported
    _FOREIGN[str(path)] = source
    _CACHE = cache_folder()
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, _CACHE
    try:
        for compiled in _COMPILED:
            if _CACHE and hasattr(compiled, "enable_caching"):
                compiled.enable_caching()
    finally:
        config.CACHE_DIR = before


#: Every kernel, and the files of rules that are not ours.
_COMPILED: list[Any] = []
_FOREIGN: dict[str, bytes] = {}
_KINDS: dict[str, type] = {}
_RULES: dict[Callable[..., Any], dict[Any, Callable[..., Any]]] = {}


class _Notice(event.Listener):
    """Says when a kernel of ours is compiled: it takes seconds in which nothing else happens."""

    def __init__(self) -> None:
        self.depth = 0

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if self.depth == 0 and function.__module__.startswith("bankfull."):
            self.depth = 1
            _LOG.info("compiling %s for this machine, once: up to half a minute", function.__name__)
        elif self.depth:
            self.depth += 1

    def on_end(self, event: Any) -> None:
        self.depth = max(0, self.depth - 1)


def is_compiling() -> bool:
    """Tell whether a kernel is being compiled at this moment."""
    return _NOTICE.depth > 0


_LOG = logging.getLogger("bankfull")
_NOTICE = _Notice()
event.register("numba:compile", _NOTICE)  # type: ignore[no-untyped-call]


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
    here = Path(__file__).parent
    for path in sorted([*here.glob("*.py"), *here.parent.glob("policies/*.py")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    for _, source in sorted(_FOREIGN.items()):
        digest.update(b"\0" + source)
    return digest.hexdigest()


def _forget_old(current: Path) -> None:
    others = [path for path in current.parent.glob("kernels-*") if path != current]
    with contextlib.suppress(OSError):  # another process may be at it too
        others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        for path in others[_KEPT:]:
            shutil.rmtree(path, ignore_errors=True)


_CACHE = cache_folder()
