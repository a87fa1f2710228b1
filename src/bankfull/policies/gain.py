"""What a tuple is expected to earn for the room it takes: our own policy, and the default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bankfull.kernels import hooks
from bankfull.kernels.compiler import Float64, Int64, inlined, kernel, rule
from bankfull.kernels.memory import (
    EQUAL,
    HEAPED,
    IMPORTANCE,
    KEYS_USED,
    KIND,
    LINKS,
    MEMBER,
    NEWER,
    NONE,
    NOTE,
    OLDEST,
    PRIORITY,
    SEQ_NEXT,
    SIZE,
    STREAM,
    TIME,
    WIDTH,
    Memory,
    first_key,
    goes_before,
    key_at,
    listed,
    next_key,
    pooled,
    sift,
)
from bankfull.policies.registry import Policy, Shape, check, register
from bankfull.policies.worth import (
    AGES,
    CLASSES,
    class_of,
    middle,
    tabulate_ages,
    tabulate_worth,
)

#: Decayed counts have half-lives of 4, 1, 1/4, 1/16, 1/64 and 1/256 windows; another never decays.
_LIVES = 7
_FADING = _LIVES - 1
#: Behind the decayed counts of a key on a stream: the time of the last change, the part of the
#: next arrivals that it is expected to be, and for which preparation that was found.
_SINCE, _CHANCE, _FOUND = _FADING, _FADING + 1, _FADING + 2
_WORDS = _FADING + 3
#: A key's popularity is read from the stream that may bring a partner, from the others, from all.
_SOURCES = 3
#: All estimators, and one that finds every key as likely as any other.
_ESTIMATORS = _SOURCES * _LIVES + 1
#: Tables are made anew after so many tuples.
_PERIOD = 128
#: Stored tuples whose priority is looked at again for each arrival; most corrections an eviction;
#: how many that share a key are passed on the way to the oldest of them.
_AGAIN, _MOST, _ALONG = 6, 24, 64
#: The note of a tuple: the class of its importance.
_CLASS = NOTE


class GainState(NamedTuple):
    """What has been learned.

    For every join and stream: ``totals``, decayed counts of arrivals, like those of keys, then all
    arrivals and the time of the last; ``shares`` of the estimators; ``factors``, what a count of a
    key is worth. For every stream: ``seen``, the decayed number of tuples
    in each class of importance; ``worth[s, c]``, what a result with stream s is worth to a tuple of
    class c; ``ages[s]``, results and expected results by age, then the index made from them.
    ``period``: tuples since the tables were made, the time that ``factors`` hold for, how often
    they were prepared. ``hand``: the stream and slot to be looked at
    next. ``chances``, ``fresh`` and ``counts`` are room to work in.
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
    hand: Int64
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
    corrected lazily: when a partner arrives, when a tuple comes up for eviction, and a few with
    every arrival, by a hand that goes round.

    Reference: none; the mixture follows the notes in the project's own experiment.
    Cost: a bounded number of estimates and heap operations an arrival, whatever the buffer.
    """

    key_stats: ClassVar[int] = _WORDS
    rate: float = 0.01

    def __post_init__(self) -> None:
        check("gain", "rate", self.rate, 1e-6, 0.5)

    def start(self, shape: Shape) -> GainState:
        streams = len(shape.spans)
        each = (shape.joins, streams)
        ages = np.zeros((streams, 3, AGES))
        ages[:, 2] = 1.0
        own = [middle(importance) for importance in range(CLASSES)]  # until others are known
        return GainState(
            float(self.rate),
            shape.combine,
            shape.scale,
            np.zeros((*each, _LIVES + 1)),
            np.full((*each, _ESTIMATORS), 1.0 / _ESTIMATORS),
            np.zeros((*each, 3, _LIVES)),
            np.zeros((streams, CLASSES)),
            np.tile(own, (streams, 1)),
            ages,
            np.array([0.0, np.inf, 0.0]),
            np.array([0, NONE]),
            np.zeros(_ESTIMATORS),
            np.zeros((streams, _LIVES)),
            np.zeros((streams, _LIVES)),
        )


@inlined
def _now(policy: GainState, memory: Memory, time: int) -> float:
    """Return the time in windows; of count windows, in tuples."""
    if policy.scale < 0.0:
        return memory.now[SEQ_NEXT] / -policy.scale  # type: ignore[no-any-return]
    return time / policy.scale


@inlined
def _faded(counts: Float64, since: float, now: float, out: Float64) -> None:
    """Write what is left of decayed counts: every half-life is a quarter of the one before."""
    left = np.exp2(-0.25 * (now - since))
    for life in range(_FADING):
        out[life] = counts[life] * left
        left *= left
        left *= left


@inlined
def _refresh_totals(policy: GainState, memory: Memory, join: int, now: float) -> None:
    """Write the arrivals of every stream, decayed like the counts of keys, into ``fresh``."""
    for s in range(memory.streams.shape[0]):
        totals = policy.totals[join, s]
        _faded(totals, totals[_SINCE + 1], now, policy.fresh[s])
        policy.fresh[s, _FADING] = totals[_FADING]


@kernel
def _prepare(policy: GainState, memory: Memory, now: float) -> None:
    """Write what a count of a key is worth now for every join, stream and life.

    The mixture is linear in the counts, so the proportions, the totals below the fractions and
    the stream's part of all arrivals go into one factor each: ``factors[join, o, 0]`` for counts
    of stream o itself, ``[.., 1]`` for those of the join's other streams, ``[.., 2, 0]`` for any
    key.
    """
    policy.period[1] = now
    policy.period[2] += 1.0
    fresh = policy.fresh
    everything = 0.0
    for join in range(memory.joins.shape[0]):
        for s in range(memory.streams.shape[0]):
            totals = policy.totals[join, s]
            everything += totals[1] * np.exp2(totals[_SINCE + 1] - now)
    for join in range(memory.joins.shape[0]):
        _refresh_totals(policy, memory, join, now)
        for member in range(memory.joins[join, WIDTH]):
            o = memory.joins[join, MEMBER + member]
            arrivals = fresh[o, 1] / everything if everything > 0.0 else 1.0
            shares, factors = policy.shares[join, o], policy.factors[join, o]
            for life in range(_LIVES):
                own = fresh[o, life]
                others = 0.0
                for another in range(memory.joins[join, WIDTH]):
                    s = memory.joins[join, MEMBER + another]
                    if s != o:
                        others += fresh[s, life]
                both = shares[2 * _LIVES + life] / (own + others) if own + others > 1e-9 else 0.0
                factors[0, life] = both + (shares[life] / own if own > 1e-9 else 0.0)
                factors[1, life] = both + (shares[_LIVES + life] / others if others > 1e-9 else 0.0)
                factors[0, life] *= arrivals
                factors[1, life] *= arrivals
            factors[2, 0] = arrivals * shares[_ESTIMATORS - 1] / (1.0 + memory.now[KEYS_USED])


@inlined
def _weighted(memory: Memory, key: int, s: int, now: float, factors: Float64) -> float:
    """Return the counts of a key on one stream, as they are now, times their factors."""
    about = memory.stats[key]
    at = memory.streams.shape[0] + s * _WORDS
    total = about[s] * factors[_FADING]
    left = np.exp2(-0.25 * (now - about[at + _SINCE]))
    for life in range(_FADING):
        total += about[at + life] * left * factors[life]
        left *= left
        left *= left
    return total  # type: ignore[no-any-return]


@kernel
def _find_chance(
    policy: GainState, memory: Memory, join: int, key: int, o: int, now: float
) -> None:
    """Write the part of the next arrivals that a key on stream ``o`` is expected to be."""
    about, at = memory.stats[key], memory.streams.shape[0] + o * _WORDS
    factors = policy.factors[join, o]
    chance = factors[2, 0]
    for another in range(memory.joins[join, WIDTH]):
        s = memory.joins[join, MEMBER + another]
        chance += _weighted(memory, key, s, now, factors[0 if s == o else 1])
    about[at + _CHANCE], about[at + _FOUND] = chance, policy.period[2]


@inlined
def _intensity(policy: GainState, memory: Memory, slot: int, now: float) -> float:
    """Return the importance that a tuple is expected to earn an arrival, at any age."""
    if policy.period[1] != now:
        _prepare(policy, memory, now)
    own = memory.whole[slot, STREAM]
    importance = int(memory.real[slot, _CLASS])
    total = 0.0
    for join in range(memory.joins.shape[0]):
        for member in range(memory.joins[join, WIDTH]):
            o = memory.joins[join, MEMBER + member]
            if o == own:
                continue
            at = memory.streams.shape[0] + o * _WORDS
            promised, place = -1.0, first_key(memory, slot, join)
            while place >= 0:
                key = key_at(memory, join, place)
                if memory.stats[key, at + _FOUND] != policy.period[2]:  # once for all with this key
                    _find_chance(policy, memory, join, key, o, now)
                promised = pooled(memory, join, own, promised, memory.stats[key, at + _CHANCE])
                place = next_key(memory, join, place)
            total += max(promised, 0.0) * policy.worth[o, importance]
    return total


@inlined
def _age(policy: GainState, memory: Memory, slot: int, now: float) -> int:
    born = memory.whole[slot, TIME] / policy.scale if policy.scale > 0.0 else now
    return min(max(int((now - born) * AGES), 0), AGES - 1)


@kernel
def _write(policy: GainState, memory: Memory, slot: int, now: float) -> float:
    """Write a tuple's priority; returns what it is expected to earn an arrival, at any age."""
    expected = _intensity(policy, memory, slot, now)
    index = policy.ages[memory.whole[slot, STREAM], 2, _age(policy, memory, slot, now)]
    memory.real[slot, PRIORITY] = expected * index / memory.whole[slot, SIZE]
    return expected


