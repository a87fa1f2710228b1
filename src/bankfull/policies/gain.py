"""What a tuple is expected to earn for the room it takes: our own policy, and the default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from bankfull.kernels import hooks
from bankfull.kernels.compiler import Float64, inlined, rule
from bankfull.kernels.memory import (
    DRAWS,
    HEAPED,
    IMPORTANCE,
    KEYS_USED,
    MEMBER,
    NOTE,
    OWN_BUFFER,
    PRIORITY,
    SEQ_NEXT,
    SIZE,
    STREAM,
    TIME,
    WIDTH,
    Memory,
    draw,
    first_key,
    key_at,
    next_key,
    pooled,
    sift,
)
from bankfull.policies.registry import Policy, Shape, check, register

#: Decayed counts have half-lives of 4, 1, 1/4, 1/16 and 1/64 windows; a sixth never decays.
_LIVES = 6
_FADING = _LIVES - 1
#: Where the time of the last change stands, behind the decayed counts.
_SINCE = _FADING
#: A key's popularity is read from the stream that may bring a partner, from the others, from all.
_SOURCES = 3
#: All estimators, and one that finds every key as likely as any other.
_ESTIMATORS = _SOURCES * _LIVES + 1
#: Slices of the window in which productivity is learned, and classes of importance.
_AGES, _CLASSES = 16, 48
#: Tables are made anew after so many tuples.
_PERIOD = 512
#: Stored tuples whose priority is looked at again for each arrival; most corrections an eviction.
_AGAIN, _MOST = 6, 24
#: How strongly an age is believed to be like all others: as much as so many results.
_BELIEF = 64.0
#: The note of a tuple: the class of its importance.
_CLASS = NOTE


class GainState(NamedTuple):
    """What has been learned; streams are rows.

    ``totals`` decayed counts of arrivals, like those of keys, then all arrivals and the time of
    the last; ``shares`` of the estimators;
    ``seen`` the decayed number of tuples in each class of importance; ``worth[s, c]`` what a
    result with stream s is worth to a tuple of class c; ``ages[s]`` results and expected results
    by age, then the index made from them; ``period`` tuples since the tables were made, and for
    which arrival ``factors`` hold.
    """

    rate: float
    combine: int
    scale: float
    seed: int
    totals: Float64
    shares: Float64
    seen: Float64
    worth: Float64
    ages: Float64
    period: Float64
    factors: Float64
    chances: Float64
    fresh: Float64
    counts: Float64


@register("gain", "our own")
@dataclass(frozen=True)
class Gain(Policy):
    """Expected importance per unit of time in memory, learned from the streams themselves.

    *How often* a tuple's key will arrive on the other streams is a mixture of nineteen estimates:
    counts with six half-lives, from a 64th of the window to for ever, taken from the stream that
    may bring the partner, from the others, or from all, and one that knows nothing. Their
    proportions follow the arrivals by one step of online expectation-maximisation each, so
    long-lived and short-lived popularity may ride on each other and streams may share it or not.
    *How much* a result is worth is its mean importance over what the other stream brings.
    *When*: results by age, against what was expected, give the best mean return over any further
    stay (as Gittins' index does), so that streams shifted in time are waited for.

    Frequency (PROB), locality (GDJ), age (AGE) and importance (SIMP) are special cases. Statistics
    are bounded: keys that nobody stored holds are forgotten, the rarest first. Priorities are
    corrected lazily: when a partner arrives, when a tuple comes up for eviction, and a few at
    random with every arrival.

    Reference: none; the mixture follows the notes in the project's own experiment.
    Cost: a bounded number of estimates and heap operations an arrival, whatever the buffer.
    """

    key_stats: ClassVar[int] = _LIVES
    rate: float = 0.01

    def __post_init__(self) -> None:
        check("gain", "rate", self.rate, 1e-6, 0.5)

    def start(self, shape: Shape) -> GainState:
        streams = len(shape.spans)
        shares = np.full((streams, _ESTIMATORS), 1.0 / _ESTIMATORS)
        ages = np.zeros((streams, 3, _AGES))
        ages[:, 2] = 1.0
        return GainState(
            float(self.rate),
            shape.combine,
            shape.scale,
            shape.seed,
            np.zeros((streams, _LIVES + 1)),
            shares,
            np.zeros((streams, _CLASSES)),
            np.ones((streams, _CLASSES)),
            ages,
            np.array([0.0, -1.0]),
            np.zeros((shape.joins, streams, 3, _LIVES)),
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
def _class(importance: float) -> int:
    """Return the class of an importance: half a power of two wide."""
    return min(max(int(2.0 * np.log2(importance) + 16.0), 0), _CLASSES - 1)


@inlined
def _faded(counts: Float64, since: float, now: float, out: Float64) -> None:
    """Write what is left of decayed counts: every half-life is a quarter of the one before."""
    left = np.exp2(-0.25 * (now - since))
    for life in range(_FADING):
        out[life] = counts[life] * left
        left *= left
        left *= left


@inlined
def _refresh_totals(policy: GainState, memory: Memory, now: float) -> None:
    """Write the arrivals of every stream, decayed like the counts of keys, into ``fresh``."""
    for s in range(memory.streams.shape[0]):
        totals = policy.totals[s]
        _faded(totals, totals[_SINCE + 1], now, policy.fresh[s])
        policy.fresh[s, _FADING] = totals[_FADING]


@inlined
def _prepare(policy: GainState, memory: Memory, now: float) -> None:
    """Write, once an arrival, what a count of a key is worth for every join, stream and life.

    The mixture is linear in the counts, so the proportions, the totals below the fractions and
    the rate of the stream go into one factor each: ``factors[join, o, 0]`` for counts of stream o
    itself, ``[.., 1]`` for those of the join's other streams, ``[.., 2, 0]`` for any key.
    """
    if policy.period[1] == memory.now[SEQ_NEXT]:
        return
    policy.period[1] = memory.now[SEQ_NEXT]
    _refresh_totals(policy, memory, now)
    fresh = policy.fresh
    for join in range(memory.joins.shape[0]):
        for member in range(memory.joins[join, WIDTH]):
            o = memory.joins[join, MEMBER + member]
            arrivals = fresh[o, 1]
            shares, factors = policy.shares[o], policy.factors[join, o]
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
    at = memory.streams.shape[0] + s * _LIVES
    total = about[s] * factors[_FADING]
    left = np.exp2(-0.25 * (now - about[at + _SINCE]))
    for life in range(_FADING):
        total += about[at + life] * left * factors[life]
        left *= left
        left *= left
    return total  # type: ignore[no-any-return]


@inlined
def _intensity(policy: GainState, memory: Memory, slot: int, now: float) -> float:
    """Return the importance that a tuple is expected to earn a window, at any age."""
    own = memory.whole[slot, STREAM]
    importance = int(memory.real[slot, _CLASS])
    total = 0.0
    for join in range(memory.joins.shape[0]):
        for member in range(memory.joins[join, WIDTH]):
            o = memory.joins[join, MEMBER + member]
            if o == own:
                continue
            factors, promised = policy.factors[join, o], -1.0
            place = first_key(memory, slot, join)
            while place >= 0:
                key, arrivals = key_at(memory, join, place), factors[2, 0]
                for another in range(memory.joins[join, WIDTH]):
                    s = memory.joins[join, MEMBER + another]
                    arrivals += _weighted(memory, key, s, now, factors[0 if s == o else 1])
                promised = pooled(memory, join, own, promised, arrivals)
                place = next_key(memory, join, place)
            total += max(promised, 0.0) * policy.worth[o, importance]
    return total


@inlined
def _age(policy: GainState, memory: Memory, slot: int, now: float) -> int:
    born = memory.whole[slot, TIME] / policy.scale if policy.scale > 0.0 else now
    return min(max(int((now - born) * _AGES), 0), _AGES - 1)


@inlined
def _write(policy: GainState, memory: Memory, slot: int, now: float) -> None:
    _prepare(policy, memory, now)
    index = policy.ages[memory.whole[slot, STREAM], 2, _age(policy, memory, slot, now)]
    earned = _intensity(policy, memory, slot, now) * index
    memory.real[slot, PRIORITY] = earned / memory.whole[slot, SIZE]


@inlined
def _learn_shares(
    policy: GainState, memory: Memory, join: int, key: int, o: int, now: float
) -> None:
    """Let the estimators that saw this arrival coming have more to say."""
    chances, shares, about = policy.chances, policy.shares[o], memory.stats[key]
    streams = memory.streams.shape[0]
    _refresh_totals(policy, memory, now)
    for s in range(streams):
        at = streams + s * _LIVES
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
    rate = max(policy.rate, 1.0 / (20.0 + policy.totals[o, _FADING]))
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
    streams = memory.streams.shape[0]
    at = streams + stream * _LIVES
    about = memory.stats[key]
    factor = np.exp2(-0.25 * (now - about[at + _SINCE]))
    for life in range(_FADING):
        about[at + life] = about[at + life] * factor + 1.0
        factor *= factor
        factor *= factor
    about[at + _SINCE] = now
    totals = policy.totals[stream]
    factor = np.exp2(-0.25 * (now - totals[_SINCE + 1]))
    totals[_FADING] += 1.0
    for life in range(_FADING):
        totals[life] = totals[life] * factor + 1.0
        factor *= factor
        factor *= factor
    totals[_SINCE + 1] = now
    policy.seen[stream, _class(importance)] += 1.0


@rule(hooks.enter, GainState)
def _enter(policy: GainState, memory: Memory, slot: int, time: int) -> None:
    memory.real[slot, _CLASS] = _class(memory.real[slot, IMPORTANCE])
    _write(policy, memory, slot, _now(policy, memory, time))


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


@rule(hooks.choose, GainState)
def _choose(policy: GainState, memory: Memory, buffer: int, time: int) -> int:
    """Return the top of the heap once it stays there after a second look."""
    now = _now(policy, memory, time)
    heap = memory.heap[buffer]
    for _ in range(_MOST):
        first = heap[0]
        _write(policy, memory, first, now)
        sift(memory, first)
        if heap[0] == first:
            break
    return heap[0]  # type: ignore[no-any-return]


@rule(hooks.processed, GainState)
def _processed(policy: GainState, memory: Memory, stream: int, time: int) -> None:
    now = _now(policy, memory, time)
    buffer = memory.streams[stream, OWN_BUFFER]
    size = memory.buffers[buffer, HEAPED]
    for _ in range(min(size, _AGAIN)):
        memory.now[DRAWS] += 1
        place = int(draw(policy.seed + 5, memory.now[DRAWS]) * size)
        slot = memory.heap[buffer, place]
        _write(policy, memory, slot, now)
        own, age = memory.whole[slot, STREAM], _age(policy, memory, slot, now)
        index = max(policy.ages[own, 2, age], 1e-9)
        policy.ages[own, 1, age] += memory.real[slot, PRIORITY] * memory.whole[slot, SIZE] / index
        sift(memory, slot)
    policy.period[0] += 1.0
    if policy.period[0] >= _PERIOD:
        policy.period[0] = 0.0
        for s in range(memory.streams.shape[0]):
            _tabulate_worth(policy, s)
            _tabulate_ages(policy, s)


@inlined
def _tabulate_worth(policy: GainState, s: int) -> None:
    """Write what a result with stream ``s`` is worth to a tuple of every class, on average."""
    seen = policy.seen[s]
    total = max(seen.sum(), 1e-9)
    for own in range(_CLASSES):
        mine = 2.0 ** ((own - 15.5) / 2.0)
        worth = 0.0
        for other in range(_CLASSES):
            if seen[other] > 0.0:
                theirs = 2.0 ** ((other - 15.5) / 2.0)
                if policy.combine == 0:
                    result = min(mine, theirs)
                elif policy.combine == 1:
                    result = max(mine, theirs)
                elif policy.combine == 2:
                    result = mine + theirs
                elif policy.combine == 3:
                    result = mine * theirs
                else:
                    result = (mine + theirs) / 2.0
                worth += seen[other] / total * result
        policy.worth[s, own] = worth
    for other in range(_CLASSES):
        seen[other] *= 0.9


@inlined
def _tabulate_ages(policy: GainState, s: int) -> None:
    """Write the best mean return over any further stay, for every age."""
    found, expected, index = policy.ages[s, 0], policy.ages[s, 1], policy.ages[s, 2]
    usual = found.sum() / max(expected.sum(), 1e-12)
    returns = np.empty(_AGES)
    for age in range(_AGES):
        returns[age] = (found[age] + _BELIEF) / (expected[age] * usual + _BELIEF)
    for age in range(_AGES):
        best, total = 0.0, 0.0
        for end in range(age, _AGES):
            total += returns[end]
            best = max(best, total / (end - age + 1))
        index[age] = best
    for age in range(_AGES):
        found[age] *= 0.95
        expected[age] *= 0.95
