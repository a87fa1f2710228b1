"""The naive twins, drawn: importance, formulas and queues.

What is expected is worked out in the comments, never computed. Nothing here imports the engine.
"""

from __future__ import annotations

import pytest
from drawings import PAIR, Drawing, Told

from bankfull.oracle.shedding import (
    Additive,
    Cumulative,
    Dgl,
    Dimpprob,
    JoinSpec,
    LearnedAge,
    Multiplicative,
    Policy,
    S3Fifo,
    Sieve,
    Simp,
    Simpprob,
)

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