@inlined
def _learn_shares(
    policy: GainState, memory: Memory, join: int, key: int, o: int, now: float
) -> None:
    """Let the estimators that saw this arrival coming have more to say."""
    chances, shares, about = policy.chances, policy.shares[join, o], memory.stats[key]
    streams = memory.streams.shape[0]
    _refresh_totals(policy, memory, join, now)
    for s in range(streams):
        at = streams + s * _WORDS
        _faded(about[at : at + _FADING], about[at + _SINCE], now, policy.counts[s])
        policy.counts[s, _FADING] = about[s] - (s == o)  # the arrival itself is no evidence
    for life in range(_LIVES):
        count, total, others, totals = policy.counts[o, life], policy.fresh[o, life], 0.0, 0.0
        for member in range(memory.joins[join, WIDTH]):
            s = memory.joins[join, MEMBER + member]
            if s != o:
                others += policy.counts[s, life]
                totals += policy.fresh[s, life]
        both = total + totals
        chances[life] = count / total if total > 1e-9 else 0.0
        chances[_LIVES + life] = others / totals if totals > 1e-9 else 0.0
        chances[2 * _LIVES + life] = (count + others) / both if both > 1e-9 else 0.0
    chances[_ESTIMATORS - 1] = 1.0 / (1.0 + memory.now[KEYS_USED])
    mixed = 0.0
    for estimator in range(_ESTIMATORS):
        mixed += shares[estimator] * chances[estimator]
    rate = max(policy.rate, 2.0 / (20.0 + policy.totals[join, o, _FADING]))
    for estimator in range(_ESTIMATORS):
        follows = shares[estimator] * chances[estimator] / mixed
        shares[estimator] += rate * (follows - shares[estimator])


