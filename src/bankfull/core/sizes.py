"""How many bytes the values of a column take, row by row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray


def row_bytes(values: pa.Array) -> NDArray[np.int64]:
    """Return the bytes that each value of a column takes; of some nested ones, their mean."""
    kind, count = values.type, len(values)
    if isinstance(values, pa.ListArray | pa.LargeListArray | pa.MapArray):
        return _list_bytes(values)
    if pa.types.is_struct(kind):
        parts = [row_bytes(values.field(child)) for child in range(kind.num_fields)]
        return sum(parts, np.zeros(count, np.int64))
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        lengths = pc.binary_length(values).fill_null(0).to_numpy(zero_copy_only=False)
        return lengths.astype(np.int64) + 4  # type: ignore[no-any-return]
    try:
        width = -(-kind.bit_width // 8)
    except ValueError:
        width = -(-values.nbytes // max(1, count))
    return np.full(count, width, np.int64)


def _list_bytes(values: pa.Array) -> NDArray[np.int64]:
    """Return the bytes of each list: its offset and what its items take."""
    offsets = values.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    first, stop = (int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)
    mapped = isinstance(values, pa.MapArray)
    parts = [values.keys, values.items] if mapped else [values.values]
    taken = np.zeros(stop - first, np.int64)
    for part in parts:
        taken += row_bytes(part.slice(first, stop - first))
    sums = np.append(0, np.cumsum(taken))
    return sums[offsets[1:] - first] - sums[offsets[:-1] - first] + 8  # type: ignore[no-any-return]
