"""Numbers as text: whether a column's type holds each of them exactly, and which type does.

A double stands for one decimal, the shortest text that reads back as it; a number is exact if it
is that decimal. Two different exact numbers are therefore never the same double. Whole numbers of
64 bits are exact, decimals are exact up to 38 digits, and everything else is not a number here.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation

import pyarrow as pa
import pyarrow.compute as pc

#: Whole numbers only: ``007`` and ``0x1F`` are names, not numbers.
WHOLE = r"^-?(0|[1-9][0-9]*)$"
PLAIN = r"^-?(0|[1-9][0-9]*)(\.[0-9]*)?$"
NUMBER = r"^(-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]+)?|-?(nan|NaN|inf|Infinity))$"
TRUTH = r"(?i)^(true|false)$"
_UNCOUNTED = pa.array(["nan", "NaN", "inf", "Infinity", "-nan", "-NaN", "-inf", "-Infinity"])
#: Different decimals of so many digits are different doubles (within the range of normal ones).
_SAFE_DIGITS = 15
_DIGITS = 38


def is_double(token: str) -> bool:
    """Whether a number is the shortest text of a double, however it is spelt.

    >>> [is_double(token) for token in ("0.10", "9007199254740992", "9007199254740993", "1e400")]
    [True, True, False, False]
    """
    try:
        return Decimal(token) == Decimal(repr(float(token)))
    except InvalidOperation:
        return False


def is_double_in_full(token: str) -> bool:
    """Whether a number is a double, or one written with all of its seventeen digits."""
    return is_double(token) or Decimal(f"{float(token):.17g}") == Decimal(token)


def decimal_of(tokens: list[str]) -> pa.DataType | None:
    """Return the decimal type that holds all of some finite numbers, if there is one.

    >>> str(decimal_of(["1.5", "9007199254740993"])), decimal_of(["1e50"])
    ('decimal128(38, 1)', None)
    """
    scale = whole = 0
    for token in tokens:
        _, digits, exponent = Decimal(token).as_tuple()
        if not isinstance(exponent, int):
            return None
        scale = max(scale, -exponent)
        whole = max(whole, len(digits) + exponent)
    return pa.decimal128(_DIGITS, scale) if scale + whole <= _DIGITS else None


def inexact(cells: pa.Array, values: pa.Array) -> pa.Array:
    """Tell which cells of text are not exactly the values that they were cast to.

    >>> cells = pa.array(["0.1", "007", "9007199254740993"])
    >>> inexact(cells, cells.cast(pa.float64())).to_pylist()
    [False, True, True]
    """
    kind = values.type
    if pa.types.is_integer(kind):
        return _misspelt(cells, WHOLE)
    if pa.types.is_floating(kind):
        return _rounded(cells, values)
    if pa.types.is_decimal(kind):
        return _overflown(cells, values)
    if pa.types.is_boolean(kind):
        return pc.fill_null(pc.invert(_matches(cells, TRUTH)), False)
    return pc.and_(pc.is_null(cells), False)


def _misspelt(cells: pa.Array, pattern: str) -> pa.Array:
    """Find what Arrow reads as a number though it is a name, such as ``007`` and ``0x1F``."""
    zero = pc.and_(pc.starts_with(cells, "0"), pc.greater(pc.binary_length(cells), 1))
    suspect = pc.fill_null(pc.or_(zero, pc.starts_with(cells, "-0")), False)
    if not pc.any(suspect).as_py():
        return suspect
    known = _matches(cells.filter(suspect), pattern)
    return pc.replace_with_mask(suspect, suspect, pc.invert(known))


def _rounded(cells: pa.Array, values: pa.Array) -> pa.Array:
    size = pc.abs(values)
    normal = pc.and_(pc.less(size, 1e300), pc.greater(size, 1e-300))
    safe = pc.and_(normal, pc.less_equal(pc.binary_length(cells), _SAFE_DIGITS))
    suspect = pc.fill_null(pc.invert(safe), False)
    suspect = pc.or_(suspect, _misspelt(cells, "^-?0?[^0-9]|^-?0$"))
    if not pc.any(suspect).as_py():
        return suspect
    again = pc.equal(values.cast(pa.string()), cells)
    suspect = pc.and_not(suspect, pc.or_(pc.fill_null(again, True), pc.is_in(cells, _UNCOUNTED)))
    return _judged(cells, suspect, lambda cell: _is_number(cell) and is_double(cell))


def _overflown(cells: pa.Array, values: pa.Array) -> pa.Array:
    """Find decimals beyond the type's digits, which Arrow's cast from text wraps around."""
    odd = pc.invert(_matches(cells, PLAIN))
    long = pc.greater(pc.binary_length(cells), values.type.precision - 2)
    suspect = pc.fill_null(pc.or_(odd, long), False)
    room = values.type.precision - values.type.scale

    def fits(cell: str) -> bool:
        return _is_number(cell) and Decimal(cell).adjusted() < room

    return _judged(cells, suspect, fits)


def _judged(cells: pa.Array, suspect: pa.Array, fits: Callable[[str], bool]) -> pa.Array:
    """Ask ``fits`` about every distinct suspect cell."""
    distinct = pc.unique(cells.filter(suspect)).to_pylist()
    wrong = [cell for cell in distinct if not fits(cell)]
    return pc.is_in(cells, pa.array(wrong, cells.type))


def _matches(cells: pa.Array, pattern: str) -> pa.Array:
    return pc.match_substring_regex(cells, pattern)


def _is_number(cell: str) -> bool:
    found = pc.match_substring_regex(pa.scalar(cell), NUMBER).as_py()
    return bool(found) and cell.lower().lstrip("-") not in ("nan", "inf", "infinity")
