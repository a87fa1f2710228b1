"""64-bit codes of values: what the indexes compare before the real values are compared.

All arithmetic is unsigned and wraps. Constants are odd with well spread bits (the golden ratio
and two primes near 2**63). State under a memory budget holds codes, and Spark routes rows to
buckets by them, so they are part of what is written down: whoever changes a code changes ``CODES``,
and state with other codes is refused.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.compiler import Int64, inlined, inner, kernel

#: The version of all codes.
CODES = 1
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_PRIME_A = np.uint64(0xFF51AFD7ED558CCD)
_PRIME_B = np.uint64(0xC4CEB9FE1A85EC53)
_HALF = np.uint64(32)
_BYTE = np.uint64(8)
#: The code of a null inside a nested value, where null equals null.
NULL_CODE = np.uint64(0x7FB5D329728EA185)


@inlined
def mix(word: np.uint64) -> np.uint64:
    """Spread the bits of one word; one to one, so distinct words stay distinct."""
    word ^= word >> _HALF
    word *= _PRIME_A
    word ^= word >> _HALF
    word *= _PRIME_B
    word ^= word >> _HALF
    return word


@inner
def hash_bytes(data: NDArray[np.uint8], start: int, stop: int) -> np.uint64:
    """Hash ``data[start:stop]``, eight bytes at a time."""
    state = mix(np.uint64(stop - start) + GOLDEN)
    position = start
    while position + 8 <= stop:
        word = np.uint64(0)
        for k in range(8):
            word |= np.uint64(data[position + k]) << np.uint64(8 * k)
        state = (state ^ mix(word)) * GOLDEN
        state ^= state >> _HALF
        position += 8
    word = np.uint64(0)
    while position < stop:
        word = (word << _BYTE) | np.uint64(data[position])
        position += 1
    return mix(state ^ (word * GOLDEN))


@kernel
def hash_binary(offsets: Int64, data: NDArray[np.uint8], out: NDArray[np.uint64]) -> None:
    """Code of every variable-length value ``data[offsets[i]:offsets[i + 1]]``."""
    for i in range(out.size):
        out[i] = hash_bytes(data, offsets[i], offsets[i + 1])


@inner
def hash_words(words: NDArray[np.uint64], out: NDArray[np.uint64]) -> None:
    """Code of every row of a matrix of 64-bit words; one word keeps its value unmixed."""
    rows, width = words.shape
    for i in range(rows):
        state = words[i, 0]
        for k in range(1, width):
            state = mix(state + GOLDEN) ^ words[i, k]
        out[i] = state


@kernel
def mix_all(words: NDArray[np.uint64], out: NDArray[np.uint64]) -> None:
    """Spread the bits of many words."""
    for i in range(words.size):
        out[i] = mix(words[i])


@kernel
def combine(codes: NDArray[np.uint64], more: NDArray[np.uint64]) -> None:
    """Fold the codes of a further column into ``codes``."""
    for i in range(codes.size):
        codes[i] = mix(codes[i] + GOLDEN) ^ mix(more[i])


@kernel
def hash_lists(offsets: Int64, items: NDArray[np.uint64], out: NDArray[np.uint64]) -> None:
    """Code of every list of already coded items, in order."""
    for i in range(out.size):
        state = np.uint64(offsets[i + 1] - offsets[i])
        for k in range(offsets[i], offsets[i + 1]):
            state = mix(state + GOLDEN) ^ items[k]
        out[i] = mix(state)


@inlined
def draw(seed: int, number: int) -> float:
    """Return a number between 0 and 1 that looks random and depends on nothing else.

    Reference: the finaliser of splitmix64.
    """
    z = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15)
    z += np.uint64(number + 1) * np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.float64(z >> np.uint64(11)) * 2.0**-53
