"""The order of events of the shedding join, one tuple after the other.

The turn of tuple x of stream s at time t:

1. *Expire*: stored tuples u with t - u.time > (largest window of u's stream in any join) leave.
2. *Probe*: for every join of s, in query order: x with one stored tuple of every other stream of
   the join, all with x's key (or whose sets agree with x's), each in its own window of that join.
   Newest first; with several
   other streams, the first of them in the join's order varies slowest.
3. *Credit*: for every result, in the order found, the policy sees each stored member, in the
   join's stream order.
4. *Sample*: x is dropped where its draw with seed + 1 is below ``sample``. Room does not save it.
5. *Admit*: if x's buffer has room, x is stored. If not, the candidate with the smallest
   (priority, ties, seq) is dropped: any tuple of the buffer, and x itself where the policy
   ``competes``. No candidate at all (no capacity, no competition): x is dropped.

Windows are time windows, budgets are tuples: rows and bytes have no twin.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from bankfull.oracle.shedding.draws import uniform
from bankfull.oracle.shedding.memory import Arrival, JoinSpec, Memory, agree
from bankfull.oracle.shedding.policy import Policy


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


def simulate(
    arrivals: Sequence[Arrival],
    joins: Sequence[JoinSpec],
    capacity: Sequence[int] | int,
    policy: Policy,
    *,
    seed: int = 0,
    sample: float = 0.0,
) -> Trace:
    """Join within a capacity: a number is one buffer for all, a sequence one a stream.

    The policy starts afresh and keeps what it noted, for whoever wants to read it afterwards.
    """
    _check(arrivals, joins)
    memory, trace = Memory(joins, capacity, seed), Trace()
    policy.begin()
    for x in arrivals:
        memory.history.append(x)
        for u in [u for u in memory.stored if memory.age(u) > memory.span(u)]:
            _leave(u, memory, policy)
        policy.arrived(x, memory)
        for number, members in _found(x, memory):
            trace.results.append((number, tuple(u.seq for u in members)))
            for u in members:
                if u is not x:
                    policy.matched(u, memory)
        sampled = uniform(seed + 1, x.seq) < sample
        victim = x if sampled else _victim(x, memory, policy)
        if victim is not None:
            trace.decisions.append((x.seq, victim.seq))
        if victim is not x:
            if victim is not None:
                _leave(victim, memory, policy)
            policy.inserted(x, memory)
            memory.stored.append(x)
        assert memory.room(x) >= 0, f"tuple {x.seq} broke the budget"
        policy.settled(x, memory)
    trace.stored = [u.seq for u in memory.stored]
    return trace


def _leave(u: Arrival, memory: Memory, policy: Policy) -> None:
    memory.stored = [other for other in memory.stored if other is not u]
    policy.left(u, memory)


def _found(x: Arrival, memory: Memory) -> list[tuple[int, tuple[Arrival, ...]]]:
    found = []
    for number, join in enumerate(memory.joins):
        if x.stream not in join.streams:
            continue
        choices = [
            [x] if stream == x.stream else _partners(number, stream, x, memory)
            for stream in join.streams
        ]
        found += [(number, members) for members in itertools.product(*choices)]
    return found


def _partners(number: int, stream: int, x: Arrival, memory: Memory) -> list[Arrival]:
    """Return the stored tuples of another stream that x meets in a join, newest first."""
    join = memory.joins[number]
    return [
        u
        for u in reversed(memory.stored)
        if u.stream == stream and agree(number, join, x, u) and memory.age(u) <= join.span(stream)
    ]


def _victim(x: Arrival, memory: Memory, policy: Policy) -> Arrival | None:
    policy.offered(x, memory)
    if memory.room(x) > 0:
        return None
    candidates = memory.buffer(x) + ([x] if policy.competes else [])
    return min(candidates, key=lambda u: (*policy.priority(u, memory), u.seq), default=x)


def _check(arrivals: Sequence[Arrival], joins: Sequence[JoinSpec]) -> None:
    assert [x.seq for x in arrivals] == list(range(len(arrivals))), "seq must count from 0"
    places = [(x.time, x.stream) for x in arrivals]
    assert places == sorted(places), "arrivals must come in canonical order"
    for x in arrivals:
        assert len(x.keys) == len(joins), f"one key a join, please: {x}"
        assert any(x.stream in join.streams for join in joins), f"a stream without a join: {x}"
