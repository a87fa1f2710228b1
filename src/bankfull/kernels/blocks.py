"""Codes of the blocks of an array's bytes, to tell which of them have changed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bankfull.kernels.compiler import kernel
from bankfull.kernels.hashing import GOLDEN, mix

#: The smallest part of an array that is told apart.
BLOCK_BYTES = 512
_WORDS = BLOCK_BYTES // 8


def block_codes(data: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return a code of each block; the last one may be shorter."""
    whole = data.size // 8 * 8
    codes = np.empty(-(-data.size // BLOCK_BYTES), np.uint64)
    rest = np.zeros(1, np.uint64)
    rest.view(np.uint8)[: data.size - whole] = data[whole:]
    _block_codes(data[:whole].view(np.uint64), rest, codes)
    return codes


@kernel
def _block_codes(
    words: NDArray[np.uint64], rest: NDArray[np.uint64], codes: NDArray[np.uint64]
) -> None:
    """Mix every word with what came before it; ``rest`` is what is left of the last block."""
    for block in range(codes.size):
        code = np.uint64(block)
        for k in range(block * _WORDS, min((block + 1) * _WORDS, words.size)):
            code = (code ^ mix(words[k])) * GOLDEN
        if block == codes.size - 1:
            code = (code ^ mix(rest[0])) * GOLDEN
        codes[block] = code
