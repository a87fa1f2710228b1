"""The naive twins, drawn: windows of rows and budgets in bytes.

What is expected is worked out in the comments, never computed. Nothing here imports the engine.
"""

from __future__ import annotations

import math

import pytest
from drawings import PLENTY, Drawing, Told

from bankfull.oracle.shedding import (
    Arrival,
    Dimpprob,
    Fifo,
    JoinSpec,
    Policy,
    Simp,
    Trace,
    simulate,
)

ROWS = (math.inf, math.inf)
ENDLESS = JoinSpec((0, 1), (PLENTY, PLENTY))


def test_a_window_of_rows_keeps_the_last_of_its_own_stream() -> None:
    drawing = Drawing("R: a a a .\nS: . . . a", [JoinSpec((0, 1), ROWS, rows=(2, 1))])
    # R0 leaves at S3, after two others of its stream; what S brings does not count.
    assert drawing.tell(Fifo(), PLENTY) == Told("R2 S3, R1 S3", "", "R1 R2 S3")


def test_rows_without_a_key_count_in_a_window_of_rows() -> None:
    drawing = Drawing("R: a - - .\nS: . . . a", [JoinSpec((0, 1), ROWS, rows=(2, 1))])
    assert drawing.tell(Fifo(), PLENTY).results == ""
    drawing = Drawing("R: a - .\nS: . . a", [JoinSpec((0, 1), ROWS, rows=(2, 1))])
    assert drawing.tell(Fifo(), PLENTY).results == "R0 S2"


def test_windows_of_both_kinds_in_one_join() -> None:
    join = JoinSpec((0, 1), (math.inf, 1), rows=(1, math.inf))
    drawing = Drawing("R: . a . . a\nS: a . . a .", [join])
    # S0 is 1 old at R1; R1 is the last of R at S3, however old; S3 is 1 old at R4.
    assert drawing.tell(Fifo(), PLENTY).results == "R1 S0, R1 S3, R4 S3"


def test_a_tuple_lives_until_it_has_left_its_windows_of_all_joins() -> None:
    joins = [JoinSpec((0, 1), ROWS, rows=(1, 1)), JoinSpec((0, 1), (2, 2))]
    drawing = Drawing("R: a b . c .\nS: . . a . a", joins)
    # R0 is no longer the last of R at S2, and 2 old: the second join has it. At 3 it has left both.
    told = drawing.tell(Fifo(), PLENTY)
    assert told.results == "R0 S2"
    assert told.stored == "S2 R3 S4"


def tell(policy: Policy, capacity: int, *tuples: tuple[int, int, int, float]) -> Trace:
    """Simulate tuples given as (stream, key, bytes, importance); a key takes 10 bytes."""
    arrivals = [
        Arrival(stream, time, (key,), importance, time, size=size)
        for time, (stream, key, size, importance) in enumerate(tuples)
    ]
    return simulate(arrivals, [ENDLESS], capacity, policy, key_sizes=[10])


def test_a_key_is_paid_for_once_in_each_stream() -> None:
    same = [(0, 7, 20, 1.0), (0, 7, 20, 1.0), (0, 7, 20, 1.0)]
    assert tell(Fifo(), 70, *same).decisions == []  # 20 + 20 + 20 + 10
    assert tell(Fifo(), 69, *same).decisions == [(2, 0)]
    others = [(0, 7, 20, 1.0), (0, 8, 20, 1.0), (1, 7, 20, 1.0)]
    assert tell(Fifo(), 90, *others).decisions == []  # three keys: of R, of R, of S
    assert tell(Fifo(), 89, *others).decisions == [(2, 0)]


def test_a_key_is_given_back_by_the_last_who_holds_it() -> None:
    # 20 + 10, and 20 more; the first goes for the third (25 + 10), which leaves 20 + 10 + 25 + 10.
    tuples = [(0, 7, 20, 1.0), (0, 7, 20, 1.0), (0, 8, 25, 1.0)]
    assert tell(Fifo(), 65, *tuples).decisions == [(2, 0)]
    assert tell(Fifo(), 64, *tuples).decisions == [(2, 0), (2, 1)]


def test_a_large_tuple_costs_several_their_place() -> None:
    small = [(0, 7, 20, 5.0), (0, 7, 20, 3.0), (0, 7, 20, 4.0)]
    assert tell(Simp(), 70, *small, (0, 7, 50, 9.0)).decisions == [(3, 1), (3, 2), (3, 0)]
    # Who has gone for a newcomer is gone, though the newcomer fails against the next.
    told = tell(Simp(), 70, *small, (0, 7, 50, 3.5))
    assert told.decisions == [(3, 1), (3, 3)]
    assert told.stored == [0, 2]


def test_what_would_not_fit_alone_costs_nobody_its_place() -> None:
    told = tell(Fifo(), 50, (0, 7, 20, 1.0), (1, 7, 41, 1.0), (1, 7, 40, 1.0))
    assert told.decisions == [(1, 1), (2, 0)]  # 41 and its key are more than all there is
    assert len(told.results) == 2  # it has joined all the same


def test_a_newcomer_stands_where_it_stood_when_it_came() -> None:
    # The newcomer has two partners in S (importance 1 each). S0 goes first: 1 x 0 matches. It is
    # then the turn of S1, whose product is 0 too; that the newcomer has none left does not matter.
    tuples = [(1, 7, 20, 1.0), (1, 7, 20, 1.0), (0, 7, 50, 2.0)]
    assert tell(Dimpprob(), 70, *tuples).decisions == [(2, 0), (2, 1)]


@pytest.mark.parametrize("capacity", [9, 10, 29])
def test_less_than_one_tuple_holds_none(capacity: int) -> None:
    assert tell(Fifo(), capacity, (0, 7, 20, 1.0)).decisions == [(0, 0)]
