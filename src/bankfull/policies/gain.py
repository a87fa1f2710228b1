"""What a tuple is expected to earn for the room it takes: our own policy, and the default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bankfull.kernels.bounded import hooks
from bankfull.kernels.bounded.keys import bytes_of
from bankfull.kernels.bounded.memory import (
    NONE,
    Memory,
    first_key,
    goes_before,
    key_at,
    listed,
    next_key,
    on_keys,
    pooled,
    sift,
)
from bankfull.kernels.compiler import Float64, Int64, inlined, inner, rule
from bankfull.policies.mixture import (
    CHANCE,
    ESTIMATORS,
    FOUND,
    LIVES,
    TOTALS,
    WORDS,
    find_chance,
    first_shares,
    learn,
    prepare,
)
from bankfull.policies.registry import Policy, Shape, check, register
from bankfull.policies.worth import (
    AGES,
    CLASSES,
    NO_CLASS,
    class_of,
    middle,
    tabulate_ages,
    tabulate_worth,
)

#: Tables are made anew after so many tuples.
_PERIOD = 128
#: Stored tuples whose priority is looked at again for each arrival; most corrections an eviction;
#: how many that share a key are passed on the way to the oldest of them.
_AGAIN, _MOST, _ALONG = 8, 8, 64
#: The note of a tuple: the class of its importance.
_CLASS = 0


class GainState(NamedTuple):
    """What has been learned.

    For every join and stream: ``totals``, decayed counts of arrivals, like those of keys, then all
    arrivals, the time of the last and those learned from; ``shares`` of the estimators;
    ``factors``, what a count of a key is worth. For every stream: ``seen``, the decayed number of
    tuples in each class of importance; ``worth[s, c]``, what a result with stream s is worth to a
    tuple of class c; ``ages[s]``, results and expected results by age, then the index made from
    them. ``period``: tuples since the tables were made, the time that ``factors`` hold for, how
    often they were prepared. ``cursor``: the stream and slot to be looked at next. ``chances``,
    ``fresh`` and ``counts`` are room to work in.
    """

    rate: float
    combine: int
    scale: float
    totals: Float64
    shares: Float64
    factors: Float64
    seen: Float64
    worth: Float64
    ages: Float64
    period: Float64
    cursor: Int64
    chances: Float64
    fresh: Float64
    counts: Float64


@register("gain", "our own")
@dataclass(frozen=True)
class Gain(Policy):
    """Expected importance per unit of time in memory, learned from the streams themselves.

    *How often* a tuple's key will arrive on the other streams is a mixture of 22 estimates:
    counts with seven half-lives, from a 256th of the window to for ever, taken from the stream that
    may bring the partner, from the others, or from all, and one that knows nothing. Their
    proportions follow the arrivals by one step of online expectation-maximisation each, so
    long-lived and short-lived popularity may ride on each other and streams may share it or not.
    *How much* a result is worth is its mean importance over what the other stream brings.
    *When*: results by age, against what was expected, give the best mean return over any further
    stay (as Gittins' index does), in steps of a factor of 1.4, so that streams shifted in time are
    waited for and chance decides nothing.

    Frequency (PROB), locality (GDJ), age (AGE) and importance (SIMP) are special cases. Statistics
    are bounded: keys that nobody stored holds are forgotten, the rarest first. Priorities are
    corrected lazily: when a tuple comes up for eviction, and a few with every arrival, by a
    cursor that visits the stored tuples in turn.

    Reference: none; the mixture follows the notes in the project's own experiment.
    Cost: a bounded number of estimates and heap operations an arrival, whatever the buffer.
    """

    key_stats: ClassVar[int] = WORDS
    rate: float = 0.01

    def __post_init__(self) -> None:
        check("gain", "rate", self.rate, 1e-6, 0.5)

    def start(self, shape: Shape) -> GainState:
        streams = len(shape.spans)
        each = (shape.joins, streams)
        ages = np.zeros((streams, 3, AGES))
        ages[:, 2] = 1.0
        own = [*(middle(known) for known in range(CLASSES)), 1.0]  # until others are known
        return GainState(
            float(self.rate),
            shape.combine,
            shape.scale,
            np.zeros((*each, TOTALS)),
            np.tile(first_shares(), (*each, 1)),
            np.zeros((*each, 3, LIVES)),
            np.zeros((streams, CLASSES + 1)),
            np.tile(own, (streams, 1)),
            ages,
            np.array([0.0, np.inf, 0.0]),
            np.array([0, NONE]),
            np.zeros(ESTIMATORS),
            np.zeros((streams, LIVES)),
            np.zeros((streams, LIVES)),
        )


@inlined
def _now(policy: GainState, memory: Memory, time: int) -> float:
    """Return the time in windows; of count windows, in tuples."""
    if policy.scale < 0.0:
        return memory.now.seq_next / -policy.scale  # type: ignore[no-any-return]
    return time / policy.scale


@inlined
def _intensity(policy: GainState, memory: Memory, slot: int, now: float) -> float:
    """Return the importance that a tuple is expected to earn an arrival, at any age."""
    if policy.period[1] != now:
        prepare(policy, memory, now)
    own = memory.slots[slot].stream
    importance = int(memory.slots[slot].notes[_CLASS])
    total = 0.0
    for join in range(memory.joins.shape[0]):
        for member in range(memory.joins[join].width):
            o = memory.joins[join].members[member]
            if o == own:
                continue
            at = memory.streams.shape[0] + o * WORDS
            promised, place = -1.0, first_key(memory, slot, join)
            while place >= 0:
                key = key_at(memory, join, place)
                if memory.stats[key, at + FOUND] != policy.period[2]:  # once for all with this key
                    find_chance(policy, memory, join, key, o, now)
                promised = pooled(memory, join, own, promised, memory.stats[key, at + CHANCE])
                place = next_key(memory, join, place)
            total += max(promised, 0.0) * policy.worth[o, importance]
    return total


@inlined
def _age(policy: GainState, memory: Memory, slot: int, now: float) -> int:
    born = memory.slots[slot].time / policy.scale if policy.scale > 0.0 else now
    return min(max(int((now - born) * AGES), 0), AGES - 1)


@inlined
def _write(policy: GainState, memory: Memory, slot: int, now: float) -> float:
    """Write a tuple's priority; returns what it is expected to earn an arrival, at any age."""
    expected = _intensity(policy, memory, slot, now)
    index = policy.ages[memory.slots[slot].stream, 2, _age(policy, memory, slot, now)]
    memory.slots[slot].priority = expected * index / bytes_of(memory, slot)
    return expected


@inlined
def _class_in(memory: Memory, stream: int, importance: float) -> int:
    """Return the class of a tuple's importance, if its stream has one."""
    return class_of(importance) if memory.streams[stream].weighed else NO_CLASS


@rule(hooks.arrived, GainState)
def _arrived(
    policy: GainState, memory: Memory, key: int, stream: int, importance: float, t: int
) -> None:
    learn(policy, memory, key, stream, _now(policy, memory, t))
    policy.seen[stream, _class_in(memory, stream, importance)] += 1.0


@rule(hooks.enter, GainState)
def _enter(policy: GainState, memory: Memory, slot: int, time: int) -> None:
    stream, importance = memory.slots[slot].stream, memory.slots[slot].importance
    memory.slots[slot].notes[_CLASS] = _class_in(memory, stream, importance)
    _weigh(policy, memory, slot, _now(policy, memory, time))


@inner
def _weigh(policy: GainState, memory: Memory, slot: int, now: float) -> None:
    """Weigh a newcomer, and the one before it with its key: if one of them goes, the older."""
    _write(policy, memory, slot, now)
    for join in range(memory.joins.shape[0]):
        key = memory.links[slot, join].first
        if key >= 0 and on_keys(memory, join):
            before = listed(memory, key, memory.slots[slot].stream)
            if before >= 0:
                _write(policy, memory, before, now)
                sift(memory, before)


@rule(hooks.matched, GainState)
def _matched(policy: GainState, memory: Memory, slot: int, time: int) -> bool:
    age = _age(policy, memory, slot, _now(policy, memory, time))
    policy.ages[memory.slots[slot].stream, 0, age] += 1.0
    return False


@rule(hooks.left, GainState)
def _left(policy: GainState, memory: Memory, slot: int) -> None:
    if policy.cursor[1] == slot:
        policy.cursor[1] = memory.slots[slot].newer


@rule(hooks.choose, GainState)
def _choose(policy: GainState, memory: Memory, buffer: int, time: int) -> int:
    return _first(policy, memory, buffer, _now(policy, memory, time))


@inner
def _first(policy: GainState, memory: Memory, buffer: int, now: float) -> int:
    """Return the top of the heap once it stays there after a second look.

    After too many looks it is the one that goes first of those seen. The oldest that shares its
    key is looked at too, so that of equals the oldest goes; sets share none.
    """
    heap = memory.heap[buffer]
    chosen = heap[0]
    for _ in range(_MOST):
        first = heap[0]
        _write(policy, memory, first, now)
        sift(memory, first)
        if goes_before(memory, first, chosen):
            chosen = first
        if heap[0] == first:
            break
    first = chosen
    for join in range(memory.joins.shape[0]):
        if on_keys(memory, join) and memory.links[first, join].first >= 0:
            oldest = first
            for _ in range(_ALONG):
                older = memory.links[oldest, join].older
                if older < 0:
                    break
                oldest = older
            _write(policy, memory, oldest, now)
            sift(memory, oldest)
            if goes_before(memory, oldest, chosen):
                chosen = oldest
    return chosen  # type: ignore[no-any-return]


@inlined
def _next(policy: GainState, memory: Memory) -> Any:
    """Return the tuple at the cursor, which goes from old to new, stream by stream."""
    cursor = policy.cursor
    while cursor[1] == NONE:
        cursor[0] = (cursor[0] + 1) % memory.streams.shape[0]
        cursor[1] = memory.streams[cursor[0]].oldest
    slot = cursor[1]
    cursor[1] = memory.slots[slot].newer
    return slot


@rule(hooks.processed, GainState)
def _processed(policy: GainState, memory: Memory, stream: int, time: int) -> None:
    _go_round(policy, memory, _now(policy, memory, time))


@inner
def _go_round(policy: GainState, memory: Memory, now: float) -> None:
    """Look again at a few tuples, and make tables when it is time to."""
    stored = 0
    for buffer in range(memory.buffers.shape[0]):
        stored += memory.buffers[buffer].heaped
    for _ in range(min(stored, _AGAIN)):
        slot = _next(policy, memory)
        age = _age(policy, memory, slot, now)
        policy.ages[memory.slots[slot].stream, 1, age] += _write(policy, memory, slot, now)
        sift(memory, slot)
    policy.period[0] += 1.0
    if policy.period[0] >= _PERIOD:
        policy.period[0] = 0.0
        for s in range(memory.streams.shape[0]):
            tabulate_worth(policy.seen[s], policy.worth[s], policy.combine)
            tabulate_ages(policy.ages[s])
