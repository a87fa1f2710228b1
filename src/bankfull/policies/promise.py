"""What a tuple's keys promise it: stored or of the sample kept aside, a key or a set of items.

Of a set its items do not say everything: an alert that two networks see agrees with itself, however
rare its items are. So a set has two chances: what its items promise, as if they came independently,
and another that is the same for all sets of its stream, the *unexplained* one. It is what sets of
the sample that have had no partner find beyond what their items promise (``settle_unexplained``).

``policy`` is the state of ``gain``, whose words are used here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bankfull.kernels.bounded import withsets
from bankfull.kernels.bounded.keys import find_key
from bankfull.kernels.bounded.memory import (
    NONE,
    Memory,
    first_key,
    key_at,
    matching,
    next_key,
    no_item,
    on_keys,
    one_item,
    pooled,
)
from bankfull.kernels.compiler import hook, inlined, inner, rule
from bankfull.kernels.recall.feed import PARTNERS
from bankfull.kernels.recall.sample import Watch, in_list
from bankfull.policies.mixture import chance_of

#: Of a stream: the unexplained chance of its sets; arrivals that those of them without a partner in
#: the sample have seen, and what was expected of them by their items; what was expected by their
#: items of tuples that have had more than one partner.
CHANCE, _SEEN, _FEW, _MANY = range(4)
UNEXPLAINED = 4
#: What is beyond so many times of what items promise is unexplained: less may be chance.
_BEYOND = 2.0


class Stored(NamedTuple):
    """A stored tuple."""

    slot: int


class Aside(NamedTuple):
    """A tuple of the sample; ``items`` are the numbers that items have (``intern.py``), or None."""

    watch: Watch
    items: Any
    kept: int


@hook
def first_of(tuple: Any, memory: Memory, join: int) -> Any:
    """Return where a tuple's keys in a join begin, or NONE."""
    return NONE


@hook
def next_of(tuple: Any, memory: Memory, join: int, place: int) -> Any:
    """Return where a tuple's next key is, or NONE."""
    return NONE


@hook
def key_of(tuple: Any, memory: Memory, join: int, place: int) -> Any:
    """Return the number of the key at a place, or NONE if nobody remembers it."""
    return NONE


@rule(first_of, Stored)
def _first_stored(tuple: Stored, memory: Memory, join: int) -> Any:
    return first_key(memory, tuple.slot, join)


@rule(next_of, Stored)
def _next_stored(tuple: Stored, memory: Memory, join: int, place: int) -> Any:
    return next_key(memory, join, place)


@rule(key_of, Stored)
def _key_stored(tuple: Stored, memory: Memory, join: int, place: int) -> Any:
    return key_at(memory, join, place)


@rule(first_of, Aside)
def _first_aside(tuple: Aside, memory: Memory, join: int) -> Any:
    if on_keys(memory, join):
        return tuple.kept if in_list(tuple.watch, tuple.kept, join) else NONE
    return withsets.first_kept(tuple.watch.sets, tuple.kept, join)


@rule(next_of, Aside)
def _next_aside(tuple: Aside, memory: Memory, join: int, place: int) -> Any:
    return NONE if on_keys(memory, join) else withsets.next_kept(tuple.watch.sets, place)


@rule(key_of, Aside)
def _key_aside(tuple: Aside, memory: Memory, join: int, place: int) -> Any:
    if on_keys(memory, join):
        return find_key(memory, tuple.watch.codes[place, join], join)
    return withsets.key_kept(tuple.watch.sets, tuple.items, memory, join, place)


@inlined
def promised(
    policy: Any, memory: Memory, tuple: Any, join: int, own: int, o: int, now: float
) -> float:
    """Return the part of the next keys that are expected to be of stream o and meet a tuple.

    Its own stream is ``own``. In a join on sets every item that comes is a key.
    """
    many = policy.period[2] / max(memory.streams[o].arrived, 1)
    together, place = -1.0, first_of(tuple, memory, join)
    no_item(memory, join)
    while place >= 0:
        key = key_of(tuple, memory, join, place)
        chance = policy.factors[join, o, memory.streams.shape[0], 0]
        if key >= 0:
            chance = chance_of(policy, memory, join, key, o, now)
        together = pooled(memory, join, own, together, chance)
        one_item(memory, join, chance * many)
        place = next_of(tuple, memory, join, place)
    return matching(memory, join, max(together, 0.0), many)


@inlined
def has_set(memory: Memory, tuple: Any, join: int) -> float:
    """Return 1 if a tuple has a set in a join, otherwise 0."""
    if on_keys(memory, join):
        return 0.0
    return 1.0 if first_of(tuple, memory, join) >= 0 else 0.0


@inlined
def note_unexplained(policy: Any, s: int, had: int, seen: float, expected: float) -> None:
    """Note of a tuple of the sample what its items promised, and how many arrivals its sets saw."""
    about = policy.unexplained[s]
    if had == 0:
        about[_SEEN] += seen
        about[_FEW] += expected
    if had == PARTNERS - 1:
        about[_MANY] += expected


@inner
def settle_unexplained(policy: Any, memory: Memory, kept: float) -> None:
    """Settle the unexplained chance of every stream; only a part of what was noted is ``kept``.

    By how much items promise too little, or too much, is told by the tuples that have had more than
    one partner: those are hardly met by accident. One meeting is believed to be as promised.
    """
    one = memory.now.seq_next / max(policy.period[2], 1.0)
    found, expected = 1.0, one
    for s in range(policy.unexplained.shape[0]):
        expected += policy.unexplained[s, _MANY]
        for age in range(policy.found.shape[1]):
            found += policy.found[s, age, PARTNERS - 1]
    for s in range(policy.unexplained.shape[0]):
        about, few = policy.unexplained[s], 0.0
        for age in range(policy.found.shape[1]):
            few += policy.found[s, age, 0]
        if about[_SEEN] > 0.0:
            beyond = few * expected / found - _BEYOND * about[_FEW]
            about[CHANCE] = max(beyond, 0.0) / about[_SEEN]
        about[_SEEN] *= kept
        about[_FEW] *= kept
        about[_MANY] *= kept
