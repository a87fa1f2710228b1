"""Text to values: what type a column of text is, and which of its cells do not fit.

The first block of a file decides the types, since later ones have not been seen when the join is
planned. A cell that does not fit later costs its row, which is counted, never the run.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

#: Spellings of "no value" in a column that is not text.
_NOTHING = pa.array(["", "NULL", "null", "NA", "N/A", "n/a"])
#: Whole numbers only: ``007`` and ``0x1F`` are names, not numbers.
_WHOLE = r"^-?(0|[1-9][0-9]*)$"
_DECIMAL = r"^(-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]+)?|-?(nan|NaN|inf|Infinity))$"
_TRUTH = r"(?i)^(true|false)$"
_ZONED = r"[T ][0-9]{2}.*([Zz]|[+-][0-9]{2}(:?[0-9]{2})?)$"
_FINE = r"\.[0-9]{7}"


def type_of(column: pa.Array) -> pa.DataType:
    """Infer the type of a whole column of text; text stays text unless every cell agrees.

    >>> [str(type_of(pa.array(cells))) for cells in (["1", "NA"], ["1", "2.5"], ["007"], ["TRUE"])]
    ['int64', 'double', 'string', 'bool']
    """
    cells = _present(column)
    if len(cells) == 0:
        return pa.string()
    ladder = ((_WHOLE, pa.int64()), (_DECIMAL, pa.float64()), (_TRUTH, pa.bool_()))
    for pattern, kind in ladder:
        if pc.all(pc.match_substring_regex(cells, pattern)).as_py():
            # Whole numbers beyond 64 bits stay text: as floating point they would lose digits.
            return kind if not misfits(cells, kind) else pa.string()
    kind = _timestamp_of(cells)
    return kind if not misfits(cells, kind) else pa.string()


def type_of_time(column: pa.Array) -> pa.DataType:
    """Infer the type of a time column, where bad cells may stand between good ones.

    >>> str(type_of_time(pa.array(["2024-01-01T00:00:00Z", "soon", "2024-01-02T00:00:00Z"])))
    'timestamp[us, tz=UTC]'
    >>> str(type_of_time(pa.array(["17", "?"]))), str(type_of_time(pa.array(["soon", "later"])))
    ('int64', 'string')
    """
    cells = _present(column)
    if len(cells) == 0:
        return pa.timestamp("us")
    whole = pc.sum(pc.match_substring_regex(cells, _WHOLE)).as_py()
    kind = pa.int64() if whole * 2 >= len(cells) else _timestamp_of(cells)
    return kind if len(misfits(cells, kind)) < len(cells) else pa.string()


def convert(column: pa.Array, kind: pa.DataType) -> tuple[pa.Array, list[int]]:
    """Cast text to ``kind``; cells that do not fit become null, and are told by position.

    >>> convert(pa.array(["1", " 2 ", "x", None]), pa.int64())[1]
    [2]
    """
    if kind == column.type:
        return column, []
    try:
        return pc.cast(column, kind), []
    except pa.ArrowInvalid:
        pass
    if pa.types.is_string(column.type):
        column = pc.utf8_trim_whitespace(column)
        column = pc.if_else(pc.is_in(column, _NOTHING), pa.scalar(None, column.type), column)
    wrong = misfits(column, kind)
    if wrong:
        column = pc.if_else(_mask(len(column), wrong), pa.scalar(None, column.type), column)
    return pc.cast(column, kind), wrong


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


def _present(column: pa.Array) -> pa.Array:
    cells = pc.utf8_trim_whitespace(pc.drop_null(column))
    return cells.filter(pc.invert(pc.is_in(cells, _NOTHING)))


def _timestamp_of(cells: pa.Array) -> pa.DataType:
    zoned = pc.sum(pc.match_substring_regex(cells, _ZONED)).as_py()
    fine = pc.any(pc.match_substring_regex(cells, _FINE)).as_py()
    return pa.timestamp("ns" if fine else "us", "UTC" if zoned * 2 >= len(cells) else None)


def _mask(length: int, rows: list[int]) -> pa.Array:
    chosen = set(rows)
    return pa.array([row in chosen for row in range(length)])
