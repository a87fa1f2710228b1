"""What a search of everything would have counted for a Selection, taken from its results.

Where a plan leaves nothing out and no budget can end, the loop without a Selection finds the same
results in half the time. What plans learn from is counted here afterwards, to the last bit as the
search with a Selection counts it: how many tuples came, and what those of the sample saw.
"""

from __future__ import annotations

from typing import Any

from bankfull.kernels.compiler import Int64, inlined, kernel
from bankfull.kernels.exact.chains import UNKEYED, Keyed
from bankfull.kernels.exact.merge import Clock
from bankfull.kernels.hashing import draw
from bankfull.kernels.importance import worth_of_pair
from bankfull.kernels.probes.selection import (
    FOUND,
    PAIRS,
    STEPS,
    WORTH,
    Selection,
    basic_window,
    forget,
    pay,
)


def takes_all(selection: Selection) -> bool:
    """Tell whether a plan leaves nothing out: no tuple is dropped, none is passed over."""
    return bool(
        selection.kept[0] >= 1.0
        and (selection.open >= 1.0).all()
        and (selection.cuts == selection.edges[:, None, :]).all()
    )


@inlined
def is_sampled(selection: Selection, s: int, z: int, number: int) -> bool:
    """Tell whether a tuple of class z of stream s is one of which all is counted."""
    return bool(draw(selection.seed + s, number) < selection.whole[1 - s, z])


@inlined
def place_of(times: Int64, t: int, after_equal: bool) -> int:
    """Return how many of these times come before ``t``, or do not come after it."""
    low, high = 0, times.size
    while low < high:
        middle = (low + high) >> 1
        if times[middle] < t or (after_equal and times[middle] == t):
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def place_from(times: Int64, start: int, t: int, after_equal: bool) -> int:
    """Return the same, if it is no less than ``start``: in steps that grow, then exactly."""
    step = 8
    while start + step < times.size and (
        times[start + step] < t or (after_equal and times[start + step] == t)
    ):
        start += step
        step *= 2
    return start + place_of(times[start : min(times.size, start + step)], t, after_equal)


@inlined
def count_pairs(
    selection: Selection, s: int, z: int, t: int, times: Int64, start: int, clock: Clock,
    end: int, low: int,
) -> tuple[int, int]:  # fmt: skip
    """Count the pairs that a tuple of the sample looks at, of stored tuples from ``start`` on.

    ``end`` and ``low`` are where the tuple of the sample before found the first that comes after
    it, and the first that it reached; returns the same of this one, which are not far from there.
    """
    j = 1 - s
    end = place_from(times, end, t, clock.rank[j] < clock.rank[s])
    low = place_from(times, low, t - clock.span[j], False)
    for a in range(selection.edges.shape[1]):
        first, last = basic_window(selection, j, a, start + end)
        first = max(first, start + low)
        if first < last:
            selection.tally.seen[j, z, a, PAIRS] += last - first
    return end, low


@inlined
def first_stored(selection: Selection, j: int, clock: Clock, before: Int64) -> Any:
    """Return the first tuple of stream j that may be reached; those before it may be gone."""
    return min(max(selection.edges[j, -1], clock.base[j]), before[j])


@kernel
def count_arrivals(
    selection: Selection, left: Keyed, right: Keyed, clock: Clock, before: Int64
) -> None:
    """Count the tuples from ``before`` to the cursors, and the pairs that the sample looks at."""
    for s in range(2):
        j = 1 - s
        own, other = (left, right) if s == 0 else (right, left)
        base, other_base = clock.base[s], clock.base[j]
        start = first_stored(selection, j, clock, before)
        times = other.times[start - other_base : clock.end[j] - other_base]
        end, low = 0, 0
        for q in range(before[s], clock.cursor[s]):
            i = q - base
            if own.links[i] == UNKEYED:
                continue
            z = selection.classes[s][i]
            selection.tally.arrived[j, z] += 1
            if is_sampled(selection, s, z, q):
                selection.tally.sampled[j, z] += 1
                t = own.times[i]
                end, low = count_pairs(selection, s, z, t, times, start, clock, end, low)


@inlined
def _add(selection: Selection, j: int, z: int) -> None:
    """Add what was noted of a tuple of the sample, as ``selection.settle`` does."""
    for a in range(selection.now.shape[1] - 1):
        for what in (STEPS, FOUND, WORTH):
            selection.tally.seen[j, z, a, what] += selection.now[what, a]


@kernel
def count_results(
    selection: Selection, left: Keyed, right: Keyed, clock: Clock, before: Int64, out: Int64,
    count: int,
) -> None:  # fmt: skip
    """Count the first ``count`` results of the sample; those of a tuple stand together."""
    of_sample = 0
    base_left, base_right = clock.base[0], clock.base[1]
    left_first = clock.rank[0] < clock.rank[1]
    noted, s, z = -1, 0, 0
    for k in range(count):
        x, y = out[0, k], out[1, k]
        # The one that came last has searched for the other.
        if x < before[0]:
            side = 1
        elif y < before[1]:
            side = 0
        else:
            ahead = right.times[y - base_right] - left.times[x - base_left]
            side = 1 if ahead > 0 or (ahead == 0 and left_first) else 0
        number = x if side == 0 else y
        if number != noted or side != s:
            if noted >= 0:
                _add(selection, 1 - s, z)
                noted = -1
            own_class = selection.classes[side][number - (base_left if side == 0 else base_right)]
            if not is_sampled(selection, side, own_class, number):
                continue
            noted, s, z = number, side, own_class
            forget(selection)
        t, u = left.times[x - base_left], right.times[y - base_right]
        a = abs(t // selection.basic - u // selection.basic)
        if selection.whole[1 - s, z] < 1.0:
            of_sample += 1
        selection.now[STEPS, a] += 1.0
        selection.now[FOUND, a] += 1.0
        selection.now[WORTH, a] += worth_of_pair(
            selection.combine, selection.worth[0][x - base_left], selection.weighed[0],
            selection.worth[1][y - base_right], selection.weighed[1],
        )  # fmt: skip
    if noted >= 0:
        _add(selection, 1 - s, z)
    pay(selection, True, of_sample)
    pay(selection, False, count - of_sample)
