"""How a tuple is compared with a part of a window, and what that counts as.

A *scan* looks at every tuple, newest first: a comparison each. A *hash* search goes from one tuple
of the same key to the next older one: a comparison each. An *inverted* search reads the lists of
its items: a comparison for every entry, hence for every item in common with a tuple.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bankfull.oracle.comparing.tuples import Arrival, JoinSpec


@dataclass
class Search:
    """What came of comparing with tuples ``first`` to before ``last``.

    ``exhausted``: there were not enough comparisons left for all of it.
    """

    found: list[Arrival] = field(default_factory=list)
    compared: int = 0
    looked_at: int = 0
    exhausted: bool = False


def search(
    join: JoinSpec, side: int, own: Any, part: list[tuple[Arrival, Any]], left: int
) -> Search:
    """Compare a key with a part of the window of the other side, for ``left`` comparisons at most.

    The part has tuples with their keys, newest first; a key of None is never found.
    """
    if join.search == "scan":
        return _scan(join, side, own, part, left)
    if join.on_sets:
        return _lists(join, side, own, part, left)
    return _chain(join, side, own, part, left)


def _scan(
    join: JoinSpec, side: int, own: Any, part: list[tuple[Arrival, Any]], left: int
) -> Search:
    done = Search()
    for u, value in part:
        if value is None:  # no comparison tells that there is nothing to compare with
            done.looked_at += 1
            continue
        if done.compared == left:
            done.exhausted = True
            break
        done.compared += 1
        done.looked_at += 1
        if join.agree(side, own, value):
            done.found.append(u)
    return done


def _chain(
    join: JoinSpec, side: int, own: Any, part: list[tuple[Arrival, Any]], left: int
) -> Search:
    done = Search()
    for u, value in part:
        if join.agree(side, own, value):
            if done.compared == left:
                done.exhausted = True
                break
            done.compared += 1
            done.found.append(u)
        done.looked_at += 1
    return done


def _lists(
    join: JoinSpec, side: int, own: Any, part: list[tuple[Arrival, Any]], left: int
) -> Search:
    """Read the lists whole, or not at all."""
    entries = sum(join.entries(side, own, value) for _, value in part if value is not None)
    if entries > left:
        return Search(exhausted=True)
    found = [u for u, value in part if join.agree(side, own, value)]
    return Search(found, entries, len(part))
