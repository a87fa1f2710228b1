"""Which stored tuples have the key of an arrival: one of every other stream, in either store.

A store chains the tuples of a key, or of the keys of one hash bucket, from new to old. The hooks
below walk such a chain; the log (``exact/multijoin.py``) and the bounded store
(``bounded/matches.py``) have the rules.
"""

from __future__ import annotations

from typing import Any

from bankfull.kernels.compiler import Int64, hook, inlined


@hook
def newest_candidate(chains: Any, j: int) -> Any:
    """Return the newest tuple of stream j that may be a partner."""
    return -1


@hook
def older_candidate(chains: Any, j: int, x: int) -> Any:
    """Return the candidate after tuple x of stream j."""
    return -1


@hook
def next_partner(chains: Any, j: int, x: int, compared: int) -> tuple[int, bool, int]:
    """Go from candidate x of stream j on to one that joins with the members chosen so far.

    Returns where the search stands, whether that is a partner, and the comparisons of the arrival,
    which were ``compared``.
    """
    return x, False, compared


@hook
def choose(chains: Any, j: int, x: int, deeper: int) -> None:
    """Learn that x is the member of stream j when one of stream ``deeper`` is looked for."""


@hook
def write_result(chains: Any, j: int, x: int, count: int) -> None:
    """Write result ``count``: the members chosen, and x of stream j, the last of them."""


@inlined
def find_all(chains: Any, at: Int64, own: int, width: int, count: int, most: int) -> Any:
    """Write the results of an arrival of stream ``own`` in a join of ``width`` streams.

    Walks the chains like an odometer, newest partners first; ``at[j]`` is the member of stream j.
    Returns the new number of results, or -1 if there would be more than ``most``, and the
    comparisons made.
    """
    compared = 0
    j = 1 if own == 0 else 0
    x = newest_candidate(chains, j)
    while True:
        x, found, compared = next_partner(chains, j, x, compared)
        at[j] = x
        if found:
            deeper = j + 1 + (j + 1 == own)
            if deeper < width:
                choose(chains, j, x, deeper)
                j = deeper
                x = newest_candidate(chains, j)
                continue
            if count == most:
                return -1, compared
            write_result(chains, j, x, count)
            count += 1
        else:
            j = j - 1 - (j - 1 == own)
            if j < 0:
                return count, compared
        x = older_candidate(chains, j, at[j])
