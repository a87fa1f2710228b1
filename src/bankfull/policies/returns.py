"""What a tuple of a stream still earns, by its age and the partners it has had: tables of ``gain``.

A tuple's *state* is the slice of its age and its class of partners: none, one, more. For every
state of a stream the meetings found are divided by those that the mixture (``mixture.py``) had
expected. Both come from the sample kept aside for recall, which sees every age, whatever is dropped
(``kernels/recall/feed.py``); where there is no sample, from the stored tuples.

The *index* of a state is the best mean return over a further stay, which ends at some age, or
earlier when so many more partners have come (as Gittins' index does). So a tuple that waits for a
late partner is worth the more the nearer that is, and one that has had its only partner nothing.

``policy`` is the state of ``gain``, whose words are used here.
"""

from __future__ import annotations

from typing import Any

from bankfull.kernels.bounded.memory import Memory, has_left
from bankfull.kernels.compiler import inlined, inner, kernel
from bankfull.kernels.recall.feed import FINE, PARTNERS, slice_and_part, slice_of
from bankfull.kernels.recall.sample import Watch
from bankfull.policies.mixture import known_part, prepare
from bankfull.policies.promise import (
    CHANCE,
    Aside,
    has_set,
    note_unexplained,
    promised,
    settle_unexplained,
)

#: How strongly a state is believed to be like those around it: as much as so many arrivals that
#: met somebody.
_BELIEF = 8.0
#: The index of an age is that of the next older one, if that is wrong by no more than this factor.
_SLACK = 2.0 ** (1 / 16)
#: Where in a slice its meetings are over: at three times their mean place, if that is before its
#: end. Where they come ever less often, down to none at the end, that is the end.
_OVER = 3.0
#: What it counts to have waited, where there is nothing to be expected: less than anything else.
_WAITED = 1e-300
#: Tuples of the sample that are looked at each time, at most.
_LOOKS = 512
#: The half of all that a table was made from is forgotten in about 34 times so many tuples.
_UNIT, _SHARE = 128.0, 0.98


@inlined
def age_of(policy: Any, memory: Memory, slot: int) -> float:
    """Return a stored tuple's age in windows; of count windows there is none."""
    lived = memory.now.time_now - memory.slots[slot].time
    return lived / policy.scale if policy.scale > 0.0 else 0.0


@inlined
def index_at(policy: Any, memory: Memory, slot: int, had: int) -> float:
    """Return what the index is at a tuple's age, if it has had so many partners.

    Between the ages that it is known for it is a straight line: with steps, a tuple's chance, which
    falls with its age, would make it go just before its index rises. In a slice whose meetings are
    over before its end, as with a fixed lag, the line ends there too.
    """
    stream, n = memory.slots[slot].stream, min(had, PARTNERS - 1)
    if policy.scale <= 0.0:
        return policy.indices[stream, 0, n]  # type: ignore[no-any-return]
    at, into = slice_and_part(age_of(policy, memory, slot))
    before, after = policy.indices[stream, at, n], policy.indices[stream, at + 1, n]
    into = min(into / policy.spans[stream, at], 1.0)
    return before + into * (after - before)  # type: ignore[no-any-return]


@inlined
def worth_waiting(policy: Any, memory: Memory, slot: int, importance: int) -> float:
    """Return what a tuple of a class of importance counts while nothing is to be expected.

    It is more the longer the tuple has waited, up to twice as much at the end of its window, and
    the more a result would be worth.
    """
    waited = (memory.now.time_now - memory.slots[slot].time) / max(policy.scale, 1.0)
    worth = 0.0
    for o in range(memory.streams.shape[0]):
        if o != memory.slots[slot].stream:
            worth += policy.worth[o, importance]
    return _WAITED * (1.0 + waited) * worth  # type: ignore[no-any-return]


@inlined
def slice_at(policy: Any, memory: Memory, slot: int) -> int:
    """Return the slice of a stored tuple's age."""
    return slice_of(age_of(policy, memory, slot))