@rule(hooks.arrived, GainState)
def _arrived(
    policy: GainState, memory: Memory, key: int, stream: int, importance: float, t: int
) -> None:
    now = _now(policy, memory, t)
    join = int(memory.codes[key, 1])
    _learn_shares(policy, memory, join, key, stream, now)
    about, totals = memory.stats[key], policy.totals[join, stream]
    at = memory.streams.shape[0] + stream * _WORDS
    for life in range(_FADING):
        about[at + life] = policy.counts[stream, life] + 1.0
        totals[life] = policy.fresh[stream, life] + 1.0
    totals[_FADING] += 1.0
    about[at + _SINCE] = totals[_SINCE + 1] = now
    policy.seen[stream, class_of(importance)] += 1.0
    policy.period[1] = np.inf  # the factors no longer hold


@rule(hooks.enter, GainState)
def _enter(policy: GainState, memory: Memory, slot: int, time: int) -> None:
    """Weigh a newcomer, and the one before it with its key: if one of them goes, the older."""
    memory.real[slot, _CLASS] = class_of(memory.real[slot, IMPORTANCE])
    now = _now(policy, memory, time)
    _write(policy, memory, slot, now)
    for join in range(memory.joins.shape[0]):
        key = memory.whole[slot, LINKS + 3 * join]
        if key >= 0 and memory.joins[join, KIND] == EQUAL:
            before = listed(memory, key, memory.whole[slot, STREAM])
            if before >= 0:
                _write(policy, memory, before, now)
                sift(memory, before)


