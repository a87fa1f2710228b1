"""Our own policy: a tuple stays for what it is expected to earn."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bankfull.oracle.shedding.aside import Aside, can_keep
from bankfull.oracle.shedding.hand import Hand
from bankfull.oracle.shedding.memory import Arrival, Memory, agree
from bankfull.oracle.shedding.policy import Policy, Standing
from bankfull.oracle.shedding.returns import CLASSES, Returns, tabulate
from bankfull.oracle.shedding.unexplained import Unexplained
from bankfull.oracle.shedding.worth import class_if_any, middle, of_classes

#: Half-lives of counts, in windows.
LIVES = (4.0, 1.0, 1 / 4, 1 / 16, 1 / 64, 1 / 256, math.inf)
MOST, ALONG = 8, 64

#: What is left of one arrival a window ago, and one just now, with room for what is rounded.
ONE_AGO, ONE_NOW = 0.49999, 1.00001

#: What is predicted: the key of the next tuple of a stream, in a join.
Where = tuple[int, int]


@dataclass
class Gain(Policy):
    """The smallest priority goes, as far as priorities are known: they are noted now and then.

    The chance that the next tuple of stream o of a join has key k is estimated by fractions
    count(k) / count(any key), in counts that halve every 4, 1, 1/4, 1/16, 1/64, 1/256 windows or
    never, on o itself, on the join's other streams, or on all of them: 21 estimates. Another is how
    often k came again on any of them, which is one time less than it came, over how often any key
    did (at least 1), and the last is 1 / (1 + keys known). They are mixed by shares: at first 0.5
    for the last, 0.5 for all others together.
    When o brings a k that came before, every share moves to (share x estimate / mixture) by a step
    of max(rate, 2 / (20 + such arrivals so far)), but is never below a millionth.

    Priority = index of the tuple's state (``returns.py``) x sum over joins and their other streams
    o of (o's part of all recent arrivals, half-life 1) x (mixture's chance of the tuple's key) x
    (mean importance of a result with a tuple of o). Importance is known by class, a quarter of a
    power of two wide; it is the tuple's own until the first tables.

    While nothing has come that a tuple could be joined with, its priority is (1 + its age) x the
    sum over all other streams of (mean importance of a result with a tuple of it), but less than
    that of anybody of whom something is expected.

    All that is divided by what the tuple takes of the budget: its size, and its part of each of its
    keys, by the number of stored ones of its stream that hold it (at least 1).

    Time is in windows: the longest that has a length in time (at least 1, as for each stream). If
    all are of rows, time is the number of tuples that came, one more from the end of a tuple's
    search on, in units of the longest window times the number of streams; nobody has an age then.

    A priority is noted when a tuple asks for a place, and then also that of the newest stored one
    of its stream and key, for each join. A full buffer looks at the tuple with the smallest note
    and notes it again until it stays the smallest, eight times at most; of those looked at the
    smallest is chosen. The oldest one of its stream and key, up to the 64th before it, is noted
    too, for each join, and chosen instead if it is smaller or equal. The chosen one or the newcomer
    goes. At the end of each turn up to eight tuples are noted, by a hand that goes round; how many
    is settled after every ``period`` tuples (``hand.py``).

    How many partners a tuple has had when it comes is told by counts that halve every window, for
    each join and other stream of it: below 1/2 none, up to 1 one, above two; in a join on sets by
    the stored ones that it agrees with, up to two. Later every arrival that it makes a result with
    counts, and the note changes as the index does. Every item of a set is a key (``sets.py``), and
    sets have a chance that their items do not explain (``unexplained.py``).

    What has met whom is learned from the sample that is kept aside (``aside.py``). Every so many
    tuples those of it that have not expired are looked at: the time since the last look, and what
    the mixture says of each, times so many tuples. Where there is no sample (more than two streams
    with unequal windows) the stored tuples count instead: their results, and the looks of the hand,
    each for an eighth of them. ``once`` names streams whose tuples have one partner at most.

    Tables are made after every ``period`` tuples; with a sample, no more often than the budget
    comes, rounded down to a power of two, but at least once in 1,024; and while fewer than 2 to the
    k-th have come, whenever a 32nd of that has, eight tuples at least. The counts behind them keep
    0.98 of themselves for every 128 tuples, the importance that was seen every period.
    """

    rate: float = 0.01
    combine: Callable[[float, float], float] = min
    period: int = 128
    once: frozenset[int] = frozenset()
    notes: dict[int, float] = field(init=False, repr=False, default_factory=dict)

    def begin(self) -> None:
        self.notes = {}
        self.times: dict[tuple[int, int, Any], list[float]] = defaultdict(list)
        self.shares: dict[Where, list[float]] = {}
        self.learned: dict[Where, int] = defaultdict(int)
        self.keys: set[tuple[int, Any]] = set()
        self.returns: dict[int, Returns] = {}
        self.aside: Aside | None = None
        self.had: dict[int, int] = {}
        self.came: dict[int, int] = {}
        self.last: dict[int, int] = {}
        self.looked: float | None = None
        self.seen: dict[int, dict[int | None, float]] = defaultdict(lambda: defaultdict(float))
        self.worth: dict[tuple[int, int | None], float] = {}
        self.turns = self.turns_looked = 0
        self.searched = 0
        self.known: dict[tuple[int, int, Any], list[float]] = {}
        self.unexplained = Unexplained()

    # ------------------------------------------------------------------------------- the turn

    def arrived(self, x: Arrival, memory: Memory) -> None:
        if not self.returns:
            self._start(memory)
        self.hand.move_on(memory)
        self.known = {}
        joins = sorted(enumerate(memory.joins), key=lambda one: one[1].single)
        of = [(number, key) for number, join in joins for key in join.keys_of(x, number)]
        self.had[x.seq] = self.came[x.seq] = sum(
            self._had(number, x.stream, x.keys[number], memory)
            if join.single
            else min(sum(agree(number, join, x, u) for u in memory.stored), CLASSES - 1)
            for number, join in joins
            if join.keys_of(x, number)
        )
        self.keys |= set(of)
        for number, key in of:
            self._learn(number, x.stream, key, memory)
            self.times[number, x.stream, key].append(self._now(memory))
            self.seen[x.stream][class_if_any(x)] += 1
            self.known = {}

    def matched(self, u: Arrival, memory: Memory) -> None:
        x = memory.history[-1]
        if self.last.get(u.seq) == x.seq:
            return
        self.last[u.seq] = x.seq
        returns, age, had = self.returns[u.stream], self._age(u, memory), self.had[u.seq]
        self.had[u.seq] = had + 1
        if self.aside is None:
            returns.meet(age, had, x.seq)
        if returns.at(age, had) > 0:
            self.notes[u.seq] *= returns.at(age, had + 1) / returns.at(age, had)

    def offered(self, x: Arrival, memory: Memory) -> None:
        self._search_is_over(x)
        self._note(x, memory)
        for older in memory.older(x):
            self._note(older[0], memory)

    def pressed(self, x: Arrival, memory: Memory) -> None:
        self._search_is_over(memory.history[-1])
        looked = []
        if not memory.buffer(x):
            return
        for _ in range(MOST):
            first = self._first(x, memory)
            self._note(first, memory)
            looked.append(first)
            if self._first(x, memory) is first:
                break
        self.chosen = min(looked, key=self._place)
        for older in memory.older(self.chosen):
            oldest = older[:ALONG][-1]
            self._note(oldest, memory)
            self.chosen = min(self.chosen, oldest, key=self._place)

    def priority(self, u: Arrival, memory: Memory) -> Standing:
        rivals = (self.chosen, memory.history[-1])
        return (u not in rivals, self.notes[u.seq])

    def inserted(self, x: Arrival, memory: Memory) -> None:
        self.hand.move_on(memory)

    def settled(self, x: Arrival, memory: Memory) -> None:
        self._search_is_over(x)
        self.hand.move_on(memory)
        due = self.hand.due(x.seq + 1)
        looks, now = min(due, len(memory.stored)), self._now(memory)
        for _ in range(looks):
            u = self.hand.next(memory)
            before = self.notes[u.seq]
            self._note(u, memory)
            self.hand.saw(before, self.notes[u.seq])
            if self.aside is None:
                each = len(memory.stored) / looks
                time = each * (now - (self.looked or 0.0))
                expected = each * self._earns(u, memory)
                self.returns[u.stream].look(self._age(u, memory), self.had[u.seq], time, expected)
        self.turns += 1
        if self.aside is None:
            self.looked = now
        else:
            self._learn_from_sample(x, self.aside, memory)
        if self.turns % self.period == 0:
            self.hand.settle()
            for stream in self._streams(memory):
                self._tabulate(stream)
            if self.aside is None:
                self._tabulate_returns(self.period, memory)

    def _start(self, memory: Memory) -> None:
        window = memory.longest_life
        for s in self._streams(memory):
            spans = [join.span(s) for join in memory.joins if s in join.streams]
            length = max(1.0, *spans) / window if window else 0.0
            self.returns[s] = Returns(length, s in self.once)
        if can_keep(memory.joins):
            self.aside = Aside(memory.aside)
        self.hand = Hand(len(self._streams(memory)), self.aside is not None)
        self.every = min(max(self.period, 2 ** int(math.log2(max(memory.places, 1)))), 1024)

    def _learn_from_sample(self, x: Arrival, aside: Aside, memory: Memory) -> None:
        for one in aside.met(x, memory):
            u = one.tuple
            self.returns[u.stream].meet(self._age(u, memory), one.had, x.seq)
            one.had += 1
        aside.keep(x, self.came[x.seq], memory)
        most = 2 ** math.ceil(math.log2(self.turns))  # so many have come at most, not long ago half
        if self.turns % min(self.every, max(8, most // 32)):
            return
        now, came = self._now(memory), self.turns - self.turns_looked
        self.turns_looked = self.turns
        time = 0.0 if self.looked is None else now - self.looked
        self.looked = now
        for one in aside.kept:
            u = one.tuple
            if not memory.expired(u, settled=True):
                chances = self._chances(u, memory)
                promised = came * sum(chances.values())
                sets = came * sum(not memory.joins[number].single for number, _ in chances)
                expected = promised + sets * self.unexplained.chance[u.stream]
                self.returns[u.stream].look(self._age(u, memory), one.had, time, expected)
                self.unexplained.look(u.stream, one.had, promised, sets)
        keys = self._keys_came() / self.turns
        self.unexplained.settle(self.returns, keys, 0.98 ** (came / 128))
        self._tabulate_returns(came, memory)

    def _tabulate_returns(self, arrivals: int, memory: Memory) -> None:
        known = [self._known_part(s, memory) for s in self.returns]
        tabulate(list(self.returns.values()), known, arrivals)

    def _known_part(self, s: int, memory: Memory) -> float:
        """Return how much of what may bring partners had a key that came before; one more had."""
        of = [(n, join.streams) for n, join in enumerate(memory.joins) if s in join.streams]
        others = [(number, o) for number, streams in of for o in streams if o != s]
        known = 1 + sum(self.learned[where] for where in others)
        return known / (1 + sum(len(self._all_times(*where)) for where in others))

    # ------------------------------------------------------------------------------ the notes

    def _note(self, u: Arrival, memory: Memory) -> None:
        index = self.returns[u.stream].at(self._age(u, memory), self.had[u.seq])
        earns = self._earns(u, memory)
        if earns > 0:
            self.notes[u.seq] = earns * index / memory.share(u)
        else:
            self.notes[u.seq] = (
                1e-300
                * (1 + memory.age(u) / (memory.longest_life or 1))
                * sum(self._worth_with(o, u) for o in self._streams(memory) if o != u.stream)
            )

    def _first(self, x: Arrival, memory: Memory) -> Arrival:
        return min(memory.buffer(x), key=self._place)

    def _place(self, u: Arrival) -> tuple[float, int]:
        return self.notes[u.seq], u.seq

    # --------------------------------------------------------------------------- how often

    def _learn(self, number: int, o: int, key: Any, memory: Memory) -> None:
        estimates = self._estimates(number, o, key, memory)
        if not any(estimates[:-2]):
            return  # nobody has seen the key
        shares = self._shares(number, o)
        mixture = sum(share * one for share, one in zip(shares, estimates, strict=True))
        step = max(self.rate, 2 / (20 + self.learned[number, o]))
        self.learned[number, o] += 1
        self.shares[number, o] = [
            max(share + step * (share * one / mixture - share), 1e-6)
            for share, one in zip(shares, estimates, strict=True)
        ]

    def _shares(self, number: int, o: int) -> list[float]:
        count = 3 * len(LIVES) + 1
        return self.shares.get((number, o), [0.5 / count] * count + [0.5])

    def _estimates(self, number: int, o: int, key: Any, memory: Memory) -> list[float]:
        others = [s for s in memory.joins[number].streams if s != o]
        found = []
        for source in ([o], others, [o, *others]):
            for life in range(len(LIVES)):
                count = sum(self._counts(number, s, key, memory)[life] for s in source)
                total = sum(self._counts(number, s, None, memory)[life] for s in source)
                found.append(count / total if total > 1e-9 else 0.0)
        came = sum(self._counts(number, s, key, memory)[-1] for s in (o, *others))
        repeated = sum(self.learned[number, s] for s in (o, *others))
        again = max(came - 1, 0) / max(repeated, 1)
        return [*found, again, 1 / (1 + len(self.keys))]

    def _counts(self, number: int, s: int, key: Any | None, memory: Memory) -> list[float]:
        """Return the decayed counts of a key, or of all of them."""
        where = (number, s, -1 if key is None else key)
        if where not in self.known:
            now = self._now(memory)
            times = self.times[where] if key is not None else self._all_times(number, s)
            self.known[where] = [sum(0.5 ** ((now - t) / life) for t in times) for life in LIVES]
        return self.known[where]

    def _all_times(self, number: int, s: int) -> list[float]:
        of = [times for (n, stream, _), times in self.times.items() if (n, stream) == (number, s)]
        return sorted(t for times in of for t in times)

    # ---------------------------------------------------------------------- how much, and when

    def _earns(self, u: Arrival, memory: Memory) -> float:
        """Return the importance that a tuple is expected to earn with the next arrival."""
        more = self.unexplained.chance[u.stream]
        return sum(
            (one + more * (not memory.joins[number].single)) * self._worth_with(o, u)
            for (number, o), one in self._chances(u, memory).items()
        )

    def _worth_with(self, o: int, u: Arrival) -> float:
        """Return what a result with stream o is worth to a tuple, on average."""
        own = class_if_any(u)
        return self.worth.get((o, own), 1.0 if own is None else middle(own))

    def _chances(self, u: Arrival, memory: Memory) -> dict[Where, float]:
        """Return the chances that the next key is a partner's, by join and stream.

        They are those of what the tuple's keys are known to promise."""
        recent = {
            (number, s): self._counts(number, s, None, memory)[LIVES.index(1.0)]
            for number, join in enumerate(memory.joins)
            for s in join.streams
        }
        everything = sum(recent.values())
        keys_came, found = self._keys_came(), {}
        for number, join in enumerate(memory.joins):
            keys = join.keys_of(u, number)
            for o in join.streams:
                if not keys or o == u.stream:
                    continue
                part = recent[number, o] / everything if everything > 0 else 1.0
                chances = [part * self._mixed(number, o, key, memory) for key in keys]
                many = keys_came / max(sum(v.stream == o for v in memory.history), 1)
                found[number, o] = join.promise(u.stream, chances, many)
        return found

    def _mixed(self, number: int, o: int, key: Any, memory: Memory) -> float:
        estimates = self._estimates(number, o, key, memory)
        return sum(a * b for a, b in zip(self._shares(number, o), estimates, strict=True))

    def _keys_came(self) -> int:
        return sum(map(len, self.times.values()))

    def _had(self, number: int, s: int, key: Any, memory: Memory) -> int:
        """Return how many partners of a key came in the last window, about, up to two a stream."""
        recent = [
            self._counts(number, o, key, memory)[LIVES.index(1.0)]
            for o in memory.joins[number].streams
            if o != s
        ]
        return sum(0 if one < ONE_AGO else 1 if one <= ONE_NOW else 2 for one in recent)

    def _tabulate(self, s: int) -> None:
        for own, worth in of_classes(self.seen[s], self.combine).items():
            self.worth[s, own] = worth
        for other in self.seen[s]:
            self.seen[s][other] *= 0.98

    def _search_is_over(self, x: Arrival) -> None:
        if self.searched <= x.seq:
            self.searched = x.seq + 1
            self.known = {}

    def _now(self, memory: Memory) -> float:
        window = memory.longest_life
        if window is not None:
            return memory.now / window
        longest = max(most for join in memory.joins for most in join.rows)
        return self.searched / (longest * len(self._streams(memory)))

    def _age(self, u: Arrival, memory: Memory) -> float:
        window = memory.longest_life
        return 0.0 if window is None else memory.age(u) / window

    def _streams(self, memory: Memory) -> list[int]:
        return sorted({s for join in memory.joins for s in join.streams})