@kernel
def look_at_sample(policy: Any, memory: Memory, watch: Watch, items: Any, now: float) -> None:
    """Note in which states the tuples of the sample are, and what is expected of them; tabulate.

    ``items`` are the numbers of items in joins on sets (``promise.py``). Of a large sample every
    other tuple, or fewer, is looked at, in turn.
    """
    prepare(policy, memory, now)
    arrivals = memory.now.seq_next - policy.clock[2]
    policy.clock[2] = memory.now.seq_next
    passed = now - policy.clock[0] if policy.clock[1] > 0.0 else 0.0
    policy.clock[0] = now
    policy.clock[1] += 1.0
    stride = 1 + watch.now.held // _LOOKS
    first = int(policy.clock[1]) % stride
    for kept in range(first, watch.kept.shape[0], stride):
        s = watch.kept[kept].stream
        if s < 0:
            continue
        lived = memory.now.time_now - watch.kept[kept].time
        newer = watch.came[s] - watch.kept[kept].nth - 1
        if has_left(memory.streams[s], lived, newer):
            continue
        age = lived / policy.scale if policy.scale > 0.0 else 0.0
        promise, sets = _expected(policy, memory, Aside(watch, items, kept), s, now)
        had, each = min(watch.kept[kept].had, PARTNERS - 1), stride * arrivals
        looked = policy.looked[s, slice_of(age), had]
        looked[0] += stride * passed
        looked[1] += each * (promise + sets * policy.unexplained[s, CHANCE])
        note_unexplained(policy, s, had, each * sets, each * promise)
    settle_unexplained(policy, memory, _SHARE ** (arrivals / _UNIT))
    tabulate_returns(policy, memory, arrivals)


@inlined
def _expected(policy: Any, memory: Memory, one: Aside, s: int, now: float) -> tuple[float, float]:
    """Return what the next arrival promises a tuple of the sample, and how many sets it has."""
    total, sets = 0.0, 0.0
    for join in range(memory.joins.shape[0]):
        for member in range(memory.joins[join].width):
            o = memory.joins[join].members[member]
            if o != s:
                total += promised(policy, memory, one, join, s, o, now)
                sets += has_set(memory, one, join)
    return total, sets


@inlined
def _ratio(found: float, expected: float, like: float, belief: float) -> float:
    """Return found meetings over expected ones, the nearer to what is believed the fewer are."""
    weight = max(found, expected * like)
    weight /= weight + belief
    return like * ((found + 0.5) / (expected * like + 0.5)) ** weight  # type: ignore[no-any-return]


@inner
def tabulate_returns(policy: Any, memory: Memory, arrivals: float) -> None:
    """Make the index of every state, and forget some of what it is made from.

    ``arrivals`` is how many tuples came since the last time. Streams are believed to be like all of
    them together, so that a few meetings do not decide between them, but for the part of what comes
    to meet them that has a key which nobody has seen: that meets nobody.
    """
    found, expected = 0.5, 0.5
    for s in range(policy.found.shape[0]):
        known = known_part(policy, memory, s)
        for age in range(policy.ends[s]):
            for had in range(PARTNERS):
                found += policy.found[s, age, had]
                expected += known * policy.looked[s, age, had, 1]
    for s in range(policy.found.shape[0]):
        _tabulate(policy, s, arrivals, known_part(policy, memory, s) * found / expected)


