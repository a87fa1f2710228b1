"""Numbers in text: their values, and a proof that each is held exactly.

A number is *proven* if it is the shortest decimal that reads back as some double, however it is
spelt. Numbers of at most fifteen digits always are. For others the nearest double is estimated, its
shortest decimal is computed, and the two decimals are compared: an estimate that is one off can
only leave a number unproven, never prove a wrong one, and the double of a proven number is the one
that it reads as. Numbers that are not proven here are judged one by one elsewhere.

Reference: Giulietti, "The Schubfach way to render doubles" (2020), section 9, with 128 bits of each
power of ten.
Cost: about a nanosecond a byte, and 20 to 30 for a number of more than fifteen digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.compiler import Float64, Int64, inlined, kernel
from bankfull.kernels.text.wide import high, leading_zeros

Bytes = NDArray[np.uint8]
UInt64 = NDArray[np.uint64]
Int32 = NDArray[np.int32]

#: Powers of ten from 10**-_FIRST to 10**_LAST: the upper 128 bits of each, rounded up.
_FIRST, _LAST = 330, 330
#: Beyond these exponents nothing is proven: doubles become rare there, or end.
_LEAST, _MOST = -300, 290

_U0, _U1, _U2, _U4 = (np.uint64(number) for number in (0, 1, 2, 4))
_U9, _U10, _U40, _U48, _U52 = (np.uint64(number) for number in (9, 10, 40, 48, 52))
_U100 = np.uint64(100)
_SHORT = np.uint64(10**15)
_HIDDEN = np.uint64(1 << 52)
_TOP = np.uint64(1 << 63)
#: So many digits always fit into 64 bits, and into 64 bits with a sign.
_FITTING, _WHOLE = 19, 18
_QUOTE, _MINUS, _PLUS, _POINT, _ZERO, _ESCAPE, _BREAK = (ord(sign) for sign in '"-+.0\\\n')


def _powers() -> UInt64:
    table = np.zeros((_FIRST + _LAST + 1, 2), np.uint64)
    for power in range(-_FIRST, _LAST + 1):
        above, below = (10**power, 1) if power >= 0 else (1, 10**-power)
        shift = 127 - ((power * 1741647) >> 19)
        above, below = (above << shift, below) if shift >= 0 else (above, below << -shift)
        upper = -(-above // below)
        assert 1 << 127 <= upper < 1 << 128
        table[power + _FIRST] = upper >> 64, upper & (2**64 - 1)
    return table


POWERS = _powers()
#: Powers of ten that are doubles.
_EXACT = 22
_TENS = tuple(10.0**power for power in range(_EXACT + 1))


@inlined
def _to_odd(upper: np.uint64, lower: np.uint64, factor: np.uint64) -> Any:
    """Return the upper bits of a product with 128 bits, odd if anything is below them."""
    low = upper * factor
    rest = low + high(lower, factor)
    top = high(upper, factor) + (_U1 if rest < low else _U0)
    return top | (_U1 if rest > _U1 else _U0)


@inlined
def _without_zeros(digits: np.uint64, exponent: int) -> Any:
    while digits >= _U10 and digits % _U10 == _U0:
        digits //= _U10
        exponent += 1
    return digits, exponent


@inlined
def _shortest(significand: np.uint64, binary: int, powers: UInt64) -> Any:
    """Return the shortest decimal of the double significand * 2**binary, as digits and exponent.

    The significand has 53 bits. Of several shortest decimals it is the one nearest to the double.
    """
    closer = significand == _HIDDEN  # the double below is half as far away as the one above
    odd = _U1 if significand & _U1 else _U0
    middle = _U4 * significand
    exponent = (binary * 1262611 - (524031 if closer else 0)) >> 22
    shift = np.uint64(binary + ((-exponent * 1741647) >> 19) + 1)
    upper, lower = powers[_FIRST - exponent, 0], powers[_FIRST - exponent, 1]
    below = _to_odd(upper, lower, (middle - (_U1 if closer else _U2)) << shift) + odd
    exact = _to_odd(upper, lower, middle << shift)
    above = _to_odd(upper, lower, (middle + _U2) << shift) - odd
    digits = exact // _U4
    tens = digits // _U10
    down, up = below <= _U40 * tens, _U40 * tens + _U40 <= above
    if down != up:
        return _without_zeros(tens + (_U1 if up else _U0), exponent + 1)
    down, up = below <= _U4 * digits, _U4 * digits + _U4 <= above
    if down == up:
        half = _U4 * digits + _U2
        up = exact > half or (exact == half and digits & _U1 == _U1)
    return _without_zeros(digits + (_U1 if up else _U0), exponent)


@inlined
def _estimate(digits: np.uint64, exponent: int, powers: UInt64) -> Any:
    """Return the double nearest to digits * 10**exponent, as 53 bits, exponent and bits cut off.

    The last bit may be wrong if the eleven bits that were cut off are close to a half.
    """
    binary = ((exponent * 1741647) >> 19) + 12
    zeros = leading_zeros(digits)
    binary -= int(zeros)
    product = high(digits << zeros, powers[_FIRST + exponent, 0])
    if product < _TOP:
        product <<= _U1
        binary -= 1
    significand = product >> np.uint64(11)
    return significand, binary, np.int64(product & np.uint64(2047))


@inlined
def _is_clear(digits: np.uint64, significand: np.uint64, off: float) -> Any:
    """Whether a decimal is the shortest of a double by a margin, from where it lies beside it.

    ``off`` is how far the decimal lies above the double, in units of the double's last bit, up to
    two thousandths. What is read as the double lies within half a unit of it, except below a power
    of two. So no decimal with a digit less may lie there, and none with as many lie closer.
    """
    step = np.float64(significand) / np.float64(digits)  # one in the last digit
    last = np.float64(digits % _U10)
    closest = abs(off) < 0.5 * step - 0.01
    alone = off - last * step < -0.51 and off + (10.0 - last) * step > 0.51
    return closest and alone and significand != _HIDDEN


@inlined
def _proven(digits: np.uint64, exponent: int, powers: UInt64) -> Any:
    """Return whether digits * 10**exponent is surely the shortest decimal of a double.

    Returns the double, too: 53 bits of it, and their exponent, of which zero has none.
    """
    if digits == _U0:
        return True, _U0, 0
    digits, exponent = _without_zeros(digits, exponent)
    if exponent < _LEAST or exponent > _MOST:
        return False, _U0, 0
    significand, binary, rest = _estimate(digits, exponent, powers)
    for turn in range(2):
        up = rest >= 1024 if turn == 0 else rest < 1024
        tried, power = significand + (_U1 if up else _U0), binary
        if tried == _HIDDEN + _HIDDEN:
            tried, power = _HIDDEN, power + 1
        if not 1016 < rest < 1032:
            off = np.float64(rest) / 2048 - (1.0 if up else 0.0)
            if digits < _SHORT or _is_clear(digits, tried, off):
                return True, tried, power
        if _shortest(tried, power, powers) == (digits, exponent):
            return True, tried, power
        if not 1016 < rest < 1032:
            break
    return False, _U0, 0


@inlined
def _digits(data: Bytes, at: int, end: int, digits: np.uint64) -> Any:
    # Two at a time: each product waits for the one before it.
    while at + 1 < end:
        digit, following = np.uint64(data[at]) - _U48, np.uint64(data[at + 1]) - _U48
        if digit > _U9 or following > _U9:
            break
        digits = digits * _U100 + (digit * _U10 + following)
        at += 2
    while at < end:
        digit = np.uint64(data[at]) - _U48
        if digit > _U9:
            break
        digits = digits * _U10 + digit
        at += 1
    return at, digits


@inlined
def _number(data: Bytes, at: int, end: int) -> Any:
    """Read a number from ``at`` on: where it ends, its digits, their exponent, how many there are.

    There are none if it is not a number. It is spelt as in JSON, except that no digit need follow
    the point. The digits are wrong if there are more than fit.
    """
    start = at
    at, digits = _digits(data, at, end, _U0)
    count = at - start
    if count == 0 or (count > 1 and data[start] == _ZERO):
        return at, digits, 0, 0
    exponent = 0
    if at < end and data[at] == _POINT:
        after = at + 1
        at, digits = _digits(data, after, end, digits)
        exponent = after - at
        count -= exponent
    if count > _FITTING:  # zeros in front do not count
        while count > 0 and (data[start] == _ZERO or data[start] == _POINT):
            count -= data[start] == _ZERO
            start += 1
        count = max(count, 1)
    if at < end and data[at] | 32 == 101:  # the letter e
        at += 1
        minus = at < end and data[at] == _MINUS
        at += minus or (at < end and data[at] == _PLUS)
        start, (at, power) = at, _digits(data, at, min(end, at + 9), _U0)
        if at == start:
            return at, digits, 0, 0
        exponent += -int(power) if minus else int(power)
    return at, digits, exponent, count


@kernel
def whole_numbers(data: Bytes, offsets: Int32, values: Int64) -> int:
    """Read cells of text as whole numbers; return how many are empty, or -1.

    It is -1 if a cell is anything but a whole number of at most eighteen digits.
    """
    empty = 0
    for row in range(len(values)):
        at, end = offsets[row], offsets[row + 1]
        if at == end:
            empty += 1
            values[row] = 0
            continue
        minus = data[at] == _MINUS
        start = at + minus
        at, digits = _digits(data, start, end, _U0)
        zero = at - start > 1 and data[start] == _ZERO
        if at < end or at == start or at - start > _WHOLE or zero:
            return -1
        values[row] = -np.int64(digits) if minus else np.int64(digits)
    return empty


@kernel
def doubles(data: Bytes, offsets: Int32, powers: UInt64, values: Float64, bits: UInt64) -> int:
    """Read cells of text as doubles; return how many are empty, or -1.

    It is -1 if a cell is not a number that is proven. ``bits`` is another view of ``values``.
    """
    empty = 0
    for row in range(len(values)):
        at, end = offsets[row], offsets[row + 1]
        if at == end:
            empty += 1
            values[row] = 0.0
            continue
        minus = data[at] == _MINUS
        at, digits, exponent, count = _number(data, at + minus, end)
        if at < end or not 0 < count <= _FITTING:
            return -1
        if digits < _SHORT and -_EXACT <= exponent <= _EXACT:
            # Both are doubles themselves, so one operation gives the nearest to their product.
            value, power = np.float64(digits), _TENS[abs(exponent)]
            value = value / power if exponent < 0 else value * power
            values[row] = -value if minus else value
            continue
        proven, significand, binary = _proven(digits, exponent, powers)
        if not proven:
            return -1
        found = _U0
        if significand:
            found = (np.uint64(binary + 1075) << _U52) | (significand & (_HIDDEN - _U1))
        bits[row] = found | (_TOP if minus else _U0)
    return empty


@inlined
def _after_text(data: Bytes, at: int) -> Any:
    """Return where a text of JSON ends, that begins at ``at``; no text goes beyond its line."""
    while at < len(data) and data[at] != _QUOTE and data[at] != _BREAK:
        at += 2 if data[at] == _ESCAPE and at + 1 < len(data) and data[at + 1] != _BREAK else 1
    return at


@kernel
def unproven(data: Bytes, powers: UInt64, whole: bool, found: Int64) -> int:
    """Find the numbers of JSON lines, outside of texts, that are not proven, and count them.

    Those without a fraction or an exponent count only if ``whole``. ``found`` gets where
    they begin and end, as far as it has room.
    """
    count = at = 0
    while at < len(data):
        character = data[at]
        if character == _QUOTE:
            at = _after_text(data, at + 1)
        elif np.uint64(character) - _U48 <= _U9:
            end, digits, exponent, length = _number(data, at, len(data))
            fits = 0 < length <= _FITTING
            if not whole and end - at == length:
                fits = True
            elif fits and digits < _SHORT:
                fits = digits == _U0 or _LEAST <= exponent <= _MOST
            elif fits:
                fits = _proven(digits, exponent, powers)[0]
            if not fits:
                if count < len(found):
                    found[count, 0] = at - (at > 0 and data[at - 1] == _MINUS)
                    found[count, 1] = end
                count += 1
            at = end - 1
        at += 1
    return count


@kernel
def deepest(data: Bytes) -> int:
    """Return how many lists and objects of JSON lines lie within each other, at most."""
    depth = most = at = 0
    while at < len(data):
        character = data[at]
        if character == _QUOTE:
            at = _after_text(data, at + 1)
        elif character == _BREAK:
            depth = 0
        elif character | 32 == 123:  # an opening bracket of either kind
            depth += 1
            most = max(most, depth)
        elif character | 32 == 125:
            depth -= 1
        at += 1
    return most
