"""Tests of the naive twins, which judge the engine: every decision followed on paper.

Families: *draws* (known values of the hash), *drawn* (one timeline or more for each policy and for
each rule of the loop; what is expected is worked out in the comments, never computed),
*special cases* (formulas that must fall together), *invariants* (random streams, every policy,
shared and split memory: the trace is played back by an independent reading and must add up).
Nothing here imports the engine.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import pytest

from bankfull.oracle.shedding import (
    TWINS,
    Additive,
    Age,
    Arrival,
    Cumulative,
    Dgl,
    Dimpprob,
    Fifo,
    Gain,
    Gdj,
    GdjTuned,
    JoinSpec,
    LearnedAge,
    Life,
    Memory,
    Multiplicative,
    Policy,
    Prob,
    Random,
    S3Fifo,
    Sieve,
    Simp,
    Simpprob,
    Trace,
    simulate,
    uniform,
)
from bankfull.oracle.shedding.draws import word

PLENTY = 99
PAIR = JoinSpec((0, 1), (PLENTY, PLENTY))

# ----------------------------------------------------------------------------------- how to draw
# One line a stream, one column an instant, a tuple is key or key*importance, "." is no tuple. The
# tuple of stream R at instant 3 is called R3. Keys of several joins are written a/b; "-" is null.


class Told(NamedTuple):
    """A trace in the names of the drawing: "R0 S1" a result, "R3>R0" R3 cost R0 its place."""

    results: str
    drops: str
    stored: str


class Drawing:
    def __init__(self, text: str, joins: Sequence[JoinSpec] = (PAIR,)) -> None:
        rows = [line.split() for line in text.strip().splitlines()]
        cells = sorted(
            (time, stream, f"{row[0].rstrip(':')}{time}", cell)
            for stream, row in enumerate(rows)
            for time, cell in enumerate(row[1:])
            if cell != "."
        )
        self.joins = joins
        self.names = [name for _, _, name, _ in cells]
        self.arrivals = [
            Arrival(stream, time, self._keys(cell), float((cell + "*1").split("*")[1]), seq)
            for seq, (time, stream, _, cell) in enumerate(cells)
        ]

    def _keys(self, cell: str) -> tuple[int | None, ...]:
        keys = [None if key == "-" else ord(key) for key in cell.split("*")[0].split("/")]
        return tuple(keys * len(self.joins) if len(keys) == 1 else keys)

    def tell(
        self, policy: Policy, capacity: Sequence[int] | int, *, seed: int = 0, sample: float = 0.0
    ) -> Told:
        trace = simulate(self.arrivals, self.joins, capacity, policy, seed=seed, sample=sample)
        return Told(
            ", ".join(" ".join(self.names[u] for u in members) for _, members in trace.results),
            ", ".join(f"{self.names[x]}>{self.names[u]}" for x, u in trace.decisions),
            " ".join(self.names[u] for u in trace.stored),
        )

    def named(self, notes: Mapping[int, object], *names: str) -> list[object]:
        """What a policy noted about some tuples."""
        return [notes[self.names.index(name)] for name in names]


# -------------------------------------------------------------------------------------------- draws


def test_draws_are_those_of_splitmix64() -> None:
    """The generator seeded with 0 gives these words; seq = -1 is where ours falls on its path."""
    known = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [word(step, -1) for step in (1, 2, 3)] == known
    assert uniform(1, -1) == (0xE220A8397B1DCDAF >> 11) / 2**53


def test_draws_are_uniform_and_wrap() -> None:
    draws = [uniform(7, seq) for seq in range(2000)]
    tenths = Counter(int(10 * draw) for draw in draws)
    assert set(tenths) == set(range(10))
    assert all(150 < count < 250 for count in tenths.values())
    assert uniform(7 + 2**64, 5) == uniform(7, 5) != uniform(8, 5)


# ---------------------------------------------------------------------------------- drawn: the loop


def test_windows_are_inclusive_and_results_come_newest_first() -> None:
    drawing = Drawing(
        """
        R: a a . . .
        S: . . a . a
        """,
        [JoinSpec((0, 1), (3, 3))],
    )
    # At 4, R0 is 4 old and gone, R1 is 3 old and still there.
    told = drawing.tell(Fifo(), PLENTY)
    assert told == Told("R1 S2, R0 S2, R1 S4", "", "R1 S2 S4")


def test_a_result_names_its_members_in_the_order_of_the_join() -> None:
    drawing = Drawing("R: a .\nS: . a", [JoinSpec((1, 0), (PLENTY, PLENTY))])
    assert drawing.tell(Fifo(), PLENTY).results == "S1 R0"


def test_each_join_has_its_own_windows_and_the_largest_keeps_the_tuple() -> None:
    drawing = Drawing(
        """
        R: a . . .
        S: . . a .
        T: . . . a
        """,
        [JoinSpec((0, 1), (1, 9)), JoinSpec((0, 2), (3, 9))],
    )
    # R0 is 2 old at S2: outside the first join, alive for the second.
    assert drawing.tell(Fifo(), PLENTY) == Told("R0 T3", "", "R0 S2 T3")


def test_expiry_makes_room_before_anybody_is_dropped() -> None:
    drawing = Drawing("R: a b . c .\nS: . . . . b", [JoinSpec((0, 1), (2, 2))])
    # At 3 R0 is gone: R1 and R3 fit in two.
    assert drawing.tell(Fifo(), (2, 2)) == Told("", "", "R3 S4")
    drawing = Drawing("R: a b . c .\nS: . . . . b", [JoinSpec((0, 1), (3, 3))])
    assert drawing.tell(Fifo(), (2, 2)) == Told("R1 S4", "R3>R0", "R1 R3 S4")


def test_null_keys_meet_nobody_and_take_room() -> None:
    drawing = Drawing("R: - a .\nS: . - a")
    assert drawing.tell(Fifo(), (1, 1)) == Told("R1 S2", "R1>R0, S2>S1", "R1 S2")


def test_a_shed_tuple_has_joined_first() -> None:
    drawing = Drawing("R: a*9 . .\nS: . a*1 a*1")
    assert drawing.tell(Simp(), 1) == Told("R0 S1, R0 S2", "S1>S1, S2>S2", "R0")


def test_shared_memory_lets_one_stream_displace_the_other() -> None:
    drawing = Drawing("R: a*1 b*2 .\nS: . . c*3")
    assert drawing.tell(Simp(), 2) == Told("", "S2>R0", "R1 S2")
    assert drawing.tell(Simp(), (2, 1)) == Told("", "", "R0 R1 S2")
    assert drawing.tell(Simp(), (1, 2)) == Told("", "R1>R0", "R1 S2")


@pytest.mark.parametrize("policy", [Fifo(), Gdj(), Simp()], ids=lambda p: type(p).__name__)
def test_without_memory_everything_is_shed(policy: Policy) -> None:
    drawing = Drawing("R: a .\nS: . a")
    assert drawing.tell(policy, 0) == Told("", "R0>R0, S1>S1", "")
    assert drawing.tell(policy, (1, 0)) == Told("R0 S1", "S1>S1", "R0")


def test_three_streams_join_in_nested_newest_first_order() -> None:
    drawing = Drawing(
        """
        A: a a . . . b
        B: . . a a . .
        C: . . . . a .
        """,
        [JoinSpec((0, 1, 2), (PLENTY, PLENTY, 2))],
    )
    gdj = Gdj(initial=0.0)
    told = drawing.tell(gdj, (2, 2, 2))
    # Nothing at B2 and B3: no C yet. C4 takes A slowest, newest first, B within.
    assert told.results == "A1 B3 C4, A1 B2 C4, A0 B3 C4, A0 B2 C4"
    # Every stored member of every result earns 1; C4, the newcomer, earns nothing.
    assert drawing.named(gdj.credit, "A0", "A1", "B2", "B3", "C4") == [2, 2, 2, 2, 0]
    assert told.drops == "A5>A0"


def test_three_streams_each_keep_their_own_window() -> None:
    text = "A: a . . . a\nB: . . a . .\nC: . . . a ."
    wide = Drawing(text, [JoinSpec((0, 1, 2), (3, 2, 2))])
    # At C3, A0 is 3 old and B2 1: both in. At A4, B2 is 2 old and C3 1: both in.
    assert wide.tell(Fifo(), PLENTY).results == "A0 B2 C3, A4 B2 C3"
    narrow = Drawing(text, [JoinSpec((0, 1, 2), (2, 1, 2))])
    assert narrow.tell(Fifo(), PLENTY).results == ""


def test_joins_are_searched_in_the_order_of_the_query() -> None:
    drawing = Drawing("R: a/x b/y .\nS: . . b/x", [PAIR, PAIR])
    assert drawing.tell(Fifo(), PLENTY).results == "R1 S2, R0 S2"


def test_sampling_drops_by_draw_after_the_search_whatever_the_room() -> None:
    # Draws with seed 0 + 1: 0.89, 0.02, 0.20, 0.17, 0.64 (doctest of uniform has seed 0).
    drawing = Drawing("R: a a a . .\nS: . . . a a")
    told = drawing.tell(Fifo(), PLENTY, seed=0, sample=0.18)
    # R1 and S3 are below 0.18. S3 meets R2 and R0 before it is dropped.
    assert told == Told("R2 S3, R0 S3, R2 S4, R0 S4", "R1>R1, S3>S3", "R0 R2 S4")
    assert drawing.tell(Fifo(), PLENTY, sample=0.0).drops == ""
    assert drawing.tell(Fifo(), PLENTY, sample=1.0).stored == ""


def test_a_sampled_tuple_costs_nobody_its_place_and_still_counts_as_arrived() -> None:
    drawing = Drawing("S: . a . .\nR: b . c a")
    # In order: R0 (0.89), S1 (0.02), R2 (0.20), R3 (0.17) against 0.1: only S1 is dropped.
    told = drawing.tell(Prob(), (1, 1), sample=0.1)
    # R0 and R2 have met nothing: the oldest goes. R3 has met S1, dropped as it was.
    assert told == Told("", "S1>S1, R2>R0, R3>R2", "R3")


# ------------------------------------------------------------------------------------ drawn: blind


def test_random_keeps_the_largest_draws() -> None:
    # Draws with seed 0: 0.949, 0.165, 0.422, 0.249, 0.898.
    drawing = Drawing("R: a b c d e\nS: . . . . .")
    assert drawing.tell(Random(), (2, 2)) == Told("", "R2>R1, R3>R3, R4>R2", "R0 R4")
    # Draws with seed 2: 0.25, 0.37, 0.94, 0.39, 0.12.
    assert drawing.tell(Random(), (1, 1), seed=2).drops == "R1>R0, R2>R1, R3>R3, R4>R4"


def test_fifo_drops_the_oldest_and_never_the_newcomer() -> None:
    drawing = Drawing("R: a b c .\nS: . . . c")
    assert drawing.tell(Fifo(), (2, 2)) == Told("R2 S3", "R2>R0", "R1 R2 S3")
    # Shared by both streams: S3 meets R2, then costs R1 its place.
    assert drawing.tell(Fifo(), 2) == Told("R2 S3", "R2>R0, S3>R1", "R2 S3")


def test_age_staggers() -> None:
    drawing = Drawing("R: a b c d e .\nS: . . . . . a")
    # At 2 R0 is 2 old, not older than 2: R2 goes. At 3 R0 is 3 old, at 4 R1 is.
    told = drawing.tell(Age(dict.fromkeys(range(6), 2)), (2, 2))
    assert told == Told("", "R2>R2, R3>R0, R4>R1", "R3 R4 S5")


def test_age_is_each_tuples_own_and_the_overdue_stay_while_there_is_room() -> None:
    drawing = Drawing("R: a b . c d\nS: . . a . .")
    ages = {0: 1, 1: 0, 2: 9, 3: 9, 4: 9}
    # At 2 R0 is overdue and joins all the same. At 3 both are: the older goes, at 4 the other.
    assert drawing.tell(Age(ages), (2, 2)) == Told("R0 S2", "R3>R0, R4>R1", "S2 R3 R4")
    ages[0] = 9
    assert drawing.tell(Age(ages), (2, 2)).drops == "R3>R1, R4>R4"


# -------------------------------------------------------------------------------- drawn: frequency


def test_prob_counts_all_that_arrived() -> None:
    drawing = Drawing(
        """
        R: a . . b . a
        S: . a b . b .
        """
    )
    told = drawing.tell(Prob(), (1, 1))
    # S2: S1 has met one a (R0), b none: S2 goes.
    # R3: a has come once on S, b once too (S2, though shed): a tie, R0 is older.
    # S4: a has come once on R (R0, though evicted), b once: a tie, S1 is older.
    # R5: b has come twice on S by now, a once: R5 goes.
    assert told == Told("R0 S1, R3 S4", "S2>S2, R3>R0, S4>S1, R5>R5", "R3 S4")


def test_prob_counts_the_newcomer_for_the_other_stream() -> None:
    drawing = Drawing("R: a b . .\nS: . . a b")
    # Two places for both. S2: R0 1 (S2 itself), R1 0, S2 1: R1 goes.
    # S3: R0 1, S2 1, S3 1 (R1, long gone): R0 is oldest.
    assert drawing.tell(Prob(), 2) == Told("R0 S2", "S2>R1, S3>R0", "S2 S3")


def test_prob_adds_up_joins() -> None:
    drawing = Drawing(
        """
        R: a/x . . b/y
        S: . b/z a/y .
        """,
        [PAIR, PAIR],
    )
    # R0: a once. R3: b once, y once. R0 goes; with the first join alone the tie would say the same,
    # so look at the other side as well: S1 0 against S2 1.
    assert drawing.tell(Prob(), (1, 1)).drops == "S2>S1, R3>R0"
    mirrored = Drawing("R: b/y . . a/x\nS: . b/z a/y .", [PAIR, PAIR])
    assert mirrored.tell(Prob(), (1, 9)).drops == "R3>R3"


LIVES = """
    R: a . . . {} . . . {}
    S: . a a b .  . . . .
