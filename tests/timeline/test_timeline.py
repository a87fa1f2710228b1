"""Timeline tests: streams drawn in ASCII, results read off the drawing.

Families: *papers* (the worked examples of papers `order` and `importance`, exact part) and
*drawn* (one drawing for each rule of windows and lateness, the ones people ask about). They run
through the public face, so a failure shows the picture and the call that go wrong.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import bankfull as bf
from bankfull.testing.timeline import pairs, read

pytestmark = pytest.mark.uncompiled


def _join(drawing: str, within: Any, late: int = 0, splits: int | None = None) -> Any:
    """Join what is drawn on its keys; ``splits`` brings it in batches of so many rows."""
    streams = [
        bf.stream(
            table if splits is None else iter(table.to_batches(max_chunksize=splits)),
            time="t",
            name=name,
            late=late,
        )
        for name, table in read(drawing).items()
    ]
    return bf.join(*streams, on="key", within=within)


# ------------------------------------------------------------------------------------------ papers

ORDER = """
    S: . . . . c . b . . . . a@8 a
    T: . a d . . a . . . b c . .
"""


@pytest.mark.parametrize("splits", [None, 1, 2])
def test_order_worked_example(splits: int | None) -> None:
    """Paper `order`, Figs. 1, 3 and 4, w = 6; no order is promised yet."""
    table = _join(ORDER, within=6, splits=splits).read_all()
    assert pairs(table, "S", "T") == {("a8", "a5"), ("b6", "b9"), ("c4", "c10")}
    assert sorted(table["joined_at"].to_pylist()) == [8, 9, 10]


def test_order_worked_example_depends_on_the_window() -> None:
    """One less loses c4 with c10; one more wins the pairs that are seven apart."""
    assert pairs(_join(ORDER, within=5).read_all(), "S", "T") == {("a8", "a5"), ("b6", "b9")}
    assert pairs(_join(ORDER, within=7).read_all(), "S", "T") == {
        ("a8", "a1"),
        ("a8", "a5"),
        ("a12", "a5"),
        ("b6", "b9"),
        ("c4", "c10"),
    }


IMPORTANCE = """
    R: 1*1 9*20 1*1 3*5 4*5  2*1
    S: 3*5 1*1  1*1 1*1 9*20 1*1
"""


def test_importance_worked_example() -> None:
    """Paper `importance`, Fig. 1, w = 4: a tuple lives while t - i <= 3, so ``within=3``."""
    table = _join(IMPORTANCE, within=3).read_all()
    worth = {
        (f"{row['R_key']}@{row['R_t']}", f"{row['S_key']}@{row['S_t']}"): min(
            row["R_importance"], row["S_importance"]
        )
        for row in table.to_pylist()
    }
    assert table.num_rows == len(worth) == 9
    assert sum(worth.values()) == 32
    assert worth[("9@1", "9@4")] == 20
    assert worth[("3@3", "3@0")] == 5


# ------------------------------------------------------------------------------------------- drawn


def test_the_window_is_inclusive() -> None:
    drawing = """
        S: a . . . . . .
        T: . . . a a a .
    """
    assert pairs(_join(drawing, within=4).read_all(), "S", "T") == {("a0", "a3"), ("a0", "a4")}


def test_each_stream_keeps_its_own_tuples_for_its_own_window() -> None:
    drawing = """
        S: a . . a . . .
        T: . . a . . a a
    """
    narrow_wide = pairs(_join(drawing, within=(2, 3)).read_all(), "S", "T")
    assert narrow_wide == {("a0", "a2"), ("a3", "a2"), ("a3", "a5")}
    wide_narrow = pairs(_join(drawing, within=(3, 1)).read_all(), "S", "T")
    assert wide_narrow == {("a0", "a2"), ("a3", "a2"), ("a3", "a5"), ("a3", "a6")}


def test_count_windows_push_out_the_oldest() -> None:
    drawing = """
        S: a b c . . . .
        T: . . . a b c .
    """
    assert pairs(_join(drawing, within=bf.rows(2)).read_all(), "S", "T") == {
        ("b1", "b4"),
        ("c2", "c5"),
    }
    assert len(pairs(_join(drawing, within=bf.rows(3)).read_all(), "S", "T")) == 3


def test_a_count_window_on_one_side_and_a_time_window_on_the_other() -> None:
    drawing = """
        S: a a . . . . a
        T: . . . . a . .
    """
    table = _join(drawing, within=(bf.rows(1), 1)).read_all()
    assert pairs(table, "S", "T") == {("a1", "a4")}
    table = _join(drawing, within=(bf.rows(1), 2)).read_all()
    assert pairs(table, "S", "T") == {("a1", "a4"), ("a6", "a4")}


def test_at_one_moment_the_first_stream_goes_first() -> None:
    """S's tuple of moment 1 pushes a0 out of its window before T's tuple of moment 1 looks."""
    drawing = """
        S: a b . .
        T: . a b .
    """
    assert pairs(_join(drawing, within=bf.rows(1)).read_all(), "S", "T") == {("b1", "b2")}
    mirrored = """
        T: . a b .
        S: a b . .
    """
    assert pairs(_join(mirrored, within=bf.rows(1)).read_all(), "S", "T") == {
        ("a0", "a1"),
        ("b1", "b2"),
    }


def test_disorder_within_the_bound_is_exact_and_beyond_it_is_counted() -> None:
    drawing = """
        S: . . . a b@1 c@0 . d
        T: a b c . . . . d
    """
    joined = _join(drawing, within=2, late=2)
    assert pairs(joined.read_all(), "S", "T") == {("b1", "b1"), ("d7", "d7")}
    assert joined.ledger.streams["S"].late == 1
    assert joined.ledger.streams["S"].inserted == 3
    strict = _join(drawing, within=3, late=0)
    assert pairs(strict.read_all(), "S", "T") == {("a3", "a0"), ("d7", "d7")}
    assert strict.ledger.streams["S"].late == 2


@pytest.mark.parametrize("splits", [None, 1])
def test_streams_that_start_late_end_early_and_stay_idle(splits: int | None) -> None:
    drawing = """
        A: a a . . . . . . . . .
        B: . . a . . . . . . a .
        C: . . . . . . . . a . a
    """
    table = _join(drawing, within=8, splits=splits).read_all()
    assert pairs(table, "A", "B", "C") == {
        ("a0", "a2", "a8"),
        ("a1", "a2", "a8"),
        ("a1", "a9", "a8"),
    }


def test_a_stream_that_never_speaks() -> None:
    streams = read("S: a a a")
    silent = streams["S"].slice(0, 0)
    joined = bf.join(
        bf.stream(streams["S"], time="t", name="S"),
        bf.stream(silent, time="t", name="T"),
        on="key",
        within=9,
    )
    assert joined.read_all().num_rows == 0
    assert joined.ledger.streams["S"].inserted == 3


def test_a_drawing_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="not a tuple"):
        read("S: a ? b")
    assert isinstance(read("S: . .")["S"], pa.Table)
