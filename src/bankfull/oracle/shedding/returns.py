"""What a tuple still earns, by its age and the partners it has had, as far as meetings show it."""

from __future__ import annotations

from collections import defaultdict

#: Lengths of the slices of a window, in windows.
WIDTHS = [1 / 128] * 8 + [1 / 32] * 30
BEGINS = [sum(WIDTHS[:n]) for n in range(len(WIDTHS))]
#: Slices from here on are pairs.
PAIRS = 14
#: Partners had: none, one, more.
CLASSES = 3
BELIEF = 8
SLACK = 2 ** (1 / 16)
#: The meetings of a slice are over at so many times their mean place in it.
OVER = 3

#: A slice of age and a class of partners.
State = tuple[int, int]


def slice_of(age: float) -> int:
    """Return the slice that an age in windows is in; what is older than a window is in the last.

    >>> [slice_of(age) for age in (0.0, 0.0625, 0.25, 1.0)]
    [0, 8, 14, 37]
    """
    return max(n for n, begin in enumerate(BEGINS) if begin <= age)


def tabulate(of: list[Returns], known: list[float], arrivals: int) -> None:
    """Make the indices of all streams.

    ``known``: how much of what may bring partners to each had a key that came before.
    """
    found = 0.5 + sum(sum(one.found.values()) for one in of)
    expected = 0.5 + sum(
        part * sum(one.expected.values()) for one, part in zip(of, known, strict=True)
    )
    for one, part in zip(of, known, strict=True):
        one.tabulate(arrivals, part * found / expected)