@inlined
def _tabulate(policy: Any, s: int, arrivals: float, overall: float) -> None:
    """Make the index of every state of a stream; ``overall``: what is believed of the stream."""
    found, looked, index, rates = policy.found[s], policy.looked[s], policy.indices[s], policy.rates
    parts, spans = policy.parts[s], policy.spans[s]
    end, once = policy.ends[s], policy.once[s] > 0
    times, all_found, all_expected = 0.0, 0.0, 0.0
    for age in range(end):
        for had in range(PARTNERS):
            times += looked[age, had, 0]
            all_expected += looked[age, had, 1]
            all_found += found[age, had]
    if times <= 0.0 or all_expected <= 0.0:
        for age in range(end + 1):
            for had in range(PARTNERS):
                index[age, had] = 0.0 if once and had > 0 else overall
        return
    # Meetings of one arrival with many tuples are evidence only once.
    crowd = policy.crowds[s, 1] / policy.crowds[s, 0] if policy.crowds[s, 0] > 0.0 else 1.0
    belief = crowd * _BELIEF
    usual = _ratio(all_found, all_expected, overall, belief)
    for had in range(PARTNERS):
        some_found, some_expected = 0.0, 0.0
        for age in range(end):
            some_expected += looked[age, had, 1]
            some_found += found[age, had]
        like = _ratio(some_found, some_expected, usual, belief)
        for age in range(end):
            near, twin = like, age ^ 1
            if age >= FINE and twin < end:
                both = looked[age, had, 1] + looked[twin, had, 1]
                near = _ratio(found[age, had] + found[twin, had], both, like, belief)
            rates[age, had] = _ratio(found[age, had], looked[age, had, 1], near, belief)
            if once and had > 0:
                rates[age, had] = 0.0
    for had in range(PARTNERS):
        for age in range(end):
            base = all_expected / times
            if looked[age, had, 0] > 0.0 and looked[age, had, 1] > 0.0:
                base = looked[age, had, 1] / looked[age, had, 0]
            best = _best_mean(policy, age, end, had, base)
            index[age, had] = best / base
        # Only as much change from age to age as is needed, so that chance does not decide between
        # tuples that are alike; where the index goes on rising or falling, it is followed.
        index[end, had] = index[end - 1, had]
        for age in range(end - 2, -1, -1):
            here = index[age, had]
            index[age, had] = min(max(index[age + 1, had], here / _SLACK), here * _SLACK)
    kept = _SHARE ** (arrivals / _UNIT)
    policy.crowds[s, 0] *= kept
    policy.crowds[s, 1] *= kept
    for age in range(end):
        met = 0.0
        for had in range(PARTNERS):
            met += found[age, had]
            found[age, had] *= kept
            looked[age, had, 0] *= kept
            looked[age, had, 1] *= kept
        spans[age] = min(_OVER * (parts[age] + 0.5 * belief) / (met + belief), 1.0)
        parts[age] *= kept


@inlined
def _best_mean(policy: Any, first: int, end: int, had: int, base: float) -> float:
    """Return the best return per window of a stay that ends at an age or after so many partners.

    ``inside[n]`` is the chance to be still there with n partners, ``spent[n]`` and ``earned[n]``
    are time and meetings with so many, up to an age. Within a slice, who meets a partner does so
    half-way. That nobody comes in a slice where x meetings are expected has the chance exp(-x),
    here 1 / (1 + x + x * x / 2).
    """
    inside, spent, earned = policy.inside[0], policy.inside[1], policy.inside[2]
    for n in range(PARTNERS):
        inside[n] = 1.0 if n == had else 0.0
        spent[n] = earned[n] = 0.0
    best = 0.0
    for age in range(first, end):
        width, came, time, reward = policy.widths[age], 0.0, 0.0, 0.0
        for n in range(had, PARTNERS):
            x = base * policy.rates[age, n] * width
            gone = 0.0
            if n < PARTNERS - 1:
                gone = inside[n] * (1.0 - 1.0 / (1.0 + x + 0.5 * x * x))
                earned[n] += gone + 0.5 * came * x
            else:
                earned[n] += (inside[n] + 0.5 * came) * x
            spent[n] += (inside[n] - 0.5 * gone + 0.5 * came) * width
            inside[n] += came - gone
            came = gone
            time += spent[n]
            reward += earned[n]
            if time > 1e-12:
                best = max(best, reward / time)
    return best
