"""What was not compared, for the ledger, and what recall is estimated from."""

from __future__ import annotations

from collections.abc import Sequence

from bankfull.core.comparing.selector import Selector
from bankfull.core.comparing.work import Float64
from bankfull.core.ledger import Ledger
from bankfull.core.plan import Plan
from bankfull.core.recall.interval import Watched
from bankfull.kernels.probes.selection import LARGEST, MISSED, SKIPPED, UNAFFORDED, VARIANCE


def count_skipped(ledger: Ledger, plan: Plan, selectors: Sequence[Selector]) -> None:
    """Say how many pairs were skipped, by join and by the stream whose window was spared."""
    for selector in selectors:
        pairs = selector.tally.pairs
        counts = ledger.joins[selector.join.name]
        skipped = pairs[:, SKIPPED] + pairs[:, UNAFFORDED]
        counts.skipped = int(skipped.sum())
        names = [plan.streams[k].name for k in selector.join.streams]
        spared = dict.fromkeys(names, 0)
        for side, number in zip(selector.ways.searched, skipped.tolist(), strict=True):
            spared[names[side]] += number
        ledger.skipped_by_stream[selector.join.name] = spared


def watched(selectors: Sequence[Selector], emitted: Float64) -> Watched:
    """Return what recall is estimated from: the tuples compared with their whole window.

    ``emitted`` are the results of all joins, and their worth.
    """
    total = Watched()
    for selector in selectors:
        tally = selector.tally
        skipped = int(tally.pairs[:, SKIPPED : UNAFFORDED + 1].sum())
        some = [tally.missed[kind] for kind in range(2)]
        total += Watched(
            dropped=float(skipped),
            sampled=float(selector.sampled[0] + tally.sampled.sum()),
            missed=float(some[0][MISSED]),
            variance=float(some[0][VARIANCE]),
            largest=float(some[0][LARGEST]) ** 2,
            worth_missed=float(some[1][MISSED]),
            worth_variance=float(some[1][VARIANCE]),
            worth_largest=float(some[1][LARGEST]) ** 2,
        )
    return total + Watched(emitted=float(emitted[0]), worth=float(emitted[1]))
