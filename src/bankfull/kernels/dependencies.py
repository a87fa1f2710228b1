"""What compiled code was made from: every function, rule, record and constant it can reach.

Machine code is kept on disk (``cache.py``) and must not be used when anything that went into it has
changed, in whatever file of whatever package. So nothing is listed: from a kernel's own code all
names are followed, through functions that it calls, hooks and the rules of the types that it is
called with or names, modules, and the values of constants.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

#: For every hook (``compiler.hook``), its rules by the type of the first argument.
RULES: dict[Callable[..., Any], dict[Any, Callable[..., Any]]] = {}
#: What a function says of itself, with all that it reaches by name; both change with no type.
_READ: dict[FunctionType, tuple[bytes, list[Any]]] = {}
#: Attributes of a function that name another one: what it stands for, what it is compiled on.
_REFERS = ("__wrapped__", "flag")


def digest(function: Callable[..., Any], kinds: Iterable[type]) -> str:
    """Return a name for a function's code and everything it depends on, for these types.

    >>> def double(number): return 2 * number
    >>> def triple(number): return 3 * number
    >>> digest(double, []) == digest(double, []), digest(double, []) == digest(triple, [])
    (True, False)
    """
    types: list[Any] = []
    hooks: list[dict[Any, Callable[..., Any]]] = []
    seen: list[tuple[str, bytes]] = []
    left: list[Any] = [function, *kinds]
    visited: set[int] = set()
    while left:
        thing = left.pop()
        if id(thing) in visited:
            continue
        visited.add(id(thing))
        options = _options(thing)
        thing = getattr(thing, "py_func", thing)
        if isinstance(thing, FunctionType):
            said, reached = _read(thing)
            seen.append((f"{thing.__module__}.{thing.__qualname__}", said + options))
            left += reached
            if thing in RULES:
                hooks.append(RULES[thing])
                left += [RULES[thing][kind] for kind in types if kind in RULES[thing]]
        elif isinstance(thing, type):
            seen.append((f"{thing.__module__}.{thing.__qualname__}", _fields(thing)))
            # Of this type are arguments, or values that a kernel makes itself and asks hooks about.
            types.append(thing)
            left += [rules[thing] for rules in hooks if thing in rules]
    made = hashlib.blake2b(digest_size=8)
    for name, said in sorted(seen):
        made.update(name.encode() + b"\0" + said)
    return made.hexdigest()


def _options(thing: Any) -> bytes:
    """Return how a function is compiled, if it is one that is."""
    given = getattr(thing, "targetoptions", {})
    return repr(sorted((name, value) for name, value in given.items() if value is True)).encode()


def _read(function: FunctionType) -> tuple[bytes, list[Any]]:
    """Return a function's code and constants as bytes, and what it refers to."""
    if function not in _READ:
        words, reached = [], []
        for code in _codes(function.__code__):
            constants = [one for one in code.co_consts if not isinstance(one, CodeType)]
            words += [code.co_code.hex(), repr(constants), repr(code.co_varnames)]
            for name, value in _values(function, code):
                if isinstance(value, FunctionType | type) or hasattr(value, "py_func"):
                    reached.append(value)
                else:
                    words.append(f"{name}={_constant(value)}")
        reached += [getattr(function, name) for name in _REFERS if hasattr(function, name)]
        words.append(repr(function.__defaults__))
        _READ[function] = "\n".join(words).encode(), reached
    return _READ[function]


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code and those within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _values(function: FunctionType, code: CodeType) -> Iterator[tuple[str, Any]]:
    """Yield what the names in a code stand for: globals, attributes of modules, captured values."""
    modules = []
    for name in code.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, ModuleType):
            modules.append(value)
        elif value is not None:
            yield name, value
    for module in modules:
        for name in code.co_names:
            value = module.__dict__.get(name)
            if value is not None and not isinstance(value, ModuleType):
                yield f"{module.__name__}.{name}", value
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents


def _constant(value: Any) -> str:
    """Return a constant in words that change when it does, and not from run to run."""
    if isinstance(value, bool | int | float | str | bytes | tuple | np.generic | np.dtype):
        return repr(value)
    return type(value).__qualname__


def _fields(kind: type) -> bytes:
    """Return the fields of a named tuple; of other types, nothing more than their name."""
    return repr(getattr(kind, "_fields", ())).encode()
