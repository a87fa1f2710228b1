"""Chance without a generator: a draw is a hash of the seed and the tuple's number.

A draw depends on no other draw, so an engine that works in batches, in parallel or from a
checkpoint makes the same ones. The hash is the finish of splitmix64 (Steele, Lea, Flood, 2014).
"""

from __future__ import annotations

WORD = 2**64


def uniform(seed: int, seq: int) -> float:
    """Return the draw of tuple ``seq``, in [0, 1).

    >>> [round(uniform(seed=0, seq=seq), 3) for seq in range(5)]
    [0.949, 0.165, 0.422, 0.249, 0.898]
    """
    return (word(seed, seq) >> 11) * 2.0**-53


def word(seed: int, seq: int) -> int:
    """Return 64 random bits."""
    z = (seed * 0x9E3779B97F4A7C15 + (seq + 1) * 0xBF58476D1CE4E5B9) % WORD
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)
