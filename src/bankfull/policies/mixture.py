"""How often keys arrive: the mixture of estimates that ``gain`` is made of.

``policy`` is the state of ``gain``, whose words are used here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bankfull.kernels.bounded.keys import take_notes
from bankfull.kernels.bounded.memory import Memory, on_keys
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
#: What is left of one arrival a window ago, and one just now, with room for what is rounded.
_ONE_AGO, _ONE_NOW = 0.49999, 1.00001
#: The share of the estimator that knows nothing before anything is known.
_IGNORANCE = 0.5


def first_shares() -> Float64:
    """Return what the estimators have to say at first."""
    shares = np.full(ESTIMATORS, (1.0 - _IGNORANCE) / (ESTIMATORS - 1))
    shares[ESTIMATORS - 1] = _IGNORANCE
    return shares


@inlined
def _left(since: float, now: float) -> float:
    """Return what is left of the slowest count since a time; times may lie before zero."""
    return np.exp2(min(0.25 * (since - now), 0.0))  # type: ignore[no-any-return]


@inlined
def _fade_totals(policy: Any, memory: Memory, join: int, now: float) -> None:
    """Let the decayed arrivals of every stream be those of now.

    Every half-life is a quarter of the one before: what is left is the fourth power.
    """
    totals = policy.totals
    for s in range(memory.streams.shape[0]):
        if totals[join, s, _SINCE] != now:
            left = _left(totals[join, s, _SINCE], now)
            for life in range(_FADING):
                totals[join, s, life] *= left
                left *= left
                left *= left
            totals[join, s, _SINCE] = now


@inner
def prepare(policy: Any, memory: Memory, now: float) -> None:
    """Write what a count of a key is worth now for every join, stream and life.

    The mixture is linear in the counts, so the proportions, the totals below the fractions and
    the stream's part of all arrivals go into one factor each: ``factors[join, o, s]`` for counts
    of stream s, ``factors[join, o, streams, 0]`` for any key and, behind it, for every arrival of a
    key on any stream but the first.
    """
    policy.period[1] = now
    totals, factors, streams = policy.totals, policy.factors, memory.streams.shape[0]
    everything, policy.period[2] = 0.0, 0.0
    for join in range(memory.joins.shape[0]):
        _fade_totals(policy, memory, join, now)
        for s in range(streams):
            policy.period[2] += totals[join, s, _FADING]
            everything += totals[join, s, 1]
    for join in range(memory.joins.shape[0]):
        for member in range(memory.joins[join].width):
            o = memory.joins[join].members[member]
            arrivals = totals[join, o, 1] / everything if everything > 0.0 else 1.0
            shares = policy.shares[join, o]
            for life in range(LIVES):
                own, others = totals[join, o, life], 0.0
                for s in range(streams):
                    others += totals[join, s, life] if s != o else 0.0
                both = shares[2 * LIVES + life] / (own + others) if own + others > 1e-9 else 0.0
                mine = both + (shares[life] / own if own > 1e-9 else 0.0)
                theirs = both + (shares[LIVES + life] / others if others > 1e-9 else 0.0)
                for s in range(streams):
                    factors[join, o, s, life] = arrivals * (mine if s == o else theirs)
            factors[join, o, streams, 0] = arrivals * shares[ESTIMATORS - 1]
            factors[join, o, streams, 0] /= 1.0 + memory.now.keys_ever
            factors[join, o, streams, 1] = arrivals * shares[_REPEATS]
            factors[join, o, streams, 1] /= _repeated(policy, memory, join)


@inlined
def _repeated(policy: Any, memory: Memory, join: int) -> float:
    """Return how many arrivals had a key that had come before on any stream, at least one."""
    total = 0.0
    for member in range(memory.joins[join].width):
        total += policy.totals[join, memory.joins[join].members[member], _LEARNED]
    return max(total, 1.0)


@inlined
def known_part(policy: Any, memory: Memory, s: int) -> float:
    """Return how much of what may bring partners to a stream had a key that came before."""
    known, came = 1.0, 1.0
    for join in range(memory.joins.shape[0]):
        width, within = memory.joins[join].width, False
        for member in range(width):
            within |= memory.joins[join].members[member] == s
        for member in range(width if within else 0):
            o = memory.joins[join].members[member]
            if o != s:
                known += policy.totals[join, o, _LEARNED]
                came += policy.totals[join, o, _FADING]
    return known / came


@inlined
def chance_of(policy: Any, memory: Memory, join: int, key: int, o: int, now: float) -> float:
    """Return the part of the next arrivals that a key on stream ``o`` is expected to be.

    Streams that are not of the join have no counts of its keys. Elements are taken one by one: a
    row taken out of an array is counted as a user of it.
    """
    stats, notes, factors, streams = memory.stats, memory.notes, policy.factors, policy.ends.size
    row = memory.rows[key]
    chance, again = factors[join, o, streams, 0], -1.0
    left = _left(stats[key, streams], now)
    for s in range(streams):
        again += stats[key, s]
        chance += stats[key, s] * factors[join, o, s, _FADING]
    if row < 0:  # it came once
        for life in range(_FADING):
            recent = 0.0
            for s in range(streams):
                recent += stats[key, s] * factors[join, o, s, life]
            chance += left * recent
            left *= left
            left *= left
        return chance + max(again, 0.0) * factors[join, o, streams, 1]  # type: ignore[no-any-return]
    for life in range(_FADING):
        recent = 0.0
        for s in range(streams):
            recent += notes[row, s * COUNTS + life] * factors[join, o, s, life]
        chance += left * recent
        left *= left
        left *= left
    return chance + max(again, 0.0) * factors[join, o, streams, 1]  # type: ignore[no-any-return]


@inlined
def _learn_shares(policy: Any, memory: Memory, join: int, o: int, came: float) -> None:
    """Let the estimators that saw this arrival coming have more to say.

    Its key ``came`` before. One that nobody has seen teaches nothing of those that were seen, which
    alone are compared: learned from, it would speak for the estimator that knows nothing
    (``docs/decisions/0010``).
    """
    chances, shares, counts = policy.chances, policy.shares[join, o], policy.counts
    for life in range(LIVES):
        count, total, others, totals = counts[o, life], policy.totals[join, o, life], 0.0, 0.0
        for s in range(counts.shape[0]):
            others += counts[s, life] if s != o else 0.0
            totals += policy.totals[join, s, life] if s != o else 0.0
        both = total + totals
        chances[life] = count / total if total > 1e-9 else 0.0
        chances[LIVES + life] = others / totals if totals > 1e-9 else 0.0
        chances[2 * LIVES + life] = (count + others) / both if both > 1e-9 else 0.0
    chances[_REPEATS] = max(came - 1.0, 0.0) / _repeated(policy, memory, join)
    chances[ESTIMATORS - 1] = 1.0 / (1.0 + memory.now.keys_ever)
    mixed = 0.0
    for estimator in range(ESTIMATORS):
        mixed += shares[estimator] * chances[estimator]
    rate = max(policy.rate, 2.0 / (20.0 + policy.totals[join, o, _LEARNED]))
    policy.totals[join, o, _LEARNED] += 1.0
    follows = rate / mixed
    for estimator in range(ESTIMATORS):
        moved = shares[estimator] * (1.0 - rate + follows * chances[estimator])
        shares[estimator] = max(moved, _LEAST)


@inlined
def _had_partners(policy: Any, memory: Memory, key: int, row: int, stream: int, now: float) -> None:
    """Note how many partners an arrival has had in the last window, about: none, one or more.

    A count that halves every window is one half to one after one arrival within it: about one half
    if that was a window ago, as sums of powers of two are rounded.
    """
    had, streams = 0, policy.counts.shape[0]
    left = np.exp2(min(memory.stats[key, streams] - now, 0.0))
    for o in range(streams):
        if o != stream:
            count = memory.notes[row, o * COUNTS + 1] if row >= 0 else memory.stats[key, o]
            recent = count * left
            had += 0 if recent < _ONE_AGO else 1 if recent <= _ONE_NOW else 2
    policy.had[memory.now.seq_next % RING] += had


@inner
def learn(policy: Any, memory: Memory, key: int, stream: int, now: float) -> None:
    """Learn from the arrival of a key, then count it.

    A key that came once has no notes: each of its counts is what is left of one.
    """
    join, streams, counts = int(memory.codes[key, 1]), memory.streams.shape[0], policy.counts
    _fade_totals(policy, memory, join, now)
    for s in range(streams):
        counts[s, _FADING] = memory.stats[key, s]
    counts[stream, _FADING] -= 1.0  # the arrival itself is no evidence
    row: Any = np.int64(memory.rows[key])
    left = _left(memory.stats[key, streams], now)
    if on_keys(memory, join):
        _had_partners(policy, memory, key, row, stream, now)
    for life in range(_FADING):
        for s in range(streams):
            count = counts[s, _FADING]
            if row >= 0:
                count = memory.notes[row, s * COUNTS + life]
            counts[s, life] = count * left
        left *= left
        left *= left
    came = 0.0
    for s in range(streams):
        came += counts[s, _FADING]
    if came > 0.0:
        row = take_notes(memory, key) if row < 0 else row
        _learn_shares(policy, memory, join, stream, came)
    for life in range(_FADING):
        counts[stream, life] += 1.0
        if row >= 0:
            for s in range(streams):
                memory.notes[row, s * COUNTS + life] = counts[s, life]
        policy.totals[join, stream, life] += 1.0
    policy.totals[join, stream, _FADING] += 1.0
    memory.stats[key, streams] = now
    policy.period[1] = np.inf  # the factors no longer hold