"""


def test_life_weighs_what_is_left() -> None:
    joins = [JoinSpec((0, 1), (10, PLENTY))]
    # a has come twice, b once; the newcomer has 10 to live.
    late = Drawing(LIVES.format(".", "b"), joins)
    assert late.tell(Life(), (1, 9)).drops == "R8>R0"  # 2 × 2 against 1 × 10
    assert late.tell(Prob(), (1, 9)).drops == "R8>R8"
    early = Drawing(LIVES.format("b", "."), joins)
    assert early.tell(Life(), (1, 9)).drops == "R4>R4"  # 2 × 6 against 1 × 10


def test_life_is_the_largest_window_of_the_stream() -> None:
    joins = [JoinSpec((0, 1), (8, PLENTY)), JoinSpec((0, 1), (20, PLENTY))]
    late = Drawing(LIVES.format(".", "b"), joins)
    # Each key counts in both joins: 4 × 12 against 2 × 20.
    assert late.tell(Life(), (1, 9)).drops == "R8>R8"


# ----------------------------------------------------------------------------------- drawn: credit


def test_gdj_drops_the_smallest_credit_then_the_oldest() -> None:
    drawing = Drawing(
        """
        R: a b . c d
        S: . . a . .
        """
    )
    gdj = Gdj(initial=0.5)
    # S2 earns R0 a credit. R3: R1 goes, R3 gets the only credit left, 1. R4: a tie, R0 is older.
    assert drawing.tell(gdj, (2, 2)) == Told("R0 S2", "R3>R1, R4>R0", "S2 R3 R4")
    assert drawing.named(gdj.credit, "R3", "R4") == [1, 1]


PERCENTILES = """
    R: a b c . . . d e f
    S: . . . a a b . . .
