"""Lists of items that can be passed over a basic window at a time.

The entries of a list are linked from new to old, and those of one basic window lie together. From
each entry a *leap* leads to the newest entry of the next older basic window that the list has. When
that one leaves, the leaps that led to it lead to the one behind it: those of one basic window, once
for as many entries as it had, if tuples leave in any order.

Cost: four bytes an entry; a search visits the entries that are selected, and one of every basic
window that is not.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.bounded import selecting
from bankfull.kernels.compiler import Records, inlined, inner, rule


class Leaps(NamedTuple):
    """The leap of every entry, or -1; basic windows are ``basic`` units of time long."""

    basic: int
    older: NDArray[np.int32]


@inlined
def _window(leaps: Leaps, posts: Records, slots: Records, post: int) -> Any:
    return slots[posts[post].slot].time // leaps.basic


@rule(selecting.enter, Leaps)
def _enter(leaps: Leaps, posts: Records, slots: Records, post: int) -> None:
    older = posts[post].older
    leaps.older[post] = older
    if older >= 0 and _window(leaps, posts, slots, older) == _window(leaps, posts, slots, post):
        leaps.older[post] = leaps.older[older]


@rule(selecting.leave, Leaps)
def _leave(leaps: Leaps, posts: Records, slots: Records, post: int) -> None:
    mend(leaps, posts, slots, post)


@inner
def mend(leaps: Leaps, posts: Records, slots: Records, post: int) -> None:
    """Let the leaps that lead to an entry lead to the next one of its window, or beyond it."""
    own = _window(leaps, posts, slots, post)
    newer, older = posts[post].newer, posts[post].older
    if newer < 0 or _window(leaps, posts, slots, newer) == own:
        return
    target = leaps.older[post]
    if older >= 0 and _window(leaps, posts, slots, older) == own:
        target = older
    theirs = _window(leaps, posts, slots, newer)
    while newer >= 0 and _window(leaps, posts, slots, newer) == theirs:
        leaps.older[newer] = target
        newer = posts[newer].newer
