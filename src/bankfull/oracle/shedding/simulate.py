"""The order of events of the shedding join, one tuple after the other.

The turn of tuple x of stream s at time t:

1. *Expire*: stored tuples that have left their window of every join leave: a span of time, or as
   many rows of their own stream.
2. *Probe*: for every join of s, in query order: x with one stored tuple of every other stream of
   the join, all with x's key (or whose sets agree with x's), each in its own window of that join.
   Newest first; with several
   other streams, the first of them in the join's order varies slowest.
3. *Credit*: for every result, in the order found, the policy sees each stored member, in the
   join's stream order.
   Under a budget of comparisons (``compares``) a join is one of two streams, and x meets those of
   its partners that it is compared with; if there is no time for x at all, its turn ends before 2,
   and it is dropped.
4. *Sample*: x is dropped where its draw with seed + 1 is below ``sample``. Room does not save it.
   So is a tuple that takes more than the whole of its buffer.
5. *Admit*: if x's buffer has room, x is stored. If not, the candidate with the smallest
   (priority, ties, seq) is dropped: any tuple of the buffer, and x itself where the policy
   ``competes``. No candidate at all (no capacity, no competition): x is dropped. In bytes that may
   have to be done several times; x stands where it stood the first time, whoever went since.
6. *Settle*: in bytes a key that came again may take more (``note_sizes``), so that what is stored
   no longer fits: whoever is first goes until it does, buffer by buffer.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bankfull.oracle.shedding.draws import uniform
from bankfull.oracle.shedding.memory import Arrival, JoinSpec, Memory, agree
from bankfull.oracle.shedding.policy import Policy, Standing


@dataclass
class Trace:
    """All that happened.

    ``results``: number of the join, and its members' seqs in the join's stream order, as found.
    ``decisions``: for every drop, the seq of the tuple whose turn it was and that of the tuple
    dropped; the same twice is *shed*, another one *evicted*. Expiry is no decision.
    ``stored``: the seqs that are left in memory, ascending.
    """

    results: list[tuple[int, tuple[int, ...]]] = field(default_factory=list)
    decisions: list[tuple[int, int]] = field(default_factory=list)
    stored: list[int] = field(default_factory=list)


class Compares(Protocol):
    """A budget of comparisons; ``oracle/comparing/slotted.py`` has it."""

    def drops(self, x: Arrival, memory: Memory) -> bool:
        """Begin with a tuple; says whether it is dropped for want of time."""

    def partners(self, number: int, x: Arrival, memory: Memory) -> list[Arrival]:
        """Return the stored tuples that x is compared with and agrees with, newest first."""


def simulate(
    arrivals: Sequence[Arrival],
    joins: Sequence[JoinSpec],
    capacity: Sequence[int] | int,
    policy: Policy,
    *,
    seed: int = 0,
    sample: float = 0.0,
    key_sizes: Sequence[int] | None = None,
    note_sizes: Sequence[int] | None = None,
    places: int | None = None,
    aside: int | None = None,
    compares: Compares | None = None,
) -> Trace:
    """Join within a capacity: a number is one buffer for all, a sequence one a stream.

    It is in tuples, unless ``key_sizes`` says what a key of each join takes in bytes, and
    ``note_sizes`` what it takes more once it came again; then ``places`` says how many tuples the
    budget is thought to hold at most, and ``aside`` how many are kept aside for recall: an eighth
    of a budget in tuples, 256 to 4,096.

    The policy starts afresh and keeps what it noted, for whoever wants to read it afterwards.
    """
    _check(arrivals, joins)
    if places is None:
        places = capacity if isinstance(capacity, int) else sum(capacity)
    if aside is None:
        aside = min(max(places // 8, 256), 4096)
    none = [0] * len(joins)
    sizes = key_sizes or none, note_sizes or none
    memory = Memory(joins, capacity, seed, *sizes, places, aside)
    trace = Trace()
    policy.begin()
    for x in arrivals:
        memory.history.append(x)
        for u in [u for u in memory.stored if memory.expired(u)]:
            _leave(u, memory, policy)
        if compares is not None and compares.drops(x, memory):
            trace.decisions.append((x.seq, x.seq))
            continue
        memory.count(x)
        policy.arrived(x, memory)
        for number, members in _found(x, memory, compares):
            trace.results.append((number, tuple(u.seq for u in members)))
            for u in members:
                if u is not x:
                    policy.matched(u, memory)
        dropped = [x] if uniform(seed + 1, x.seq) < sample else _admit(x, memory, policy)
        trace.decisions += [(x.seq, u.seq) for u in dropped]
        if x not in dropped:
            policy.inserted(x, memory)
            memory.stored.append(x)
        for stream in sorted({u.stream for u in memory.stored}):
            trace.decisions += [(x.seq, u.seq) for u in _settle(x, stream, memory, policy)]
        assert memory.taken(memory.buffer(x)) <= memory.size(x), f"tuple {x.seq} broke the budget"
        policy.settled(x, memory)
    trace.stored = [u.seq for u in memory.stored]
    return trace


def _leave(u: Arrival, memory: Memory, policy: Policy) -> None:
    memory.stored = [other for other in memory.stored if other is not u]
    policy.left(u, memory)


def _found(
    x: Arrival, memory: Memory, compares: Compares | None
) -> list[tuple[int, tuple[Arrival, ...]]]:
    met = _partners if compares is None else compares.partners
    found = []
    for number, join in enumerate(memory.joins):
        if x.stream not in join.streams:
            continue
        partners = met(number, x, memory)
        choices = [
            [x] if stream == x.stream else [u for u in partners if u.stream == stream]
            for stream in join.streams
        ]
        found += [(number, members) for members in itertools.product(*choices)]
    return found


def _partners(number: int, x: Arrival, memory: Memory) -> list[Arrival]:
    """Return the stored tuples of other streams that x meets in a join, newest first."""
    join = memory.joins[number]
    return [
        u
        for u in reversed(memory.stored)
        if u.stream in join.streams and agree(number, join, x, u) and memory.in_window(u, join)
    ]


def _admit(x: Arrival, memory: Memory, policy: Policy) -> list[Arrival]:
    """Make room for a newcomer; returns who was dropped, the newcomer last if it does not stay."""
    if memory.taken([x]) > memory.size(x):
        return [x]
    policy.offered(x, memory)
    dropped: list[Arrival] = []
    own: Standing | None = None
    while not memory.fits(x):
        policy.pressed(x, memory)
        standing = {u.seq: (*policy.priority(u, memory), u.seq) for u in memory.buffer(x)}
        if policy.competes:
            own = own or (*policy.priority(x, memory), x.seq)
            standing[x.seq] = own
        first = min(standing, key=lambda seq: standing[seq], default=x.seq)
        victim = next(u for u in [x, *memory.stored] if u.seq == first)
        dropped.append(victim)
        if victim is x:
            break
        _leave(victim, memory, policy)
    return dropped


def _settle(x: Arrival, stream: int, memory: Memory, policy: Policy) -> list[Arrival]:
    """Have what is stored fit in the buffer of a stream; returns who was dropped."""
    dropped: list[Arrival] = []
    while own := [u for u in memory.stored if u.stream == stream]:
        if memory.taken(memory.buffer(own[0])) <= memory.size(own[0]):
            break
        policy.pressed(own[0], memory)
        buffer = memory.buffer(own[0])
        victim = min(buffer, key=lambda u: (*policy.priority(u, memory), u.seq))
        dropped.append(victim)
        _leave(victim, memory, policy)
    return dropped


def _check(arrivals: Sequence[Arrival], joins: Sequence[JoinSpec]) -> None:
    assert [x.seq for x in arrivals] == list(range(len(arrivals))), "seq must count from 0"
    places = [(x.time, x.stream) for x in arrivals]
    assert places == sorted(places), "arrivals must come in canonical order"
    for x in arrivals:
        assert len(x.keys) == len(joins), f"one key a join, please: {x}"
        assert any(x.stream in join.streams for join in joins), f"a stream without a join: {x}"
