"""Exact for every Arrow type: as payload, as key, nested in each other, from slices and snapshots.

Families: *oracle* (brute force) over one fixed table a type. Invented cases draw from the types
that people join on; here is the rest of Arrow. A type is joined exactly or refused at plan time
with advice: nothing between, and never an error of somebody else's.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from bankfull.errors import PlanError
from bankfull.spec import Duration, Equal, Join, Overlap, Query, Similar, Stream, Subset, Ticks
from bankfull.testing import Case, check_conservation, check_exact, check_recovery, start

ROWS = 9
NAN = float("nan")


def _thrice(values: list[object], kind: pa.DataType) -> pa.Array:
    return pa.array(values * 3, kind)


def _temporal(kind: pa.DataType) -> pa.Array:
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    return _thrice([86_399, None, 0], width).cast(kind)


def _union(dense: bool) -> pa.Array:
    kinds = _thrice([0, 1, 0], pa.int8())
    children = [pa.array(range(ROWS)), pa.array(list("abcdefghi"))]
    if not dense:
        return pa.UnionArray.from_sparse(kinds, children)
    return pa.UnionArray.from_dense(kinds, pa.array(range(ROWS), pa.int32()), children)


COLUMNS: dict[str, pa.Array] = {
    "null": pa.nulls(ROWS),
    "bool": _thrice([True, None, False], pa.bool_()),
    "int8": _thrice([-128, None, 127], pa.int8()),
    "uint64": _thrice([2**64 - 1, None, 0], pa.uint64()),
    "half_float": _thrice([1.5, None, NAN], pa.float64()).cast(pa.float16()),
    "float": _thrice([-0.0, None, NAN], pa.float32()),
    "string": _thrice(["", None, "é"], pa.string()),
    "large_string": _thrice(["", None, "é" * 99], pa.large_string()),
    "binary": _thrice([b"", None, b"\0"], pa.binary()),
    "fixed_size_binary": _thrice([b"aa", None, b"bb"], pa.binary(2)),
    "decimal32": _thrice([Decimal("1.5"), None, Decimal(2)], pa.decimal32(5, 2)),
    "decimal256": _thrice([Decimal("1.5"), None, Decimal(2)], pa.decimal256(50, 3)),
    "date32": _temporal(pa.date32()),
    "time32": _temporal(pa.time32("s")),
    "time64": _temporal(pa.time64("ns")),
    "timestamp": _temporal(pa.timestamp("ns", "UTC")),
    "duration": _temporal(pa.duration("us")),
    "list": _thrice([[[]], None, [["x", None], None]], pa.list_(pa.list_(pa.string()))),
    "large_list": _thrice([[1.5], None, [NAN]], pa.large_list(pa.float64())),
    "fixed_size_list": _thrice([[1, 2], None, [2, None]], pa.list_(pa.int32(), 2)),
    "struct": _thrice(
        [{"a": {"b": [1]}}, None, {"a": None}],
        pa.struct([("a", pa.struct([("b", pa.list_(pa.int64()))]))]),
    ),
    "dictionary": _thrice([5, None, 7], pa.int16()).dictionary_encode(),
    "list of dictionary": pa.ListArray.from_arrays(
        list(range(ROWS + 1)), _thrice(["a", "b", "a"], pa.string()).dictionary_encode()
    ),
    "extension": pa.ExtensionArray.from_storage(
        pa.uuid(), _thrice([b"0" * 16, None, b"1" * 16], pa.binary(16))
    ),
}

#: Types whose values have no equality to join on; they travel along all the same.
PAYLOADS: dict[str, pa.Array] = {
    "map": _thrice([[("a", 1)], None, []], pa.map_(pa.string(), pa.int8())),
    "interval": _thrice([(1, 2, 3), None, (0, 0, 1)], pa.month_day_nano_interval()),
    "dense_union": _union(dense=True),
    "sparse_union": _union(dense=False),
}

#: Younger types, which Arrow itself supports in part.
YOUNG: dict[str, pa.Array] = {
    "string_view": _thrice(["a", None, "x" * 20], pa.string_view()),
    "binary_view": _thrice([b"a", None, b"x" * 20], pa.binary_view()),
    "list_view": _thrice([[1, 2], None, []], pa.list_view(pa.int32())),
    "list of string_view": _thrice([["a", None], None, []], pa.list_(pa.string_view())),
    "struct of list_view": _thrice(
        [{"a": [1]}, None, {"a": None}], pa.struct([("a", pa.list_view(pa.int8()))])
    ),
    "list of map": _thrice([[[("a", 1)]], None, []], pa.list_(PAYLOADS["map"].type)),
    "run_end_encoded": pa.RunEndEncodedArray.from_arrays([3, 6, ROWS], ["a", "b", None]),
}

KEYS = pa.array([0, 1, 0] * 3)


def _case(key: pa.Array, **payload: pa.Array) -> Case:
    table = pa.table({"t": pa.array(range(ROWS)), "k": key, **payload})
    query = Query(
        (Stream("left", "t"), Stream("right", "t")),
        (Join("join", ("left", "right"), Equal((("k",),)), (Ticks(2),)),),
    )
    return Case.of(query, left=table, right=table.slice(1))


def _check(case: Case) -> None:
    check_exact(case)
    check_exact(case, splits=2)
    check_recovery(case)


def _refusal(case: Case) -> str | None:
    """Return why a case cannot be planned, or None if it can."""
    try:
        start(case)
    except PlanError as refusal:
        return str(refusal)
    return None


@pytest.mark.parametrize("name", [*COLUMNS, *PAYLOADS])
def test_oracle_payload(name: str) -> None:
    _check(_case(KEYS, payload={**COLUMNS, **PAYLOADS}[name]))


@pytest.mark.parametrize("name", COLUMNS)
def test_oracle_key(name: str) -> None:
    _check(_case(COLUMNS[name]))


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_key_without_equality_is_refused(name: str) -> None:
    with pytest.raises(PlanError, match="equality"):
        check_exact(_case(PAYLOADS[name]))


@pytest.mark.parametrize("name", YOUNG)
@pytest.mark.parametrize("place", ["key", "payload"])
def test_young_types_are_exact_or_refused(name: str, place: str) -> None:
    case = _case(YOUNG[name]) if place == "key" else _case(KEYS, payload=YOUNG[name])
    refusal = _refusal(case)
    if refusal is None:
        _check(case)
    else:
        assert ": " in refusal  # what and why, then what to do


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.int8()),
        pa.large_list(pa.uint64()),
        pa.list_(pa.int32(), 2),
        pa.list_view(pa.int32()),
        pa.list_(pa.large_string()),
        pa.list_(pa.string_view()),
        pa.list_(pa.dictionary(pa.int8(), pa.string())),
    ],
    ids=str,
)
def test_sets_in_any_list(kind: pa.DataType) -> None:
    number = pa.types.is_integer(kind.value_type)
    pool = [[1, 2], None, [2, 2], [None, 1], [3, 1]] if number else [["a", "b"], None, ["b", "b"]]
    values = (pool * ROWS)[:ROWS]
    if pa.types.is_dictionary(kind.value_type):
        items = pa.array([item for value in values for item in value or []])
        offsets = [0]
        for value in values:
            offsets.append(offsets[-1] + len(value or []))
        column = pa.ListArray.from_arrays(offsets, items.dictionary_encode().cast(kind.value_type))
    else:
        column = pa.array(values, kind)
    table = pa.table({"t": pa.array(range(ROWS)), "tags": column})
    for predicate in (Overlap(("tags",), 1), Subset(("tags",))):
        join = Join("join", ("left", "right"), predicate, (Ticks(3),))
        query = Query((Stream("left", "t"), Stream("right", "t")), (join,))
        case = Case.of(query, left=table, right=table)
        if "view" in str(kind) and _refusal(case) is not None:
            continue
        _check(case)


# ---------------------------------------------------- counter-examples that were once found, shrunk


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64()], ids=str)
def test_joined_at_of_dates_alone(kind: pa.DataType) -> None:
    days = pa.array([0, 1, 2, 20_000], pa.int32()).cast(pa.date32()).cast(kind)
    table = pa.table({"t": days, "k": [1, 1, 1, 1]})
    for length in (86_400, 86_399):
        join = Join("join", ("left", "right"), Equal((("k",),)), (Duration(length * 10**9),))
        query = Query((Stream("left", "t"), Stream("right", "t")), (join,))
        check_exact(Case.of(query, left=table, right=table))


def test_integer_keys_of_every_width_compare_by_value() -> None:
    kinds = [pa.int16(), pa.uint64(), pa.int32(), pa.uint8(), pa.int64()]
    for first in range(len(kinds)):
        turned = kinds[first:] + kinds[:first]
        tables = {
            name: pa.table({"t": [1, 2], "k": pa.array([1, 2], kind)})
            for name, kind in zip("abcde", turned, strict=True)
        }
        join = Join("join", tuple("abcde"), Equal((("k",),)), (Ticks(1),))
        query = Query(tuple(Stream(name, "t") for name in "abcde"), (join,))
        check_exact(Case.of(query, **tables))


def test_one_batch_with_every_reason_for_quarantine() -> None:
    weights = pa.map_(pa.string(), pa.float64())
    table = pa.table(
        {
            "t": [1, None, 2**62, 2, None, 3, 1],
            "w": pa.array([[("a", 1.0)]] * 3 + [[("a", NAN)]] * 2 + [[("a", 1.0)]] * 2, weights),
        }
    )
    join = Join("join", ("left", "right"), Similar(("w",), 0.5), (Ticks(5),))
    query = Query((Stream("left", "t"), Stream("right", "t")), (join,))
    case = Case.of(query, left=table, right=table)
    check_exact(case)
    check_conservation(case)