@rule(hooks.watches_agreement, GainState)
def _watches(policy: GainState) -> bool:
    return True


@rule(hooks.agreed, GainState)
def _agreed(policy: GainState, memory: Memory, slot: int, time: int) -> bool:
    _write(policy, memory, slot, _now(policy, memory, time))
    return True


@rule(hooks.matched, GainState)
def _matched(policy: GainState, memory: Memory, slot: int, time: int) -> bool:
    age = _age(policy, memory, slot, _now(policy, memory, time))
    policy.ages[memory.whole[slot, STREAM], 0, age] += 1.0
    return False


@rule(hooks.left, GainState)
def _left(policy: GainState, memory: Memory, slot: int) -> None:
    if policy.hand[1] == slot:
        policy.hand[1] = memory.whole[slot, NEWER]


@rule(hooks.choose, GainState)
def _choose(policy: GainState, memory: Memory, buffer: int, time: int) -> int:
    """Return the top of the heap once it stays there after a second look.

    After too many looks it is the one that goes first of those seen. The oldest that shares its
    key is looked at too, so that of equals the oldest goes; sets share none.
    """
    now = _now(policy, memory, time)
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
        equal = memory.joins[join, KIND] == EQUAL
        if equal and memory.whole[first, LINKS + 3 * join] >= 0:
            oldest = first
            for _ in range(_ALONG):
                older = memory.whole[oldest, LINKS + 3 * join + 1]
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
    """Return the tuple at the hand, which goes from old to new, stream by stream."""
    hand = policy.hand
    while hand[1] == NONE:
        hand[0] = (hand[0] + 1) % memory.streams.shape[0]
        hand[1] = memory.streams[hand[0], OLDEST]
    slot = hand[1]
    hand[1] = memory.whole[slot, NEWER]
    return slot


@rule(hooks.processed, GainState)
def _processed(policy: GainState, memory: Memory, stream: int, time: int) -> None:
    now = _now(policy, memory, time)
    for _ in range(min(memory.buffers[:, HEAPED].sum(), _AGAIN)):
        slot = _next(policy, memory)
        age = _age(policy, memory, slot, now)
        policy.ages[memory.whole[slot, STREAM], 1, age] += _write(policy, memory, slot, now)
        sift(memory, slot)
    policy.period[0] += 1.0
    if policy.period[0] >= _PERIOD:
        policy.period[0] = 0.0
        for s in range(memory.streams.shape[0]):
            tabulate_worth(policy.seen[s], policy.worth[s], policy.combine)
            tabulate_ages(policy.ages[s])
