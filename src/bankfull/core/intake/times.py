"""Time columns as 64-bit integers in the unit of the query."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from bankfull.core.plan import TIME_MAX


def to_units(values: pa.Array, scale: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return times in units and which of them lie out of range; nulls become zero.

    >>> to_units(pa.array([1, 2**60], pa.int64()), 1000)
    (array([1000,    0]), array([False,  True]))
    """
    if values.null_count:
        values = values.fill_null(
            pa.scalar(0, pa.int64()).cast(_integer(values.type)).cast(values.type)
        )
    whole = values.cast(_integer(values.type)).to_numpy(zero_copy_only=False)
    most = TIME_MAX // scale
    outside = np.zeros(len(whole), np.bool_)
    # The least and the largest are found sooner than which of them lie out of range.
    if len(whole) and whole.max() > most:
        outside |= whole > most
    if len(whole) and whole.min() < -most:
        outside |= whole < -most
    units: NDArray[np.int64] = whole.astype(np.int64)
    if outside.any():
        units[outside] = 0
    return (units * scale if scale != 1 else units), outside


def _integer(data_type: pa.DataType) -> pa.DataType:
    if pa.types.is_integer(data_type):
        return data_type
    return pa.int32() if pa.types.is_date32(data_type) else pa.int64()


def null_times(values: pa.Array) -> NDArray[np.bool_]:
    """Return which times are null."""
    if not values.null_count:
        return np.zeros(len(values), np.bool_)
    nulls: NDArray[np.bool_] = pc.is_null(values).to_numpy(zero_copy_only=False)
    return nulls
