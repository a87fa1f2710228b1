"""Unit tests of the oracle: every rule of the contract, each on rows a person can check.

Families: *fates* (quarantined, late, accepted), *windows* (time, count, mixed; two to five
streams), *predicates* (one table of cases each), *scoring*. The oracle judges everything else, so
nothing here is computed: expected results are written out.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from bankfull.oracle import accepted, exact, fates, plain, recall, surplus
from bankfull.spec import (
    Duration,
    Equal,
    Join,
    Overlap,
    Predicate,
    Query,
    Rows,
    Similar,
    Stream,
    Subset,
    Superset,
    Ticks,
    Window,
)

NAN = float("nan")
SECOND = 1_000_000_000
Table = dict[str, list[Any]] | pa.Table


def _query(names: str, predicate: Predicate, *windows: Window, late: tuple[int, ...] = ()) -> Query:
    bounds = late or (0,) * len(names)
    streams = [Stream(name, "t", Ticks(bound)) for name, bound in zip(names, bounds, strict=True)]
    return Query(tuple(streams), (Join("join", tuple(names), predicate, windows),))


def _exact(query: Query, **tables: Table) -> list[tuple[int, ...]]:
    return exact(query, {name: _table(table) for name, table in tables.items()})["join"]


def _table(table: Table) -> pa.Table:
    return pa.table(table) if isinstance(table, dict) else table


def _pairs(predicate: Predicate, left: pa.Array, right: pa.Array) -> list[tuple[int, ...]]:
    """Join two columns ``x`` whose rows all come at the same time."""
    tables = {
        name: pa.table({"t": pa.array([7] * len(column), pa.int64()), "x": column})
        for name, column in (("l", left), ("r", right))
    }
    return _exact(_query("lr", predicate, Ticks(1)), **tables)


# ------------------------------------------------------------------------------------------- fates


@pytest.mark.parametrize(
    ("late", "times", "expected"),
    [
        (0, [1, 2, 2, 1, 3], "aaala"),
        (1, [1, 3, 2, 1, 4, 2], "aaalal"),
        (2, [10, 5, 9, 8, 11, 8], "alaaal"),  # the late row 5 does not move the bound
        (0, [None, 3, None, 2], "qaql"),
        (0, [2**62, 1, -(2**62), 2], "qaqa"),  # nor does one out of range
        (0, [1 - 2**62, 2**62 - 1], "aa"),
        (0, [], ""),
    ],
)
def test_fate_of_integer_times(late: int, times: list[int | None], expected: str) -> None:
    query = _query("lr", Equal((("t",),)), Ticks(1), late=(late, 0))
    table = pa.table({"t": pa.array(times, pa.int64())})
    decided = fates(query, {"l": table, "r": table.slice(0, 0)})["l"]
    assert "".join(fate[0] for fate in decided) == expected
    kept = [row for row, fate in enumerate(expected) if fate == "a"]
    assert accepted(query, {"l": table, "r": table.slice(0, 0)})["l"] == kept


def test_the_finest_unit_decides_what_is_out_of_range() -> None:
    seconds = pa.table({"t": pa.array([0, (2**62 - 1) // 1000, 2**62 - 1], pa.timestamp("s"))})
    for unit, expected in (("s", "aaa"), ("ms", "aaq"), ("us", "aqq")):
        other = pa.table({"t": pa.array([], pa.timestamp(unit))})
        query = _query("lr", Equal((("t",),)), Duration(SECOND))
        decided = fates(query, {"l": seconds, "r": other})["l"]
        assert "".join(fate[0] for fate in decided) == expected, unit


def test_a_window_finer_than_the_times_counts_as_a_unit() -> None:
    seconds = pa.table({"t": pa.array([(2**62 - 1) // 1000 + 1], pa.timestamp("s"))})
    tables = {"l": seconds, "r": seconds}
    for length, expected in ((1_500_000_000, "quarantined"), (2 * SECOND, "accepted")):
        assert fates(_query("lr", Equal((("t",),)), Duration(length)), tables)["l"] == [expected]


def test_bad_weights_are_quarantined_before_lateness() -> None:
    kind = pa.list_(pa.struct([("item", pa.string()), ("weight", pa.float64())]))
    entries = [
        [("a", 1.0)],
        [("a", NAN)],
        [("a", 1.0), ("b", None)],
        [(None, NAN)],  # a null item is ignored, whatever it weighs
        [None],
        None,
        [("a", float("-inf"))],
        [],
    ]
    rows = [
        entry and [item and {"item": item[0], "weight": item[1]} for item in entry]
        for entry in entries
    ]
    table = pa.table({"t": [1, 99, 99, 2, 3, 4, 99, 5], "x": pa.array(rows, kind)})
    query = _query("lr", Similar(("x",), 0.5), Ticks(1))
    decided = fates(query, {"l": table, "r": table})["r"]
    assert "".join(fate[0] for fate in decided) == "aqqaaaqa"


# ----------------------------------------------------------------------------------------- windows


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        ((Ticks(2),), [(0, 0), (0, 1), (1, 0), (1, 1)]),
        ((Ticks(1), Ticks(3)), [(0, 0), (1, 0), (1, 1), (2, 1)]),
        ((Ticks(3), Ticks(1)), [(0, 0), (0, 1), (1, 0), (1, 1)]),
        ((Ticks(1), Ticks(4)), [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1)]),
    ],
)
def test_time_windows_are_inclusive_and_the_earlier_tuple_s(
    windows: tuple[Window, ...], expected: list[tuple[int, ...]]
) -> None:
    # time  0 1 2 3 4 5
    # left  0 . 1 . . 2
    # right . 0 1 . . .
    left, right = {"t": [0, 2, 5], "k": [1, 1, 1]}, {"t": [1, 2], "k": [1, 1]}
    assert _exact(_query("lr", Equal((("k",),)), *windows), l=left, r=right) == expected


def test_equal_times_always_join() -> None:
    rows = {"t": [4, 4], "k": [1, 1]}
    query = _query("lr", Equal((("k",),)), Ticks(1))
    assert _exact(query, l=rows, r=rows) == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_count_window_counts_own_tuples_between() -> None:
    # canonical order: l0@1 l1@2 r0@2 l2@3 r1@3 (a tie goes to the stream named first)
    left, right = {"t": [1, 2, 3], "k": [1, 1, 1]}, {"t": [2, 3], "k": [1, 1]}
    both = Equal((("k",),))
    assert _exact(_query("lr", both, Rows(1)), l=left, r=right) == [(1, 0), (2, 0), (2, 1)]
    assert _exact(_query("lr", both, Rows(2), Rows(1)), l=left, r=right) == [
        (0, 0),
        (1, 0),
        (1, 1),
        (2, 0),
        (2, 1),
    ]


def test_count_window_at_equal_times_goes_by_stream_then_by_row() -> None:
    rows = {"t": [2, 2], "k": [1, 1]}
    # canonical order: l0 l1 r0 r1, all at 2
    query = _query("lr", Equal((("k",),)), Rows(1))
    assert _exact(query, l=rows, r=rows) == [(1, 0), (1, 1)]


def test_count_window_counts_rows_without_a_key_and_not_the_late() -> None:
    right = {"t": [4], "k": [1]}
    query = _query("lr", Equal((("k",),)), Rows(1))
    assert _exact(query, l={"t": [1, 2], "k": [1, None]}, r=right) == []
    assert _exact(query, l={"t": [1, 0], "k": [1, None]}, r=right) == [(0, 0)]


def test_count_window_follows_time_not_arrival() -> None:
    query = _query("lr", Equal((("k",),)), Rows(1), late=(5, 0))
    left = {"t": [3, 2], "k": [1, 1]}
    assert _exact(query, l=left, r={"t": [4], "k": [1]}) == [(0, 0)]


def test_mixed_windows() -> None:
    # time  0 1 2 3 4
    # left  0 1 . . 2
    # right . . 0 . .
    left, right = {"t": [0, 1, 4], "k": [1, 1, 1]}, {"t": [2], "k": [1]}
    both = Equal((("k",),))
    assert _exact(_query("lr", both, Rows(1), Ticks(2)), l=left, r=right) == [(1, 0), (2, 0)]
    assert _exact(_query("lr", both, Ticks(2), Rows(1)), l=left, r=right) == [
        (0, 0),
        (1, 0),
        (2, 0),
    ]
    assert _exact(_query("lr", both, Ticks(1), Ticks(1)), l=left, r=right) == [(1, 0)]


def test_three_streams_measure_from_the_last_member() -> None:
    tables = {
        "a": {"t": [0], "k": [1]},
        "b": {"t": [3], "k": [1]},
        "c": {"t": [5, 6], "k": [1, 1]},
    }
    query = _query("abc", Equal((("k",),)), Ticks(5), Ticks(2), Ticks(1))
    assert _exact(query, **tables) == [(0, 0, 0)]
    counted = _query("abc", Equal((("k",),)), Rows(1), Ticks(9), Rows(1))
    assert _exact(counted, **tables) == [(0, 0, 0), (0, 0, 1)]
    # With b after c1, c1 pushes c0 out of its window of one row.
    swapped = _query("cab", Equal((("k",),)), Rows(1), Rows(1), Rows(1))
    late = {**tables, "b": {"t": [7], "k": [1]}}
    assert _exact(swapped, **late) == [(1, 0, 0)]


def test_five_streams_multiply() -> None:
    tables = {name: {"t": [1, 1], "k": ["x", "x" if name < "c" else "y"]} for name in "abcde"}
    query = _query("abcde", Equal((("k",),)), Ticks(1))
    found = _exact(query, **tables)
    assert len(found) == 4
    assert {members[2:] for members in found} == {(0, 0, 0)}


def test_units_meet_exactly() -> None:
    left = pa.table(
        {"t": pa.array([1_000_000_001, 1_000_000_002], pa.timestamp("ns")), "k": [1, 1]}
    )
    right = pa.table({"t": pa.array([3], pa.timestamp("s", "UTC")), "k": [1]})
    query = _query("lr", Equal((("k",),)), Duration(1_999_999_998))
    assert _exact(query, l=left, r=right) == [(1, 0)]
    days = pa.table({"t": pa.array([0, 1], pa.date32()), "k": [1, 1]})
    shifted = pa.table({"t": pa.array([86_400_000], pa.int64()).cast(pa.date64()), "k": [1]})
    within = _query("lr", Equal((("k",),)), Duration(86_399 * SECOND))
    assert _exact(within, l=days, r=shifted) == [(1, 0)]


# -------------------------------------------------------------------------------------- predicates


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (pa.array([1, None]), pa.array([None, 1]), [(0, 1)]),
        (pa.array([NAN, 0.0]), pa.array([-0.0, NAN]), [(0, 1), (1, 0)]),
        (pa.array([1], pa.uint8()), pa.array([1, 2], pa.int64()), [(0, 0)]),
        (pa.array(["a", "b"]), pa.array(["b"]).dictionary_encode(), [(1, 0)]),
        (pa.array([2], pa.timestamp("s")), pa.array([2000, 2], pa.timestamp("ms")), [(0, 0)]),
        (
            pa.array([Decimal("1.50")], pa.decimal128(5, 2)),
            pa.array([Decimal("1.5")], pa.decimal128(9, 1)),
            [(0, 0)],
        ),
        (pa.array([[1, None], None]), pa.array([[1, None], None, [1]]), [(0, 0)]),
        (pa.array([{"x": NAN}]), pa.array([{"x": None}, {"x": NAN}]), [(0, 1)]),
        (pa.array([2**53 + 1]), pa.array([2**53]), []),
    ],
)
def test_equal(left: pa.Array, right: pa.Array, expected: list[tuple[int, ...]]) -> None:
    assert _pairs(Equal((("x",),)), left, right) == expected


def test_composite_key_with_a_null_part_matches_nothing() -> None:
    rows = {"t": [1, 1], "x": [1, None], "y": ["a", "a"]}
    query = _query("lr", Equal((("x", "y"), ("x", "y"))), Ticks(1))
    assert _exact(query, l=rows, r=rows) == [(0, 0)]


SETS = pa.array([["a", "b", "b"], [], None, ["b", None], [None]])


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (Overlap(("x",), 1), [(0, 0), (0, 3), (3, 0), (3, 3)]),
        (Overlap(("x",), 2), [(0, 0)]),
        (
            Subset(("x",)),
            [
                (0, 0),
                (1, 0),
                (1, 1),
                (1, 3),
                (1, 4),
                (3, 0),
                (3, 3),
                (4, 0),
                (4, 1),
                (4, 3),
                (4, 4),
            ],
        ),
        (
            Superset(("x",)),
            [
                (0, 0),
                (0, 1),
                (0, 3),
                (0, 4),
                (1, 1),
                (1, 4),
                (3, 1),
                (3, 3),
                (3, 4),
                (4, 1),
                (4, 4),
            ],
        ),
    ],
)
def test_sets(predicate: Predicate, expected: list[tuple[int, ...]]) -> None:
    assert _pairs(predicate, SETS, SETS) == expected


def test_similar_adds_duplicates_and_multiplies_in_ascending_order() -> None:
    kind = pa.map_(pa.int64(), pa.float64())
    left = pa.array([[(2, 0.1), (1, 0.2), (2, 0.1)], [], None], kind)
    right = pa.array([[(1, 1.0), (2, 1.0)], [(3, 9.0)]], kind)
    product = 0.2 * 1.0 + (0.1 + 0.1) * 1.0
    assert _pairs(Similar(("x",), product), left, right) == [(0, 0)]
    assert _pairs(Similar(("x",), 0.41), left, right) == []


def test_similar_orders_text_by_bytes() -> None:
    # U+FF5E sorts after U+1F600 in UTF-16 and before it in UTF-8; the sum shows which was used.
    kind = pa.map_(pa.string(), pa.float64())
    weights = {"\uff5e": 1e16, "\U0001f600": -1e16, "\U0001f601": 0.5}
    left = pa.array([list(weights.items())], kind)
    right = pa.array([[(item, 1.0) for item in weights]], kind)
    assert _pairs(Similar(("x",), 0.5), left, right) == [(0, 0)]


# ----------------------------------------------------------------------------------------- scoring


def test_scores_are_of_multisets() -> None:
    wanted = [(0, 1), (0, 2), (3, 3)]
    assert recall(wanted, wanted) == 1.0
    assert recall([(0, 1), (0, 1), (9, 9)], wanted) == pytest.approx(1 / 3)
    assert recall([], []) == 1.0
    assert surplus([(0, 1), (0, 1), (9, 9)], wanted) == [(0, 1), (9, 9)]


def test_plain_values_of_a_sliced_nested_column() -> None:
    column = pa.array([{"x": [1]}, None, {"x": None}, {"x": [2, None]}])
    assert plain(column.slice(1)) == [None, (None,), ((2, None),)]
    assert plain(pa.array([5], pa.duration("us"))) == [5000]
    assert plain(pa.chunked_array([[b"a"], []], pa.binary())) == [b"a"]
