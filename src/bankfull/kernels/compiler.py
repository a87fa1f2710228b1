"""The one decorator that sets every compiler flag, and how policies speak inside kernels."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event
from numba.core.registry import CPUDispatcher
from numba.extending import overload
from numpy.typing import NDArray

from bankfull.errors import BankfullError
from bankfull.kernels import cache
from bankfull.kernels.dependencies import RULES
from bankfull.kernels.passing import by_address
from bankfull.kernels.pipeline import Pipeline

Function = TypeVar("Function", bound=Callable[..., Any])

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]
#: An array of records, or one record of it: what has which fields is in ``records.py``.
Records = Any

#: Divisions by zero are numpy's. Kernels make no arrays, so who uses one need not be counted: those
#: counts, atomic, were half of all the time that shedding took (``docs/decisions/0014``).
_OPTIONS: Any = {"error_model": "numpy", "_nrt": False, "pipeline_class": Pipeline}

#: For what only kernels call. To unpack a store of a dozen arrays from Python takes more code, and
#: longer to compile, than most functions do.
_UNWRAPPED = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

#: Said, because what is not said is taken from whichever caller happens to be compiled first.
_CALLED = {"forceinline": False}


def kernel(function: Function) -> Function:
    """Compile ``function`` on first use, without the interpreter lock, cached between processes.

    No fast-math: ties and the order of additions are part of what the operator promises.
    """
    return _compile(function, no_cfunc_wrapper=True, **_CALLED)


def inner(function: Function) -> Function:
    """Compile ``function`` like a kernel, for one that only kernels call.

    It is a function of its own, once: what is large and called from several places belongs here.
    """
    return _compile(function, **_CALLED, **_UNWRAPPED)


def inlined(function: Function) -> Function:
    """Compile ``function`` into each kernel that calls it.

    Passing an array costs seven words; a call in an inner loop with a dozen arrays costs more
    than the search it makes (measured: ten times the whole kernel, ``docs/decisions/0004``).
    """
    return _compile(function, forceinline=True, **_UNWRAPPED)


def plain(function: Function) -> Function:
    """Compile a user's function as part of whatever calls it, unless it is compiled already."""
    if hasattr(function, "py_func"):
        return function
    options: Any = _OPTIONS
    return cast(Function, numba.njit(**options)(function))


def _compile(function: Function, **more: bool) -> Function:
    options: Any = {**_OPTIONS, **more}
    compiled: Any = numba.njit(nogil=True, **options)(function)
    cache.keep(compiled)
    if "no_cpython_wrapper" in more and isinstance(compiled, CPUDispatcher):
        compiled.__class__ = _Unwrapped
    return cast(Function, compiled)


class _Unwrapped(CPUDispatcher):
    """What only kernels call, compiled. Called from Python it has no way in, and runs as Python."""

    def __call__(self, *arguments: Any) -> Any:
        return self.py_func(*arguments)


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

    options: Any = {**_OPTIONS, **_UNWRAPPED, "forceinline": True}
    overload(dispatch, jit_options=options, strict=False)(choose)
    RULES[dispatch] = rules
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
            says = RULES[flag].get(getattr(policy, "instance_class", None))
            return function if says is not None and says(None) else nothing

        options: Any = {**_OPTIONS, **_UNWRAPPED, "forceinline": True}
        overload(dispatch, jit_options=options, strict=False)(choose)
        dispatch.flag = flag  # type: ignore[attr-defined]  # for ``dependencies.py``
        return cast(Function, dispatch)

    return decorate


def rule(stub: Callable[..., Any], kind: type) -> Callable[[Function], Function]:
    """Say what a hook does for policies of one type (a named tuple).

    The compiler tells two named tuples apart by their names alone, so names must differ. Those of
    our own policies are passed by address; a user's rules may take a tuple apart in whatever way.
    """
    if kind.__module__.startswith("bankfull.policies.") and kind.__name__ not in _KINDS:
        by_address(kind)
    other = _KINDS.setdefault(kind.__name__, kind)
    if (other.__module__, other.__qualname__) != (kind.__module__, kind.__qualname__):
        raise BankfullError(
            f"the state {kind.__name__} of a policy in {kind.__module__} is called like one in "
            f"{other.__module__}: rename it"
        )

    def register(function: Function) -> Function:
        RULES[stub][kind] = function
        return function

    return register


_KINDS: dict[str, type] = {}


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
