"""Our own: units of work compete for comparisons by what they are learned to return.

A unit is a class of arriving tuples (by the size of their set, by importance), a stream whose
window is searched, and a basic window of it; the units of all joins compete. A unit returns what
its window and its class have returned apart from each other, as there are too many units to learn
each alone: worth a pair of the basic window, times how much better or worse than others the class
did. Both are drawn towards the mean by as much as they are uncertain: a basic window with few
results towards its neighbours, a class with few towards all classes, or, if classes are told apart
by size and by importance, towards what its size and its importance return apart from each other.
Where results are few it also remembers longer than a period: what was learned fades no faster than
new results replace it.

So nothing has to be switched: where both directions pay, both are compared; where one does, it
gets the comparisons; where the newest tuples pay most, they come first. Sets that are too small to
have a partner soon take no comparisons at all.

Where a hash chain must be followed through newer tuples to reach older ones, the basic windows of a
window form blocks that are worth more together than their first part alone. Of three and more
streams a result needs a partner in every window, so these fill together (``combined.py``).
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.adapt.blocks import blocks
from bankfull.adapt.combined import Combined, combined
from bankfull.core.comparing.classes import VALUES
from bankfull.core.comparing.work import Float64, Work
from bankfull.kernels.probes.selection import FOUND, PAIRS, STEPS, WORTH

#: Results (in worth of a mean one) at which a basic window's own count and its neighbours' weigh
#: the same, and at which a class's own and that of all do.
_FEW = 8.0
#: Results that are remembered at the least, for every basic window of either window.
_REMEMBERED = 32.0

#: Arrivals and tuples where none are expected.
_HARDLY = 1e-9
#: Units with fewer comparisons have no price: rounding may decide whether they are taken.
_NOTHING = 1e-6


class Units(NamedTuple):
    """Units of one join, ``[j, z, a]``: comparisons that they take, worth of their results."""

    volume: Float64
    value: Float64


def units(work: Work) -> Units:
    """Return what comparing every unit takes and is expected to return."""
    seen, pairs = work.seen, work.seen[..., PAIRS]
    others = np.zeros_like(work.tried) if work.in_chains else work.tried
    worth = _by_place_and_class(
        pairs + others[..., 0], seen[..., WORTH] + others[..., 2], seen[..., FOUND] + others[..., 1]
    )
    steps = np.ones_like(pairs)
    if not work.scanned:
        steps = _by_place_and_class(pairs, seen[..., STEPS], seen[..., STEPS])
    # Of units that promise the same the newer come first: nothing is known of them at the start.
    windows = pairs.shape[2]
    worth = worth + (worth.max(initial=0.0) or 1.0) * 1e-9 * np.arange(windows, 0, -1)
    # Who is not expected may come all the same: it is worth what it is worth, at no volume.
    arrivals, tuples = np.maximum(work.arrivals, _HARDLY), np.maximum(work.tuples, _HARDLY)
    number = arrivals[:, :, None] * tuples[:, None, :]
    return Units(number * steps, number * worth)


def _by_place_and_class(pairs: Float64, amount: Float64, number: Float64) -> Float64:
    """Return an amount a pair of every unit: by its basic window, times that of its class.

    ``number`` is how many results it is of, which says how certain it is.
    """
    at, of = pairs.sum(axis=1), amount.sum(axis=1)
    seen = at.sum(axis=1, keepdims=True)
    found, total = number.sum(axis=(1, 2))[:, None], of.sum(axis=1, keepdims=True)
    mean = total / np.maximum(seen, 1e-300)
    few = np.where(found > 0.0, _FEW * seen / np.maximum(found, 1e-300), 1.0)
    near_at, near = _with_neighbours(at), _with_neighbours(of)
    smooth = (near + few * mean) / (near_at + few)
    place = (of + few * smooth) / (at + few)
    expected = (pairs * place[:, None, :]).sum(axis=2)
    prior = np.where(total > 0.0, _FEW * total / np.maximum(found, 1e-300), 1.0)
    of_class = _of_class(amount.sum(axis=2), expected, prior)
    product: Float64 = place[:, None, :] * of_class[:, :, None]
    return product


def _of_class(amount: Float64, expected: Float64, prior: Float64) -> Float64:
    """Return how much more than expected every class returns, drawn to 1 by a prior amount.

    Classes by size and importance are drawn to what sets of their size return, times what tuples of
    their importance do beyond that: there are many, and few results of each.
    """
    streams, kinds = amount.shape
    if kinds % VALUES or kinds == VALUES:
        better: Float64 = (amount + prior) / (expected + prior)
        return better
    shape, prior = (streams, -1, VALUES), prior[:, :, None]
    amount, expected = amount.reshape(shape), expected.reshape(shape)
    alike = np.ones_like(amount)
    for across in (2, 1):
        own = (expected * alike).sum(axis=across, keepdims=True)
        alike = alike * (amount.sum(axis=across, keepdims=True) + prior) / (own + prior)
    better = alike * (amount + prior) / (expected * alike + prior)
    return better.reshape(streams, kinds)


def _with_neighbours(values: Float64) -> Float64:
    """Return the sums of every basic window and half of those beside it."""
    sums = values.copy()
    sums[:, 1:] += 0.5 * values[:, :-1]
    sums[:, :-1] += 0.5 * values[:, 1:]
    return sums


def packed(volumes: Float64, values: Float64, budget: float) -> Float64:
    """Return how much of every unit fits, those with the most value a volume first.

    >>> packed(np.array([2.0, 1.0, 4.0]), np.array([2.0, 3.0, 1.0]), 5.0).tolist()
    [1.0, 1.0, 0.5]
    """
    ratio = np.where(volumes > 0.0, values / np.maximum(volumes, 1e-300), np.inf)
    order = np.argsort(-_rounded(ratio), kind="stable")
    sizes = volumes[order]
    before = np.cumsum(sizes) - sizes
    taken = np.empty(len(volumes))
    room = np.maximum(sizes, 1e-300)
    taken[order] = np.where(sizes > 0.0, np.clip((budget - before) / room, 0.0, 1.0), 1.0)
    return taken


def worth_it(
    taken: Float64, volumes: Float64, values: Float64, least: float
) -> tuple[Float64, float]:
    """Return what is taken of units that return at least so much, and the price of a comparison.

    The price is what the best unit returns that is not taken whole, of those with tuples to come.

    >>> taken = packed(np.array([2.0, 1.0, 4.0]), np.array([2.0, 3.0, 1.0]), 5.0)
    >>> worth_it(taken, np.array([2.0, 1.0, 4.0]), np.array([2.0, 3.0, 1.0]), 0.5)
    (array([1., 1., 0.]), 0.25)
    """
    ratio = _rounded(values / np.maximum(volumes, 1e-300))
    left_out = (volumes > _NOTHING) & (np.round(taken, 6) < 1.0)
    price = float(ratio[left_out].max(initial=0.0))
    return np.where(ratio < least, 0.0, taken), price


def _rounded(ratio: Float64) -> Float64:
    """Return ratios to twelve digits: sums that differ by their rounding alone are equal."""
    mantissa, exponent = np.frexp(ratio)
    rounded: Float64 = np.ldexp(np.round(mantissa, 12), exponent)
    return rounded


class Auto:
    """All units of all joins in one order."""

    by_size: ClassVar[bool] = True
    by_importance: ClassVar[bool] = True
    drops: ClassVar[bool] = False
    foresees: ClassVar[bool] = True
    remembers: ClassVar[float] = _REMEMBERED

    def choose(self, works: list[Work], budget: float) -> list[Float64]:
        """Return the share that is compared of every basic window, for each join."""
        return self.choose_above(works, budget, 0.0)[0]

    def choose_above(
        self, works: list[Work], budget: float, least: float
    ) -> tuple[list[Float64], float]:
        """Choose what returns at least so much a comparison; returns the price of one as well."""
        made = [units(work) for work in works]
        rows: list[tuple[int, tuple[int, ...], NDArray[np.int64]]] = []
        volumes: list[Float64] = []
        values: list[Float64] = []
        several: list[tuple[int, int, Combined]] = []
        for number, (work, own) in enumerate(zip(works, made, strict=True)):
            if work.streams > 2:
                several += _together(number, work, own)
                continue
            if not work.in_chains:
                volumes.append(own.volume.ravel())
                values.append(own.value.ravel())
                rows.append((number, (), np.arange(own.volume.size)))
                continue
            for j, z in np.ndindex(own.volume.shape[:2]):
                begins = blocks(own.volume[j, z], own.value[j, z])
                volumes.append(np.add.reduceat(own.volume[j, z], begins))
                values.append(np.add.reduceat(own.value[j, z], begins))
                rows.append((number, (j, z), begins))
        volumes += [together.volumes for _, _, together in several]
        values += [together.values for _, _, together in several]
        volume, value = np.concatenate(volumes), np.concatenate(values)
        taken, price = worth_it(packed(volume, value, budget), volume, value, least)
        chosen = [np.zeros(own.volume.shape) for own in made]
        start = 0
        for number, where, begins in rows:
            part = taken[start : start + len(begins)]
            start += len(begins)
            if where:
                _fill_blocks(made[number].volume[where], begins, part, chosen[number][where])
            else:
                chosen[number][...] = part.reshape(chosen[number].shape)
        for number, z, together in several:
            part = taken[start : start + len(together.volumes)]
            start += len(part)
            together.fill(part, made[number].volume[:, z], chosen[number][:, z])
        return [np.round(choice, 12) for choice in chosen], price


def _together(number: int, work: Work, own: Units) -> list[tuple[int, int, Combined]]:
    """Return the units of a join of several streams, by arriving stream and class."""
    return [
        (number, z, combined(own.volume, own.value, work.of_stream(s), z, work.in_chains))
        for s, z in np.ndindex(work.streams, own.volume.shape[1])
    ]


def _fill_blocks(volume: Float64, begins: NDArray[np.int64], taken: Float64, into: Float64) -> None:
    """Write the shares of a row of units from the parts taken of its blocks, newest first."""
    ends = [*begins[1:].tolist(), len(volume)]
    for begin, end, part in zip(begins.tolist(), ends, taken.tolist(), strict=True):
        sizes = volume[begin:end]
        before = np.cumsum(sizes) - sizes
        room = np.maximum(sizes, 1e-300)
        into[begin:end] = np.clip((part * sizes.sum() - before) / room, 0.0, 1.0)
        if part >= 1.0:
            into[begin:end] = 1.0
