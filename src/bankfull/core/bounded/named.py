"""Arrays by name: how what lies in named tuples of arrays is written down and taken over again.

The name of an array is where it lies: ``memory.sets.posts``. Records keep the fields that the
taking side has; what was written by another version is refused before it comes to this.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankfull.core.kept import Arrays


def named(name: str, value: Any) -> Arrays:
    """Return all arrays within a named tuple, and those within its tuples; records are arrays too.

    >>> from typing import NamedTuple
    >>> class Counts(NamedTuple):
    ...     budget: int
    ...     seen: NDArray[np.int64]
    >>> named("counts", Counts(7, np.zeros(2, np.int64)))
    {'counts.seen': array([0, 0])}
    """
    if isinstance(value, np.ndarray):
        return {name: value}
    if isinstance(value, np.record):
        return {name: _around(value)}
    if not isinstance(value, tuple):
        return {}
    found: Arrays = {}
    for field, one in zip(_fields(value), value, strict=True):
        found |= named(f"{name}.{field}", one)
    return found


def refilled(name: str, like: Any, arrays: Arrays) -> Any:
    """Return a value like this one, with the arrays of these names; what is no array stays."""
    if isinstance(like, np.ndarray):
        given = arrays[name]
        return given.view(like.dtype).view(type(like))
    if isinstance(like, np.record):
        return arrays[name].view(like.dtype).view(np.recarray)[0]
    if not isinstance(like, tuple):
        return like
    return type(like)(
        *(
            refilled(f"{name}.{field}", one, arrays)
            for field, one in zip(_fields(like), like, strict=True)
        )
    )


def total_bytes(*values: Any) -> int:
    """Return the bytes of all arrays within named tuples."""
    return sum(array.nbytes for value in values for array in named("", value).values())


def _fields(value: Any) -> tuple[str, ...]:
    return value._fields  # type: ignore[no-any-return]


def _around(record: np.record) -> NDArray[Any]:
    """Return the array of one element that a record is part of."""
    return np.frombuffer(record.data, record.dtype)
