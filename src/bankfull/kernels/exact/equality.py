"""The search for tuples of an equal key, over the lists of a log: what all loops call.

From a candidate back to older ones: compare the key, test the windows, write a result. A
*Selection* says with which part of the other window a tuple is compared, and counts what it finds;
its absence (``Everything``) is another type, for which none of that is compiled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bankfull.kernels.compiler import Int64, hook, inlined
from bankfull.kernels.compiler import rule as rule_of
from bankfull.kernels.exact.chains import UNKEYED, Keyed, older
from bankfull.kernels.predicates import in_reach
from bankfull.kernels.probes.selection import (
    COMPARED,
    EXHAUSTED,
    FLOOR,
    MOST,
    NOTED,
    PAIRS,
    SEARCHED,
    STEPS,
    Selection,
    begin,
    note,
    oldest_selected,
    piece,
    pieces,
)


@hook
def _is_comparison(selection: Any, same: bool, keyed: bool, scan: bool) -> bool:
    """Tell whether to look at a candidate counts as a comparison: without a selection, always."""
    return True


@rule_of(_is_comparison, Selection)
def _is_comparison_selected(selection: Selection, same: bool, keyed: bool, scan: bool) -> bool:
    # Which others lie in a chain depends on the size of the table, and that on how the input was
    # cut: they must not use up a budget.
    return keyed if scan else same


@hook
def _is_affordable(selection: Any, compared: int) -> bool:
    """Tell whether one more comparison may be made for the present tuple."""
    return True


@rule_of(_is_affordable, Selection)
def _is_affordable_selected(selection: Selection, compared: int) -> bool:
    return bool(compared < selection.state[MOST])


@hook
def _note(
    selection: Any, s: int, row: int, t: int, x: int, i: int, u: int, end: int
) -> None:  # fmt: skip
    """Count a result of the present tuple, if it is one of which results are counted."""


@rule_of(_note, Selection)
def _note_selected(
    selection: Selection, s: int, row: int, t: int, x: int, i: int, u: int, end: int
) -> None:
    if selection.state[NOTED]:
        note(selection, s, row, t, x, i, u, end)


@inlined
def next_partner(
    selection: Any, t: int, code: np.uint64, ahead: int, other: Keyed, base: int, first: int,
    behind: int, x: int, scan: bool, compared: int,
) -> tuple[int, bool, int]:  # fmt: skip
    """Go from candidate ``x`` back to the newest tuple that joins with one of time ``t``.

    ``behind`` is the window of the other stream (partners in the past), ``ahead`` the own one.
    Returns where the search stands, whether that is a partner, and the comparisons of the present
    tuple so far, which were ``compared``. Without a partner it stands before ``first``, or where no
    further comparison may be made.
    """
    while x >= first:
        i = x - base
        same = other.codes[i] == code
        keyed = not scan or other.links[i] != UNKEYED
        if _is_comparison(selection, same, keyed, scan):
            if not _is_affordable(selection, compared):
                return x, False, compared
            compared += 1
        if same and keyed and in_reach(t, other.times[i], ahead, behind):
            return x, True, compared
        x = older(other.links, i, x, scan)
    return x, False, compared


@inlined
def write(members: Any, latest: int, out: Int64, joined: Int64, count: int) -> None:
    """Write result ``count``: the numbers of its members in the order of streams, and its time."""
    for k in range(len(members)):
        out[k, count] = members[k]
    joined[count] = latest


@inlined
def _partners(
    selection: Any, s: int, row: int, own: int, t: int, code: np.uint64, ahead: int, other: Keyed,
    base: int, first: int, behind: int, end: int, x: int, scan: bool, out: Int64, joined: Int64,
    count: int, compared: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Write the partners of tuple ``own`` among the candidates from ``x`` back to ``first``.

    Returns the new number of results, or -1 when there is no room, the comparisons of the tuple so
    far, and where the search ended.
    """
    while True:
        x, found, compared = next_partner(
            selection, t, code, ahead, other, base, first, behind, x, scan, compared
        )
        if not found:
            return count, compared, x
        if count == joined.size:
            return -1, compared, x
        i = x - base
        u = other.times[i]
        members = (own, x) if s == 0 else (x, own)
        write(members, max(t, u), out, joined, count)
        count += 1
        _note(selection, s, row, t, x, i, u, end)
        x = older(other.links, i, x, scan)


@hook
def compare(
    selection: Any, s: int, row: int, own: int, t: int, code: np.uint64, ahead: int, other: Keyed,
    base: int, low: int, behind: int, end: int, x: int, scan: bool, out: Int64, joined: Int64,
    count: int,
) -> tuple[int, int]:  # fmt: skip
    """Compare tuple ``own`` (row ``row`` of stream s of two) with the other window, from ``x`` on.

    ``low`` is the first tuple of that window, ``end`` the first whose turn comes later. Returns the
    new number of results, or -1 when there is no room, and the comparisons made.
    """
    count, compared, x = _partners(
        selection, s, row, own, t, code, ahead, other, base, low, behind, end, x, scan, out, joined,
        count, 0,
    )  # fmt: skip
    return count, compared


@rule_of(compare, Selection)
def _compare_selected(
    selection: Selection, s: int, row: int, own: int, t: int, code: np.uint64, ahead: int,
    other: Keyed, base: int, low: int, behind: int, end: int, x: int, scan: bool, out: Int64,
    joined: Int64, count: int,
) -> tuple[int, int]:  # fmt: skip
    """Compare with the selected parts of the other window, newest first.

    A chain cannot be entered half-way: it is followed down to the oldest selected tuple, and what
    agrees on the way is a result whether it was selected or not.
    """
    j = 1 - s
    z = selection.classes[s][row]
    whole = begin(selection, s, row, own, scan)
    state = selection.state
    if not scan:
        state[FLOOR] = oldest_selected(selection, j, z, end)
    compared = 0
    for k in range(pieces(selection, j, z, not scan)):
        first, last = piece(selection, j, z, k, end, not scan)
        first = max(first, low)
        if first >= last:
            continue
        if scan:
            x = last - 1
        before = compared
        count, compared, x = _partners(
            selection, s, row, own, t, code, ahead, other, base, first, behind, end, x, scan, out,
            joined, count, compared,
        )  # fmt: skip
        if count < 0:
            return -1, compared
        if x >= first:
            state[EXHAUSTED] = 1
            first = x + 1
        if whole:
            selection.now[PAIRS, k] += last - first
            selection.now[STEPS, k] += compared - before
        state[SEARCHED] += last - first
        if state[EXHAUSTED]:
            break
    state[COMPARED] = compared
    return count, compared
