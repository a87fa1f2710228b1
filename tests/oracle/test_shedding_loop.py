"""The naive twins, drawn: the draws, and the loop that all policies share.

What is expected is worked out in the comments, never computed. Nothing here imports the engine.
"""

from __future__ import annotations

from collections import Counter

import pytest
from drawings import PAIR, PLENTY, Drawing, Told

from bankfull.oracle.shedding import (
    Fifo,
    Gdj,
    JoinSpec,
    Policy,
    Prob,
    Simp,
    uniform,
)
from bankfull.oracle.shedding.draws import word

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
