"""One setting of the paper's experiments: its streams, its join, its processor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from bankfull.lab import real
from bankfull.lab.cpu.streams import (
    SECOND,
    STEPS,
    Floats,
    Ints,
    Side,
    arrivals,
    rotating_keys,
    rotating_sets,
    typed,
)

if TYPE_CHECKING:
    from bankfull.core import Plan
    from bankfull.runtime.embedded.clock import Pace, Processor

#: Names of the streams, S1 and S2 of the paper.
NAMES = ("a", "b")
#: By what a stream follows the other, as a part of the cycle: not at all, or the paper's 5/8.
ALIGNED, SHIFTED = 0.0, 0.625
#: What bounds the work: a processor that charges for everything, or a number of comparisons.
VIRTUAL, COMPARISONS = "virtual", "comparisons"
#: What one comparison costs, by predicate and search; comparing two sets item by item is the unit.
#: An entry of an inverted list, and equality of two values, are cheaper. See ``docs/lab.md``.
COSTS = {
    ("overlap", "scan"): 1.0,
    ("overlap", "inverted"): 0.05,
    ("overlap", "identifier"): 0.05,
    ("equal", "scan"): 0.2,
    ("equal", "hash"): 0.2,
}
#: What fetching a tuple costs, and adding an entry to an index.
FETCH, POSTING = 5.0, 0.2


@dataclass(frozen=True)
class Setting:
    """Parameters of one run. The defaults are the paper's where it has any.

    ``shift`` is the part of a cycle by which S2 follows S1, ``turned`` the same from half of the
    time on. ``both``: half of the tuples of either stream follow the other stream, so that both
    directions pay. ``utilities`` and ``frequencies`` are those of the types of tuples. ``clock``:
    the virtual processor, or a budget of so many comparisons a second. ``source``: real streams,
    whose minutes stand for seconds.
    """

    steps: tuple[tuple[float, float], ...] = STEPS
    window_s: float = 20.0
    basic_s: float = 1.0
    skew: float = 0.6
    shift: float = SHIFTED
    turned: float | None = None
    both: bool = False
    predicate: str = "overlap"
    at_least: int = 3
    search: str = "scan"
    capacity: float = 400_000.0
    utilities: tuple[float, ...] = ()
    frequencies: tuple[float, ...] = ()
    period_s: float = 5.0
    clock: str = VIRTUAL
    source: str = ""
    quick: bool = False

    @property
    def length_s(self) -> float:
        """How long the streams are."""
        return sum(length for length, _ in self.steps)

    @property
    def cycle_s(self) -> float:
        """The cycle of popularity: twice the window."""
        return 2.0 * self.window_s

    @property
    def is_indexed(self) -> bool:
        """Whether the join has an index."""
        return self.search != "scan"

    def small(self) -> Setting:
        """Return the same with a fifth of the tuples a second, and as much less to compare."""
        steps = tuple((length, rate / 5.0) for length, rate in self.steps)
        return replace(self, steps=steps, capacity=self.capacity / 25.0, quick=True)

    def pace(self) -> Pace:
        """Return how often the virtual processor looks up."""
        from bankfull.runtime.embedded.clock import Pace

        pace = Pace.of(SECOND)
        if self.source:
            # A minute stands for a second, and few tuples come in one.
            return replace(pace, buffer=round(self.period_s * SECOND), look=SECOND)
        if self.quick:
            return replace(pace, look=SECOND)
        return replace(pace, tuples=256) if self.is_indexed else pace

    def processor(self) -> Processor:
        """Return the virtual processor."""
        from bankfull.runtime.embedded.clock import Processor

        if self.clock == COMPARISONS:
            return Processor(self.capacity, 0.0)
        cost = COSTS[self.predicate, self.search]
        return Processor(self.capacity, FETCH, cost, POSTING if self.is_indexed else 0.0)


@lru_cache(maxsize=8)
def streams(setting: Setting, seed: int) -> tuple[Side, Side]:
    """Return both streams of a setting."""
    if setting.source:
        return real_streams(setting, seed)
    made = []
    for k in range(2):
        rng = np.random.default_rng([seed, k])
        times = arrivals(rng, setting.steps)
        side = _content(rng, setting, times, k)
        if setting.utilities:
            worth, often = np.array(setting.utilities), np.array(setting.frequencies)
            side = typed(rng, side, worth, often)
        made.append(side)
    return made[0], made[1]


def real_streams(setting: Setting, seed: int) -> tuple[Side, Side]:
    """Return a piece of the year's flights, from a time drawn by the seed."""
    found = {"landings": real.landings, "weather": real.reports}[setting.source]()
    length = int(setting.length_s)
    last = min(int(times[-1]) for times, _ in found.values())
    begin = int(np.random.default_rng([seed, 2]).integers(0, last - length))
    made = []
    for times, keys in found.values():
        mine = (times >= begin) & (times < begin + length)
        many = int(mine.sum())
        made.append(Side((times[mine] - begin) * SECOND, np.ones(many, np.int64), keys[mine]))
    return made[0], made[1]


