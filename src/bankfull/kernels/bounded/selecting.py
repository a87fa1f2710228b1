"""Where a budget of comparisons acts in the join under a memory budget.

The first argument is the ``SlotSelections`` of ``selected.py``, or the ``Leaps`` of ``leaps.py``,
which have the rules. Without a budget of comparisons there are none of them: callers ask for None,
which the compiler sees, so that nothing of this is compiled.
"""

from __future__ import annotations

from typing import Any

from bankfull.kernels.compiler import hook


@hook
def is_dropped(selections: Any, s: int, number: int) -> bool:
    """Tell whether an arrival, of this number in its stream, is neither compared nor stored."""
    return False


@hook
def find(
    selections: Any, memory: Any, join: int, key: int, i: int, s: int, t: int, row: int,
    importance: float, combine: int, out: Any, count: int,
) -> tuple[int, int]:  # fmt: skip
    """Join arrival i with stored tuples of its key; returns (results, comparisons).

    Without room there are -1 results.
    """
    return count, 0


@hook
def find_several(
    partners: Any, selection: Any, memory: Any, join: int, key: int, z: int, s: int, t: int,
    row: int, importance: float, combine: int, out: Any, count: int,
) -> tuple[int, int]:  # fmt: skip
    """Do the same in a join of three and more streams, for an arrival of class z of stream s.

    The first argument has room for what it finds (``selectedmany.py``).
    """
    return count, 0


@hook
def settle_several(partners: Any, selection: Any, memory: Any, join: int, own: int, z: int) -> None:
    """Count what an arrival, of member ``own``, found in a join of three and more streams."""


@hook
def note(selections: Any, join: int, t: int, u: int, worth: float) -> None:
    """Note a result of the present tuple, of time t, with one of time u."""


@hook
def enter(leaps: Any, posts: Any, slots: Any, post: int) -> None:
    """Learn that an entry has become the newest of its list."""


@hook
def leave(leaps: Any, posts: Any, slots: Any, post: int) -> None:
    """Learn that an entry is about to leave its list."""


@hook
def settle(selections: Any, memory: Any, arrivals: Any, i: int) -> None:
    """Count what an arrival found in all its joins; it will not come again."""


@hook
def meets(
    selections: Any, join: int, own: int, j: int, s: int, i: int, t: int, number: int, other: Any,
    cursor: int,
) -> bool:  # fmt: skip
    """Tell whether arrival i, of this time and number in stream s, would be compared with another.

    ``own`` is the arrival's side of the join, ``j`` the other's, or of several streams the
    direction; ``cursor`` tuples of the other stream came before. Where comparisons ran out the
    answer is no.
    """
    return True