"""


@pytest.mark.parametrize(
    ("initial", "credits", "drops"),
    [
        # R0 2, R1 1, R2 0 when R6 comes and R2 goes: 1, 2 are left.
        (0.0, [1, 1, 1], "R6>R2, R7>R1, R8>R6"),  # R7: 1 (R1, R6) tie; R8: 1 (R6, R7) tie
        (0.49, [1, 1, 1], "R6>R2, R7>R1, R8>R6"),  # floor(0.98) is the first
        (0.5, [2, 2, 2], "R6>R2, R7>R1, R8>R0"),  # all have 2 when R8 comes
        (1.0, [2, 2, 2], "R6>R2, R7>R1, R8>R0"),  # the last, not one beyond
    ],
)
def test_gdj_starts_newcomers_at_a_percentile(
    initial: float, credits: list[int], drops: str
) -> None:
    drawing, gdj = Drawing(PERCENTILES), Gdj(initial)
    assert drawing.tell(gdj, (3, 9)).drops == drops
    assert drawing.named(gdj.credit, "R6", "R7", "R8") == credits


METHODS = """
    R: a b c . . . d e
    S: . . . c a a . .
"""


def test_gdj_method_1_counts_results() -> None:
    # R0 2, R1 0, R2 1: R6 costs R1 its place and starts at 2; R7 finds R2 smallest.
    drawing, gdj = Drawing(METHODS), Gdj(1.0, method=1)
    assert drawing.tell(gdj, (3, 9)).drops == "R6>R1, R7>R2"
    assert drawing.named(gdj.credit, "R0", "R6", "R7") == [2, 2, 2]


def test_gdj_method_2_pays_by_rank() -> None:
    # instant    1   2   3         4         5         6       7
    # R0     0  -1  -2  -3        -4+1=-3   -4+2=-2   -3      -4 out: all equal, the oldest
    # R1        -1  -2  -3        -4        -5        -6 out
    # R2            -2  -3+3=0    -1        -2        -3      -4
    # R6                                              -3      -4
    drawing, gdj = Drawing(METHODS), Gdj(1.0, method=2)
    assert drawing.tell(gdj, (3, 9)).drops == "R6>R1, R7>R0"
    assert drawing.named(gdj.credit, "R2", "R6", "R7") == [-4, -4, -4]


def test_gdj_method_2_ages_once_an_instant_and_not_for_the_gap() -> None:
    drawing, gdj = Drawing("R: a . . . b\nS: a . . . c"), Gdj(method=2)
    drawing.tell(gdj, (9, 9))
    # R0 earns 1 from S0 at once. Then 4 comes, for all, once: R0 0, S0 -1. R4 starts at 0.
    assert drawing.named(gdj.credit, "R0", "S0", "R4", "S4") == [0, -1, 0, -1]


def test_gdj_method_2_ranks_anew_for_every_result() -> None:
    drawing, gdj = Drawing("R: a/a b/b .\nS: . . a/a", [PAIR, PAIR]), Gdj(method=2)
    drawing.tell(gdj, (9, 9))
    # At 2 both stand at -2. The first result pays R0 rank 1: -1. Now it ranks 2: the second pays 2.
    assert drawing.named(gdj.credit, "R0", "R1") == [1, -2]


def test_gdj_method_3_gives_back_in_equal_parts() -> None:
    # after       S3     S4     S5    (S earns nothing: its own buffer stays at 0)
    # R0         -1/3    1/3    1
    # R1         -1/3   -2/3   -1     out for R6, which starts at 1
    # R2          2/3    1/3    0     out for R7
    drawing, gdj = Drawing(METHODS), Gdj(1.0, method=3)
    assert drawing.tell(gdj, (3, 9)).drops == "R6>R1, R7>R2"
    assert drawing.named(gdj.credit, "R0", "R1", "R2", "R6") == [1, -1, 0, 1]
    assert drawing.named(gdj.credit, "S3", "S4", "S5") == [0, 0, 0]


def test_gdj_method_3_makes_the_newcomer_pay_its_part() -> None:
    drawing, gdj = Drawing("R: a b .\nS: . . a"), Gdj(0.0, method=3)
    drawing.tell(gdj, 9)
    # One shared buffer: S2 earns R0 1, starts at 0, and the three give back a third each.
    thirds = [Fraction(2, 3), Fraction(-1, 3), Fraction(-1, 3)]
    assert drawing.named(gdj.credit, "R0", "R1", "S2") == thirds


def test_gdj_earns_in_every_join() -> None:
    drawing = Drawing(
        """
        A: a/- a/x . . .
        B: .   .   a . .
        C: .   .   . x d
        """,
        [JoinSpec((0, 1), (9, 9)), JoinSpec((0, 2), (9, 9))],
    )
    gdj = Gdj(initial=0.0)
    # B2 and C3 pay A1, only B2 pays A0: A0 1, A1 2, B2 0 (the smallest of 1, 1 is what B2 gets).
    told = drawing.tell(gdj, 4)
    assert told == Told("A1 B2, A0 B2, A1 C3", "C4>A0", "A1 B2 C3 C4")
    assert drawing.named(gdj.credit, "A0", "A1", "B2", "C3", "C4") == [1, 2, 1, 1, 1]


# ------------------------------------------------------------------------------- drawn: importance


def test_simp_drops_the_least_important_then_the_oldest() -> None:
    drawing = Drawing("R: a*5 b*3 c*5 d*9 .\nS: . . . . d")
    # R1: 3 is less than 5. R2: 5 and 5, the older goes. R3: 9.
    assert drawing.tell(Simp(), (1, 1)) == Told("R3 S4", "R1>R1, R2>R0, R3>R2", "R3 S4")


RISING = """
    R: a*2 . . b*3 c*1
    S: .   a a b   c