def _content(rng: np.random.Generator, setting: Setting, times: Ints, k: int) -> Side:
    cycle, make = setting.cycle_s, rotating_sets
    if setting.predicate == "equal":
        make = rotating_keys
    if setting.both:
        return _two_way(rng, setting, times, k)
    shift: Floats = np.full(len(times), setting.shift * cycle if k else 0.0)
    if setting.turned is not None and k:
        shift[times >= setting.length_s * SECOND / 2] = setting.turned * cycle
    return make(rng, times, cycle, shift, setting.skew)


def _two_way(rng: np.random.Generator, setting: Setting, times: Ints, k: int) -> Side:
    """Return sets over two halves of the items; in each half another stream follows."""
    half = rng.random(len(times)) < 0.5
    shift = np.where(half == (k == 1), setting.shift * setting.cycle_s, 0.0)
    side = rotating_sets(rng, times, setting.cycle_s, shift, setting.skew)
    offset = np.repeat(np.where(half, 0, 1000), side.sizes)
    return Side(side.times, side.sizes, side.items + offset)


def plan_of(setting: Setting, algorithm: str | None) -> Plan:
    """Return the plan of a setting's join; None: the exact join, by its fastest search."""
    from bankfull.assemble import assemble
    from bankfull.spec import (
        Compare,
        Comparisons,
        Equal,
        Join,
        Keep,
        Overlap,
        Query,
        Shed,
        Stream,
        Ticks,
    )

    worth = "worth" if setting.utilities else None
    sides = tuple(Stream(name, "t", importance=worth) for name in NAMES)
    equal = setting.predicate == "equal"
    predicate = Equal((("k",),)) if equal else Overlap(("s",), setting.at_least)
    window = Ticks(round(setting.window_s * SECOND))
    search, shed = setting.search, None
    if algorithm is None:
        search = "hash" if equal else "inverted"
    else:
        compare = Compare(algorithm, period=Ticks(round(setting.period_s * SECOND)))
        budgeted = setting.clock == COMPARISONS and algorithm != "drop"
        cpu = Comparisons(setting.capacity / SECOND) if budgeted else 1.0
        shed = Shed(None, Keep("gain"), importance="max", cpu=cpu, compare=compare)
    join = Join("j", NAMES, predicate, (window, window), search)
    basic = Ticks(round(setting.basic_s * SECOND))
    query = Query(sides, (join,), basic, shed=shed)
    schemas = {
        name: side.batch().schema for name, side in zip(NAMES, _sample(setting), strict=True)
    }
    return assemble(query, schemas)


def _sample(setting: Setting) -> tuple[Side, Side]:
    """Return two very short streams, for their schemas."""
    return streams(replace(setting, steps=((1.0, 8.0),), source="", both=False), 0)
