"""Reading rows out of stored columns."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from bankfull.kernels.compiler import Int64, kernel


@kernel
def gather(values: NDArray[Any], rows: Int64, base: int, out: NDArray[Any]) -> None:
    """Copy ``values[rows[k] - base]`` to ``out[k]``."""
    for k in range(rows.size):
        out[k] = values[rows[k] - base]


@kernel
def gather_wide(values: NDArray[Any], rows: Int64, base: int, out: NDArray[Any]) -> None:
    """Like :func:`gather` for values of several words."""
    for k in range(rows.size):
        i = rows[k] - base
        for w in range(out.shape[1]):
            out[k, w] = values[i, w]
