"""Two machine instructions that the compiler has no words for, with their meaning in plain Python.

Uncompiled, the functions run as they stand; compiled, calls become single instructions. Written out
in 64-bit arithmetic they cost four multiplications and a loop that no processor can foresee.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic, overload

_WORD, _WIDE = ir.IntType(64), ir.IntType(128)


def high(left: Any, right: Any) -> Any:
    """Return the upper 64 bits of a product of 64-bit numbers.

    >>> int(high(np.uint64(2**63), np.uint64(6)))
    3
    """
    return np.uint64((int(left) * int(right)) >> 64)


def leading_zeros(number: Any) -> Any:
    """Return how many bits of a 64-bit number are zero before its first one; not of zero.

    >>> int(leading_zeros(np.uint64(1)))
    63
    """
    return np.uint64(64 - int(number).bit_length())


@intrinsic
def _high(context: Any, left: Any, right: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        factors = [builder.zext(argument, _WIDE) for argument in arguments]
        upper = builder.lshr(builder.mul(*factors), ir.Constant(_WIDE, 64))
        return builder.trunc(upper, _WORD)

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def _leading_zeros(context: Any, number: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@overload(high, inline="always", strict=False)
def _compiled_high(left: Any, right: Any) -> Any:
    return lambda left, right: _high(left, right)  # type: ignore[call-arg]


@overload(leading_zeros, inline="always", strict=False)
def _compiled_leading_zeros(number: Any) -> Any:
    return lambda number: _leading_zeros(number)  # type: ignore[call-arg]
