"""The importance of a result, from that of its members."""

from __future__ import annotations

from bankfull.kernels.compiler import inlined

#: How the importance of a result follows from its members'.
BY_MIN, BY_MAX, BY_SUM, BY_PRODUCT, BY_AVERAGE = range(5)


@inlined
def worth_of(combine: int, sum_: float, product: float, low: float, high: float, n: int) -> float:
    """Return the importance of a result from its members' sum, product, least, most and number.

    Members are those whose streams have an importance; a result without any is worth 1.
    """
    if n == 0:
        return 1.0
    if combine == BY_MIN:
        return low
    if combine == BY_MAX:
        return high
    if combine == BY_SUM:
        return sum_
    if combine == BY_PRODUCT:
        return product
    return sum_ / n


@inlined
def worth_of_pair(combine: int, a: float, a_weighed: bool, b: float, b_weighed: bool) -> float:
    """Return the importance of a result of two, of whom each counts if its stream is weighed."""
    if not b_weighed:
        return a if a_weighed else 1.0
    if not a_weighed:
        return b
    return worth_of(combine, a + b, a * b, min(a, b), max(a, b), 2)
