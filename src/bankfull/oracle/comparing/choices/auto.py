"""Units of work of all joins, those with the most expected worth a comparison first.

A unit is a class of tuples against a basic window of a stream. What it is expected to return a pair
is that of its basic window, times how much better its class did than expected of any class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from bankfull.oracle.comparing.classes import SIZES, VALUES
from bankfull.oracle.comparing.work import Cells, Choice, Work, over_classes, over_windows

#: So many results weigh as much as what is assumed without any.
FEW = 8.0
#: Arrivals or tuples where none are expected.
HARDLY = 1e-9
#: Blocks with fewer comparisons have no price.
NOTHING = 1e-6


@dataclass
class Block:
    """Units that are taken together: basic windows ``places`` of one side, for one class.

    Of several streams these are of the sides ``more``, one for each place.
    """

    join: int
    j: int
    z: int
    places: list[int]
    volumes: list[float]
    values: list[float]
    more: tuple[int, ...] = ()

    @cached_property
    def volume(self) -> float:
        return sum(self.volumes)

    @cached_property
    def ratio(self) -> float:
        """The value a comparison."""
        return sum(self.values) / self.volume if self.volume > 0.0 else math.inf


class Auto:
    """Tell classes apart by size and by importance."""

    by_size = True
    by_importance = True
    drops = False
    remembers = 32.0

    def choose(self, works: list[Work], budget: float) -> list[Choice]:
        """Return what each join compares."""
        return self.choose_above(works, budget, 0.0)[0]

    def choose_above(
        self, works: list[Work], budget: float, least: float
    ) -> tuple[list[Choice], float]:
        """Choose; also return the price: what the best block returns that is not taken whole.

        Blocks that return less than the least a comparison are left out.
        """
        ordered, price, left = best_first(works), 0.0, budget
        for block in ordered:
            if block.volume > NOTHING and round(left / block.volume, 6) < 1.0:
                price = max(price, _rounded(block.ratio))
            left -= block.volume
        kept = [block for block in ordered if _rounded(block.ratio) >= least]
        chosen = self.take(kept, works, budget)
        for block in ordered:
            if _rounded(block.ratio) < least:
                self.leave_out(block, chosen)
        return chosen, price

    def leave_out(self, block: Block, chosen: list[Choice]) -> None:
        """Compare nothing of a block."""
        for k, a in enumerate(block.places):
            j = block.more[k] if block.more else block.j
            chosen[block.join][j][block.z][a] = 0.0

    def take(self, ordered: list[Block], works: list[Work], budget: float) -> list[Choice]:
        """Take blocks in this order, the last one in part, its newest tuples."""
        chosen = [work.everything() for work in works]
        for block in ordered:
            if block.more:
                self._take_together(block, chosen, budget)
                budget -= block.volume
                continue
            left = budget
            for a, volume in zip(block.places, block.volumes, strict=True):
                if volume > 0.0:
                    share = round(min(1.0, max(0.0, left / volume)), 12)
                else:
                    share = 1.0 if left > 0.0 or block.volume <= max(budget, 0.0) else 0.0
                chosen[block.join][block.j][block.z][a] = share
                left -= volume
            budget -= block.volume
        return chosen

    def _take_together(self, block: Block, chosen: list[Choice], budget: float) -> None:
        """Take the same part of all sides of a block, of each its first places first."""
        part = 1.0 if block.volume <= 0.0 else min(1.0, max(0.0, budget / block.volume))
        for j in set(block.more):
            own = [k for k, side in enumerate(block.more) if side == j]
            left = part * sum(block.volumes[k] for k in own)
            for k in own:
                share, volume = 1.0 if part >= 1.0 else 0.0, block.volumes[k]
                if part < 1.0 and volume > 0.0:
                    share = round(min(1.0, max(0.0, left / volume)), 12)
                chosen[block.join][j][block.z][block.places[k]] = share
                left -= volume


def best_first(works: list[Work]) -> list[Block]:
    """Return the blocks of all joins by their ratio; equal ones in the order of their places."""
    blocks = [block for k, work in enumerate(works) for block in _blocks(k, work)]
    return sorted(blocks, key=lambda one: -_rounded(one.ratio))


def _rounded(ratio: float) -> float:
    """Return a ratio to twelve digits: two that differ by how sums are rounded are equal."""
    mantissa, exponent = math.frexp(ratio)
    return math.ldexp(round(mantissa, 12), exponent)


def ends_in_a_tie(ordered: list[Block], budget: float) -> bool:
    """Tell whether the last comparisons go to one of several blocks that promise the same."""
    sized = [block for block in ordered if block.volume > 0.0]
    for block in sized:
        if budget < block.volume:
            return sum(math.isclose(one.ratio, block.ratio, rel_tol=1e-12) for one in sized) > 1
        budget -= block.volume
    return False


def _blocks(number: int, work: Work) -> list[Block]:
    """Return a block for every unit, or larger ones where a chain leads from one to the next.

    Where nobody is expected, hardly anybody is, so that even then there is a value a comparison.
    """
    worth, steps = _expected(work)
    blocks = []
    for j in range(len(work.tuples)):
        for z in range(work.kinds):
            row = []
            for a in range(work.windows):
                pairs = max(work.arrivals[j][z], HARDLY) * max(work.tuples[j][a], HARDLY)
                volume, value = pairs * steps[j][z][a], pairs * worth[j][z][a]
                row.append(Block(number, j, z, [a], [volume], [value]))
            blocks += _chained(row) if work.in_chains else row
    return blocks if work.sides == 2 else _together(work, blocks)


def _together(work: Work, blocks: list[Block]) -> list[Block]:
    """Return the blocks of a join of several streams, whose results need a partner in each.

    A tuple finds about the product of what it would find if each window alone were searched in
    part. Windows fill by what raises it most for a comparison, and a block is worth what it grows.
    """
    together: list[Block] = []
    for side in range(work.sides):
        for z in range(work.kinds):
            rows = []
            for j, arriving in enumerate(work.arriving):
                if arriving == side:
                    own = [block for block in blocks if (block.j, block.z) == (j, z)]
                    rows.append(
                        own if work.in_chains else sorted(own, key=lambda b: -_rounded(b.ratio))
                    )
            together += _chained(_in_turn(rows))
    return together


def _in_turn(rows: list[list[Block]]) -> list[Block]:
    """Return blocks of several windows in the order in which they fill, worth what they add."""
    totals = [sum(sum(block.values) for block in row) for row in rows]
    taken = [0] * len(rows)
    ordered: list[Block] = []

    def shares(counts: list[int]) -> list[float]:
        return [
            sum(sum(block.values) for block in row[:count]) / total
            for row, count, total in zip(rows, counts, totals, strict=True)
        ]

    def grown(k: int) -> float:
        """Return by what part of itself the product grows for a comparison with window k."""
        return rows[k][taken[k]].ratio / (shares(taken)[k] * totals[k])

    while any(count < len(row) for count, row in zip(taken, rows, strict=True)):
        nothing = [k for k, count in enumerate(taken) if count == 0]
        more = [k for k, count in enumerate(taken) if count < len(rows[k])]
        k = nothing[0] if nothing else min(more, key=lambda k: (-_rounded(grown(k)), k))
        block = rows[k][taken[k]]
        before = math.prod(shares(taken))
        taken[k] += 1
        value = (math.prod(shares(taken)) - before) * sum(totals) / len(totals)
        # The value of a block is that of all its places; they are not told apart any more.
        values = [max(0.0, value), *[0.0] * (len(block.places) - 1)]
        sides = (block.j,) * len(block.places)
        ordered.append(
            Block(block.join, block.j, block.z, block.places, block.volumes, values, sides)
        )
    return ordered


def _chained(row: list[Block]) -> list[Block]:
    """Join neighbours until the ratio falls from one block to the next, oldest last."""
    for k in range(len(row) - 1):
        before, after = row[k], row[k + 1]
        # The comparison of ratios without a division, as volumes may be zero.
        if sum(after.values) * before.volume >= sum(before.values) * after.volume:
            both = Block(
                before.join,
                before.j,
                before.z,
                before.places + after.places,
                before.volumes + after.volumes,
                before.values + after.values,
                before.more + after.more,
            )
            return _chained([*row[:k], both, *row[k + 2 :]])
    return row


def _expected(work: Work) -> tuple[Choice, Choice]:
    """Return worth and comparisons a pair, ``[j][z][a]``; of equals the newer are worth more.

    Tuples that followed a chain noted nothing, so only those that saw everything count there.
    """
    pairs, found, number = (
        dict(work.seen.pairs),
        dict(work.seen.worth),
        dict(work.seen.found),
    )
    if not work.in_chains:
        tried = work.tried
        for into, more in ((pairs, tried.pairs), (found, tried.worth), (number, tried.found)):
            for cell, amount in more.items():
                into[cell] = into.get(cell, 0.0) + amount
    worth = _by_place_and_class(work, pairs, found, number)
    best = max(one for side in worth for row in side for one in row)
    newer = [(best or 1.0) * 1e-9 * left for left in range(work.windows, 0, -1)]
    worth = [
        [[own + more for own, more in zip(row, newer, strict=True)] for row in side]
        for side in worth
    ]
    if work.scanned:
        return worth, work.everything()
    return worth, _by_place_and_class(work, work.seen.pairs, work.seen.steps, work.seen.steps)


def _by_place_and_class(work: Work, pairs: Cells, amount: Cells, number: Cells) -> Choice:
    """Return the amount a pair of every unit, drawn towards what is known of more pairs.

    ``number`` is of how many results.
    """
    product = []
    for j in range(len(work.tuples)):
        results = sum(over_classes(number, j, work.windows))
        total = sum(over_classes(amount, j, work.windows))
        prior = FEW * total / max(results, 1e-300) if total > 0.0 else 1.0
        place = _by_place(over_classes(pairs, j, work.windows),
                          over_classes(amount, j, work.windows), results)  # fmt: skip
        returned = over_windows(amount, j, work.kinds)
        expected = over_windows(
            {cell: at * place[cell[2]] for cell, at in pairs.items() if cell[0] == j}, j, work.kinds
        )
        better = _by_class(returned, expected, prior)
        product.append([[one * of_class for one in place] for of_class in better])
    return product


def _by_class(returned: list[float], expected: list[float], prior: float) -> list[float]:
    """Return how much better each class did than expected of it.

    One of size and importance is drawn to what its size did, times what its importance did then.
    """
    alike = [1.0] * len(returned)
    if len(returned) == (len(SIZES) + 1) * VALUES:
        sizes = [z // VALUES for z in range(len(returned))]
        for part in (sizes, [z % VALUES for z in range(len(returned))]):
            groups: dict[int, list[int]] = {}
            for z, name in enumerate(part):
                groups.setdefault(name, []).append(z)
            did = {
                name: (sum(returned[z] for z in own) + prior)
                / (sum(expected[z] * alike[z] for z in own) + prior)
                for name, own in groups.items()
            }
            alike = [one * did[name] for name, one in zip(part, alike, strict=True)]
    return [
        one * (own + prior) / (thought * one + prior)
        for own, thought, one in zip(returned, expected, alike, strict=True)
    ]


def _by_place(pairs: list[float], amount: list[float], results: float) -> list[float]:
    """Return the amount a pair of every basic window: drawn to its neighbours, they to the mean."""
    mean = sum(amount) / max(sum(pairs), 1e-300)
    few = FEW * sum(pairs) / results if results > 0.0 else 1.0
    place = []
    for a in range(len(pairs)):
        near_pairs, near = pairs[a], amount[a]
        for beside in (a - 1, a + 1):
            if 0 <= beside < len(pairs):
                near_pairs += 0.5 * pairs[beside]
                near += 0.5 * amount[beside]
        smooth = (near + few * mean) / (near_pairs + few)
        place.append((amount[a] + few * smooth) / (pairs[a] + few))
    return place
