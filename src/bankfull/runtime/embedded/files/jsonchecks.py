"""What Arrow's JSON parser would let pass: numbers it rounds, and columns nobody knows.

Both are found after a block was parsed. Numbers are searched in the block's text, and only if one
of them is not surely held by a double are single lines looked at, by Python's parser.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bankfull.runtime.embedded.files.exact import decimal_of, is_double, is_double_in_full
from bankfull.runtime.embedded.files.numbers import unproven

#: Columns of which a double would round a number: the decimal that holds them all.
Leaves = dict[str, pa.DataType]
#: Columns whose numbers must be exact, and whether rows are compared by them.
Judged = dict[str, bool]


class BadLines(Exception):  # noqa: N818 - caught by the reader, never shown
    """Some lines cannot be used; ``reasons`` says why, by their place in the block."""

    def __init__(self, reasons: dict[int, str]) -> None:
        super().__init__(reasons)
        self.reasons = reasons


def check(table: pa.Table, block: bytes, wire: pa.Schema, judged: Judged) -> None:
    """Raise what is wrong with the lines of ``table`` that Arrow did not mind.

    ``judged`` are the columns whose numbers must be exact; of the others the user gave the type.
    """
    reasons: dict[int, str] = {}
    if table.schema != wire:
        reasons = _unexpected(table, block, wire)
    if not reasons:
        for line, name, token, _ in _inexact(table, block, wire, judged):
            kind = wire.field(name).type
            reasons[line] = (
                f"{token} in column {name!r} would be rounded as {kind}, the type of its first "
                "rows (set it in types)"
            )
    if reasons:
        raise BadLines(reasons)


def inexact_leaves(
    table: pa.Table, block: bytes, wire: pa.Schema, judged: Judged, found: Leaves
) -> bool:
    """Add to ``found`` the columns that need a decimal, as far as one can hold their numbers.

    Returns whether there is any number that would be rounded.
    """
    rounded = list(_inexact(table, block, wire, judged))
    needed = {name for _, name, _, nested in rounded if not nested}
    for name in needed:
        tokens = [
            token
            for line in block.split(b"\n")
            if line.strip()
            for token in _numbers(_loaded(line).get(name))
        ]
        decided = decimal_of(tokens)
        if decided is not None:
            known = found.get(name)
            scale = max(decided.scale, known.scale if known is not None else 0)
            found[name] = pa.decimal128(38, scale)
    return bool(rounded)


def _inexact(
    table: pa.Table, block: bytes, wire: pa.Schema, judged: Judged
) -> Iterator[tuple[int, str, str, bool]]:
    """Yield line, column, number and whether it is nested, of every number that is rounded."""
    floats = [field.name for field in wire if field.name in judged and _has(field.type, _is_float)]
    if not floats:
        return
    # Whole numbers below 2**53 are doubles; larger ones are common where the column is of integers.
    suspect = [
        start
        for start, end in unproven(block, whole=_large(table, floats))
        if _is_rounded(block[start:end].decode())
    ]
    if not suspect:
        return
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    lines = block.split(b"\n")
    for line in np.unique(np.searchsorted(ends, np.array(suspect, np.int64))).tolist():
        row = _loaded(lines[line])
        for name in floats:
            for token, nested in _tokens(row.get(name), wire.field(name).type, False):
                # Two spellings of one double do no harm, unless they are compared.
                exact = is_double_in_full if nested and not judged[name] else is_double
                if not exact(token):
                    yield line, name, token, nested


def _is_rounded(token: str) -> bool:
    try:
        Decimal(token)
    except InvalidOperation:
        return False  # no number of JSON
    return not is_double(token)


def _large(table: pa.Table, names: list[str]) -> bool:
    """Whether a number of these columns may be a rounded whole number."""
    for name in filter(table.schema.names.__contains__, names):
        for column in _leaves(table.column(name)):
            if _is_float(column.type) or pa.types.is_integer(column.type):
                size = pc.abs(pc.cast(column, pa.float64(), safe=False))
                if pc.any(pc.greater_equal(size, 2.0**53)).as_py():
                    return True
    return False


def _leaves(column: Any) -> Iterator[pa.Array]:
    if isinstance(column, pa.ChunkedArray):
        column = _whole(column)
    if pa.types.is_list(column.type):
        yield from _leaves(column.flatten())
    elif pa.types.is_struct(column.type):
        for part in column.flatten():
            yield from _leaves(part)
    else:
        yield column


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.chunks else pa.array([], column.type)


class _Token(str):
    """A number as it is written."""

    __slots__ = ()


_decoder = json.JSONDecoder(parse_float=_Token, parse_int=_Token)


def _loaded(line: bytes) -> dict[str, Any]:
    try:
        row = _decoder.decode(line.decode().strip())
    except ValueError:
        return {}  # Arrow has read it, or has said why not
    return row if isinstance(row, dict) else {}


def _tokens(value: Any, kind: pa.DataType, nested: bool) -> Iterator[tuple[str, bool]]:
    """Yield the numbers that are read as doubles."""
    if isinstance(value, _Token):
        if _is_float(kind):
            yield value, nested
    elif isinstance(value, list) and pa.types.is_list(kind):
        for item in value:
            yield from _tokens(item, kind.value_type, True)
    elif isinstance(value, dict) and pa.types.is_struct(kind):
        for field in kind:
            yield from _tokens(value.get(field.name), field.type, True)


def _numbers(value: Any) -> Iterator[str]:
    if isinstance(value, _Token):
        yield value


def _unexpected(table: pa.Table, block: bytes, wire: pa.Schema) -> dict[int, str]:
    """Find lines with a value in a column or field that the first block did not have."""
    found: dict[int, str] = {}
    for name in table.schema.names:
        column = _whole(table.column(name))
        known = wire.field(name).type if name in wire.names else None
        for row in np.flatnonzero(_unknown(column, known)).tolist():
            found.setdefault(row, name)
    if not found:
        return {}
    filled = [line for line, given in enumerate(block.split(b"\n")) if given.strip()]
    if len(filled) != table.num_rows:
        raise pa.ArrowInvalid("several objects on one line, or one on several: write one a line")
    return {
        filled[
            row
        ]: f"column {name!r}, or a field in it, is not in the first rows (name it in types)"
        for row, name in found.items()
    }


def _unknown(column: pa.Array, known: pa.DataType | None) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Tell which rows have a value where ``known`` has no place for one."""
    if known is None:
        return pc.is_valid(column).to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]
    rows = np.zeros(len(column), np.bool_)
    if pa.types.is_struct(column.type) and pa.types.is_struct(known):
        for part, field in zip(column.flatten(), column.type, strict=True):
            place = known.get_field_index(field.name)
            rows |= _unknown(part, known.field(place).type if place >= 0 else None)
    elif pa.types.is_list(column.type) and pa.types.is_list(known):
        items = _unknown(column.flatten(), known.value_type)
        rows[pc.list_parent_indices(column).to_numpy()[items]] = True
    return rows


def _has(kind: pa.DataType, wanted: Any) -> bool:
    if pa.types.is_list(kind):
        return _has(kind.value_type, wanted)
    if pa.types.is_struct(kind):
        return any(_has(field.type, wanted) for field in kind)
    return bool(wanted(kind))


def _is_float(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind))
