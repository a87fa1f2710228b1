"""Kernel units: numbers in text are proven exact only if they are, by a naive twin with decimals.

The twin is the definition: the shortest decimal of a number's double is the number itself.
"""

from __future__ import annotations

import json
import math
import random
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankfull.kernels.text import numerals
from bankfull.kernels.text.wide import high, leading_zeros
from bankfull.runtime.embedded.files.exact import is_double
from bankfull.runtime.embedded.files.numbers import depth, read, unproven


def _tokens(count: int) -> list[str]:
    """Invent doubles as they are printed, with digits too many, and decimals of any length."""
    dice = random.Random(5)
    tokens = ["0", "-0.0", "0e999", "1.", "1E+2", "0." + "0" * 25 + "12345678901234567", "1" * 40]
    for power in range(-1074, 1024, 7):
        edge = math.ldexp(1.0, power)  # doubles are nearer to each other below than above
        tokens += [repr(edge), repr(math.nextafter(edge, 0)), f"{edge:.17g}", f"{edge:.16g}"]
    for _ in range(count):
        any_bits = struct.unpack("d", struct.pack("Q", dice.getrandbits(64)))[0]
        tokens += [repr(any_bits)] if math.isfinite(any_bits) else []
        tokens += [repr(dice.gauss(0, 10.0 ** dice.randint(-12, 18))), f"{dice.random():.17g}"]
        digits = dice.randrange(10 ** dice.randint(13, 19))
        tokens += [f"{digits}e{dice.randint(-330, 300)}", str(2**53 + dice.getrandbits(56))]
    return tokens


def test_a_proven_number_is_its_double() -> None:
    proven = 0
    for token in _tokens(3_000):
        values = read(pa.array([token]), pa.float64())
        if values is None:
            # Nothing is left unproven where doubles are as dense as anywhere.
            size = abs(float(token))
            assert not is_double(token) or not 1e-280 < size < 1e280 or len(token) > 30, token
            continue
        proven += 1
        assert is_double(token), token
        assert struct.pack("d", values[0].as_py()) == struct.pack("d", float(token)), token
    assert proven > 6_000


def test_whole_numbers_and_what_is_none() -> None:
    cells = pa.array(["1", None, "-20", "0", "-0", "9" * 18, "-" + "9" * 18])
    assert read(cells, pa.int64()).equals(cells.cast(pa.int64()))
    assert read(cells.slice(1, 3), pa.int64()).to_pylist() == [None, -20, 0]
    for kind in (pa.int64(), pa.float64()):
        for junk in ("", " 1", "1 ", "+1", "007", "-00", "0x1F", "-", "1e", "1e+", ".5", "--1"):
            assert read(pa.array(["1", junk]), kind) is None, junk
    assert read(pa.array(["1" * 19]), pa.int64()) is None
    assert read(pa.array([None, None], pa.string()), pa.int64()).null_count == 2


_values = st.recursive(
    st.one_of(
        st.none(),
        st.integers(-(2**70), 2**70),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text('ab[]{}\\"1234567890.e-é\n', max_size=30),
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('k"[', max_size=3), inner),
    max_leaves=12,
)


@given(st.lists(_values, max_size=4), st.booleans())
def test_numbers_and_depth_of_json(values: list[object], whole: bool) -> None:
    lines = "\n".join(json.dumps(value) for value in values).encode()
    numbers: list[str] = []

    def look(value: object) -> int:
        if isinstance(value, dict):
            value = list(value.values())
        return 1 + max(map(look, value), default=0) if isinstance(value, list) else 0

    def keep(token: str) -> None:
        numbers.append(token)

    deepest = 0
    for line in lines.split(b"\n"):
        if line:
            deepest = max(deepest, look(json.loads(line, parse_int=keep, parse_float=keep)))
    assert depth(lines) == deepest
    found = [lines[start:end].decode() for start, end in unproven(lines, whole)]
    expected = [token for token in numbers if whole or not token.lstrip("-").isdigit()]
    assert [token for token in found if not is_double(token)] == [
        token for token in expected if not is_double(token)
    ]


@pytest.mark.uncompiled
def test_wide_arithmetic() -> None:
    dice = random.Random(2)
    for _ in range(200):
        left, right = (dice.getrandbits(dice.randint(1, 64)) | 1 for _ in range(2))
        assert int(high(np.uint64(left), np.uint64(right))) == left * right >> 64
        assert int(leading_zeros(np.uint64(left))) == 64 - left.bit_length()
    table = numerals.POWERS
    assert (table[:, 0] >= np.uint64(1 << 63)).all()
