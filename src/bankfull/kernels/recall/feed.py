"""What the sample kept aside tells a policy: at which ages its tuples meet partners, which others.

The sample sees every age, whatever the policy drops. A tuple's state is the slice of its age and
how many partners it has had, up to two; every meeting of a tuple of the sample is counted under the
state that the tuple was in. Policies that learn nothing from it pass arrays of no elements.

Cost: a few additions for each meeting of the sample.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.compiler import Float64, Records, inlined
from bankfull.kernels.passing import by_address

#: Slices of the window: eight of a 128th, thirty of a 32nd. From ``FINE`` on they come in pairs,
#: and are believed to be like the pair until there is evidence that they are not.
AGES, FINE = 38, 14
#: Classes of partners had: none, one, more.
PARTNERS = 3
#: How many arrivals ``Feed.had`` remembers: as many as are processed at a time, at most.
RING = 1024


@by_address
class Feed(NamedTuple):
    """Where meetings are counted: ``found[stream, age, partners]``.

    ``parts[stream, age]``: how much of the slice was over at each of them, added up.
    ``crowds[stream]``: meetings, the squares of how many of them each arrival made, the number of
    the last such arrival and how many it has made so far.
    ``had[seq % RING]`` is how many partners a tuple is believed to have had when it came; ``scale``
    is that of a policy's ``Shape``.
    """

    scale: float
    had: NDArray[np.uint8]
    found: Float64
    parts: Float64
    crowds: Float64


def no_feed() -> Feed:
    """Return what is passed for a policy that learns nothing from the sample."""
    found, parts = np.zeros((0, AGES, PARTNERS)), np.zeros((0, AGES))
    return Feed(1.0, np.zeros(0, np.uint8), found, parts, np.zeros((0, 4)))


def widths() -> Float64:
    """Return how long the slices are, in windows."""
    return np.repeat([1 / 128, 1 / 32], [8, 30])


@inlined
def slice_of(age: float) -> int:
    """Return the slice of an age in windows."""
    if age < 0.0625:
        return max(int(age * 128.0), 0)
    return 8 + min(int((age - 0.0625) * 32.0), 29)


@inlined
def slice_and_part(age: float) -> tuple[int, float]:
    """Return the slice of an age in windows, and how much of the slice is over."""
    first, at = 0, max(age, 0.0) * 128.0
    if age >= 0.0625:
        first, at = 8, (age - 0.0625) * 32.0
    whole = min(int(at), 29)
    return first + whole, min(at - whole, 1.0)


@inlined
def count_meeting(feed: Feed, kept: Records, t: int, seq: int) -> None:
    """Count that a tuple of the sample has met a partner: the arrival with number ``seq``."""
    if feed.found.shape[0] > 0:
        age = (t - kept.time) / feed.scale if feed.scale > 0.0 else 0.0
        count_state(feed.found, feed.parts, kept.stream, age, kept.had)
        count_crowd(feed.crowds, kept.stream, seq)
    kept.had += 1


@inlined
def count_state(found: Float64, parts: Float64, stream: int, age: float, had: int) -> None:
    """Count a meeting under the state of a tuple of an age that has had so many partners."""
    at, part = slice_and_part(age)
    found[stream, at, min(had, PARTNERS - 1)] += 1.0
    parts[stream, at] += part


@inlined
def count_crowd(crowds: Float64, stream: int, seq: int) -> None:
    """Count one more meeting of an arrival with a tuple of a stream."""
    many = crowds[stream, 3] + 1.0 if crowds[stream, 2] == seq else 1.0
    crowds[stream, 0] += 1.0
    crowds[stream, 1] += 2.0 * many - 1.0
    crowds[stream, 2], crowds[stream, 3] = seq, many


@inlined
def had_before(feed: Feed, seq: int) -> Any:
    """Return how many partners an arrival is believed to have had when it came."""
    return np.int64(feed.had[seq % RING]) if feed.had.size > 0 else np.int64(0)
