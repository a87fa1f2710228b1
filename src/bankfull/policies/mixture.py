"""How often keys arrive: the mixture of estimates that ``gain`` is made of.

``policy`` is the state of ``gain``, whose words are used here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bankfull.kernels.bounded.memory import (
    Memory,
    on_keys,
)
from bankfull.kernels.compiler import Float64, inlined, inner
from bankfull.kernels.recall.feed import RING

#: Decayed counts have half-lives of 4, 1, 1/4, 1/16, 1/64 and 1/256 windows; another never decays.
LIVES = 7
_FADING = LIVES - 1
#: Of a key: the time of its last arrival; on every stream, as notes, the counts decayed to then.
TIMES, COUNTS = 1, _FADING
#: Behind the totals of a stream: the time of the last arrival, and how many were learned from.
_SINCE, _LEARNED = LIVES, LIVES + 1
TOTALS = LIVES + 2
#: A key's popularity is read from the stream that may bring a partner, from the others, from all.
_SOURCES = 3
#: Behind these estimators: one that counts on all streams how often a key came *again*, and one
#: that finds every key as likely as any other.
_REPEATS = _SOURCES * LIVES
ESTIMATORS = _REPEATS + 2
#: The least share of an estimator: one that has never been right may be some day.
_LEAST = 1e-6
#: The share of the estimator that knows nothing before anything is known.
_IGNORANCE = 0.5


def first_shares() -> Float64:
    """Return what the estimators have to say at first."""
    shares = np.full(ESTIMATORS, (1.0 - _IGNORANCE) / (ESTIMATORS - 1))
    shares[ESTIMATORS - 1] = _IGNORANCE
    return shares


@inlined
def _faded(counts: Any, since: float, now: float, out: Float64) -> None:
    """Write what is left of decayed counts: every half-life is a quarter of the one before."""
    left = np.exp2(-0.25 * (now - since))
    for life in range(_FADING):
        out[life] = counts[life] * left
        left *= left
        left *= left


@inlined
def _refresh_totals(policy: Any, memory: Memory, join: int, now: float) -> None:
    """Write the arrivals of every stream, decayed like the counts of keys, into ``fresh``."""
    for s in range(memory.streams.shape[0]):
        totals = policy.totals[join, s]
        _faded(totals, totals[_SINCE], now, policy.fresh[s])
        policy.fresh[s, _FADING] = totals[_FADING]


@inner
def prepare(policy: Any, memory: Memory, now: float) -> None:
    """Write what a count of a key is worth now for every join, stream and life.

    The mixture is linear in the counts, so the proportions, the totals below the fractions and
    the stream's part of all arrivals go into one factor each: ``factors[join, o, 0]`` for counts
    of stream o itself, ``[.., 1]`` for those of the join's other streams, ``[.., 2, 0]`` for any
    key, ``[.., 2, 1]`` for every arrival of a key on any stream but the first.
    """
    policy.period[1] = now
    fresh = policy.fresh
    everything, policy.period[2] = 0.0, 0.0
    for join in range(memory.joins.shape[0]):
        for s in range(memory.streams.shape[0]):
            totals = policy.totals[join, s]
            policy.period[2] += totals[_FADING]
            everything += totals[1] * np.exp2(totals[_SINCE] - now)
    for join in range(memory.joins.shape[0]):
        _refresh_totals(policy, memory, join, now)
        for member in range(memory.joins[join].width):
            o = memory.joins[join].members[member]
            arrivals = fresh[o, 1] / everything if everything > 0.0 else 1.0
            shares, factors = policy.shares[join, o], policy.factors[join, o]
            for life in range(LIVES):
                own = fresh[o, life]
                others = 0.0
                for another in range(memory.joins[join].width):
                    s = memory.joins[join].members[another]
                    if s != o:
                        others += fresh[s, life]
                both = shares[2 * LIVES + life] / (own + others) if own + others > 1e-9 else 0.0
                factors[0, life] = both + (shares[life] / own if own > 1e-9 else 0.0)
                factors[1, life] = both + (shares[LIVES + life] / others if others > 1e-9 else 0.0)
                factors[0, life] *= arrivals
                factors[1, life] *= arrivals
            factors[2, 0] = arrivals * shares[ESTIMATORS - 1] / (1.0 + memory.now.keys_ever)
            factors[2, 1] = arrivals * shares[_REPEATS] / _repeated(policy, memory, join)


@inlined
def _repeated(policy: Any, memory: Memory, join: int) -> float:
    """Return how many arrivals had a key that had come before on any stream, at least one."""
    total = 0.0
    for member in range(memory.joins[join].width):
        total += policy.totals[join, memory.joins[join].members[member], _LEARNED]
    return max(total, 1.0)


@inlined
def chance_of(policy: Any, memory: Memory, join: int, key: int, o: int, now: float) -> float:
    """Return the part of the next arrivals that a key on stream ``o`` is expected to be.

    Elements are taken one by one: a row taken out of an array is counted as a user of it.
    """
    stats, notes, joins, factors = memory.stats, memory.notes, memory.joins, policy.factors
    streams = memory.streams.shape[0]
    chance, again = factors[join, o, 2, 0], -1.0
    faded = np.exp2(-0.25 * (now - stats[key, streams]))
    for member in range(joins[join].width):
        s = joins[join].members[member]
        kind = 0 if s == o else 1
        again += stats[key, s]
        chance += stats[key, s] * factors[join, o, kind, _FADING]
        left = faded
        for life in range(_FADING):
            chance += notes[key, s * COUNTS + life] * left * factors[join, o, kind, life]
            left *= left
            left *= left
    return chance + max(again, 0.0) * factors[join, o, 2, 1]  # type: ignore[no-any-return]


@inlined
def _learn_shares(policy: Any, memory: Memory, join: int, key: int, o: int, now: float) -> None:
    """Let the estimators that saw this arrival coming have more to say.

    A key that nobody has seen teaches nothing of those that were seen, which alone are compared:
    learned from, it would speak for the estimator that knows nothing (``docs/decisions/0010``).
    """
    chances, shares, about = policy.chances, policy.shares[join, o], memory.stats[key]
    streams = memory.streams.shape[0]
    _refresh_totals(policy, memory, join, now)
    for s in range(streams):
        at = s * COUNTS
        _faded(memory.notes[key, at : at + COUNTS], about[streams], now, policy.counts[s])
        policy.counts[s, _FADING] = about[s] - (s == o)  # the arrival itself is no evidence
    for life in range(LIVES):
        count, total, others, totals = policy.counts[o, life], policy.fresh[o, life], 0.0, 0.0
        for member in range(memory.joins[join].width):
            s = memory.joins[join].members[member]
            if s != o:
                others += policy.counts[s, life]
                totals += policy.fresh[s, life]
        both = total + totals
        chances[life] = count / total if total > 1e-9 else 0.0
        chances[LIVES + life] = others / totals if totals > 1e-9 else 0.0
        chances[2 * LIVES + life] = (count + others) / both if both > 1e-9 else 0.0
    again = count + others - 1.0  # the last of the lives has no end
    chances[_REPEATS] = max(again, 0.0) / _repeated(policy, memory, join)
    chances[ESTIMATORS - 1] = 1.0 / (1.0 + memory.now.keys_ever)
    mixed, seen = 0.0, False
    for estimator in range(ESTIMATORS):
        mixed += shares[estimator] * chances[estimator]
        seen = seen or (estimator < _REPEATS and chances[estimator] > 0.0)
    if not seen:
        return
    rate = max(policy.rate, 2.0 / (20.0 + policy.totals[join, o, _LEARNED]))
    policy.totals[join, o, _LEARNED] += 1.0
    follows = rate / mixed
    for estimator in range(ESTIMATORS):
        moved = shares[estimator] * (1.0 - rate + follows * chances[estimator])
        shares[estimator] = max(moved, _LEAST)


@inlined
def _count(policy: Any, memory: Memory, join: int, key: int, stream: int, now: float) -> None:
    """Count an arrival; :func:`_learn_shares` has left what the counts are now."""
    streams, totals = memory.streams.shape[0], policy.totals[join, stream]
    for life in range(_FADING):
        policy.counts[stream, life] += 1.0
        totals[life] = policy.fresh[stream, life] + 1.0
        for s in range(streams):
            memory.notes[key, s * COUNTS + life] = policy.counts[s, life]
    totals[_FADING] += 1.0
    memory.stats[key, streams] = totals[_SINCE] = now


@inner
def had_partners(policy: Any, memory: Memory, key: int, stream: int, now: float) -> None:
    """Note how many partners an arrival has had in the last window, about: none, one or more.

    A count that halves every window is one half to one after one arrival within it.
    """
    join, streams, had = int(memory.codes[key, 1]), memory.streams.shape[0], 0
    if not on_keys(memory, join):
        return
    left = np.exp2(memory.stats[key, streams] - now)
    for member in range(memory.joins[join].width):
        o = memory.joins[join].members[member]
        if o != stream:
            recent = memory.notes[key, o * COUNTS + 1] * left
            had += 0 if recent < 0.5 else 1 if recent <= 1.0 else 2
    policy.had[memory.now.seq_next % RING] += had


@inner
def learn(policy: Any, memory: Memory, key: int, stream: int, now: float) -> None:
    """Learn from the arrival of a key."""
    join = int(memory.codes[key, 1])
    _learn_shares(policy, memory, join, key, stream, now)
    _count(policy, memory, join, key, stream, now)
    policy.period[1] = np.inf  # the factors no longer hold
