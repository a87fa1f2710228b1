"""What a plan of comparisons is made from: what was counted becomes what is known.

Plans are made for every basic window of time, so these few hundred numbers are added up by compiled
loops. Every path that plans uses them, and so plans the same to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

from bankfull.kernels.compiler import Float64, Int64, inlined, kernel
from bankfull.kernels.probes.selection import FOUND, PAIRS, STEPS, Tally

#: What the arrivals of the basic window before count against those of all earlier ones.
_LAST = 0.7
#: More basic windows without a tuple than this leave nothing of what was seen before.
_LONG = 64
#: So many pairs' worth of the mean cost counts as seen in every basic window.
_FEW = 16.0


class Known(NamedTuple):
    """What one join has learned, by window searched j, class z and basic window a.

    Of three and more streams j is a direction (``several.py``), and ``back[j]`` the one the other
    way round, in which tuples arrive that come into the window.

    ``arrivals[j, z]`` in a basic window of time, smoothed; ``learned[j, z, a]`` what the sample saw
    and ``tried[j, z, a]`` what others found, in fading sums; ``meant[j, z, a]`` the tuples that the
    present choice means. ``before[j, z, a]`` pairs of ``counted[j, z]`` tuples were compared under
    earlier plans of the same basic window. Of the tuples that a basic window has when a plan is
    made the share ``lasting[j, a]`` is there on average while it holds.
    """

    arrivals: Float64
    learned: Float64
    tried: Float64
    meant: Float64
    before: Float64
    counted: Int64
    lasting: Float64
    back: Int64


@inlined
def half_full(known: Known, j: int) -> float:
    """Return how many tuples the current basic window of stream j has on average."""
    total = 0.0
    for z in range(known.arrivals.shape[1]):
        total += known.arrivals[known.back[j], z]
    return total / 2.0


@inlined
def _fresh_results(tally: Tally) -> float:
    """Return the results since the last plan: of the sample, and of others if these are noted."""
    results = 0.0
    for j in range(tally.seen.shape[0]):
        for z in range(tally.seen.shape[1]):
            for a in range(tally.seen.shape[2]):
                results += tally.seen[j, z, a, FOUND] + tally.tried[j, z, a, 0]
    return results


@inlined
def take_over(tally: Tally, known: Known, newest: Float64, kept: float, fade: float, least: float,
              elapsed: int) -> None:  # fmt: skip
    """Add what was counted since the last plan, so many basic windows ago, and count anew.

    ``newest[j, z]`` is the part of the current basic window that was compared. A share ``kept`` of
    the tuples was not dropped: how many would have come, and been there, without that?

    What was known fades with time, down to ``fade`` of it in a basic window. Where ``least`` is not
    0, no more fades than new results replace, so that sums are of about that many at the least.
    """
    passed = min(elapsed, _LONG)
    quiet = (1.0 - _LAST) ** (passed - 1)
    keeps, faded = fade, fade ** (passed - 1)
    if least > 0.0:
        faded, replaced = 1.0, _fresh_results(tally) / least
        if replaced < 1.0 - fade:
            keeps = 1.0 - replaced
    last = _LAST if known.arrivals.sum() > 0.0 else 1.0
    ways, kinds, windows = known.learned.shape[:3]
    for j in range(ways):
        for z in range(kinds):
            before = known.arrivals[j, z]
            known.arrivals[j, z] = (
                (1.0 - last) * before + last * tally.arrived[j, z] / kept
            ) * quiet
    for j in range(ways):
        half = half_full(known, j)
        for z in range(kinds):
            half += known.counted[known.back[j], z] / 2.0  # they were there from the start
        for z in range(kinds):
            others = tally.arrived[j, z] - tally.sampled[j, z] - known.counted[j, z]
            known.meant[j, z, 0] = newest[j, z] * half
            for a in range(windows):
                seen, sums, tried = (
                    tally.seen[j, z, a],
                    known.learned[j, z, a],
                    known.tried[j, z, a],
                )
                seen[PAIRS] *= kept
                for what in range(seen.size):
                    sums[what] = (sums[what] * keeps + seen[what]) * faded
                    seen[what] = 0.0
                pairs = known.before[j, z, a] + others * known.meant[j, z, a]
                known.before[j, z, a] = 0.0
                tried[0] = (tried[0] * keeps + pairs) * faded
                for what in range(2):
                    found = tally.tried[j, z, a, what]
                    tried[1 + what] = (tried[1 + what] * keeps + found) * faded
                    tally.tried[j, z, a, what] = 0.0
            tally.arrived[j, z] = 0
            tally.sampled[j, z] = 0
    for j in range(ways):
        for z in range(kinds):
            known.counted[j, z] = 0


@inlined
def all_work(tuples: Float64, arrivals: Float64, seen: Float64, scanned: bool) -> float:
    """Return the comparisons that comparing everything takes until the next plan."""
    demand = 0.0
    kinds, windows = arrivals.shape[1], tuples.shape[1]
    for j in range(arrivals.shape[0]):
        coming, each = 0.0, 0.0
        for z in range(kinds):
            coming += arrivals[j, z]
        if scanned:
            for a in range(windows):
                each += tuples[j, a]
        else:
            looked_at, steps = 0.0, 0.0
            for z in range(kinds):
                for a in range(windows):
                    looked_at += seen[j, z, a, PAIRS]
                    steps += seen[j, z, a, STEPS]
            mean = steps / max(looked_at, 1.0)
            for a in range(windows):
                looked_at, steps = 0.0, 0.0
                for z in range(kinds):
                    looked_at += seen[j, z, a, PAIRS]
                    steps += seen[j, z, a, STEPS]
                each += tuples[j, a] * (steps + _FEW * mean) / (looked_at + _FEW)
        demand += coming * each
    return demand


@kernel
def learn(
    tally: Tally, known: Known, newest: Float64, kept: float, fade: float, least: float,
    elapsed: int,
) -> int:  # fmt: skip
    """Take over what was counted; returns how many tuples of the sample there were."""
    sampled = int(tally.sampled.sum())
    take_over(tally, known, newest, kept, fade, least, elapsed)
    return sampled


@kernel
def demand(tuples: Float64, arrivals: Float64, seen: Float64, scanned: bool) -> float:
    """Return the comparisons that comparing everything takes until the next plan."""
    return all_work(tuples, arrivals, seen, scanned)