"""


def test_simpprob_is_fixed_on_arrival() -> None:
    # R0 and R3 meet nothing on arrival (S3 comes after R3): 0 and 0, then importance: R0 goes.
    # R4 meets nothing either: 1 is less important than 3.
    assert Drawing(RISING).tell(Simpprob(), (1, 9)).drops == "R3>R0, R4>R4"


def test_dimpprob_follows_the_window() -> None:
    # R0 has S1 and S2 by now: 2 × 2 against 3 × 0. R4: 4 against 1 × 0.
    assert Drawing(RISING).tell(Dimpprob(), (1, 9)).drops == "R3>R3, R4>R4"
    # With a window of 1 on S, R0's partners are gone at 4.
    joins = [JoinSpec((0, 1), (9, 1))]
    # At 3 only S2 is left: 2 × 1 against 3 × 0. At 4: 2 × 0 against 1 × 0, then importance.
    assert Drawing(RISING, joins).tell(Dimpprob(), (1, 9)).drops == "R3>R3, R4>R4"
    falling = Drawing(RISING.replace("c*1", "c*2"), joins)
    # At 4 again 0 and 0, equally important: the oldest.
    assert falling.tell(Dimpprob(), (1, 9)).drops == "R3>R3, R4>R0"


@pytest.mark.parametrize("policy", [Simpprob(), Dimpprob()], ids=["simpprob", "dimpprob"])
@pytest.mark.parametrize(
    ("newcomer", "drops"),
    [
        ("c*9", "R4>R4"),  # 0, however important
        ("a*1", "R4>R4"),  # 1 × 2 = 2 × 1, less important
        ("b*2", "R4>R3"),  # 2 × 1 = 2 × 1, the oldest
        ("a*2", "R4>R3"),  # 4
    ],
)
def test_ties_go_to_importance_then_to_age(policy: Policy, newcomer: str, drops: str) -> None:
    drawing = Drawing(f"R: . . . b*2 {newcomer}\nS: a a b . .")
    assert drawing.tell(policy, (1, 9)).drops == drops


@pytest.mark.parametrize("policy", [Simpprob(), Dimpprob()], ids=["simpprob", "dimpprob"])
def test_ties_of_worthless_tuples_go_to_matches(policy: Policy) -> None:
    drawing = Drawing("R: . . . a*0 b*0\nS: a a b . .")
    assert drawing.tell(policy, (1, 9)).drops == "R4>R4"  # both 0 × m: 2 matches against 1


def test_no_candidate_counts_the_newcomer_as_its_match() -> None:
    drawing = Drawing("R: a*2 b*3 .\nS: . . a*9")
    # S2 agrees with R0 but is not stored: all three stand at 0, R0 is least important.
    assert drawing.tell(Dimpprob(), 2).drops == "S2>R0"


GAINS = """
    R: a*8 b*4 . . c*3 d*1
    S: a   .   b b .   .
