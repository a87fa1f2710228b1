"""Types of comparison: in which type keys are equal, and of which type items are."""

from __future__ import annotations

from functools import reduce

import pyarrow as pa

from bankfull.assemble.times import UNITS
from bankfull.core.store.forms import bare_type, may_be_null
from bankfull.errors import PlanError

Side = tuple[str, pa.Field]


def _inner(kind: pa.DataType) -> pa.DataType:
    """Look through extension types, dictionaries, runs and views, inside nested types too.

    What may be null is no part of a type: another stream may remark otherwise on the same values.
    """
    return may_be_null(pa.schema([("key", bare_type(kind))])).field("key").type


def key_type(sides: list[Side]) -> pa.DataType:
    """Return the type in which key columns are compared by value."""
    kinds = [_inner(field.type) for _, field in sides]
    for (stream, field), kind in zip(sides, kinds, strict=True):
        if not _has_equality(kind):
            raise PlanError(
                f"column {field.name!r} of stream {stream!r} has type {kind}, which has no "
                "equality of values: join on a plain column"
            )
    common = _common(kinds)
    if common is None:
        listed = ", ".join(
            f"{field.name!r} of stream {stream!r} is {kind}"
            for (stream, field), kind in zip(sides, kinds, strict=True)
        )
        raise PlanError(f"key columns cannot be compared ({listed}): cast one to the other's type")
    return pa.float64() if pa.types.is_floating(common) else common


def _has_equality(kind: pa.DataType) -> bool:
    """Whether values of a type, and of everything inside it, can be compared."""
    kind = _inner(kind)
    if pa.types.is_struct(kind):
        return all(_has_equality(kind.field(k).type) for k in range(kind.num_fields))
    if _is_list(kind):
        return _has_equality(kind.value_type)
    return bool(not pa.types.is_nested(kind) and not pa.types.is_interval(kind))


def _common(kinds: list[pa.DataType]) -> pa.DataType | None:
    """Return one type that holds the values of all, or None."""
    if all(kind == kinds[0] for kind in kinds):
        return kinds[0]
    if all(map(pa.types.is_integer, kinds)):
        if pa.uint64() not in kinds:
            return pa.int64()
        signed = any(map(pa.types.is_signed_integer, kinds))
        return pa.decimal128(20, 0) if signed else pa.uint64()
    if all(map(pa.types.is_floating, kinds)):
        return pa.float64()
    if all(map(_is_text, kinds)):
        return pa.large_string()
    if all(map(_is_bytes, kinds)):
        return pa.large_binary()
    if all(map(pa.types.is_decimal, kinds)):
        scale = max(kind.scale for kind in kinds)
        digits = scale + max(kind.precision - kind.scale for kind in kinds)
        return (
            pa.decimal128(digits, scale) if digits <= 38 else pa.decimal256(min(76, digits), scale)
        )
    for same in (pa.types.is_timestamp, pa.types.is_duration, pa.types.is_time, pa.types.is_date):
        if all(map(same, kinds)):
            return reduce(_finer, kinds)
    return None


def _finer(a: pa.DataType | None, b: pa.DataType) -> pa.DataType | None:
    if a is None or (pa.types.is_timestamp(b) and (a.tz is None) != (b.tz is None)):
        return None
    if pa.types.is_date(b):
        return pa.timestamp("ms")
    unit = a.unit if UNITS[a.unit] <= UNITS[b.unit] else b.unit
    if pa.types.is_timestamp(a):
        return pa.timestamp(unit, a.tz)
    if pa.types.is_duration(a):
        return pa.duration(unit)
    return pa.time64(unit) if unit in ("us", "ns") else pa.time32(unit)


def _is_text(kind: pa.DataType) -> bool:
    checks = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(check(kind) for check in checks)


def _is_bytes(kind: pa.DataType) -> bool:
    checks = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view)
    return any(check(kind) for check in checks)


def _is_list(kind: pa.DataType) -> bool:
    checks = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(check(kind) for check in checks)


def item_type(sides: list[Side], weighted: bool) -> pa.DataType:
    """Return the type of a set's items: integers or strings, the same on both sides."""
    kinds = [_items_of(stream, field, weighted) for stream, field in sides]
    if all(_is_text(kind) for kind in kinds):
        return pa.string() if all(map(pa.types.is_string, kinds)) else pa.large_string()
    if all(pa.types.is_integer(kind) for kind in kinds):
        if pa.uint64() in kinds and any(kind != pa.uint64() for kind in kinds):
            raise PlanError("items are uint64 on one side only: cast both sides to one type")
        return pa.uint64() if pa.uint64() in kinds else pa.int64()
    (left, a), (right, b) = sides
    raise PlanError(
        f"column {a.name!r} of stream {left!r} holds items of type {kinds[0]} and column "
        f"{b.name!r} of stream {right!r} of type {kinds[1]}: give integers or strings on both"
    )


def _items_of(stream: str, field: pa.Field, weighted: bool) -> pa.DataType:
    kind = _inner(field.type)
    listed = _is_list(kind)
    if weighted and pa.types.is_map(kind):
        item, weight = kind.key_type, kind.item_type
    elif (
        weighted
        and listed
        and pa.types.is_struct(kind.value_type)
        and kind.value_type.num_fields == 2
    ):
        item, weight = (kind.value_type.field(k).type for k in (0, 1))
    elif not weighted and listed:
        item, weight = kind.value_type, pa.float64()
    else:
        wanted = "a map, or a list of structs of item and weight" if weighted else "a list column"
        raise PlanError(f"column {field.name!r} of stream {stream!r} is {kind}: give {wanted}")
    number = pa.types.is_integer(weight) or pa.types.is_floating(weight)
    if not number:
        raise PlanError(
            f"column {field.name!r} of stream {stream!r} has weights of type {weight}: give numbers"
        )
    item = _inner(item)
    if not (pa.types.is_integer(item) or _is_text(item)):
        raise PlanError(
            f"column {field.name!r} of stream {stream!r} holds items of type {item}: "
            "give integers or strings"
        )
    return item
