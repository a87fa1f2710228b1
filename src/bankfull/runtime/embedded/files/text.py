"""Text to values: what type a column of text is, and which of its cells do not fit.

The first block of a file decides the types, since later ones have not been seen when the join is
planned. A cell that does not fit later costs its row, which is counted, never the run. A type is
chosen only if it holds every cell exactly: numbers that it would round are decimals, or stay text.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bankfull.runtime.embedded.files import numbers
from bankfull.runtime.embedded.files.exact import NUMBER, TRUTH, WHOLE, decimal_of, inexact

#: Spellings of "no value" in a column that is not text.
_NOTHING = pa.array(["", "NULL", "null", "NA", "N/A", "n/a"])
_ZONED = r"[T ][0-9]{2}.*([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)$"
_FINE = r"\.[0-9]{7}"
#: What a time can look like: whatever does not match is not worth a cast.
_DATED = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
#: A pattern that most columns do not match is tried on so many cells first.
_HEAD = 256


class Doubt(NamedTuple):
    """A column that stays text though most of its cells are of another type."""

    kind: pa.DataType
    row: int
    cell: str


def type_of(column: pa.Array) -> pa.DataType:
    """Infer the type of a whole column of text; text stays text unless every cell agrees.

    >>> [str(type_of(pa.array(cells))) for cells in (["1", "NA"], ["1", "2.5"], ["007"], ["TRUE"])]
    ['int64', 'double', 'string', 'bool']
    >>> str(type_of(pa.array(["0.5", "9007199254740993"])))
    'decimal128(38, 1)'
    """
    head = _present(column.slice(0, _HEAD))
    if len(head) and not any(_all(head, pattern) for pattern in (NUMBER, TRUTH, _DATED)):
        return pa.string()
    quick = _proven(column, head)
    if quick is not None:
        return quick
    cells = _present(column)
    if len(cells) == 0:
        return pa.string()
    head = cells.slice(0, _HEAD)
    if _all(head, WHOLE) and fits(cells, pa.int64()):
        return pa.int64()
    if _all(head, NUMBER):
        if not _all(cells, WHOLE) and fits(cells, pa.float64()):
            return pa.float64()
        return (_all(cells, NUMBER) and decimal_of(cells.to_pylist())) or pa.string()
    if _all(cells, TRUTH):
        return pa.bool_()
    if not _all(cells, _DATED):
        return pa.string()
    kind = _timestamp_of(cells)
    return kind if fits(cells, kind) else pa.string()


def _proven(column: pa.Array, head: pa.Array) -> pa.DataType | None:
    """Infer the type of a column in which no cell needs a second look, from one pass over it."""
    if len(head) == 0:
        return None
    if _all(head, NUMBER):
        if numbers.read(column, pa.int64()) is not None:
            return pa.int64()
        proven = numbers.read(column, pa.float64()) is not None
        return pa.float64() if proven and not _all(column.drop_null(), WHOLE) else None
    kind = _timestamp_of(head)
    if not _all(head, _DATED) or kind.unit != "us":
        return None
    # The cast succeeds only if all cells have a zone, or none, and no more than six decimals.
    return kind if _casts(column, kind) else None


def type_of_time(column: pa.Array) -> pa.DataType:
    """Infer the type of a time column, where bad cells may stand between good ones.

    >>> str(type_of_time(pa.array(["2024-01-01T00:00:00Z", "soon", "2024-01-02T00:00:00Z"])))
    'timestamp[us, tz=UTC]'
    >>> str(type_of_time(pa.array(["17", "?"]))), str(type_of_time(pa.array(["soon", "later"])))
    ('int64', 'string')
    """
    quick = _proven(column, _present(column.slice(0, _HEAD)))
    if quick is not None and quick != pa.float64():
        return quick
    cells = _present(column)
    if len(cells) == 0:
        return pa.timestamp("us")
    whole = pc.sum(pc.match_substring_regex(cells, WHOLE)).as_py()
    if whole * 2 >= len(cells):
        kind = pa.int64()
    else:
        cells = cells.filter(pc.match_substring_regex(cells, _DATED))
        kind = _timestamp_of(cells)
    return kind if len(misfits(cells, kind)) < len(cells) else pa.string()


def doubt_about(column: pa.Array) -> Doubt | None:
    """Tell whether most cells of a column that stayed text are numbers or times, and which is not.

    >>> doubt_about(pa.array(["1", "2", "x"]))
    Doubt(kind=DataType(int64), row=2, cell='x')
    """
    head = _present(column.slice(0, _HEAD))
    for pattern in (WHOLE, NUMBER, _DATED):
        found = pc.sum(pc.match_substring_regex(head, pattern)).as_py() or 0
        if found * 2 <= len(head):
            continue
        kind = _timestamp_of(head) if pattern == _DATED else pa.float64()
        kind = pa.int64() if pattern == WHOLE else kind
        tidy = _tidy(column)
        unlike = pc.fill_null(pc.invert(pc.match_substring_regex(tidy, pattern)), False)
        rows = np.flatnonzero(unlike.to_numpy(zero_copy_only=False))
        # So many cells must be of the type that the others are likely mistakes.
        if 0 < len(rows) * 10 <= len(column) or 0 < len(rows) <= 2 < len(column):
            return Doubt(kind, int(rows[0]), column[int(rows[0])].as_py())
    return None


def are_numbers(column: pa.Array) -> bool:
    """Whether every cell of a column of text is a number, and there is one.

    >>> are_numbers(pa.array(["1.5", "1e500"])), are_numbers(pa.array(["1", "x"]))
    (True, False)
    """
    cells = _present(column)
    return len(cells) > 0 and _all(cells, NUMBER)


def convert(
    column: pa.Array, kind: pa.DataType, exactly: bool = True
) -> tuple[pa.Array, list[int]]:
    """Cast text to ``kind``; cells that do not fit become null, and are told by position.

    A cell that would only fit rounded does not fit, unless ``exactly`` is false.

    >>> convert(pa.array(["1", " 2 ", "x", None]), pa.int64())[1]
    [2]
    """
    if kind == column.type:
        return column, []
    proven = numbers.read(column, kind)
    if proven is not None:
        return proven, []
    judged = pa.types.is_string(column.type) and (exactly or pa.types.is_decimal(kind))
    judged = judged and not pa.types.is_temporal(kind)  # a time that Arrow reads is that time
    try:
        values = pc.cast(column, kind)
        wrong = _rows(inexact(column, values)) if judged else []
        if not wrong:
            return values, []
    except pa.ArrowInvalid:
        pass
    if pa.types.is_string(column.type):
        column = _tidy(column)
    wrong = misfits(column, kind)
    column = _blanked(column, wrong)
    values = pc.cast(column, kind)
    if judged:
        rounded = _rows(inexact(column, values))
        values = _blanked(values, rounded)
        wrong = sorted({*wrong, *rounded})
    return values, wrong


def _casts(cells: pa.Array, kind: pa.DataType) -> bool:
    try:
        pc.cast(cells, kind)
    except pa.ArrowInvalid:
        return False
    return True


def fits(cells: pa.Array, kind: pa.DataType) -> bool:
    """Whether every cell of text is exactly a value of ``kind``."""
    try:
        values = pc.cast(cells, kind)
    except pa.ArrowInvalid:
        return False
    return not pc.any(inexact(cells, values)).as_py()


def misfits(column: pa.Array, kind: pa.DataType) -> list[int]:
    """Tell which cells cannot be cast to ``kind``, by halving: few bad cells cost few casts."""
    wrong: list[int] = []
    spans = [(0, len(column))]
    while spans:
        start, end = spans.pop()
        try:
            pc.cast(column.slice(start, end - start), kind)
        except pa.ArrowInvalid:
            middle = (start + end) // 2
            if end - start == 1:
                wrong.append(start)
            else:
                spans += [(middle, end), (start, middle)]
    return wrong


def without(batch: pa.RecordBatch, rows: list[int]) -> pa.RecordBatch:
    """Return ``batch`` without the given rows."""
    return batch.filter(pc.invert(_mask(batch.num_rows, rows))) if rows else batch


def _all(cells: pa.Array, pattern: str) -> bool:
    for part in (cells.slice(0, _HEAD), cells):
        if not pc.all(pc.match_substring_regex(part, pattern)).as_py():
            return False
    return True


def _present(column: pa.Array) -> pa.Array:
    return pc.drop_null(_tidy(column))


def _tidy(column: pa.Array) -> pa.Array:
    cells = pc.utf8_trim_whitespace(column)
    nothing = pc.is_in(cells, _NOTHING)
    if not pc.any(nothing).as_py():
        return cells
    return pc.if_else(nothing, pa.scalar(None, cells.type), cells)


def _timestamp_of(cells: pa.Array) -> pa.DataType:
    zoned = pc.sum(pc.match_substring_regex(cells, _ZONED)).as_py() or 0
    fine = pc.any(pc.match_substring_regex(cells, _FINE)).as_py()
    return pa.timestamp("ns" if fine else "us", "UTC" if zoned * 2 >= len(cells) else None)


def _blanked(column: pa.Array, rows: list[int]) -> pa.Array:
    if not rows:
        return column
    return pc.if_else(_mask(len(column), rows), pa.scalar(None, column.type), column)


def _rows(mask: pa.Array) -> list[int]:
    if not pc.any(mask).as_py():
        return []
    found: list[int] = np.flatnonzero(mask.to_numpy(zero_copy_only=False)).tolist()
    return found


def _mask(length: int, rows: list[int]) -> pa.Array:
    mask = np.zeros(length, np.bool_)
    mask[rows] = True
    return pa.array(mask)
