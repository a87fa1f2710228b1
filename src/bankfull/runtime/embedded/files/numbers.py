"""Text to numbers where every cell is proven to be held exactly, in one pass over its bytes.

The compiled loops of ``bankfull.kernels.text`` do the work; what they cannot prove is left to
``exact.py`` and ``jsonchecks.py``, which look at single cells. The kernels are loaded on first use.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa


def read(cells: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Read text as 64-bit numbers; None if a cell is not one, or not surely held exactly.

    >>> read(pa.array(["1", None, "-20"]), pa.int64()).to_pylist()
    [1, None, -20]
    >>> read(pa.array(["9007199254740993"]), pa.float64()), read(pa.array(["0.1"]), pa.float64())[0]
    (None, <pyarrow.DoubleScalar: 0.1>)
    """
    if not pa.types.is_string(cells.type) or kind not in (pa.int64(), pa.float64()):
        return None
    from bankfull.kernels.text import numerals

    validity, offsets, data = cells.buffers()
    if data is None:
        return None  # no cell has a value
    bounds = np.frombuffer(offsets, np.int32)[cells.offset : cells.offset + len(cells) + 1]
    characters = np.frombuffer(data, np.uint8)
    # The kernels do not look whether they stay within these arrays.
    assert len(bounds) == len(cells) + 1
    assert bounds[-1] <= len(characters)
    if pa.types.is_integer(kind):
        values: Any = np.empty(len(cells), np.int64)
        empty = numerals.whole_numbers(characters, bounds, values)
    else:
        values = np.empty(len(cells), np.float64)
        bits = values.view(np.uint64)
        empty = numerals.doubles(characters, bounds, numerals.POWERS, values, bits)
    if empty != cells.null_count:
        return None  # an empty text is no number, unlike a null
    if not empty:
        return pa.array(values)
    if cells.offset:
        return pa.array(values, mask=cells.is_null().to_numpy(zero_copy_only=False))
    return pa.Array.from_buffers(kind, len(cells), [validity, pa.py_buffer(values)], empty)


def unproven(block: bytes, whole: bool = True) -> list[tuple[int, int]]:
    """Return where the numbers of JSON lines begin and end that a double may not hold exactly.

    Numbers without a fraction or an exponent count only if ``whole``.

    >>> unproven(b'{"a": 0.1, "b": -9007199254740993, "c": "9007199254740993"}')
    [(16, 33)]
    """
    from bankfull.kernels.text import numerals

    characters = np.frombuffer(block, np.uint8)
    room = 1024
    while True:
        found = np.empty((room, 2), np.int64)
        count = numerals.unproven(characters, numerals.POWERS, whole, found)
        if count <= room:
            return [(start, end) for start, end in found[:count].tolist()]
        room = count


def depth(lines: bytes) -> int:
    """Return how many lists and objects of JSON lines lie within each other, at most.

    >>> depth(b'[{"[[[": []}]')
    3
    """
    from bankfull.kernels.text import numerals

    return int(numerals.deepest(np.frombuffer(lines, np.uint8)))