"""


def test_dgl_gains_with_output_and_decays_without() -> None:
    drawing, dgl = Drawing(GAINS, [JoinSpec((0, 1), (4, 9))]), Dgl(gain=1.0, decay=0.5)
    # S0: R0 has no stored match: it gains 8 × 0 and stays at 8.
    # S2: R1 decays to 2 and gains 4 × 0.  S3: it decays to 1 and gains 4 × 1 (S2) × 2/4: 3.
    # R4: R0 8/16 = 0.5, R1 3/2 = 1.5, R4 3: R0 goes.  (simp would drop R4.)
    # R5: R0 is gone, R1 0.75, R4 1.5, R5 1: R1 goes.
    told = drawing.tell(dgl, (2, 9))
    assert told == Told("R0 S0, R1 S2, R1 S3", "R4>R0, R5>R1", "S0 S2 S3 R4 R5")
    assert drawing.named(dgl.worth, "R0", "R1", "R4") == [8.0, 3.0, 3.0]
    assert drawing.named(dgl.changed, "R0", "R1", "R4") == [0, 3, 4]


def test_dgl_gains_once_a_turn() -> None:
    drawing, dgl = Drawing("R: a*8 . .\nS: . a a", [PAIR, PAIR]), Dgl(gain=1.0, decay=0.5)
    told = drawing.tell(dgl, 9)
    assert told.results == "R0 S1, R0 S1, R0 S2, R0 S2"
    # S1: 8 decays to 4. S2: to 2, and gains once, with S1 counted in both joins: 8 × 2 × 97/99.
    assert drawing.named(dgl.worth, "R0") == [2 + 8 * 2 * 97 / 99]


def test_dgl_without_worth_or_life() -> None:
    drawing = Drawing("R: a*0 b*1 c*0\nS: a . .", [JoinSpec((0, 1), (0, 9))])
    # R0 lives for its instant only: S0 finds it and it gains nothing; no division by its life.
    dgl = Dgl(gain=1.0, decay=0.5)
    assert drawing.tell(dgl, 3) == Told("R0 S0", "", "S0 R2")
    worthless = Drawing("R: b*1 a*0 c*0\nS: . . .")
    # Decayed as R0 is, it is worth more than nothing.
    assert worthless.tell(dgl, (1, 1)).drops == "R1>R1, R2>R2"


# --------------------------------------------------------------------------------- drawn: formulas


@pytest.mark.parametrize(
    ("policy", "drops"),
    [
        # R4 comes to R2 (importance 3, one match: S0) with importance 5, no match, time 4.
        (Additive(1, 0, 0), "R4>R2"),  # 3 against 5
        (Additive(1, 2, 0), "R4>R2"),  # 3 + 2 against 5: a tie, the oldest
        (Additive(1, 2.5, 0), "R4>R4"),  # 5.5 against 5
        (Additive(1, 2.5, 1), "R4>R2"),  # 5.5 + 2 against 5 + 4
        (Additive(0, 0, 0), "R4>R2"),  # nothing counts: the oldest
        (Multiplicative(1, 0, 0), "R4>R2"),  # 3 against 5
        (Multiplicative(1, 1, 0), "R4>R4"),  # 3 × 1 against 5 × 0
        (Multiplicative(0, 2, 5), "R4>R4"),  # 1 × 3**5 against 0
        (Multiplicative(0, 0, 1), "R4>R2"),  # 3 against 5: one more than the time
        (Multiplicative(0, 0, 0), "R4>R2"),  # 1 and 1: the oldest
    ],
    ids=str,
)
def test_formulas(policy: Policy, drops: str) -> None:
    drawing = Drawing("R: . . a*3 . b*5\nS: a . . . .")
    assert drawing.tell(policy, (1, 9)).drops == drops


def test_the_first_instant_is_not_worthless() -> None:
    drawing = Drawing("R: a*7 b*3 c*3\nS: . . .")
    # 7 × 1 against 3 × 2, then against 3 × 3.
    assert drawing.tell(Multiplicative(1, 0, 1), (1, 1)).drops == "R1>R1, R2>R0"


FADING = """
    S: .   a a . {}
    R: a*2 . . . b*2