class Returns:
    """Meetings found and expected in every state of a stream, and the index made of them.

    Found over expected is the *ratio* of a state. It is what is believed beforehand times (found +
    1/2) / (expected x belief + 1/2), to a power that is nearly 1 where much is known: k / (k + 8 x
    the mean number of meetings that a meeting's arrival had), k the larger of found and expected x
    belief. Of a stream what all streams have is believed (their sums and 1/2), of those with as
    many partners what the stream has; of two slices that are a pair (from a quarter of a window on,
    two are a 16th) what those have, of one of them what the pair has; of any other what those have.

    The *index* of a state: a tuple in it is expected to meet ``base`` partners a window times the
    ratio of the state it is in. It stays until some age, or until it has more than so many
    partners, if that is sooner; the best of all such stays, in partners a window, over the base.
    From old to young each is then made as much like the next older one as a factor of 2 to the 16th
    part allows. Where a tuple has one partner at most, the ratio of who had one is 0. Of a stream
    that nobody has looked at, or nothing is expected of, every index is what is believed of it.

    A slice is over, as far as the index goes, at three times the mean place of its meetings in it,
    from 0 to 1, each counted and as many halves as the ratio has believed meetings, or at its end.
    """

    def __init__(self, window: float, once: bool) -> None:
        self.ages, self.once = range(slice_of(window) + 1), once
        self.found: dict[State, float] = defaultdict(float)
        self.parts: dict[int, float] = defaultdict(float)
        self.over: dict[int, float] = {}
        self.time: dict[State, float] = defaultdict(float)
        self.expected: dict[State, float] = defaultdict(float)
        self.crowds: dict[int, int] = defaultdict(int)
        self.meetings = self.squares = 0.0
        self.index: dict[State, float] = {}

    def at(self, age: float, had: int) -> float:
        """Return the index at an age: that of its slice as it begins, then on to the next one's."""
        n = slice_of(age)
        into = self._part(age) / self.over.get(n, 1.0)
        before, after = (self._known(slice, had) for slice in (n, min(n + 1, self.ages[-1])))
        return before + min(into, 1.0) * (after - before)

    def _known(self, slice: int, had: int) -> float:
        state = slice, min(had, CLASSES - 1)
        return self.index.get(state, 0.0 if self.once and had else 1.0)

    def meet(self, age: float, had: int, seq: int) -> None:
        """Count a meeting with the arrival ``seq``."""
        self.found[slice_of(age), min(had, CLASSES - 1)] += 1
        self.parts[slice_of(age)] += self._part(age)
        self.crowds[seq] += 1
        self.meetings += 1
        self.squares += 2 * self.crowds[seq] - 1

    def look(self, age: float, had: int, time: float, expected: float) -> None:
        """Count time spent in a state, and the meetings expected in it."""
        state = slice_of(age), min(had, CLASSES - 1)
        self.time[state] += time
        self.expected[state] += expected

    def tabulate(self, arrivals: int, overall: float) -> None:
        """Make the index; forget some of what it was made from.

        ``overall``: found over expected, as it is believed of the stream.
        """
        states = [(age, had) for age in self.ages for had in range(CLASSES)]
        time, expected = (sum(of[one] for one in states) for of in (self.time, self.expected))
        if time <= 0 or expected <= 0:
            for age, had in states:
                self.index[age, had] = 0.0 if self.once and had else overall
            return
        usual = self._ratio(states, overall)
        self.ratio: dict[State, float] = {}
        for had in range(CLASSES):
            like = self._ratio([(age, had) for age in self.ages], usual)
            for age in self.ages:
                pair = [(age - age % 2, had), (age - age % 2 + 1, had)]
                paired = age >= PAIRS and pair[1][0] in self.ages
                near = self._ratio(pair, like) if paired else like
                known = 0.0 if self.once and had else self._ratio([(age, had)], near)
                self.ratio[age, had] = known
        for state in states:
            base = expected / time
            if self.time[state] > 0 and self.expected[state] > 0:
                base = self.expected[state] / self.time[state]
            best = max(self._best(state, most, base) for most in range(state[1], CLASSES))
            self.index[state] = best / base
        for age, had in reversed(states):
            if age + 1 in self.ages:
                here, older = self.index[age, had], self.index[age + 1, had]
                self.index[age, had] = min(max(older, here / SLACK), here * SLACK)
        half = self._crowd() * BELIEF / 2
        for age in self.ages:
            met = sum(self.found[age, had] for had in range(CLASSES))
            self.over[age] = min(OVER * (self.parts[age] + half) / (met + 2 * half), 1.0)
        kept = 0.98 ** (arrivals / 128)
        self.meetings *= kept
        self.squares *= kept
        for table in (self.found, self.time, self.expected):
            for state in states:
                table[state] *= kept
        for age in self.ages:
            self.parts[age] *= kept

    def _ratio(self, states: list[State], like: float) -> float:
        found, expected = (sum(of[one] for one in states) for of in (self.found, self.expected))
        known = max(found, expected * like)
        power = known / (known + self._crowd() * BELIEF)
        return float(like * ((found + 0.5) / (expected * like + 0.5)) ** power)

    def _crowd(self) -> float:
        return self.squares / self.meetings if self.meetings > 0 else 1.0

    def _part(self, age: float) -> float:
        """Return how much is over of the slice that an age is in."""
        n = slice_of(age)
        return min((age - BEGINS[n]) / WIDTHS[n], 1.0)

    def _best(self, state: State, most: int, base: float) -> float:
        """Return the best mean return of a stay that ends with more than ``most`` partners.

        Who meets a partner in a slice does so half-way.
        """
        first, had = state
        inside = [float(n == had) for n in range(CLASSES)]
        best, reward, time = 0.0, 0.0, 0.0
        for age in self.ages[first:]:
            came = 0.0
            for n in range(had, most + 1):
                x = base * self.ratio[age, n] * WIDTHS[age]
                gone = inside[n] * (1 - 1 / (1 + x + x * x / 2))
                if n == CLASSES - 1:  # more of more is still more
                    time += (inside[n] + came / 2) * WIDTHS[age]
                    reward += (inside[n] + came / 2) * x
                    inside[n] += came
                else:
                    time += (inside[n] - gone / 2 + came / 2) * WIDTHS[age]
                    reward += gone + came / 2 * x
                    inside[n] += came - gone
                    came = gone
            if time > 1e-12:
                best = max(best, reward / time)
        return best
