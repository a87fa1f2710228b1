"""What a tuple is expected to earn for the room it takes: our own policy, and the default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.bounded import hooks
from bankfull.kernels.bounded.memory import NONE, Memory
from bankfull.kernels.compiler import Float64, Int64, inlined, inner, rule
from bankfull.kernels.recall.feed import (
    AGES,
    PARTNERS,
    RING,
    Feed,
    count_crowd,
    count_state,
    slice_of,
    widths,
)
from bankfull.policies.looks import (
    AGAIN,
    CLASS,
    HAD,
    LAST,
    first_to_go,
    go_round,
    settle_looks,
    weigh_newcomer,
)
from bankfull.policies.mixture import (
    COUNTS,
    ESTIMATORS,
    LIVES,
    TIMES,
    TOTALS,
    first_shares,
    learn,
)
from bankfull.policies.promise import UNEXPLAINED
from bankfull.policies.registry import Policy, Shape, check, register
from bankfull.policies.returns import age_of, index_at, look_at_sample, tabulate_returns
from bankfull.policies.worth import CLASSES, NO_CLASS, class_of, middle, tabulate_worth

#: Tuples between the first tables; later it is a 32nd (2 to the 5th) of the next power of two.
_SOONEST, _PART = 8, 5


class GainState(NamedTuple):
    """What has been learned.

    For every join and stream: ``totals``, decayed counts of arrivals, like those of keys, then all
    arrivals, the time of the last and those learned from; ``shares`` of the estimators;
    ``factors``, what a count of a key is worth (``mixture.prepare``). For every stream: ``seen``,
    the decayed number of tuples in each class of importance; ``worth[s, c]``, what a result with
    stream s is worth to a tuple of class c.

    Of every state (``returns.py``): ``found`` meetings (``parts``, ``crowds``:
    ``kernels/recall/feed.py``), ``looked``, the time spent in it and the meetings expected. Made of
    them: the ``indices`` at the beginning of each slice and at the end of the last, and ``spans``,
    the part of each slice after which its meetings are over.
    ``unexplained``: what sets earn beyond what their items promise (``promise.py``).
    ``sampled``: they come from the sample. ``once[s]``: a tuple of the stream has one partner at
    most; ``ends[s]``: the slices that its window has; ``widths`` of the slices;
    ``had[seq % RING]``: partners that tuples have had when they came; ``clock``: the time of the
    last look, how many there were, and how many tuples had come by then.

    ``every``: after so many tuples tables are made. ``period``: tuples since then, the time that
    ``factors`` hold for, and how many keys and items came by then. ``cursor``: the stream and slot
    to be looked at next. ``again``: how many it looks at, and how many of so many looks found a
    priority that had fallen. ``seen_again``, ``chances``, ``counts``, ``rates`` and ``inside`` are
    room to work in.
    """

    rate: float
    every: int
    combine: int
    scale: float
    totals: Float64
    shares: Float64
    factors: Float64
    seen: Float64
    worth: Float64
    sampled: bool
    had: NDArray[np.uint8]
    found: Float64
    parts: Float64
    crowds: Float64
    looked: Float64
    indices: Float64
    spans: Float64
    unexplained: Float64
    once: Int64
    ends: Int64
    widths: Float64
    clock: Float64
    period: Float64
    cursor: Int64
    again: Float64
    seen_again: Int64
    chances: Float64
    counts: Float64
    rates: Float64
    inside: Float64


@register("gain", "our own")
@dataclass(frozen=True)
class Gain(Policy):
    """Expected importance per unit of time in memory, learned from the streams themselves.

    *How often* a tuple's key will arrive on the other streams is a mixture of 23 estimates:
    counts with seven half-lives, from a 256th of the window to for ever, taken from the stream that
    may bring the partner, from the others, or from all; how often it came *again*; and one that
    knows nothing. Their proportions follow the arrivals by one step of online
    expectation-maximisation each, so long-lived and short-lived popularity may ride on each other,
    streams may share it or not, and a first arrival says as little as it turns out to.
    *How much* a result is worth is its mean importance over what the other stream brings.
    *When*: what tuples still earn at their age, with the partners they have had, is learned from
    the sample that is kept aside for recall, which sees every age, whatever is dropped; the best
    mean return over any further stay (as Gittins' index does) is what a tuple is worth. So a late
    partner is waited for, and a stream or a tuple that has nothing more to expect goes first.
    ``unique=`` of a stream tells at once what otherwise has to be learned.

    Frequency (PROB), locality (GDJ), age (AGE) and importance (SIMP) are special cases. Statistics
    are bounded: keys that nobody stored holds are forgotten, the rarest first. Priorities are
    corrected lazily: when a tuple comes up for eviction, and a few with every arrival, by a
    cursor that visits the stored tuples in turn, fewer where that finds little. Tables are made
    anew every ``period`` tuples, with larger budgets less often, at first every eight.

    Reference: none; the mixture follows the notes in the project's own experiment.
    Cost: a bounded number of estimates and heap operations an arrival, whatever the buffer.
    """

    key_times: ClassVar[int] = TIMES
    key_notes: ClassVar[int] = COUNTS
    rate: float = 0.01
    period: int = 128

    def __post_init__(self) -> None:
        check("gain", "rate", self.rate, 1e-6, 0.5)
        check("gain", "period", self.period, 1, RING)

    def start(self, shape: Shape) -> GainState:
        streams = len(shape.spans)
        each = (shape.joins, streams)
        states = (streams, AGES, PARTNERS)
        index = np.ones((streams, AGES + 1, PARTNERS))
        once = np.array(shape.once or (False,) * streams, np.int64)
        index[once > 0, :, 1:] = 0.0
        timed = shape.scale > 0.0
        ends = [slice_of(span / shape.scale) + 1 if timed else 1 for span in shape.spans]
        classes = CLASSES if shape.weighed else 1
        own = [1.0, *(middle(known) for known in range(1, classes))]  # until others are known
        return GainState(
            float(self.rate),
            int(self.period),
            shape.combine,
            shape.scale,
            np.zeros((*each, TOTALS)),
            np.tile(first_shares(), (*each, 1)),
            np.zeros((*each, streams + 1, LIVES)),
            np.zeros((streams, classes)),
            np.tile(own, (streams, 1)),
            shape.sampled,
            np.zeros(RING, np.uint8),
            np.zeros(states),
            np.zeros((streams, AGES)),
            np.tile([0.0, 0.0, -1.0, 0.0], (streams, 1)),
            np.zeros((*states, 2)),
            index,
            np.ones((streams, AGES)),
            np.zeros((streams, UNEXPLAINED)),
            once,
            np.array(ends, np.int64),
            widths(),
            np.zeros(3),
            np.array([0.0, np.inf, 0.0]),
            np.array([0, NONE]),
            np.array([float(AGAIN), 0.0, 0.0]),
            np.zeros(AGAIN, np.int64),
            np.zeros(ESTIMATORS),
            np.zeros((streams, LIVES)),
            np.zeros((AGES, PARTNERS)),
            np.zeros((3, PARTNERS)),
        )

    def learns_every(self, shape: Shape, number: int) -> int:
        """Return after how many tuples the sample is looked at: often while little is known."""
        if not shape.sampled:
            return 0
        most = min(max(int(self.period), 1 << shape.tuples.bit_length() >> 1), RING)
        return min(most, max(_SOONEST, 1 << number.bit_length() >> _PART))

    def feed(self, state: GainState) -> Feed:
        """Return where the sample's meetings are counted."""
        return Feed(state.scale, state.had, state.found, state.parts, state.crowds)

    def learn(self, state: GainState, memory: Memory, watch: Any, items: Any) -> None:
        """Learn from the sample what tuples still earn."""
        now = memory.now.time_now / state.scale
        if state.scale < 0.0:
            now = memory.now.seq_next / -state.scale
        look_at_sample(state, memory, watch, items, now)


@inlined
def _now(policy: GainState, memory: Memory, time: int) -> float:
    """Return the time in windows; of count windows, in tuples."""
    if policy.scale < 0.0:
        return memory.now.seq_next / -policy.scale  # type: ignore[no-any-return]
    return time / policy.scale


@inlined
def _class_in(memory: Memory, stream: int, importance: float) -> int:
    """Return the class of a tuple's importance, if its stream has one."""
    return class_of(importance) if memory.streams[stream].weighed else NO_CLASS


@rule(hooks.notes_keys, GainState)
def _notes_keys(policy: GainState) -> bool:
    return True


@rule(hooks.arrived, GainState)
def _arrived(
    policy: GainState, memory: Memory, key: int, stream: int, importance: float, t: int
) -> None:
    learn(policy, memory, key, stream, _now(policy, memory, t))
    policy.seen[stream, _class_in(memory, stream, importance)] += 1.0


@rule(hooks.found, GainState)
def _found(policy: GainState, memory: Memory, many: int) -> None:
    policy.had[memory.now.seq_next % RING] += min(many, PARTNERS - 1)


@rule(hooks.enter, GainState)
def _enter(policy: GainState, memory: Memory, slot: int, time: int) -> None:
    stream, importance = memory.slots[slot].stream, memory.slots[slot].importance
    memory.slots[slot].notes[CLASS] = _class_in(memory, stream, importance)
    memory.slots[slot].notes[HAD] = policy.had[(memory.now.seq_next - 1) % RING]
    memory.slots[slot].notes[LAST] = -1.0
    weigh_newcomer(policy, memory, slot, _now(policy, memory, time))


@rule(hooks.matched, GainState)
def _matched(policy: GainState, memory: Memory, slot: int, time: int) -> bool:
    """Count a partner, once for each arrival; the priority changes with the index at once."""
    about = memory.slots[slot]
    if about.notes[LAST] == memory.now.seq_next:
        return False
    about.notes[LAST] = memory.now.seq_next
    had = int(about.notes[HAD])
    about.notes[HAD] += 1.0
    if not policy.sampled:
        count_state(policy.found, policy.parts, about.stream, age_of(policy, memory, slot), had)
        count_crowd(policy.crowds, about.stream, memory.now.seq_next)
    if had >= PARTNERS - 1:  # as most are that meet many; one more changes nothing
        return False
    before = index_at(policy, memory, slot, had)
    after = index_at(policy, memory, slot, had + 1)
    if before == after or before <= 0.0:
        return False
    about.priority *= after / before
    return True


@rule(hooks.left, GainState)
def _left(policy: GainState, memory: Memory, slot: int) -> None:
    if policy.cursor[1] == slot:
        policy.cursor[1] = memory.slots[slot].newer


@rule(hooks.choose, GainState)
def _choose(policy: GainState, memory: Memory, buffer: int, time: int) -> int:
    return first_to_go(policy, memory, buffer, _now(policy, memory, time))


@rule(hooks.processed, GainState)
def _processed(policy: GainState, memory: Memory, stream: int, time: int) -> None:
    go_round(policy, memory, _now(policy, memory, time))
    policy.had[memory.now.seq_next % RING] = 0
    policy.period[0] += 1.0
    if policy.period[0] >= policy.every:
        policy.period[0] = 0.0
        _tabulate(policy, memory)


@inner
def _tabulate(policy: GainState, memory: Memory) -> None:
    """Make tables of what was seen, and settle how much is looked at."""
    settle_looks(policy.again)
    for s in range(memory.streams.shape[0]):
        tabulate_worth(policy.seen[s], policy.worth[s], policy.combine)
    if not policy.sampled:
        tabulate_returns(policy, memory, float(policy.every))