"""


def test_cumulative_remembers_matches_that_are_gone() -> None:
    drawing = Drawing(FADING.format("."), [JoinSpec((0, 1), (1, 9))])
    policy = Cumulative(alpha=1, beta=4, delta=0, keep=0.25)
    # R0 starts at 2.  S1: (2 + 3 × 2)/4 = 2.  S2, with S1 stored: (2 + 3 × 6)/4 = 5.
    # R4, with S1 and S2 expired: (5 + 3 × 2)/4 = 2.75, the gap counting once, against 2: R4 goes.
    assert drawing.tell(policy, (9, 1)).drops == "R4>R4"
    assert drawing.named(policy.average, "R0", "R4") == [2.75, 2.0]
    # Without memory 2 stands against 2: the oldest.
    assert drawing.tell(Additive(1, 4, 0), (9, 1)).drops == "R4>R0"


def test_cumulative_keeps_its_share() -> None:
    drawing, policy = Drawing("S: . a a\nR: a*2 . ."), Cumulative(1, 4, 0, keep=0.25)
    drawing.tell(policy, (9, 1))
    # Two steps mix the same whichever share is kept; one does not: (2 + 3 × 6)/4.
    assert drawing.named(policy.average, "R0") == [5.0]


def test_cumulative_averages_once_an_instant() -> None:
    drawing = Drawing(FADING.format("a"), [JoinSpec((0, 1), (1, 9))])
    policy = Cumulative(alpha=1, beta=4, delta=0, keep=0.25)
    # S4 comes first and takes R0 to 2.75 as above. R4 is of the same instant and finds it so,
    # although S4 is stored by now and would raise it.
    drawing.tell(policy, (9, 1))
    assert drawing.named(policy.average, "S4", "R0") == [1 + 4, 2.75]


# ------------------------------------------------------------------------------------------ queues


def test_sieve_goes_on_where_its_hand_stands() -> None:
    drawing = Drawing("R: a b . c d e\nS: . . a . . .")
    # R0 was used: it is forgiven, once, and the hand goes on among the newer ones.
    assert drawing.tell(Sieve(), (2, 9)).drops == "R3>R1, R4>R3, R5>R4"


def test_sieve_begins_anew_with_the_oldest() -> None:
    drawing = Drawing("R: a b . . c d\nS: . . a b . .")
    # Both are forgiven, and R0 goes; then comes R1, which is no longer forgiven.
    assert drawing.tell(Sieve(), (2, 9)).drops == "R4>R0, R5>R1"


def test_s3fifo_remembers_who_failed_the_trial() -> None:
    drawing = Drawing("R: a b c d a e f g\nS: . . . . . . . .")
    # R4 has the key of R0, a ghost, and enters the main queue: the trial goes on without it.
    assert drawing.tell(S3Fifo(small=0.5), (3, 9)).drops == "R3>R0, R4>R1, R5>R2, R6>R3, R7>R5"


def test_s3fifo_moves_the_used_to_the_main_queue() -> None:
    drawing = Drawing("R: a b c . d e f\nS: . . . a . . .")
    assert drawing.tell(S3Fifo(small=0.5), (3, 9)).drops == "R4>R1, R5>R2, R6>R4"


def test_an_age_is_learned_from_who_left() -> None:
    text = "R: a . b . . . . . . c d e\nS: . a . . . . . . . . . ."
    drawing = Drawing(text, [JoinSpec((0, 1), (8, 8))])
    # R0 had its result at the age of 1, the fifth of 32 slices, and expires at 9: from then on
    # the best age is 8 × 5 / 32.
    assert drawing.tell(LearnedAge(period=1), (1, 9)).drops == "R2>R2, R10>R10, R11>R9"


# ------------------------------------------------------------------------------------------ random

SHAPES: dict[str, list[JoinSpec]] = {
    "pair": [JoinSpec((0, 1), (6, 9))],
    "three": [JoinSpec((0, 1, 2), (8, 5, 8))],
    "joins": [
        JoinSpec((0, 1), (4, 9)),
        JoinSpec((2, 0), (9, 7)),
        JoinSpec((1, 2), (3, 3)),
    ],
}

POLICIES: list[Policy] = [
    Random(),
    Fifo(),
    Age({seq: seq * 7 % 5 for seq in range(1000)}),
    LearnedAge(period=3),
    Sieve(),
    S3Fifo(small=0.4),
    Prob(),
    Life(),
    *(Gdj(initial, method) for initial in (0.0, 0.9) for method in (1, 2, 3)),
    GdjTuned(),
    Simp(),
    Simpprob(),
    Dimpprob(),
    Dgl(gain=0.5, decay=0.9),
    Additive(1, 2, 0.5),
    Multiplicative(0.5, 1, 0.25),
    Cumulative(1, 2, 0.5, keep=0.75),
    Gain(),
]


def test_no_policy_is_left_out() -> None:
    assert {type(policy) for policy in POLICIES} == set(TWINS.values())


def _arrivals(seed: int, joins: Sequence[JoinSpec], count: int) -> list[Arrival]:
    """Few keys, few importances, several tuples at one instant: ties everywhere."""
    source = random.Random(seed)
    streams = sorted({stream for join in joins for stream in join.streams})
    rows = sorted((source.randrange(count // 2), source.choice(streams)) for _ in range(count))
    keys: list[int | None] = [0, 0, 1, 1, 2, 3, None]
    return [
        Arrival(
            stream,
            time,
            tuple(source.choice(keys) if stream in join.streams else None for join in joins),
            float(source.randint(1, 4)),
            seq,
        )
        for seq, (time, stream) in enumerate(rows)
    ]


def _exact(
    arrivals: Sequence[Arrival], joins: Sequence[JoinSpec]
) -> set[tuple[int, tuple[int, ...]]]:
    """Look at every combination of tuples."""
    return {
        (number, tuple(u.seq for u in members))
        for number, join in enumerate(joins)
        for members in itertools.product(
            *([u for u in arrivals if u.stream == stream] for stream in join.streams)
        )
        if len({u.keys[number] for u in members}) == 1
        and members[0].keys[number] is not None
        and all(
            max(v.time for v in members) - u.time <= span
            for u, span in zip(members, join.spans, strict=True)
        )
    }


def _lives(arrivals: Sequence[Arrival], joins: Sequence[JoinSpec]) -> dict[int, int]:
    """The last time at which each tuple is in some window."""
    return {
        u.seq: u.time
        + max(
            s
            for join in joins
            for i, s in zip(join.streams, join.spans, strict=True)
            if i == u.stream
        )
        for u in arrivals
    }


def _played_back(
    arrivals: Sequence[Arrival], joins: Sequence[JoinSpec], trace: Trace
) -> list[set[int]]:
    """What was stored after each tuple, by the drops and the windows alone."""
    lives, dropped = _lives(arrivals, joins), {u: x for x, u in trace.decisions}
    return [
        {
            u.seq
            for u in arrivals[: x.seq + 1]
            if lives[u.seq] >= x.time and dropped.get(u.seq, len(arrivals)) > x.seq
        }
        for x in arrivals
    ]


def _check(
    arrivals: Sequence[Arrival],
    joins: Sequence[JoinSpec],
    capacity: Sequence[int] | int,
    sample: float,
    trace: Trace,
) -> None:
    lives, states = _lives(arrivals, joins), _played_back(arrivals, joins, trace)

    # Conservation: nobody is dropped twice, before arrival or after its life; who was neither
    # dropped nor expired is stored, in order.
    dropped = [u for _, u in trace.decisions]
    assert len(set(dropped)) == len(dropped)
    assert all(u <= x and lives[u] >= arrivals[x].time for x, u in trace.decisions)
    turns = [x for x, _ in trace.decisions]
    assert turns == sorted(set(turns)), "at most one drop a turn"
    assert trace.stored == sorted(states[-1])
    expired = {u.seq for u in arrivals if lives[u.seq] < arrivals[-1].time} - set(dropped)
    assert len(arrivals) == len(dropped) + len(expired) + len(trace.stored)

    # Budget: held after every tuple, and nobody is dropped while there is room.
    before: set[int] = set()
    for x, after in zip(arrivals, states, strict=True):
        mine = [u for u in after if isinstance(capacity, int) or arrivals[u].stream == x.stream]
        size = capacity if isinstance(capacity, int) else capacity[x.stream]
        assert len(mine) <= size
        if x.seq in turns and not sample:
            assert len(mine) == size
        assert after <= before | {x.seq}
        before = after

    # Results: no duplicates; exactly those of the exact join whose earlier members were stored.
    assert len(set(trace.results)) == len(trace.results)
    assert set(trace.results) == {
        (number, members)
        for number, members in _exact(arrivals, joins)
        if all(u in states[max(members) - 1] for u in members if u != max(members))
    }
    lasts = [max(members) for _, members in trace.results]
    assert lasts == sorted(lasts), "found in the order of arrival"


@pytest.mark.parametrize("capacity", [4, 11, (2, 3, 5)], ids=str)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_invariants(policy: Policy, shape: str, capacity: Sequence[int] | int) -> None:
    joins, found = SHAPES[shape], 0
    for seed, sample in ((1, 0.0), (2, 0.3)):
        arrivals = _arrivals(seed, joins, 60)
        trace = simulate(arrivals, joins, capacity, policy, seed=seed, sample=sample)
        assert trace.decisions, f"seed {seed}: nothing was dropped, nothing was tested"
        found += len(trace.results)
        _check(arrivals, joins, capacity, sample, trace)
    assert found, "nothing was found, nothing was tested"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_enough_memory_is_exact(policy: Policy, shape: str) -> None:
    joins = SHAPES[shape]
    arrivals = _arrivals(3, joins, 60)
    exact = _exact(arrivals, joins)
    assert len(exact) > 20
    for capacity in (60, (60, 60, 60)):
        trace = simulate(arrivals, joins, capacity, policy)
        assert trace.decisions == []
        assert set(trace.results) == exact
        assert len(trace.results) == len(exact)


@pytest.mark.parametrize("policy", POLICIES, ids=str)
def test_a_policy_can_be_simulated_again(policy: Any) -> None:
    joins = SHAPES["pair"]
    first, second = _arrivals(4, joins, 60), _arrivals(5, joins, 60)
    trace = simulate(first, joins, 5, policy)
    simulate(second, joins, 5, policy)
    assert simulate(first, joins, 5, policy) == trace
    simulate([], joins, 5, policy)
    assert policy == dataclasses.replace(policy), "a policy must forget what it noted"


# ----------------------------------------------------------------------------------- special cases

TWICE: list[tuple[str, Callable[[], Policy], Callable[[], Policy]]] = [
    ("method 3 is method 1", lambda: Gdj(0.7, 1), lambda: Gdj(0.7, 3)),
    ("additive importance is simp", Simp, lambda: Additive(2, 0, 0)),
    ("multiplicative importance is simp", Simp, lambda: Multiplicative(1, 0, 0)),
    (
        "an average of what never changes",
        lambda: Additive(1, 0, 1),
        lambda: Cumulative(1, 0, 1, 0.5),
    ),
    (
        "nothing to keep, nothing to weigh",
        lambda: Additive(0, 0, 0),
        lambda: Cumulative(0, 0, 0, 1),
    ),
]


@pytest.mark.parametrize(("one", "other"), [case[1:] for case in TWICE], ids=[c[0] for c in TWICE])
def test_special_cases_fall_together(
    one: Callable[[], Policy], other: Callable[[], Policy]
) -> None:
    for seed, joins in enumerate(SHAPES.values()):
        arrivals = _arrivals(seed, joins, 80)
        for capacity in (7, (3, 4, 2)):
            expected = simulate(arrivals, joins, capacity, one())
            assert expected.decisions
            assert simulate(arrivals, joins, capacity, other()) == expected, f"seed {seed}"


def test_the_decrement_of_method_2_moves_nobody() -> None:
    class Undiminished(Gdj):
        def arrived(self, x: Arrival, memory: Memory) -> None:
            self.earned = []

    for seed, joins in enumerate(SHAPES.values()):
        arrivals = _arrivals(seed, joins, 80)
        for capacity in (7, (3, 4, 2)):
            expected = simulate(arrivals, joins, capacity, Gdj(0.7, 2))
            assert simulate(arrivals, joins, capacity, Undiminished(0.7, 2)) == expected
