"""Unit tests of the sketch of counts: never too low before it is halved, seldom too high."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from bankfull.kernels.bounded import sketch


def counted(keys: list[int], counters: int) -> tuple[np.ndarray, np.ndarray]:
    table, added = np.zeros((2, counters), np.uint8), np.zeros(2, np.int64)
    for key in keys:
        sketch.add(table, added, 1, np.uint64(key))
    return table, added


@pytest.mark.uncompiled
def test_counts_are_right_while_there_is_room() -> None:
    dice = np.random.default_rng(1)
    keys = [int(key) for key in dice.zipf(1.3, 500) % 1000]
    table, added = counted(keys, 4096)
    found = {key: sketch.seen(table, 1, np.uint64(key)) for key in range(1000)}
    true = Counter(keys)
    assert all(found[key] >= min(true[key], 255) for key in found)
    assert sum(found[key] > true[key] for key in found) < 20
    assert added[1] == 500
    assert not table[0].any()  # streams do not mix


@pytest.mark.uncompiled
def test_counts_are_halved_when_there_were_too_many() -> None:
    table, added = counted([7] * 200 + list(range(1000, 1057)), 2048)
    assert added[1] == 0
    assert sketch.seen(table, 1, np.uint64(7)) == 100
    assert sketch.seen(table, 1, np.uint64(1003)) == 0


@pytest.mark.uncompiled
def test_counts_end_where_a_counter_does() -> None:
    table, _ = counted([7] * 300, 1 << 14)
    assert sketch.seen(table, 1, np.uint64(7)) == 255
