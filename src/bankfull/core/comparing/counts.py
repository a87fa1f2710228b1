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
    skipped = sampled = 0.0
    results, worth = [0.0] * 3, [0.0] * 3
    for selector in selectors:
        tally = selector.tally
        skipped += int(tally.pairs[:, SKIPPED : UNAFFORDED + 1].sum())
        sampled += float(selector.sampled[0] + tally.sampled.sum())
        for total, own in zip((results, worth), tally.missed.tolist(), strict=True):
            total[MISSED] += own[MISSED]
            total[VARIANCE] += own[VARIANCE]
            total[LARGEST] += own[LARGEST] ** 2
    return Watched(
        dropped=skipped,
        sampled=sampled,
        emitted=float(emitted[0]),
        missed=results[MISSED],
        variance=results[VARIANCE],
        largest=results[LARGEST],
        worth=float(emitted[1]),
        worth_missed=worth[MISSED],
        worth_variance=worth[VARIANCE],
        worth_largest=worth[LARGEST],
    )
