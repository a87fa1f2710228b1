"""The naive twins, drawn: blind policies, frequency and credit.

What is expected is worked out in the comments, never computed. Nothing here imports the engine.
"""

from __future__ import annotations

from fractions import Fraction

import pytest
from drawings import PAIR, PLENTY, Drawing, Told

from bankfull.oracle.shedding import (
    Age,
    Fifo,
    Gdj,
    JoinSpec,
    Life,
    Prob,
    Random,
)

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
