"""Joins on equal keys of three to five streams, of whose windows a part is compared.

Where ``multijoin.py`` finds combinations by going through every window again for each partner in
the one before, an arrival here goes through each window once, as far as is selected for it. So what
it takes is a sum over the windows, which a plan can divide; and of a scan it is less, even where
everything is compared.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.compiler import Int64, inlined, kernel
from bankfull.kernels.exact.chains import UNKEYED, Keyed, Table, bucket_of, insert, newest, older
from bankfull.kernels.exact.equality import next_partner
from bankfull.kernels.exact.merge import Clock, next_stream, raise_low
from bankfull.kernels.probes.selection import (
    ANY,
    COMPARED,
    EXHAUSTED,
    FLOOR,
    STEPS,
    WHOLE,
    Selection,
    first_open,
    is_dropped,
    oldest_selected,
    piece,
    pieces,
)
from bankfull.kernels.probes.several import (
    Partners,
    begin_several,
    combinations,
    direction,
    list_partner,
    next_combination,
    note_combination,
    settle_several,
    worth_of_combination,
)

#: Why :func:`join_many_selected` returned: all tuples were processed, there was no room for the
#: results of a tuple, or none for its partners.
DONE, OUTPUT_FULL, PARTNERS_FULL = 0, 1, 2


@inlined
def _search(
    selection: Selection, partners: Partners, s: int, j: int, z: int, t: int, code: np.uint64,
    other: Keyed, clock: Clock, x: int, scan: bool, compared: int,
) -> int:  # fmt: skip
    """List the partners of a tuple in window j, newest first, from candidate ``x`` on.

    Returns the comparisons of the tuple so far, or -1 where there is no room for its partners.
    """
    state, d = selection.state, direction(j, s, partners.found.size)
    end, low, base = clock.cursor[j], clock.low[j], clock.base[j]
    last_window = selection.edges.shape[1] - 1
    state[FLOOR] = ANY if scan else oldest_selected(selection, d, z, end)
    looked = 0
    for k in range(pieces(selection, d, z, not scan)):
        first, last = piece(selection, d, z, k, end, not scan)
        first = max(first, low)
        if first >= last:
            continue
        if scan:
            x = last - 1
        before = compared
        while True:
            x, found, compared = next_partner(
                selection, t, code, clock.span[s], other, base, first, clock.span[j], x, scan,
                compared,
            )  # fmt: skip
            if not found:
                break
            if partners.found[j] == partners.numbers.shape[1]:
                return -1
            i = x - base
            a = min(t // selection.basic - other.times[i] // selection.basic, last_window)
            oldest = first_open(selection, d, z, end) if a == 0 else selection.cuts[d, z, a]
            list_partner(selection, partners, j, x, a, oldest)
            x = older(other.links, i, x, scan)
        if x >= first:  # where no further comparison could be made
            state[EXHAUSTED] = 1
            first = x + 1
        if state[WHOLE]:
            partners.now[j, STEPS, k] += compared - before
        looked += last - first
        if state[EXHAUSTED]:
            break
    partners.looked[j] = looked
    return compared


@inlined
def _search_all(
    selection: Selection, partners: Partners, times: tuple[Int64, ...],
    codes: tuple[NDArray[np.uint64], ...], links: tuple[Int64, ...], clock: Clock, table: Table,
    s: int, own: int, t: int,
) -> bool:  # fmt: skip
    """List the partners of tuple ``own`` of stream s; False where there is no room for them."""
    streams, i = len(times), own - clock.base[s]
    for j in range(streams):
        if j != s:
            clock.low[j] = raise_low(
                times[j], clock.base[j], clock.cursor[j], clock.low[j], t, clock.span[j],
                clock.rows[j],
            )  # fmt: skip
            partners.window[j] = clock.cursor[j] - clock.low[j]
    code, z, state = codes[s][i], selection.classes[s][i], selection.state
    begin_several(selection, partners, s, z, own)
    bucket = bucket_of(code, table.shift) * streams
    compared = 0
    for j in range(streams):
        if j == s:
            continue
        if state[EXHAUSTED]:  # nothing is known of the windows after it
            partners.looked[j] = 0
            continue
        other = Keyed(times[j], codes[j], links[j])
        x = newest(table, bucket + j, clock.cursor[j])
        compared = _search(
            selection, partners, s, j, z, t, code, other, clock, x, table.scan, compared
        )
        if compared < 0:
            return False
        if partners.found[j] == 0 and not state[EXHAUSTED]:
            break
    state[COMPARED] = compared
    return True


@inlined
def _write_all(
    selection: Selection, partners: Partners, clock: Clock, s: int, own: int, t: int, out: Int64,
    joined: Int64, count: int,
) -> int:  # fmt: skip
    """Write all combinations of what was listed; returns the number of results so far."""
    streams = partners.found.size
    for j in range(streams):
        partners.at[j] = 0
    while True:
        for k in range(streams):
            out[k, count] = own if k == s else partners.numbers[k, partners.at[k]]
        joined[count] = t
        count += 1
        if selection.state[WHOLE]:
            worth = worth_of_combination(selection, partners, s, own - clock.base[s], clock.base)
            note_combination(partners, s, worth)
        if not next_combination(partners, s):
            return count


@kernel
def join_many_selected(
    times: tuple[Int64, ...], codes: tuple[NDArray[np.uint64], ...], links: tuple[Int64, ...],
    clock: Clock, table: Table, selection: Selection, partners: Partners, out: Int64,
    joined: Int64,
) -> tuple[int, int, int]:  # fmt: skip
    """Process tuples of three and more streams in order; see ``equijoin.join_pairs``.

    Returns (results, comparisons, why it returned); a tuple for which there was no room is left for
    the next call, whole.
    """
    count, total = 0, 0
    while True:
        s = next_stream(times, clock)
        if s < 0:
            return count, total, DONE
        own = clock.cursor[s]
        i = own - clock.base[s]
        t, own_links = times[s][i], links[s]
        if own_links[i] != UNKEYED and is_dropped(selection, s, i, own):
            own_links[i] = UNKEYED
        if own_links[i] != UNKEYED:
            if not _search_all(selection, partners, times, codes, links, clock, table, s, own, t):
                return count, total, PARTNERS_FULL
            results = combinations(partners, s)
            if results > joined.size - count:
                return count, total, OUTPUT_FULL
            if results > 0:
                count = _write_all(selection, partners, clock, s, own, t, out, joined, count)
            settle_several(selection, partners, s, i, clock)
            total += selection.state[COMPARED]
            bucket = bucket_of(codes[s][i], table.shift) * len(times)
            insert(own, own_links, i, table, bucket + s)
        clock.cursor[s] = own + 1
